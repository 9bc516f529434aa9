"""The table of violations, what one side shows of it, and what it may not claim."""

from typing import Any

import pytest

from inspector.rules.base import Severity
from inspector.streams.catalogue import common_finish, common_usage
from inspector.streams.model import Exchange, Side
from inspector.streams.request_rules import request_facts
from inspector.streams.run import EVIDENCE, one_side
from inspector.streams.violations import ALL, BY_NAME, STREAM_RULES
from tests.folding import in_one_test

from .spoken import (
    ASKED,
    DONE,
    LAST,
    ROLE,
    chat,
    exchange,
    finish,
    judged,
    ndjson,
    sse,
    text,
)
from .violation_cases import CASES, HI, WRAPPER, Said


@in_one_test(
    ("said", "expected"),
    [pytest.param(said, expected, id=f"{row}: {label}") for row, cases in CASES.items() for label, said, expected in cases],
)
def test_what_is_found_is_what_is_wrong(said: Said, expected: str) -> None:
    found = judged(said)

    assert {each.rule.name for each in found.evidence} == set(expected.split()), [each.first for each in found.evidence]


@in_one_test("row", [row.name for row in STREAM_RULES if not row.two_sided])
def test_every_row_of_one_side_fires_and_nearly_fires(row: str) -> None:
    assert row in CASES, f"write the cases of the new row {row} in tests/streams/violation_cases.py: what fires, what nearly does"
    fires = [row in expected.split() for _, _, expected in CASES[row]]

    assert any(fires) and not all(fires)


def test_rows_that_need_both_sides_are_never_found_on_one() -> None:
    assert not {name for cases in CASES.values() for _, _, expected in cases for name in expected.split() if BY_NAME[name].two_sided}


def test_codes_are_numbered_once_and_for_all() -> None:
    assert [row.code for row in STREAM_RULES] == [f"STREAM{100 + number}" for number in range(1, len(STREAM_RULES) + 1)] and len(
        BY_NAME
    ) == len(STREAM_RULES)
    assert {name: BY_NAME[name].code for name in ("premature-terminal", "after-end-write", "tool-name-missing", "terminal-swallowed")} == {
        "premature-terminal": "STREAM101",
        "after-end-write": "STREAM170",
        "tool-name-missing": "STREAM171",
        "terminal-swallowed": "STREAM181",
    }
    assert all(not row.summary.endswith(".") and row.protocols <= ALL for row in STREAM_RULES)


def test_evidence_is_bounded() -> None:
    (found,) = judged(sse(ROLE, HI, finish(), DONE, *[HI] * 100)).evidence

    assert (found.rule.name, len(found.first), found.total) == ("content-after-terminal", EVIDENCE, 100)
    assert found.rule.severity is Severity.ERROR


def test_what_a_proxy_takes_out_again_is_no_fault_of_the_backend() -> None:
    def sides(data: bytes, *sides: Side) -> set[str]:
        one = exchange(data, side=Side.BACKEND, request=ASKED)
        both = Exchange("x", one.happenings, sides, request=ASKED)
        return {each.rule.name for each in one_side(both, Side.BACKEND).evidence}

    assert sides(chat(text(WRAPPER), finish()), Side.BACKEND) == {"wrapper-unparsed"}
    assert sides(chat(text(WRAPPER), finish()), Side.BACKEND, Side.CLIENT) == set()


def test_no_terminal_is_missed_behind_a_record_of_another_framing() -> None:
    found = judged(exchange(sse(ROLE, HI) + ndjson(LAST), protocols={Side.CLIENT: "ollama-chat"}))

    assert [each.rule.name for each in found.evidence] == ["framing-mixed"]
    assert found.protocol == "openai-chat" and "ollama-chat" in found.problems[0]


@in_one_test(
    ("record", "name"),
    [
        ({"candidates": []}, "Gemini"),
        ({"type": "content-delta", "index": 0}, "Cohere"),
        ({"contentBlockDelta": {}}, "Bedrock Converse"),
        ({"type": "conversation.response.started"}, "Mistral conversations"),
        ({"object": "chat.completion", "choices": [{"message": {}}]}, "an OpenAI chat completion that was not streamed"),
        ({"hello": "world"}, "unknown"),
    ],
)
def test_a_dialect_that_is_not_read_is_named(record: dict[str, Any], name: str) -> None:
    found = judged(sse(record))

    assert (found.protocol, found.unsupported, found.evidence) == ("unknown", name, ())
    assert name in found.problems[0]


def test_binary_frames_are_not_judged_as_text() -> None:
    data = b"\x00\x00\x00\xfe\x0b:event-type\x07\x00\x05chunk\r\xff"

    assert (judged(data).unsupported, judged(data).evidence) == ("unknown", ())
    told = judged(exchange(data, content_types={Side.CLIENT: "application/vnd.amazon.eventstream"}))
    assert told.evidence == () and "binary" in told.problems[0]


def test_an_empty_capture_is_no_stream() -> None:
    assert judged(b"").unsupported == "unknown"


def test_common_words() -> None:
    assert (
        common_finish("openai-chat", "tool_calls")
        == common_finish("anthropic", "tool_use")
        == common_finish("ollama-chat", "stop", calls=True)
        == "tool-calls"
    )
    assert common_finish("openai-responses", "completed") == common_finish("anthropic", "end_turn") == "stop"
    assert common_finish("openai-chat", "") == "" and common_finish("openai-chat", "eos") == "eos"
    assert common_usage({"prompt_eval_count": 3, "eval_count": True}) == {"input": 3}


@pytest.mark.slow
@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "http://example.invalid/schema.json"},
        {"$ref": "#"},
        {"type": 7},
        {"$defs": {f"a{i}": {"allOf": [{"$ref": f"#/$defs/a{i + 1}"}] * 2} for i in range(40)} | {"a40": {}}, "$ref": "#/$defs/a0"},
        {"properties": {"query": {"pattern": "(a+)+$"}}},
        {"patternProperties": {"(a+)+$": {}}, "additionalProperties": False},
        {"properties": {"query": {"multipleOf": 1e-320}}},
    ],
    ids=["elsewhere", "endless", "wrong", "exponential", "a pattern", "patterns of names", "a division"],
)
def test_a_hostile_schema_judges_nothing(schema: dict[str, Any]) -> None:
    request = request_facts({"tools": [{"name": "search", "input_schema": schema}]})

    assert list(request.judged("search", {"query": "a" * 40 + "!", "n": 10**400})) == []
