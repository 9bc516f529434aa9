"""What `drop-hollow-thinking` takes out: thinking without words after the first call of the latest turn, and no other."""

from inspector.planning.preview import compose
from inspector.strategies.catalogue import strategy
from tests.programs.claude_code.session_lines import a, call, case, lines, r, said, text, thinking, u
from tests.programs.claude_code.strategies.repaired_sessions import SAME_FILE, codes, each_mode, written

NAME = "drop-hollow-thinking"
LEAD = (u("u1", None), a("a1", "u1", "m1", thinking("", "SIG1"), 1), a("a2", "a1", "m1", call("t1"), 1), r("r1", "a2", "t1", "one", 2))
TURN = (*LEAD, a("b1", "r1", "m2", thinking("", "SIG2"), 3), a("b2", "b1", "m2", call("t2"), 3), r("r2", "b2", "t2", "two", 4))


@each_mode
def test_the_block_in_the_middle_goes_and_the_one_that_leads_the_turn_stays(mode: str) -> None:
    assert codes(case(*TURN)) == ["THINK205"]
    later, data = written([NAME], mode, *TURN)
    assert said(later.conversation) == ["user:go", "assistant:", "assistant:t1", "tool:one", "assistant:t2", "tool:two"]
    assert b"SIG1" in data and b"SIG2" not in data and codes(later) == []


def test_the_line_below_gets_its_parent_and_the_others_keep_their_bytes() -> None:
    _, data = written([NAME], SAME_FILE, *TURN)
    assert data == lines(*LEAD, a("b2", "r1", "m2", call("t2"), 3), TURN[-1])


def test_thinking_of_an_earlier_turn_is_left() -> None:
    """The API takes it out by itself."""
    values = (*TURN, u("u2", "r2", "more", 5), a("c1", "u2", "m3", text("done"), 6))
    assert compose(case(*values), [strategy(NAME)]) == ()


def test_a_turn_of_one_call_and_thinking_with_words_are_left() -> None:
    one_call = (*LEAD, a("b1", "r1", "m2", thinking("", "SIG2"), 3), a("b2", "b1", "m2", text("done"), 3))
    with_words = (*LEAD, a("b1", "r1", "m2", thinking("hm", "SIG2"), 3), *TURN[-2:])
    for values in (one_call, with_words):
        assert compose(case(*values), [strategy(NAME)]) == ()
