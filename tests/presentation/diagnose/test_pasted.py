"""Whatever is pasted is recognized by what it is; what nearly is one of these is told from it, and nothing hostile takes long or fails."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.presentation.diagnose.pasted import Kind, NotRecognized, pasted

BODY = {"model": "gpt-4", "messages": [{"role": "user", "content": 'it\'s "quoted"\nand é'}]}
TEXT = json.dumps(BODY)
ERROR = "openai.BadRequestError: Error code: 400 - messages with role 'tool' must be a response to a preceeding message with 'tool_calls'"
IN_SHELL = TEXT.replace("'", "'\\''")
SESSION = "\n".join(
    json.dumps(line)
    for line in (
        {"type": "session", "version": 3, "id": "s", "timestamp": "2026-06-01T10:00:00.000Z", "cwd": "/w"},
        {
            "type": "message",
            "id": "a",
            "parentId": None,
            "timestamp": "2026-06-01T10:00:01.000Z",
            "message": {"role": "user", "content": [{"type": "text", "text": "hi"}], "timestamp": 1},
        },
    )
)

REQUESTS = {
    "the body": TEXT,
    "its list of messages with a model around it, indented": json.dumps(BODY, indent=2),
    "with a byte order mark": "\ufeff" + TEXT,
    "curl, quoted for a shell": f"curl https://api.example.com/v1/chat/completions -H 'content-type: application/json' -d '{IN_SHELL}'",
    "curl over several lines": f"curl https://api.example.com \\\n  -H 'a: b' \\\n  --data-raw '{IN_SHELL}'",
    "curl after a prompt": f"$ curl --json '{IN_SHELL}' https://api.example.com",
    "curl with an equals sign": f"curl https://api.example.com --data='{IN_SHELL}'",
    "curl as browsers copy it": "curl 'https://api.example.com' --data-raw $'" + TEXT.replace("\\", "\\\\").replace("'", "\\'") + "'",
    "Python": repr(BODY),
    "Python with a name": f"kwargs = {BODY!r}",
    "a log": f"10:00 INFO start\n10:01 DEBUG sending {TEXT} to the provider\n10:02 INFO done",
    "a log of JSON lines": json.dumps({"level": "debug", "msg": "sending", "request": BODY}),
}


@pytest.mark.parametrize("text", REQUESTS.values(), ids=REQUESTS)
def test_a_request_is_taken_out_of_what_is_around_it(text: str) -> None:
    found = pasted(text.encode())
    assert found.kind is Kind.REQUEST
    assert json.loads(found.data.decode("utf-8-sig")) == BODY


OTHERS = {
    "an error": (ERROR, Kind.ERROR),
    "an error in JSON": (json.dumps({"error": {"message": ERROR}}), Kind.ERROR),
    "an error at the end of a long log": ("INFO nothing\n" * 50_000 + ERROR, Kind.ERROR),
    "a quota": ("429 Too Many Requests", Kind.ERROR),
    "a stream": ('data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: [DONE]\n', Kind.STREAM),
    "a session": (SESSION, Kind.SESSION),
}


@pytest.mark.parametrize(("text", "kind"), OTHERS.values(), ids=OTHERS)
def test_what_is_no_request_is_known_for_what_it_is(text: str, kind: Kind) -> None:
    assert pasted(text.encode()).kind is kind


def test_a_log_with_a_request_and_the_error_gives_both() -> None:
    found = pasted(f"sending {TEXT}\n{ERROR}".encode())
    assert (found.kind, json.loads(found.data)) == (Kind.REQUEST, BODY)
    assert "tool_calls" in found.error
    assert pasted(f"sending {TEXT}\nall is well".encode()).error == ""


SENTENCES = {
    "": "There is nothing to look at",
    "  \n ": "There is nothing to look at",
    "good morning": "no request, stream, session or provider's error that is known here",
    "curl https://api.example.com": "sends no body",
    "curl -d @request.json https://api.example.com": "'request.json', which is on your machine",
    'curl -d \'{"a": 1}': "never closed",
}


@pytest.mark.parametrize(("text", "sentence"), SENTENCES.items(), ids=SENTENCES.values())
def test_what_cannot_be_used_is_said_with_what_to_do(text: str, sentence: str) -> None:
    with pytest.raises(NotRecognized, match=sentence):
        pasted(text.encode())


def test_a_file_that_is_no_text_is_never_shown_as_one() -> None:
    recorded = b"messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1."
    for data, sentence in (
        (b"SQLite format 3\0\x10\0" + recorded, "SQLite database, which holds many sessions: upload it"),
        (b"[\xff\xfe\xfd\xfc\xfb" + bytes(range(0x80, 0xFF)), "no text: choose the file"),
        (b"PK\x03\x04\0\0" + recorded, "no text: choose the file"),
    ):
        with pytest.raises(NotRecognized, match=sentence):
            pasted(data)
    assert pasted(recorded + b" caf\xe9").kind is Kind.ERROR, "one character of another encoding"


def test_json_that_is_no_request_goes_to_the_check_which_says_what_is_missing() -> None:
    assert pasted(b'{"a": 1}').kind is Kind.REQUEST


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        '{"a":' * 100_000,
        "{" * 200_000,
        "[" * 100_000,
        "curl " + "$'" * 50_000,
        "x = " + "(" * 5_000,
        "-" * 300_000,
        "{}," * 100_000,
        "curl -d '" + "it\\'s " * 50_000,
        '{"' + "k" * 300_000 + '": [{"messages": [{',
    ],
)
def test_what_never_closes_is_given_up(text: str) -> None:
    try:
        pasted(text.encode())
    except NotRecognized as problem:
        assert str(problem)


@given(st.binary(max_size=300))
def test_any_bytes_are_recognized_or_answered_in_a_sentence(data: bytes) -> None:
    try:
        assert pasted(data).kind in Kind
    except NotRecognized as problem:
        assert str(problem).endswith((".", "known."))


@given(st.text(st.sampled_from("curl -d'\"$\\{}[]@\n=x")).map(lambda text: f"curl {text}"))
def test_any_command_is_read_or_answered_in_a_sentence(text: str) -> None:
    try:
        assert pasted(text.encode()).kind is Kind.REQUEST
    except NotRecognized as problem:
        assert str(problem)
