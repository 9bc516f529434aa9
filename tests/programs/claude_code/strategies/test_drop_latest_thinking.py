"""What `drop-latest-thinking` takes out: all thinking of the turn of the last answer, and none of an earlier one."""

from inspector.planning.preview import compose
from inspector.strategies.catalogue import strategy
from tests.programs.claude_code.session_lines import a, call, case, lines, r, said, text, thinking, u
from tests.programs.claude_code.strategies.repaired_sessions import SAME_FILE, each_mode, written

NAME = "drop-latest-thinking"
EARLIER = (u("u1", None), a("a1", "u1", "m1", thinking("old", "SIG1"), 1), a("a2", "a1", "m1", text("hi"), 1), u("u2", "a2", "and?", 2))
LATEST = (
    a("b1", "u2", "m2", thinking("new", "SIG2"), 3),
    a("b2", "b1", "m2", call("t1"), 3),
    r("r1", "b2", "t1", "one", 4),
    a("c1", "r1", "m3", {"type": "redacted_thinking", "data": "SIG3"}, 5),
    a("c2", "c1", "m3", text("done"), 5),
)


@each_mode
def test_thinking_of_the_latest_turn_goes_redacted_or_not(mode: str) -> None:
    later, data = written([NAME], mode, *EARLIER, *LATEST)
    assert said(later.conversation) == [
        "user:go",
        "assistant:old",
        "assistant:hi",
        "user:and?",
        "assistant:t1",
        "tool:one",
        "assistant:done",
    ]
    assert [name in data for name in (b"SIG1", b"SIG2", b"SIG3")] == [True, False, False]


def test_the_lines_below_get_their_parents_and_the_others_keep_their_bytes() -> None:
    _, data = written([NAME], SAME_FILE, *EARLIER, *LATEST)
    assert data == lines(*EARLIER, a("b2", "u2", "m2", call("t1"), 3), LATEST[2], a("c2", "r1", "m3", text("done"), 5))


def test_a_question_without_an_answer_is_no_turn_of_its_own() -> None:
    """The turn of the last answer is what the provider compares."""
    _, data = written([NAME], SAME_FILE, *EARLIER, *LATEST, u("u3", "c2", "more", 6))
    assert b"SIG1" in data and b"SIG2" not in data


def test_a_latest_turn_without_thinking_leaves_that_of_the_turn_before() -> None:
    assert compose(case(*EARLIER, a("b1", "u2", "m2", text("done"), 3)), [strategy(NAME)]) == ()
