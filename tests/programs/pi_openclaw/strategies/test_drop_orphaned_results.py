"""What `drop-orphaned-results` does to sessions that are trees: the path after it, and what the written file contains."""

from tests.programs.pi_openclaw.session_files import a, call, line, r, u
from tests.programs.pi_openclaw.strategies.repaired_trees import of, repaired, said


def test_a_result_is_no_orphan_where_its_call_may_stand_in_a_line_that_cannot_be_read() -> None:
    torn = line(a("a1", "u1", call("c1")))[:-20]
    case = of(u("u1", None), torn, r("r1", "u1", "c1"), u("u2", "r1"))
    assert said(repaired(case, "drop-orphaned-results")) == "U R(c1=done) U"
