"""rollouts' loader by its verdicts and its repair by its golden table, defects included."""

import json
import re
from typing import Any

import pytest

from inspector.conversation.model import Kind, Message
from inspector.programs.rollouts.projection import convert
from inspector.programs.rollouts.readers import INTERRUPTED, read
from inspector.readers.catalogue import names, reader
from tests.folding import in_one_test
from tests.programs.rollouts.session_files import (
    GOLDEN_SESSION,
    a,
    call,
    conversation,
    lines,
    message,
    r,
    session,
    stored,
    text,
    thinking,
    u,
)


def block(**changed: Any) -> bytes:
    return lines(message("assistant", [call("1") | changed]))


ENDPOINT = json.loads(GOLDEN_SESSION)["endpoint"]
VERDICTS = [
    ("unknown key in a message", lines(u() | {"x": 1}), GOLDEN_SESSION, ""),
    ("unknown key in a block", block(x=1), GOLDEN_SESSION, ""),
    ("block without type", lines(message("assistant", [{"text": "hi"}])), GOLDEN_SESSION, ""),
    ("redacted_thinking", lines(message("assistant", [{"type": "redacted_thinking", "data": "x"}])), GOLDEN_SESSION, "UnionMatchError"),
    ("tool_use", lines(message("assistant", [{"type": "tool_use", "id": "1"}])), GOLDEN_SESSION, "UnionMatchError"),
    ("arguments a string", block(arguments="{}"), GOLDEN_SESSION, "UnionMatchError"),
    ("arguments a list", block(arguments=[]), GOLDEN_SESSION, "UnionMatchError"),
    ("signature no string", lines(message("assistant", [thinking("x") | {"thinking_signature": 5}])), GOLDEN_SESSION, "UnionMatchError"),
    ("content an object", lines(message("user", {"a": 1})), GOLDEN_SESSION, "UnionMatchError"),
    ("content null", lines(message("user", None)), GOLDEN_SESSION, ""),
    ("content []", lines(message("user", [])), GOLDEN_SESSION, ""),
    ("content missing", b'{"role": "user"}\n', GOLDEN_SESSION, ""),
    ("integer timestamp", lines(message("user", "x", timestamp=5)), GOLDEN_SESSION, "WrongTypeError"),
    ("torn line", lines(u()) + b'{"role": "us', GOLDEN_SESSION, "JSONDecodeError"),
    ("malformed line in the middle", b"{]\n" + lines(u()), GOLDEN_SESSION, "JSONDecodeError"),
    ("blank lines", b"\n\n" + lines(u()) + b"  \n", GOLDEN_SESSION, ""),
    ("missing messages.jsonl", None, GOLDEN_SESSION, ""),
    ("no session.json", lines(u()), None, "FileNotFoundError"),
    ("session.json no JSON", lines(u()), "{", "JSONDecodeError"),
    ("unknown status", lines(u()), session(status="waiting"), "ValueError"),
    ("unknown endpoint key", lines(u()), session(endpoint=ENDPOINT | {"thinking_budget": 1}), "TypeError"),
    ("no endpoint", lines(u()), session(endpoint=...), "KeyError"),
    ("no environment", lines(u()), session(environment=...), "KeyError"),
    ("no environment type", lines(u()), session(environment={}), "KeyError"),
]


@in_one_test(("messages", "meta", "error"), [row[1:] for row in VERDICTS], ids=[row[0] for row in VERDICTS])
def test_the_loader_says_what_upstreams_says(messages: bytes | None, meta: str | None, error: str) -> None:
    reading = read(stored(messages, meta).conversation)
    assert reading.failure.partition(":")[0] == error
    assert not (reading.failure and reading.messages)


def test_what_is_dropped_without_a_word_is_a_warning() -> None:
    reading = read(conversation(u() | {"x": 1}, u() | {"x": 2}, a(text("hi") | {"cites": 1})))
    assert [re.sub(" is dropped.*", "", warning) for warning in reading.warnings] == [
        "the unknown key text.cites of 1 lines",
        "the unknown key x of 2 lines",
    ]


GOLDEN = [
    ("u A(1) A(2) R2 u", "u A(1) S1 A(2) R2 u"),
    ("u A(1,2) R1 u", "u A(1,2) R1 S2 u"),
    ("u A(1) t u", "u A(1) S1 t u"),
    ("u A(1)", "u A(1)"),
    ("u A(1) A(2)", "u A(1) S1 A(2)"),
    ("u A(1,2) R1 u R2 u", "u A(1,2) R1 S2 u R2 u"),
    ("u A(1) A(2) R2 R1 u", "u A(1) S1 A(2) R2 R1 u"),
    ("u A(1) R1 R1 u", "u A(1) R1 R1 u"),
    ("u R9 u", "u R9 u"),
    ("u A(1) R1 A(1) R1 u", "u A(1) R1 A(1) R1 u"),
    ("u A(1) s u", "u A(1) s S1 u"),
]


def spelled(word: str) -> dict[str, Any]:
    if word.startswith("A("):
        return a(*(call(each) for each in word[2:-1].split(",")))
    if word.startswith("R"):
        return r(word[1:])
    return {"u": u(), "t": a(text("text")), "s": message("system", [text("rules")])}[word]


def shown(found: Message) -> str:
    calls = [chunk.call_id for chunk in found.chunks if chunk.kind is Kind.TOOL_CALL]
    if calls:
        return f"A({','.join(calls)})"
    if found.role == "tool":
        return f"{'S' if found.synthetic else 'R'}{found.chunks[0].call_id}"
    return {"user": "u", "assistant": "t", "system": "s"}[found.role]


@pytest.mark.parametrize(("given", "wanted"), GOLDEN, ids=[f"row {number}" for number in range(1, 12)])
def test_golden_table_of_the_repair(given: str, wanted: str) -> None:
    reading = read(conversation(*(spelled(word) for word in given.split())))
    assert " ".join(shown(each) for each in reading.messages) == wanted


@pytest.mark.parametrize(
    ("given", "warning"),
    [
        (GOLDEN[5][0], "the call 2 has two results, next to the repair's synthetic one"),
        (GOLDEN[6][0], "the call 1 has two results, next to the repair's synthetic one"),
        (GOLDEN[7][0], "the call 1 has two results, which the repair leaves so"),
        (GOLDEN[8][0], "has no call before it"),
        (GOLDEN[9][0], "is that of two calls"),
    ],
)
def test_what_the_repair_breaks_or_leaves_is_said(given: str, warning: str) -> None:
    assert any(warning in found for found in read(conversation(*(spelled(word) for word in given.split()))).warnings)


def test_a_placeholder_result_has_upstreams_words_and_is_reported() -> None:
    reading = read(conversation(u(), a(call("1")), u()))
    (made,) = [each for each in reading.messages if each.synthetic]
    assert made.chunks[0].text == INTERRUPTED and reading.report["firstSyntheticResult"] == "1"


def test_a_call_that_a_system_message_follows_at_the_end_is_filtered() -> None:
    reading = read(conversation(u(), a(text("I call"), call("1")), message("system", [text("x")])))
    assert [shown(each) for each in reading.messages] == ["u", "t", "s"] and reading.dropped[0].chunks[0].call_id == "1"


def test_thinking_of_another_provider_becomes_text_and_of_the_same_stays() -> None:
    other = a(thinking("hm")) | {"provider": "openai", "api": "openai-responses"}
    chunks = [each.chunks[0] for each in read(conversation(u(), a(thinking("own")), other)).messages]
    assert [chunk.kind for chunk in chunks] == [Kind.TEXT, Kind.THINKING, Kind.TEXT] and chunks[2].text == "<thinking>\nhm\n</thinking>"


def test_thinking_without_provider_is_taken_for_that_of_the_first_that_names_one() -> None:
    nameless = a(thinking("hm")) | {"provider": None, "api": None}
    kinds = [each.chunks[0].kind for each in read(conversation(nameless, a(thinking("x")) | {"provider": "openai"})).messages]
    assert kinds == [Kind.TEXT, Kind.TEXT]
    assert read(conversation(nameless)).messages[0].chunks[0].kind is Kind.THINKING


def sent(*messages: dict[str, Any]) -> list[dict[str, Any]]:
    return convert(read(conversation(*messages)).messages).values


def test_the_converter_begins_with_a_user() -> None:
    assert sent(a(text("hi"))) == [{"role": "user", "content": "Begin."}, {"role": "assistant", "content": "hi"}]


def test_the_converter_merges_neighbours_and_glues_results_to_what_the_user_says() -> None:
    found = sent(u(), a(text("x")), a(thinking("y"), call("1")), r("1"), u("and"))
    assert found[1]["content"] == [
        {"type": "text", "text": "x"}, {"type": "thinking", "thinking": "y", "signature": "SIG"}, {"type": "tool_use", "id": "1", "name": "bash", "input": {}},
    ]  # fmt: skip
    assert found[2] == {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "1", "content": "done"}, {"type": "text", "text": "and"}],
    }


@pytest.mark.parametrize("signature", [None, "", "  "])
def test_thinking_without_a_signature_goes_as_text(signature: str | None) -> None:
    assert sent(u(), a(thinking("hm", signature)))[1]["content"] == "<thinking>\nhm\n</thinking>"


def test_the_system_prompt_leaves_the_list_and_a_plain_one_is_lost() -> None:
    listed = convert(read(conversation(message("system", [text("a"), text("b")]), u())).messages)
    assert listed.system == "a\nb" and listed.sources()["system.1"] == [2] and len(listed.messages) == 1
    plain = convert(read(conversation(message("system", "rules"), u())).messages)
    assert plain.system is None and "plain string" in plain.lost[0].why


@pytest.mark.parametrize("content", [None, []])
def test_empty_content_is_where_the_turn_dies(content: Any) -> None:
    assert "AssertionError" in convert(read(conversation(u(), message("assistant", content))).messages).lost[0].why


def test_every_part_points_at_its_chunk() -> None:
    prompt = convert(read(conversation(u(), a(text("x"), call("1")), a(call("2")), r("2"), u("end"))).messages)
    sources = prompt.sources()
    assert sources["messages.1.content.1"] == [3] and sources["messages.3.content.0"] == [4] and sources["messages.4.content.0"] == [5]
    assert "messages.2.content.0" not in sources


def test_the_catalogue_offers_it_for_its_format_only() -> None:
    assert reader("rollouts").name == names("rollouts")[0] == "rollouts" and reader("as-sent").name == "as-sent"
    assert not {*names("rollouts")} & {*names("dispatch")}


INTERRUPTED_CALL = (u("go"), a(thinking("one"), call("1")), a(thinking("two"), call("2")), r("2"), u("and?"))


@pytest.mark.parametrize(
    ("name", "blocks"),
    [
        ("rollouts", [["thinking", "tool_use"], ["tool_result"], ["thinking", "tool_use"]]),
        ("rollouts-before-cd8a0c9+filter", [["thinking", "thinking", "tool_use"]]),
        ("rollouts-before-cd8a0c9", [["thinking", "tool_use", "thinking", "tool_use"]]),
    ],
)
def test_each_version_sends_an_interrupted_call_as_it_did(name: str, blocks: list[list[str]]) -> None:
    assert name in names("rollouts") and reader(name).name == name
    reading = reader(name).read(conversation(*INTERRUPTED_CALL))
    sent = [[block["type"] for block in each["content"]] for each in convert(reading.messages).values[1:-1]]
    assert (reading.reader, sent) == (name, blocks)


@pytest.mark.parametrize("name", ["rollouts", "rollouts-before-cd8a0c9+filter", "rollouts-before-cd8a0c9"])
def test_what_no_version_loads_is_loaded_by_none(name: str) -> None:
    assert reader(name).read(stored(lines(u()) + b'{"role": "us', GOLDEN_SESSION).conversation).failure.startswith("JSONDecodeError")
