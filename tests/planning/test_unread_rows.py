"""Which rows that cannot be read a diff shows: a reviewer of a path that leads around one has to see it, and no others."""

import pytest

from inspector.conversation.model import Chunk, Kind
from inspector.planning.preview import DiffRow, _with_unread


def chunk(seq: int, kind: Kind = Kind.TEXT) -> Chunk:
    return Chunk(key=str(seq), seq=seq, role="user", kind=kind, payload={}, raw=b"")


def row(op: str, seq: int) -> DiffRow:
    return DiffRow(op, None if op in ("restored", "inserted") else chunk(seq), None if op == "removed" else chunk(seq))


@pytest.mark.parametrize(
    ("ops", "shown"),
    [
        ({1: "same", 3: "same", 5: "changed", 7: "same", 9: "same"}, [4, 6]),
        ({1: "restored", 3: "restored", 9: "appended"}, [2, 4, 6, 8, 10]),
        ({1: "same", 9: "removed"}, [2, 4, 6, 8, 10]),
        ({1: "same", 9: "same"}, []),
    ],
    ids=["next to a change", "back on the path", "behind the last change", "nothing changes"],
)
def test_unreadable_rows_are_shown_next_to_what_changes(ops: dict[int, str], shown: list[int]) -> None:
    tree = [chunk(seq, Kind.UNREADABLE if seq % 2 == 0 else Kind.TEXT) for seq in range(1, 11)]
    rows = list(_with_unread([row(op, seq) for seq, op in ops.items()], tree))
    assert [one.before.seq for one in rows if one.op == "unread" and one.before] == shown
    seqs = [(one.before or one.after or chunk(0)).seq for one in rows]
    assert seqs == sorted(seqs), "each where it is stored"


def test_one_that_is_on_the_path_is_shown_once() -> None:
    unreadable = chunk(2, Kind.UNREADABLE)
    rows = [row("changed", 1), DiffRow("same", unreadable, unreadable)]
    assert list(_with_unread(rows, [chunk(1), unreadable])) == rows
