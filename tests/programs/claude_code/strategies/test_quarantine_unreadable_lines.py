"""What `quarantine-unreadable-lines` moves where: out of the session, into a file next to it, byte for byte."""

from inspector.planning.preview import compose
from inspector.programs.claude_code.format import CLAUDE_CODE
from inspector.programs.formats import Cell, Record
from inspector.strategies.catalogue import strategy
from tests.programs.claude_code.session_lines import ID, OTHER, PROJECT, a, case, encoded, lines, said, stored, text, u
from tests.programs.claude_code.strategies.repaired_sessions import SAME_FILE, changes_of, codes, written

NAME = "quarantine-unreadable-lines"
NUL, TORN, LOG = b"\0" * 16, b'{"parentUuid":"u1","type":"us', b"Error: disk full\r"
VALUES = (u("u1", None), NUL, LOG, a("a1", "u1", "m1", text("done"), 1))


def test_the_lines_are_in_a_file_next_to_the_session_and_the_others_as_they_were() -> None:
    session = stored(*VALUES, TORN)
    sidecar, own = changes_of(session, [NAME], SAME_FILE)
    assert (sidecar.key, sidecar.before) == (f"{PROJECT}/{ID}.{OTHER[:8]}.quarantine", None)
    assert sidecar.after is not None and sidecar.after.data == NUL + b"\n" + LOG + b"\n" + TORN + b"\n"
    assert own.after is not None and own.after.data == lines(VALUES[0], VALUES[3])


def test_nothing_is_found_after_it_and_the_path_is_the_same() -> None:
    before = case(*VALUES)
    later, _ = written([NAME], SAME_FILE, *VALUES)
    assert sorted(codes(before)) == ["STORE801", "STORE801"] and codes(later) == []
    assert said(later.conversation) == said(before.conversation)


def test_the_line_before_a_torn_last_one_keeps_its_line_end() -> None:
    data = lines(VALUES[0], VALUES[3]) + TORN
    (session,) = CLAUDE_CODE.read([Record(f"{PROJECT}/{ID}.jsonl", Cell(data, "file"))])
    _, own = changes_of(session, [NAME], SAME_FILE)
    assert own.after is not None and own.after.data == lines(VALUES[0], VALUES[3])


def test_a_new_session_has_no_such_lines_and_the_old_file_keeps_them() -> None:
    (change,) = changes_of(stored(*VALUES), [NAME], "new-session")
    assert change.before is None and change.after is not None and NUL not in change.after.data


def test_what_is_only_over_a_limit_of_ours_and_what_can_be_read_stays() -> None:
    deep = b'{"a":' + b"[" * 3000 + b"]" * 3000 + b"}"
    for values in ((u("u1", None), deep), (u("u1", None), u("u2", "u1", 7))):
        assert compose(case(*values), [strategy(NAME)]) == ()


def test_fragments_of_a_line_that_stays_whole_stay_in_it() -> None:
    """Only where the records next to them get lines of their own."""
    aside = encoded(a("x1", "u1", "m9", text("x"), 1))[:-20] + encoded({"type": "summary", "summary": "s", "leafUuid": "u1"})
    assert changes_of(stored(u("u1", None), aside, VALUES[3]), [NAME], SAME_FILE) == ()
