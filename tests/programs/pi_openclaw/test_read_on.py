"""A file that begins with one that was read just now is read on from there, and what comes out is what a whole reading gives."""

import json
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.programs.pi_openclaw import entries
from inspector.programs.pi_openclaw.entries import read_session
from inspector.text.at_hand import at_work


def line(value: Any) -> bytes:
    return json.dumps(value).encode()


def message(id_: str | None, parent: str | None, text: str = "hello") -> bytes:
    ids = {"id": id_} if id_ is not None else {}
    return line({"type": "message", **ids, "parentId": parent, "message": {"role": "user", "content": text, "timestamp": 5}})


HEADER = line({"type": "session", "version": 3, "id": "s", "timestamp": "2026-06-09T09:00:00.000Z"})
OF_VERSION_1 = line({"type": "session", "id": "s"})
LINES = (
    HEADER,
    OF_VERSION_1,
    message("a", None),
    message("a", "a", "the same id"),
    message("b", "a"),
    message(None, "b"),
    message("c", "gone") + b"\r",
    b"",
    b"   ",
    b'{"type": "message", "id": "torn", "mess',
    b"\0\0\0",
    b"[1, 2]",
    b"\xff\xfe broken",
    message("d", "c") + message("e", "d"),
    line({"type": "compaction", "id": "f", "parentId": "b", "summary": "short", "firstKeptEntryIndex": 1}),
    line({"type": "leaf", "id": "g", "parentId": "f", "targetId": "b"}),
    line({"type": "unheard-of", "id": "h", "parentId": "g"}),
    b"\xef\xbb\xbf" + message("i", None),
)


def whole(data: bytes) -> dict[str, Any]:
    """Read without anything at hand."""
    return asdict(read_session(data))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(LINES), max_size=12), st.lists(st.sampled_from(LINES), max_size=6), st.booleans())
def test_reading_on_gives_what_reading_the_whole_gives(before: list[bytes], after: list[bytes], ends: bool) -> None:
    stored = b"".join(part + b"\n" for part in before)
    grown = stored + b"\n".join(after) + (b"\n" if ends else b"")
    with at_work():
        first = asdict(read_session(stored))
        second = asdict(read_session(grown))
        assert asdict(read_session(stored)) == first and asdict(read_session(grown)) == second
    assert (first, second) == (whole(stored), whole(grown))


def test_only_the_new_lines_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[int] = []
    scan = entries.scan
    monkeypatch.setattr(entries, "scan", lambda *given: (looked_at.append(found.index) or found for found in scan(*given)))
    stored = b"".join(part + b"\n" for part in (HEADER, message("a", None), message("b", "a")))
    with at_work():
        read_session(stored)
        session = read_session(stored + message("c", "b") + b"\n")
        read_session(bytes(bytearray(stored)))
    assert looked_at == [0, 1, 2, 3] and [chunk.key for chunk in session.chunks] == ["a.0", "b.0", "c.0"]


def test_a_file_without_an_end_of_line_is_read_again() -> None:
    """What comes after it belongs to its last line."""
    stored = HEADER + b"\n" + message("a", None)
    with at_work():
        read_session(stored)
        session = read_session(stored + message("b", "a") + b"\n")
    assert asdict(session) == whole(stored + message("b", "a") + b"\n")


def test_nothing_is_at_hand_after_the_work() -> None:
    stored = HEADER + b"\n" + message("a", None) + b"\n"
    with at_work():
        first = read_session(stored).chunks[0]
        assert read_session(stored).chunks[0] is first
    with at_work():
        assert read_session(stored).chunks[0] is not first


def test_who_changes_what_was_read_changes_only_their_own() -> None:
    stored = HEADER + b"\n" + message("a", None) + b"\n"
    with at_work():
        mine = read_session(stored)
        mine.chunks, mine.states = [], {"damaged": [1]}
        assert asdict(read_session(stored)) == whole(stored)
