"""What `quote-orphaned-results` makes of a result whose call is not sent: words of the user, after the results that it is between."""

from inspector.planning.preview import compose
from inspector.strategies.catalogue import strategy
from tests.programs.claude_code.session_lines import a, call, case, lines, png, r, result_of, said, text, u
from tests.programs.claude_code.strategies.repaired_sessions import SAME_FILE, codes, each_mode, written

NAME = "quote-orphaned-results"
QUOTED = "Result of an earlier tool call, which is no longer part of this conversation"
GO, DONE = u("u1", None), a("a1", "r1", "m1", text("done"), 2)


@each_mode
def test_the_words_of_the_result_are_words_of_the_user(mode: str) -> None:
    assert codes(case(GO, r("r1", "u1", "t1", "late", 1), DONE)) == ["TOOL202"]
    later, _ = written([NAME], mode, GO, r("r1", "u1", "t1", "late", 1), DONE)
    assert said(later.conversation) == ["user:go", f"user:{QUOTED}:\n\nlate", "assistant:done"] and codes(later) == []


def test_it_says_what_the_result_was_and_what_is_left_out() -> None:
    def quote(*blocks: dict[str, object], **more: object) -> str:
        later, _ = written([NAME], SAME_FILE, GO, u("r1", "u1", [{**result_of("t1", *blocks), **more}], 1), DONE)
        return said(later.conversation)[1].removeprefix(f"user:{QUOTED}")

    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words"}}
    assert quote(text("no such file"), is_error=True) == " (an error):\n\nno such file"
    assert quote() == ":\n\n(no content)"
    assert quote(text("two"), png(1, 1), png(2, 2)) == ":\n\ntwo\n[2 images left out]"
    assert quote(png(1, 1), document) == ":\n\n(no content)\n[1 image, 1 document left out]"


@each_mode
def test_between_results_of_one_answer_it_goes_after_them(mode: str) -> None:
    """Anthropic asks for the results first."""
    calls = (GO, a("a1", "u1", "m1", call("t1"), 1), a("a2", "a1", "m1", call("t2"), 1))
    results = (r("r1", "a2", "t1", "one", 2), r("rx", "r1", "gone", "lost", 2), r("r2", "rx", "t2", "two", 2))
    later, _ = written([NAME], mode, *calls, *results, a("b1", "r2", "m2", text("done"), 3))
    assert said(later.conversation)[3:] == ["tool:one", "tool:two", f"user:{QUOTED}:\n\nlost", "assistant:done"] and codes(later) == []


def test_a_result_whose_call_is_sent_is_left_wherever_it_is() -> None:
    """It is moved by other strategies, and stays a result."""
    called = a("a1", "u1", "m1", call("t1"), 1)
    before_its_call = (GO, r("r1", "u1", "t1", "late", 1), a("a1", "r1", "m1", call("t1"), 2))
    for values in ((GO, called, r("r1", "a1", "t1")), (GO, called, u("u2", "a1", "wait", 2), r("r1", "u2", "t1")), before_its_call):
        assert compose(case(*values), [strategy(NAME)]) == ()


def test_the_other_lines_keep_their_bytes() -> None:
    _, data = written([NAME], SAME_FILE, GO, r("r1", "u1", "t1", "late", 1), DONE)
    first, _, last = data.splitlines(keepends=True)
    assert (first, last) == (lines(GO), lines(DONE))
