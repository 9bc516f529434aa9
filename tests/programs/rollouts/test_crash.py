"""Crash files: the refused request as a conversation, tied to its session, and laid beside it block by block."""

import json
from dataclasses import replace
from typing import Any

import pytest

from inspector.conversation.model import Conversation, Fact, Kind
from inspector.demo.rollouts_incident import CRASH, ERROR, SESSION, incident_files
from inspector.presentation.conversation.recorded_errors import recorded_errors
from inspector.programs.formats import Cell, Record
from inspector.programs.rollouts.alignment import aligned, ending
from inspector.programs.rollouts.format import ROLLOUTS
from inspector.programs.rollouts.projection import convert
from inspector.programs.rollouts.readers import read
from inspector.rules.base import case_of
from tests.programs.rollouts.session_files import a, call, lines, session, text, thinking, u

FILES = incident_files()
CRASH_KEY, MESSAGES_KEY = f"crashes/{CRASH}.txt", f"sessions/{SESSION}/messages.jsonl"


def held(**changed: Any) -> list[Conversation]:
    """The conversations of the incident; `changed` are other values in its crash file, `...` leaves one out."""
    crash = {name: value for name, value in {**json.loads(FILES[CRASH_KEY]), **changed}.items() if value is not ...}
    files = FILES | {CRASH_KEY: json.dumps(crash).encode()}
    return [
        each.conversation for each in ROLLOUTS.read(Record(f".rollouts/{key}", Cell(data, "file")) for key, data in sorted(files.items()))
    ]


def test_a_crash_is_the_refused_list_and_its_error() -> None:
    session_, crash = held()
    assert (crash.native_id, crash.fact("session"), crash.fact("linkedBy")) == (f"crash:{CRASH}", SESSION, "content")
    assert session_.fact("crashes") == f"crash:{CRASH}"
    assert (crash.fact("error"), crash.fact("errorType"), crash.fact("model")) == (ERROR, "BadRequestError", "claude-opus-4-5")
    assert crash.chunks[-1].kind is Kind.ERROR and crash.chunks[-1].text == ERROR
    (named,) = [chunk for chunk in crash.chunks if (chunk.msg_idx, chunk.chunk_idx) == (5, 3)]
    assert named.kind is Kind.THINKING and "interrupted" in named.text


def test_its_error_is_among_the_recorded_ones() -> None:
    recorded = recorded_errors(case_of(held()[1], "rollouts"))
    assert [each.text.startswith("Error code: 400") for each in recorded] == [True]


def test_the_request_is_read_and_sent_as_it_stood() -> None:
    crash = held()[1]
    assert convert(read(crash).messages).values == json.loads(FILES[CRASH_KEY])["messages"]


@pytest.mark.parametrize(
    ("changed", "link"),
    [
        ({"session_id": SESSION, "messages": []}, (SESSION, "session_id")),
        ({"session_id": "20200101_000000_aaaaaa"}, (SESSION, "content")),
        ({"messages": ..., "timestamp": "2025-12-23T15:30:00"}, (SESSION, "time")),
        ({"messages": ..., "timestamp": "2025-12-24T15:30:00"}, (None, None)),
        ({"messages": [{"role": "user", "content": "hi"}], "timestamp": 5}, (None, None)),
    ],
)
def test_by_what_a_crash_is_tied_to_its_session(changed: dict[str, Any], link: tuple[str | None, str | None]) -> None:
    session_, crash = held(**changed)
    assert (crash.fact("session"), crash.fact("linkedBy")) == link
    assert (session_.fact("crashes") is not None) == (link[0] is not None)


def test_newest_first_and_unreadable_ones_among_them() -> None:
    files = {**FILES, "crashes/20251224_000000_aaaaaa.txt": b"not json", "crashes/20251222_000000_aaaaaa.txt": b"[]"}
    found = [
        each.conversation for each in ROLLOUTS.read(Record(f".rollouts/{key}", Cell(data, "file")) for key, data in sorted(files.items()))
    ]
    assert [each.native_id for each in found[1:]] == ["crash:20251224_000000_aaaaaa", f"crash:{CRASH}", "crash:20251222_000000_aaaaaa"]
    assert [each.chunks[0].damage for each in found[1::2]] == ["not-json", "not-object"]


@pytest.mark.parametrize(
    "listed", [None, 5, {}, [5, None, []], [{"role": 5}], [{"role": "user", "content": [5, {"type": "tool_use"}, {"type": ["x"]}]}]]
)
def test_hostile_lists_are_read(listed: Any) -> None:
    session_, crash = held(messages=listed, error_message={"a": 1}, session_id=7)
    assert crash.chunks[-1].kind is Kind.ERROR
    aligned(session_, crash)


def test_the_named_block_is_found_in_the_store() -> None:
    found = aligned(*held())
    (piece,) = found.named
    assert piece.path == "messages.5.content.3" and piece.stored is not None and piece.is_equal
    assert (piece.stored.msg_idx, piece.stored.chunk_idx) == (16, 0)
    assert found.version.startswith("merged as stored") and "lines 15-16: 2 responses merged" in found.says[1]
    assert found.cause == found.says[1]
    assert all(each.stored is not None and each.is_equal for each in found.pieces)


def test_serialization_is_ruled_out_where_every_thinking_block_is_equal() -> None:
    assert aligned(*held()).ruled_out[0] == (
        "serialization: all 4 thinking blocks of the request came byte for byte from the store, signatures included."
    )


@pytest.mark.parametrize("name", ["thinking", "signature"])
def test_one_changed_byte_rules_nothing_out(name: str) -> None:
    crash = json.loads(FILES[CRASH_KEY])
    block = crash["messages"][5]["content"][3]
    block[name] = block[name][:-1] + ("~" if name == "thinking" else "+")
    found = aligned(*held(messages=crash["messages"]))
    assert not any("serialization" in sentence for sentence in found.ruled_out)
    assert any("messages.5.content.3" in sentence and "altered" in sentence for sentence in found.says)


def test_what_the_session_said_after_the_crash_does_not_matter() -> None:
    more = lines({**u("again"), "timestamp": "2025-12-24T00:00:00"}, {**a(thinking("new")), "timestamp": "2025-12-24T00:00:01"})
    files = FILES | {MESSAGES_KEY: FILES[MESSAGES_KEY] + more}
    found = [
        each.conversation for each in ROLLOUTS.read(Record(f".rollouts/{key}", Cell(data, "file")) for key, data in sorted(files.items()))
    ]
    assert all(piece.is_equal for piece in aligned(*found).pieces)


def test_a_request_with_a_placeholder_result_is_replayed_by_the_present_code() -> None:
    held_ = lines(u(), a(thinking("x"), call("1")), a(text("y")), u("and"))
    records = [
        Record(f".rollouts/sessions/{SESSION}/{name}", Cell(data, "file"))
        for name, data in (("messages.jsonl", held_), ("session.json", session().encode()))
    ]
    (alone,) = ROLLOUTS.read(records)
    body = convert(read(alone.conversation).messages).values
    crash = Record(".rollouts/crashes/c.txt", Cell(json.dumps({"messages": body, "error_message": "messages.2: refused"}).encode(), "file"))
    found = aligned(*(each.conversation for each in ROLLOUTS.read([crash, *records])))
    assert "as since cd8a0c9" in found.version and all(piece.is_equal for piece in found.pieces)
    (made_up,) = found.named
    assert made_up.stored is None and "like no stored block" in found.says[0]


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({}, "rollouts-before-cd8a0c9"),
        # What the request itself shows goes before the date: who updates late runs old code.
        ({"timestamp": "2026-02-01T00:00:00"}, "rollouts-before-cd8a0c9"),
        ({"messages": ..., "session_id": SESSION}, "rollouts-before-cd8a0c9"),
        ({"messages": ..., "session_id": SESSION, "timestamp": "2025-12-23T17:48:59"}, "rollouts-before-cd8a0c9"),
        ({"messages": ..., "session_id": SESSION, "timestamp": "2025-12-23T17:49:00"}, "rollouts"),
        ({"messages": ..., "session_id": SESSION, "timestamp": ...}, "rollouts"),
    ],
)
def test_the_version_that_failed_is_known_by_the_request_else_by_the_date(changed: dict[str, Any], name: str) -> None:
    assert aligned(*held(**changed)).reader == name


def facts(**values: str) -> Conversation:
    empty = replace(held()[0], chunks=(), facts={})
    return replace(empty, facts={name: Fact(name, value) for name, value in values.items()})


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (facts(status="aborted"), "cancelled"),
        (facts(status="pending", crashes="crash:x"), "crashed"),
        (facts(status="pending", lastActivityAt="1000000"), "running"),
        (facts(status="pending", lastActivityAt="1"), "open"),
        (facts(status="pending", lastActivityAt="1", tags='{"sliced": "true", "slice_spec": "0:5"}'), "cut"),
        (facts(status="completed"), "completed"),
    ],
)
def test_cancelled_crashed_running_and_cut_are_told_apart(found: Conversation, word: str) -> None:
    assert ending(found, taken_at=1_000_500).word == word


def test_results_stand_behind_their_calls() -> None:
    crash = held(messages=[{"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "n", "input": {}}]},
                           {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "x"}, {"type": "text", "text": "y"}]}])[1]  # fmt: skip
    assert [(chunk.role, chunk.msg_idx) for chunk in crash.chunks[:-1]] == [("assistant", 0), ("tool", 1), ("user", 1)]


def test_a_copy_of_the_folder_in_itself_hides_no_session_and_no_crash() -> None:
    """`cp -r rollouts rollouts/backup`: two crash files with one name were one conversation, and then the whole folder was refused."""
    keys = [f"rollouts/{below}{key}" for below in ("", "backup/rollouts/") for key in FILES]
    records = [Record(key, Cell(FILES[key.rpartition("rollouts/")[2]], "file")) for key in sorted(keys)]
    ids = [stored.conversation.native_id for stored in ROLLOUTS.read(records)]
    assert len(ids) == len(set(ids)) == 4
    own, copy = sorted(name for name in ids if name.startswith("crash:"))
    assert own == f"crash:{CRASH}" and copy == f"{own} rollouts/backup/rollouts/{CRASH_KEY}"
