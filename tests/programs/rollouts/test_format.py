"""rollouts sessions as they are read: golden bytes, eras, line ends, damage; nothing of a file is lost or guessed."""

import json
from pathlib import Path
from typing import Any

import pytest

from inspector.conversation import queries
from inspector.conversation.model import Conversation, Kind
from inspector.programs.formats import Cell, Record, Shape
from inspector.programs.rollouts.format import ROLLOUTS
from inspector.programs.rollouts.lines import join, split
from inspector.programs.rollouts.writing import line_text, session_text
from inspector.sources.reading import read_store
from tests.programs.rollouts.session_files import (
    FOLDER,
    GOLDEN_LINE,
    GOLDEN_SESSION,
    ID,
    a,
    call,
    conversation,
    lines,
    message,
    r,
    records,
    session,
    stored,
    text,
    thinking,
    u,
    write,
)  # fmt: skip


def kinds(found: Conversation) -> list[tuple[str, str, int | None, int | None]]:
    return [(chunk.role, chunk.kind.value, chunk.msg_idx, chunk.chunk_idx) for chunk in found.chunks]


def test_golden_line_comes_back_byte_for_byte() -> None:
    assert line_text(json.loads(GOLDEN_LINE)) == GOLDEN_LINE


def test_golden_session_comes_back_byte_for_byte() -> None:
    assert session_text(json.loads(GOLDEN_SESSION)) == GOLDEN_SESSION


def test_a_raw_line_separator_stays_inside_its_line() -> None:
    found = stored(GOLDEN_LINE.encode() + b"\n").conversation
    assert kinds(found) == [("assistant", "thinking", 0, 0), ("assistant", "text", 0, 1), ("assistant", "tool-call", 0, 2)]
    assert found.chunks[0].text == "日本 \u2028 x" and found.chunks[0].payload["signature"] == "SIG"
    assert found.chunks[2].payload["input"] == {"b": 1, "a": [1.0, None]}
    assert {chunk.raw for chunk in found.chunks} == {GOLDEN_LINE.encode()}


@pytest.mark.parametrize("data", [b"", b"\n", b"a\nb", b"a\r\n\r\nb\n\n", b"\n\n a \n", b"a\x85b\nc\n", "a\u2028b\n".encode()])
def test_lines_joined_again_are_the_file(data: bytes) -> None:
    found, behind = split(data)
    assert join(found, behind) == data and [line.index for line in found] == list(range(len(found)))


def test_messages_are_those_of_the_file() -> None:
    found = conversation(
        message("system", [text("be good")]), u(), a(thinking("hm"), text("I call"), call("1"), call("2")), r("1"), r("2"), a(text("end"))
    )
    assert kinds(found)[:2] == [("system", "system", 0, 0), ("user", "text", 1, 0)]
    assert [(each.role, len(each.chunks)) for each in queries.true_messages(found.chunks)] == [
        ("system", 1), ("user", 1), ("assistant", 4), ("tool", 1), ("tool", 1), ("assistant", 1),
    ]  # fmt: skip
    assert [chunk.seq for chunk in found.chunks] == list(range(1, 10))
    assert [chunk.call_id for chunk in found.chunks if chunk.kind is Kind.TOOL_RESULT] == ["1", "2"]


def test_facts_of_the_session() -> None:
    endpoint = json.loads(GOLDEN_SESSION)["endpoint"] | {"thinking": {"type": "enabled", "budget_tokens": 5}, "api_base": "http://x"}
    meta = session(endpoint=endpoint, parent_id="p", branch_point=3, tags={"doctor": "fixed"}, reward=0.5, vcs={"type": "git"})
    found = stored(lines(u()), meta).conversation
    wanted = {
        "status": "pending", "model": "m", "provider": "anthropic", "api_base": "http://x", "thinking": "enabled", "parent": "p",
        "compactedFrom": "p", "branchPoint": "3", "tags": '{"doctor":"fixed"}', "reward": "0.5", "era": "C", "unknownKeys": "vcs",
        "createdAt": "1795195534075", "updatedAt": "1795195534075", "lastActivityAt": "1795195535000",
    }  # fmt: skip
    assert {name: found.fact(name) for name in wanted} == wanted
    assert "read as UTC" in (found.fact("timeZone") or "") and found.title == "go"


@pytest.mark.parametrize(("content", "word"), [(None, "null"), ([], "[]"), (..., "missing")])
def test_a_message_without_content_is_a_control_chunk_that_says_so(content: Any, word: str) -> None:
    line = message("assistant", content)
    if content is ...:
        del line["content"]
    (chunk,) = conversation(line).chunks
    assert (chunk.kind, chunk.payload["empty"]) == (Kind.CONTROL, word)


def test_what_a_stream_stored_wrongly_is_kept_as_stored() -> None:
    """The five shapes of upstream's stream aggregation: run-together signatures, nothing of dropped blocks, arguments that did not parse."""
    broken = call("1") | {"parse_error": "Invalid JSON", "raw_arguments": '{"a": '}
    found = conversation(a(thinking("one", "SIG1SIG2"), thinking("two", "SIG1SIG2"), text("x"), broken))
    assert [chunk.payload.get("signature") for chunk in found.chunks[:2]] == ["SIG1SIG2", "SIG1SIG2"]
    held = found.chunks[3].payload
    assert held["input"] == {} and held["stored"]["raw_arguments"] == '{"a": ' and held["stored"]["parse_error"] == "Invalid JSON"
    assert not any(chunk.kind is Kind.REDACTED_THINKING for chunk in found.chunks)
    unsigned = conversation(a(thinking("cut", None)))
    assert "signature" not in unsigned.chunks[0].payload


def test_metadata_of_a_message_is_kept() -> None:
    found = conversation(message("assistant", [text("hi") | {"text_signature": "msg_1"}], details={"diff": "+x"}))
    assert found.chunks[0].payload["stored"] == {
        "text_signature": "msg_1", "provider": "anthropic", "api": "anthropic-messages", "model": "m",
        "timestamp": "2026-11-20T17:25:35.000000", "details": {"diff": "+x"},
    }  # fmt: skip


def test_crlf_lines_are_read_and_their_bytes_kept() -> None:
    found = stored(lines(u(), a(text("x"))).replace(b"\n", b"\r\n")).conversation
    assert [chunk.text for chunk in found.chunks] == ["go", "x"] and all(chunk.raw.endswith(b"}\r") for chunk in found.chunks)


def test_a_torn_tail_is_one_unreadable_chunk_with_its_place() -> None:
    whole = lines(u())
    found = stored(whole + b'{"role": "assistant", "cont').conversation
    torn = found.chunks[1]
    assert (torn.kind, torn.damage, torn.seq, torn.msg_idx) == (Kind.UNREADABLE, "not-json", 2, None)
    assert f"the line at byte {len(whole)}" in torn.reason and "without a line end" in torn.reason
    assert torn.raw == b'{"role": "assistant", "cont'


def test_a_malformed_line_in_the_middle_parts_no_others() -> None:
    found = stored(lines(u()) + b"\xff{]\n" + lines(a(text("x")))).conversation
    assert [chunk.kind for chunk in found.chunks] == [Kind.TEXT, Kind.UNREADABLE, Kind.TEXT]
    assert [chunk.msg_idx for chunk in found.chunks] == [0, None, 2]


def test_a_file_of_no_bytes_is_an_empty_session_and_says_so() -> None:
    found = stored(b"").conversation
    assert not found.chunks and "0 bytes" in (found.fact("trajectory") or "")
    assert stored(None).conversation.fact("trajectory") == "there is no messages.jsonl"


def test_a_leftover_temporary_file_is_a_fact() -> None:
    (found,) = ROLLOUTS.read([*records(lines(u())), Record(f"{FOLDER}/session.tmp", Cell(b"{", "file"))])
    assert "cut off before its rename" in (found.conversation.fact("tmp") or "") and len(found.records) == 3


def test_unknown_blocks_are_kept_whole() -> None:
    image = {"type": "image", "source": {"type": "base64", "data": "x"}}
    found = conversation(
        a({"type": "redacted_thinking", "data": "opaque"}, image, {"type": "tool_use", "id": "1", "name": "n", "input": {"a": 1}})
    )
    assert [chunk.kind for chunk in found.chunks] == [Kind.REDACTED_THINKING, Kind.CONTROL, Kind.TOOL_CALL]
    assert found.chunks[1].payload["block"] == image and found.chunks[1].payload["wire"] == "rollouts"


@pytest.mark.parametrize("content", [{"a": 1}, 5, True, [5], [None], [{"type": "text", "text": 5}], [{"type": "toolCall", "id": 1}]])
def test_a_field_of_a_wrong_type_is_an_unreadable_chunk(content: Any) -> None:
    (chunk,) = conversation(message("assistant", content)).chunks
    assert (chunk.kind, chunk.damage) == (Kind.UNREADABLE, "wrong-type") and chunk.reason


def test_era_b_is_told_by_its_endpoint_and_lines() -> None:
    endpoint = {
        "model": "m",
        "provider": "openai",
        "temperature": 1.0,
        "max_tokens": 1,
        "thinking": True,
        "thinking_budget": 9,
        "extra": {},
    }
    data = b'{"role": "user", "content": "h\\u00e9"}\n{"role": "tool", "content": "x", "tool_call_id": "1", "timestamp": "2025-12-06T00:00:00"}\n'
    found = stored(data, session(endpoint=endpoint)).conversation
    assert found.fact("era") == "B" and found.fact("thinking") == "enabled"
    assert [chunk.text for chunk in found.chunks] == ["hé", "x"]
    assert stored(data).conversation.fact("era") == "B"


ERA_A = (
    b'{"type": "session", "id": "u-1", "timestamp": "2025-12-03T10:00:00", "cwd": "/w", "provider": "openai", "model": "gpt"}\n'
    b'{"type": "message", "timestamp": "2025-12-03T10:00:01", "message": {"role": "user", "content": "hi"}}\n'
    b'{"type": "config_change", "timestamp": "2025-12-03T10:00:02", "endpoint": {"model": "gpt-2"}, "environment_type": "none"}\n'
    b'{"type": "message", "timestamp": "2025-12-03T10:00:03", "message": {"role": "assistant", "content": "hello"}}\n'
)
ERA_A_KEY = "sessions/--home-me-work--/2025-12-03T10-00-00_0b1c.jsonl"


def test_era_a_is_one_file(tmp_path: Path) -> None:
    root = write(tmp_path, {ERA_A_KEY: ERA_A})
    for path in (root, root / "sessions", root / ERA_A_KEY):
        (found,) = read_store(path, "rollouts").conversations
        assert [(chunk.role, chunk.text, chunk.msg_idx) for chunk in found.conversation.chunks] == [
            ("user", "hi", 0),
            ("assistant", "hello", 1),
        ]
        facts = [found.conversation.fact(name) for name in ("era", "model", "cwd")]
        assert facts == ["A", "gpt-2", "/w"] and found.conversation.native_id == "2025-12-03T10-00-00_0b1c"
    assert read_store(root / ERA_A_KEY).format is ROLLOUTS


@pytest.mark.parametrize("below", ["", "sessions", f"sessions/{ID}"])
def test_a_folder_of_any_level_is_recognized(tmp_path: Path, below: str) -> None:
    root = write(
        tmp_path,
        {f"sessions/{ID}/session.json": GOLDEN_SESSION.encode(), f"sessions/{ID}/messages.jsonl": lines(u()), "feedback/all.jsonl": b"{}"},
    )
    found = read_store(root / below)
    assert found.format is ROLLOUTS and [each.conversation.native_id for each in found.conversations] == [ID]
    assert [record.key.rpartition("/")[2] for record in found.conversations[0].records] == ["messages.jsonl", "session.json"]


def test_one_file_of_a_session_answers_what_to_name() -> None:
    assert ROLLOUTS.sniff(Shape(GOLDEN_SESSION.encode(), {}, "session.json")) > 0
    (alone,) = ROLLOUTS.read([Record("session.json", Cell(GOLDEN_SESSION.encode(), "file"))])
    assert "name the folder that holds it" in alone.conversation.chunks[0].reason
    (messages,) = ROLLOUTS.read([Record("messages.jsonl", Cell(lines(u()), "file"))])
    assert [chunk.text for chunk in messages.conversation.chunks] == ["go"]


def test_nothing_else_of_the_folder_is_opened() -> None:
    opened = [
        f"{FOLDER}/session.json",
        f"{FOLDER}/messages.jsonl",
        f"{FOLDER}/session.tmp",
        ".rollouts/crashes/x.txt",
        f".rollouts/{ERA_A_KEY}",
    ]
    others = [
        f"{FOLDER}/environment.json",
        f"{FOLDER}/spans.jsonl",
        ".rollouts/feedback/all.jsonl",
        ".rollouts/config.json",
        ".rollouts/notes.txt",
    ]
    assert [key for key in (*opened, *others) if ROLLOUTS.wants(key)] == opened


def test_sessions_of_one_name_are_told_apart() -> None:
    twice = [Record(f"x/{place}/sessions/{ID}/messages.jsonl", Cell(lines(u(place)), "file")) for place in ("a", "b")]
    assert [each.conversation.native_id for each in ROLLOUTS.read(twice)] == [ID, f"x/b/sessions/{ID}"]


def test_unknown_keys_are_kept_in_the_bytes() -> None:
    found = conversation(message("user", "go", stop_reason="end"), a(text("x") | {"citations": [1]}), r("1"))
    assert b'"stop_reason": "end"' in found.chunks[0].raw and found.chunks[1].payload["stored"]["citations"] == [1]
