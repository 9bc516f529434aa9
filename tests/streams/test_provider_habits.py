"""What providers legally do that OpenAI's own server does not: at most a note, and what a client makes of it."""

from typing import Any

import pytest

from inspector.rules.base import Severity
from inspector.streams.correcting import correct
from inspector.streams.model import End, Exchange, How, Read, Side
from inspector.streams.run import one_side
from inspector.streams.two_sides import judged
from tests.folding import in_one_test

from .spoken import ASKED, DONE, ROLE, call, chat, chunk, exchange, finish, line, ndjson, sse, text, usage

HI = text("Hi")
FORCED = ASKED | {"tool_choice": {"type": "function", "function": {"name": "search"}}}


def severities(found: Exchange) -> dict[str, str]:
    return {each.rule.name: each.severity.value for each in one_side(found, found.sides[0]).evidence}


def both(backend: bytes, client: bytes, **more: Any) -> Exchange:
    """The backend's bytes, then the client's, both read to their end."""

    def happenings() -> Any:
        for side, data in ((Side.BACKEND, backend), (Side.CLIENT, client)):
            yield Read(side, data)
            yield End(side, How.EOF)

    return Exchange("x", happenings, (Side.BACKEND, Side.CLIENT), **more)


def of_both(found: Exchange) -> dict[str, str]:
    sides = judged(found).sides
    assert sides is not None
    return {each.rule.name: each.severity.value for each in sides.evidence}


@in_one_test(
    ("stream", "how", "expected"),
    [
        pytest.param(sse(ROLE, HI, finish()), How.EOF, "note", id="the finish reason came, the server closed"),
        pytest.param(sse(ROLE, HI, finish()), How.UNKNOWN, "note", id="the finish reason came, the file keeps no end"),
        pytest.param(sse(ROLE, HI, finish(), usage()), How.EOF, "note", id="the usage record came after it"),
        pytest.param(sse(ROLE, call(), finish("tool_calls")), How.EOF, "note", id="calls, and their finish reason"),
        pytest.param(sse(ROLE, HI, finish()), How.RESET, "error", id="a client that reads on gets a broken connection"),
        pytest.param(sse(ROLE, HI, finish()), How.TIMEOUT, "error", id="a client that reads on waits"),
        pytest.param(sse(ROLE, HI), How.EOF, "error", id="no finish reason"),
        pytest.param(
            sse(chunk({}, choices=[{"index": at, "delta": {"role": "assistant", "content": "x"}} for at in (0, 1)]), finish()),
            How.EOF,
            "error",
            id="one choice of two has none",
        ),
        pytest.param(ndjson(line("Hi")), How.EOF, "error", id="Ollama, whose last line is both"),
        pytest.param(sse(ROLE), How.EOF, "error", id="nothing but a role"),
    ],
)
def test_no_done_line_after_the_finish_reason_is_a_note(stream: bytes, how: How, expected: str) -> None:
    assert severities(exchange(stream, how=how))["missing-terminal"] == expected


def test_a_proxy_that_adds_the_done_line_fabricates_nothing() -> None:
    whole = sse(ROLE, HI, finish())

    assert of_both(both(whole, whole + sse(DONE))) == {}
    assert of_both(both(sse(ROLE, HI), whole + sse(DONE))) == {"fabricated-terminal": "error"}


def test_a_proxy_that_leaves_out_the_done_line_after_the_finish_reason_is_a_warning() -> None:
    whole = sse(ROLE, HI, finish())

    assert of_both(both(whole + sse(DONE), whole)) == {"terminal-swallowed": "warning"}
    assert of_both(both(whole + sse(DONE), sse(ROLE, HI))) == {"terminal-swallowed": "error"}


def test_what_is_only_noted_needs_no_correction() -> None:
    whole = exchange(sse(ROLE, HI, finish()))
    wrong = exchange(sse(ROLE, HI, call(None), finish("tool_calls")))

    assert correct(whole).exchange is whole
    corrected = correct(wrong).exchange
    answer = one_side(corrected, Side.CLIENT).assembled
    assert (answer.finish, answer.ended) == ("tool_calls", True)


@pytest.mark.parametrize(
    ("stream", "request_body", "expected"),
    [
        pytest.param(chat(call(), finish()), None, {"finish-mismatch-stop": "note"}, id="the request is not in the capture"),
        pytest.param(chat(call(), finish()), FORCED, {}, id="the request names the tool"),
        pytest.param(chat(call(), finish()), ASKED, {"finish-mismatch-stop": "error"}, id="the request names no tool"),
    ],
)
def test_stop_with_a_call_is_how_openai_answers_a_named_tool_choice(
    stream: bytes, request_body: dict[str, Any] | None, expected: dict[str, str]
) -> None:
    assert severities(exchange(stream, request=request_body)) == expected


def openrouter(words: str, finish: str | None = None, **more: Any) -> dict[str, Any]:
    return chunk({"role": "assistant", "content": words}, finish, provider="Amazon Bedrock", **more)


COUNTS = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}


@in_one_test(
    ("records", "expected"),
    [
        pytest.param(
            [openrouter("Hi"), openrouter("", "stop"), openrouter("", usage=COUNTS)], {}, id="OpenRouter's usage record, without an end"
        ),
        pytest.param([openrouter("Hi"), openrouter("", "stop"), openrouter("", "stop", usage=COUNTS)], {}, id="and with the end once more"),
        pytest.param([openrouter("Hi"), chunk({}, "stop"), openrouter("", usage=COUNTS)], {}, id="the finish record alone has no role"),
        pytest.param([ROLE, HI, openrouter("!"), finish()], {"role-missing-or-repeated": "note"}, id="again, in the middle"),
        pytest.param(
            [ROLE, HI, finish("tool_calls"), openrouter("", "stop")],
            {"role-missing-or-repeated": "warning", "duplicate-finish": "error", "finish-mismatch-tool": "error"},
            id="a second beginning after the end",
        ),
        pytest.param([ROLE, chunk({"role": "tool", "content": "x"}), finish()], {"role-missing-or-repeated": "warning"}, id="another role"),
        pytest.param([HI, finish()], {"role-missing-or-repeated": "warning"}, id="none at all"),
    ],
)
def test_a_role_that_comes_again(records: list[dict[str, Any]], expected: dict[str, str]) -> None:
    assert severities(exchange(sse(*records, DONE))) == expected


def thought(words: str, **more: Any) -> dict[str, Any]:
    return openrouter(
        "",
        choices=[
            {
                "index": 0,
                "delta": {"role": "assistant", "reasoning_details": [{"type": "reasoning.text", "text": words, **more}]},
                "finish_reason": None,
            }
        ],
    )


# As the openai package (3.54.0) answers: its stream helper joins lists by `index` from the second record on.
@in_one_test(
    ("thoughts", "expected"),
    [
        pytest.param([thought("a", index=0), thought("b", index=0)], set(), id="with an index"),
        pytest.param([thought("a")], set(), id="one record alone"),
        pytest.param([thought("a"), thought("b", index=0)], set(), id="only the first is without"),
        pytest.param([thought("a"), thought("b")], {"reasoning-index-missing"}, id="RuntimeError: expected to have an `index` key"),
        pytest.param([thought("a", index=0), thought("b")], {"reasoning-index-missing"}, id="the second is without"),
        pytest.param([thought("a", index=None), thought("b", index=None)], {"reasoning-index-missing"}, id="TypeError: not an integer"),
    ],
)
def test_fragments_of_reasoning_without_an_index(thoughts: list[dict[str, Any]], expected: set[str]) -> None:
    found = one_side(exchange(sse(*thoughts, openrouter("Hi"), openrouter("", "stop"), DONE)), Side.CLIENT)

    assert found.names == expected
    assert all(each.severity is Severity.WARNING and not each.rule.silent for each in found.evidence)


@in_one_test(
    ("declared", "expected"),
    [
        ("application/x-jsonl", set()),
        ("application/jsonlines", set()),
        ("application/jsonl; charset=utf-8", set()),
        ("application/octet-stream", set()),
        ("text/plain", set()),
        ("text/event-stream", {"framing-wrong-content-type"}),
    ],
)
def test_the_types_of_json_lines(declared: str, expected: set[str]) -> None:
    last = line(done=True, done_reason="stop", total_duration=1, eval_count=2, prompt_eval_count=3)
    found = one_side(exchange(ndjson(line("Hi"), last), content_types={Side.CLIENT: declared}), Side.CLIENT)

    assert found.names == expected


UI = "AI SDK UI message stream"


@in_one_test(
    ("data", "name"),
    [
        pytest.param(sse({"type": "start"}, {"type": "text-start", "id": "0"}, {"type": "finish"}, DONE), UI, id="a UI message stream"),
        pytest.param(
            sse({"type": "start", "messageId": "m"}, {"type": "start-step"}, {"type": "abort"}, DONE), UI, id="one that was aborted at once"
        ),
        pytest.param(sse({"type": "error", "errorText": "x"}, DONE), UI, id="an error alone"),
        pytest.param(sse({"type": "data-weather", "data": {"city": "Oslo"}}, DONE), UI, id="data of an application"),
        pytest.param(sse({"token": "Hi"}, {"token": "!"}, DONE), "unknown", id="some server's own records"),
        pytest.param(b'f:{"messageId":"m"}\n0:"Hi"\nd:{"finishReason":"stop"}\n', "AI SDK data stream (v1)", id="a data stream, version 1"),
    ],
)
def test_a_done_line_alone_makes_no_openai_stream(data: bytes, name: str) -> None:
    found = one_side(exchange(data), Side.CLIENT)

    assert (found.protocol, found.unsupported, found.names) == ("unknown", name, frozenset())
    assert found.problems[0].startswith(f"The client side speaks a protocol that is not judged here: {name}.")


def test_a_done_line_with_nothing_else_or_an_error_is_openai_chat() -> None:
    assert one_side(exchange(sse(DONE)), Side.CLIENT).names == {"empty-stream"}
    assert one_side(exchange(sse({"error": {"message": "overloaded"}}, DONE)), Side.CLIENT).protocol == "openai-chat"
