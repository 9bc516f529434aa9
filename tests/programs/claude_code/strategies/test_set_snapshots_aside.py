"""Which lines `set-snapshots-aside` moves out of a session (the bytes: test_families_lines.py)."""

from inspector.conversation.edits import Set
from inspector.planning.preview import compose
from inspector.programs.claude_code.quarantine import QUARANTINED
from inspector.strategies.catalogue import strategy
from tests.programs.claude_code.session_lines import a, case, encoded, text, u

NAME = "set-snapshots-aside"
SNAPSHOT = {"type": "file-history-snapshot", "messageId": "u1", "snapshot": {"trackedFileBackups": {}}, "isSnapshotUpdate": False}
START, END = u("u1", None), a("a1", "u1", "m1", text("Done."), 1)


def test_every_snapshot_goes_and_nothing_else() -> None:
    edits = compose(case(SNAPSHOT, START, SNAPSHOT, END), [strategy(NAME)])
    assert edits == (Set("conversation", QUARANTINED, None, "0,2"),)


def test_together_with_lines_that_cannot_be_read() -> None:
    edits = compose(case(SNAPSHOT, START, b"{torn", END), [strategy("quarantine-unreadable-lines"), strategy(NAME)])
    assert [edit.new for edit in edits if isinstance(edit, Set)][-1] == "0,2"


def test_a_snapshot_that_shares_its_line_stays() -> None:
    assert compose(case(encoded(SNAPSHOT) + encoded(START), END), [strategy(NAME)]) == ()


def test_a_session_without_snapshots_is_left() -> None:
    assert compose(case(START, END), [strategy(NAME)]) == ()
