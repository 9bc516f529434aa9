"""What `split-session-line` brings back, and what it leaves."""

from inspector.planning.preview import compose
from inspector.rules.base import Severity, findings
from inspector.rules.catalogue import RULES
from inspector.strategies.catalogue import strategy
from tests.programs.claude_code.session_lines import a, case, encoded, line, lines, said, text, u
from tests.programs.claude_code.strategies.repaired_sessions import SAME_FILE, codes, each_mode, written

NAME = "split-session-line"
A1, U2, A2 = a("a1", "u1", "m1", text("done"), 1), u("u2", "a1", "and?", 2), a("a2", "u2", "m2", text("well"), 3)


@each_mode
def test_records_on_one_line_come_back_onto_the_path(mode: str) -> None:
    for values in ((u("u1", None), encoded(A1) + encoded(U2), A2), (u("u1", None), A1, encoded(U2) + encoded(A2))):
        assert codes(case(*values)) == ["STORE802"]
        later, _ = written([NAME], mode, *values)
        assert said(later.conversation) == ["user:go", "assistant:done", "user:and?", "assistant:well"] and codes(later) == []


def test_each_record_keeps_every_byte() -> None:
    _, data = written([NAME], SAME_FILE, u("u1", None), encoded(A1) + encoded(U2), A2)
    assert data == lines(u("u1", None), A1, U2, A2)


def test_a_record_after_the_fragment_of_another_and_what_becomes_of_the_fragment() -> None:
    values = (u("u1", None), encoded(A1)[:-30] + encoded(u("u2", "u1", "and?", 2)), A2)
    later, data = written([NAME], SAME_FILE, *values)
    assert said(later.conversation) == ["user:go", "user:and?", "assistant:well"] and codes(later) == ["STORE801"]
    assert data.splitlines()[1] == encoded(A1)[:-30]
    apart, _ = written([NAME, "quarantine-unreadable-lines"], SAME_FILE, *values)
    assert codes(apart) == []


def test_a_message_that_was_written_again_is_left_where_it_is() -> None:
    """As resume does after a file that ended without a line end; the other record is no message."""
    again = case(u("u1", None), encoded(A1) + encoded({"type": "summary", "summary": "x", "leafUuid": "a1"}), A1, U2)
    assert compose(again, [strategy(NAME)]) == ()
    assert [finding.severity for finding in findings(again, RULES) if finding.code == "STORE802"] == [Severity.NOTE]


def test_records_of_another_branch_stay() -> None:
    aside = encoded(a("x1", "u1", "m9", text("x"), 1)) + encoded(line("progress", "x2", "x1", None))
    assert compose(case(u("u1", None), aside, A1), [strategy(NAME)]) == ()
