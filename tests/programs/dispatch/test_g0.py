"""The old Dispatch store as records: kinds, names, messages, and rows that no program should have written."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from inspector.conversation.model import Conversation, Kind
from inspector.conversation.queries import true_messages
from inspector.presentation.whatif.differences import compare_cases, compared_formats
from inspector.programs.catalogue import FORMATS
from inspector.programs.dispatch.g0 import DISPATCH_G0
from inspector.programs.formats import Cell, Record, Shape
from inspector.projections.catalogue import projection
from inspector.readers.catalogue import UnknownReader, names, reader
from inspector.rules.base import Finding, case_of, findings
from inspector.rules.catalogue import RULES

CHUNK_COLUMNS = ("id", "tab_id", "seq", "turn_id", "step", "role", "type", "data_json", "created_at")
CALL = {"callId": "a", "name": "ls", "arguments": {"path": "."}}
RESULT = {"callId": "a", "name": "ls", "result": "f", "isError": False}


def chunk(seq: object, role: object, kind: object, data: object, step: object = 0, turn: object = "t1", tab: object = "tab") -> Record:
    text = data if isinstance(data, str) or data is None else json.dumps(data)
    row = dict(zip(CHUNK_COLUMNS, (f"row{seq}", tab, seq, turn, step, role, kind, text, 1_750_000_000_000), strict=True))
    return Record(f"chunks:{tab}:{seq}", Cell(json.dumps(row).encode()))


def read(*records: Record) -> Conversation:
    (stored,) = DISPATCH_G0.read(records)
    return stored.conversation


def found(conversation: Conversation) -> list[Finding]:
    return findings(case_of(conversation, "exact", taken_at=1_760_000_000_000), RULES)


def turn() -> Iterator[Record]:
    """A user's question and an answer in two steps, each with a tool (the example of the cache panel)."""
    yield chunk(0, "user", "text", {"text": "go"})
    for step, name in enumerate("ab"):
        first = 1 + step * 4
        yield chunk(first, "assistant", "text", {"text": f"text{step}"}, step)
        yield chunk(first + 1, "assistant", "thinking", {"text": "hm", "metadata": {"signature": "s"}}, step)
        yield chunk(first + 2, "assistant", "tool_call", {**CALL, "callId": name}, step)
        yield chunk(first + 3, "tool", "tool_result", {**RESULT, "callId": name}, step)


def test_a_step_is_an_assistant_message_and_its_tool_batch() -> None:
    messages = true_messages(read(*turn()).chunks)
    assert [(message.role, message.seqs) for message in messages] == [
        ("user", (0,)),
        ("assistant", (1, 2, 3)),
        ("tool", (4,)),
        ("assistant", (5, 6, 7)),
        ("tool", (8,)),
    ]


def test_user_rows_are_a_message_each_and_a_new_turn_starts_a_message() -> None:
    said = [chunk(seq, "user", "text", {"text": "go"}) for seq in (0, 1)]
    answers = [chunk(2, "assistant", "text", {"text": "x"}), chunk(3, "assistant", "text", {"text": "y"}, turn="t2")]
    assert [message.seqs for message in true_messages(read(*said, *answers).chunks)] == [(0,), (1,), (2,), (3,)]


def test_a_deleted_row_parts_no_message() -> None:
    records = [record for record in turn() if not record.key.endswith(":2")]
    conversation = read(*records)
    assert [message.seqs for message in true_messages(conversation.chunks)][1] == (1, 3)
    assert {finding.code for finding in found(conversation)} == {"STORE203"}


def test_payloads_have_our_names_and_the_row_keeps_its_own() -> None:
    chunks = read(*turn()).chunks
    assert chunks[3].payload == {"type": "tool-call", "toolCallId": "a", "toolName": "ls", "input": {"path": "."}}
    assert chunks[4].payload == {"type": "tool-result", "toolCallId": "a", "toolName": "ls", "content": "f", "isError": False}
    assert chunks[2].payload["metadata"] == {"signature": "s"} and chunks[2].at == 1_750_000_000_000
    assert json.loads(json.loads(chunks[3].raw)["data_json"]) == CALL


def test_a_member_of_one_of_our_names_displaces_nothing() -> None:
    (only,) = read(chunk(0, "assistant", "tool_call", {**CALL, "toolCallId": 5, "type": "x"})).chunks
    assert (only.call_id, only.payload["type"]) == ("a", "tool-call")


def test_error_system_and_structured_results() -> None:
    chunks = read(
        chunk(0, "assistant", "error", {"message": "busy", "statusCode": 429}),
        chunk(1, "system", "system", {"kind": "notice", "text": "reloaded"}),
        chunk(2, "assistant", "tool_result", {**RESULT, "result": {"lines": 2}, "shellOutput": {"exit": 0}}),
    ).chunks
    assert [(each.kind, each.role, each.text) for each in chunks] == [
        (Kind.ERROR, "assistant", "busy"),
        (Kind.SYSTEM, "system", "reloaded"),
        (Kind.TOOL_RESULT, "tool", '{"lines":2}'),
    ]
    assert chunks[0].payload["code"] == "429"


def test_a_sound_conversation_has_no_finding_though_it_has_no_counter_and_no_index() -> None:
    conversation = read(*turn(), chunk(9, "assistant", "text", {"text": "done"}, 2))
    assert found(conversation) == []
    prompt = projection("dispatch-openai").project(reader("exact").read(conversation).messages)
    assert [message.value["role"] for message in prompt.messages] == ["user", "assistant", "tool", "assistant", "tool", "assistant"]


def test_an_echoed_result_is_found() -> None:
    echo = [chunk(seq, "tool", "tool_result", RESULT) for seq in range(2, 14)]
    conversation = read(chunk(0, "user", "text", {"text": "go"}), chunk(1, "assistant", "tool_call", CALL), *echo)
    (repeated,) = [finding for finding in found(conversation) if finding.code == "TOOL206"]
    assert repeated.total == 11


@pytest.mark.parametrize(
    ("record", "damage"),
    [
        (chunk(0, "user", "text", "{broken"), "not-json"),
        (chunk(0, "user", "text", "\udcff"), "not-utf8"),
        (chunk(0, "user", "text", "null"), "not-object"),
        (chunk(0, "user", "text", None), "not-text"),
        (chunk(0, "user", "video", {"text": "x"}), "unknown-type"),
        (chunk(0, "user", None, {"text": "x"}), "unknown-type"),
        (chunk(0, "assistant", "tool_call", {"callId": "a"}), "missing-field"),
        (chunk(0, "tool", "tool_result", {**RESULT, "isError": "no"}), "wrong-type"),
        (chunk(0, "robot", "text", {"text": "x"}), "wrong-type"),
        (chunk(0, {"blob": "00"}, "text", {"text": "x"}), "wrong-type"),
        (chunk("x", "user", "text", {"text": "x"}), "wrong-type"),
        (chunk(None, "user", "text", {"text": "x"}, turn=None, tab=None), "wrong-type"),
        (chunk(0, "user", "text", "[" * 5000), "too-deep"),
    ],
)
def test_what_cannot_be_read_is_an_unreadable_chunk_with_a_reason(record: Record, damage: str) -> None:
    conversation = read(record)
    (only,) = conversation.chunks
    assert (only.kind, only.damage) == (Kind.UNREADABLE, damage) and only.reason
    assert {"STORE101", "STORE102"} & {finding.code for finding in found(conversation)}
    for name in names("dispatch-g0"):
        assert not reader(name).read(conversation).failure


@pytest.mark.parametrize("value", [b"", b"null", b"[]", b"{", b'{"seq":true}'])
def test_a_record_that_is_no_row_raises_nothing(value: bytes) -> None:
    found(read(Record("chunks:x:0", Cell(value))))


def test_only_the_two_tables_make_it_recognised() -> None:
    shape: dict[str, Any] = {"chunks": CHUNK_COLUMNS, "tabs": ("id", "title")}
    kv = ("namespace", "key", "value")
    scores = {format_.name: format_.sniff(Shape(tables={**shape, "kv": kv})) for format_ in FORMATS}
    assert scores["dispatch"] > scores["dispatch-g0"] > 0
    assert DISPATCH_G0.sniff(Shape(tables={"chunks": CHUNK_COLUMNS})) == 0
    assert DISPATCH_G0.sniff(Shape(tables={**shape, "chunks": ("id", "text")})) == 0
    assert names("dispatch-g0") == ["exact"]


def test_a_loader_of_today_is_no_reader_of_the_old_store() -> None:
    conversation = read(*turn())
    for name in ("dispatch-legacy", "dispatch-role-split", "dispatch-global-index", "dispatch-legacy+r1"):
        with pytest.raises(UnknownReader, match="does not read dispatch-g0: name one of exact"):
            case_of(conversation, name)
        with pytest.raises(UnknownReader):
            compare_cases(case_of(conversation, "exact"), name, "exact", "dispatch-openai", "openai-chat")
    assert compared_formats("dispatch-legacy", "exact") == ["dispatch", "evidence-bundle"]
