"""What a repair makes of the next request, in words: it passes, goes wrong silently, is rejected or cannot be opened, before and after."""

from collections.abc import Sequence

import pytest

from inspector.presentation.conversation.ending import Ending, ending_of
from inspector.presentation.conversation.verdict import NextRequest
from inspector.presentation.repair.outcomes import Passing, Tried, advice_lines, advice_word, outcome, repair_options, tone
from inspector.profiles.base import Judgement, Violation

PASSES = Judgement("openai-chat", (), ())
FAILS = Judgement("openai-chat", (Violation("OC-2", "messages.1", "no call", (2,)),), ())
ACCEPTED, REJECTED = Ending("accepted"), Ending("rejected", "at messages.1 (OC-2)")
SILENT, CLOSED = Ending("wrong silently", "without seq 14"), Ending("cannot be opened", "the file is accepted by nobody")
PENDING = Ending("can be resumed", "its last call is pending")


@pytest.mark.parametrize(
    ("before", "after", "said", "toned"),
    [
        (REJECTED, ACCEPTED, "rejected → accepted", "yes"),
        (SILENT, ACCEPTED, "wrong silently → accepted", "yes"),
        (ACCEPTED, ACCEPTED, "accepted, as before", "yes"),
        (REJECTED, PENDING, "rejected → can be resumed (its last call is pending)", "yes"),
        (REJECTED, SILENT, "rejected → wrong silently (without seq 14)", "still"),
        (ACCEPTED, SILENT, "accepted → wrong silently (without seq 14)", "still"),
        (SILENT, SILENT, "still wrong silently (without seq 14)", "still"),
        (REJECTED, Ending("not judged", "a turn is running"), "rejected → not judged (a turn is running)", "still"),
        (REJECTED, REJECTED, "still rejected at messages.1 (OC-2)", "no"),
        (ACCEPTED, REJECTED, "accepted → rejected at messages.1 (OC-2)", "no"),
        (SILENT, REJECTED, "wrong silently → rejected at messages.1 (OC-2)", "no"),
        (ACCEPTED, CLOSED, "accepted → cannot be opened (the file is accepted by nobody)", "no"),
        (CLOSED, CLOSED, "still cannot be opened (the file is accepted by nobody)", "no"),
    ],
)
def test_what_becomes_of_the_next_request(before: Ending, after: Ending, said: str, toned: str) -> None:
    of = outcome(before, after)
    assert (of.text, tone(of.text), tone(of.words)) == (said, toned, toned)


@pytest.mark.parametrize(
    ("following", "judgement", "expected"),
    [
        (NextRequest("passes", "passes"), PASSES, ACCEPTED),
        (NextRequest("silent", "wrong silently", "without seq 14"), PASSES, SILENT),
        (NextRequest("rejected", "rejected at messages.1", "OC-2 of openai-chat"), FAILS, REJECTED),
        (NextRequest("", "can be resumed", "its last call is pending"), FAILS, PENDING),
        (NextRequest(), FAILS, REJECTED),
        (NextRequest(), PASSES, ACCEPTED),
    ],
)
def test_an_outcome_has_the_words_of_the_page(following: NextRequest, judgement: Judgement, expected: Ending) -> None:
    assert ending_of(following, judgement) == expected


@pytest.mark.parametrize(
    ("now", "after", "expected"),
    [
        (REJECTED, ACCEPTED, "recommended"),
        (SILENT, PENDING, "recommended"),
        (REJECTED, SILENT, "partial"),
        (REJECTED, REJECTED, "partial"),
        (CLOSED, CLOSED, "partial"),
        (ACCEPTED, ACCEPTED, "optional"),
        (PENDING, ACCEPTED, "optional"),
        (PENDING, PENDING, "optional"),
        (ACCEPTED, SILENT, "partial"),
    ],
)
def test_only_what_does_not_leave_the_next_request_wrong_is_recommended(now: Ending, after: Ending, expected: str) -> None:
    assert advice_word(now, after) == expected


def lines(tried: Tried, now: Ending, passing: Sequence[Passing]) -> tuple[str, ...]:
    return tuple(line.words for line in advice_lines(tried, now, passing))


def test_each_choice_comes_with_its_strategies() -> None:
    passing = [Passing(("b", "c"), "lossy", ACCEPTED)]
    assert [line.names for line in advice_lines(Tried(("a",), "safe", SILENT), REJECTED, passing)] == [("b", "c"), ("a",)]
    assert [line.names for line in advice_lines(Tried(("a",), "safe", ACCEPTED), ACCEPTED, passing)] == [(), ("a",)]


PASSING = [
    Passing(("promote-leaked-call",), "invented", ACCEPTED),
    Passing(("promote-guessed-call",), "invented", ACCEPTED),
    Passing(("drop-leaked-call",), "lossy", ACCEPTED),
]


@pytest.mark.parametrize(
    ("names", "after", "passing", "expected"),
    [
        (["a"], ACCEPTED, PASSING, ("Passes: `a`, loses and invents nothing.",)),
        (["a", "b"], ACCEPTED, [], ("Passes: `a` and `b`, loses and invents nothing.",)),
        (
            ["a"],
            SILENT,
            PASSING,
            (
                "Passes: `promote-leaked-call`, but adds what is stored nowhere.",
                "Passes: `drop-leaked-call`, but takes something stored away.",
                "Loses and invents nothing: `a` (3 → 9 messages read), but wrong silently (without seq 14).",
            ),
        ),
        (
            ["a", "b"],
            REJECTED,
            [],
            ("Loses and invents nothing: `a` and `b` (3 → 9 messages read), but still rejected at messages.1 (OC-2).",),
        ),
        ([], REJECTED, PASSING[:1], ("Passes: `promote-leaked-call`, but adds what is stored nowhere.",)),
        ([], REJECTED, [], ()),
        ([], ACCEPTED, [], ()),
    ],
)
def test_which_strategies_to_choose(names: list[str], after: Ending, passing: list[Passing], expected: tuple[str, ...]) -> None:
    assert lines(Tried(tuple(names), "safe", after, (3, 9)), REJECTED, passing) == expected


def test_what_a_choice_costs_is_said_where_it_loses_and_adds() -> None:
    assert lines(Tried(("a",), "invented and lossy", ACCEPTED, (3, 9)), REJECTED, []) == (
        "Passes: `a`, but adds what is stored nowhere and takes something stored away.",
    )


@pytest.mark.parametrize("read", [(9, 9), (9, 3)])
def test_that_no_more_is_read_is_no_reason_to_choose_it(read: tuple[int, int]) -> None:
    assert lines(Tried(("a",), "safe", SILENT, read), SILENT, []) == (
        "Loses and invents nothing: `a`, but still wrong silently (without seq 14).",
    )


def test_what_stays_is_named_and_a_link_is_no_words() -> None:
    tried = Tried(("a",), "invented", SILENT, (3, 9), "STORE501 at seq 7", is_wordless=True)
    assert lines(tried, SILENT, []) == (
        "Adds a link or a value, no words: `a` (3 → 9 messages read), but still wrong silently (without seq 14: STORE501 at seq 7).",
    )


@pytest.mark.parametrize("names", [[], ["a"]])
def test_where_the_next_request_passes_already_that_is_said_first(names: list[str]) -> None:
    first, *rest = lines(Tried(tuple(names), "safe", ACCEPTED, (9, 9)), ACCEPTED, PASSING)
    assert first == "The next request passes as it is: what is found matters to other readers, and later."
    assert rest == ["Still passes: `a`, loses and invents nothing."] * len(names)


def test_what_only_can_be_resumed_is_not_said_to_pass_and_comes_last() -> None:
    passing = [Passing(("a",), "invented", PENDING), Passing(("b",), "invented", ACCEPTED)]
    assert lines(Tried((), "", SILENT), SILENT, passing) == (
        "Passes: `b`, but adds what is stored nowhere.",
        "The session can be resumed (its last call is pending): `a`, but adds what is stored nowhere.",
    )


RESUMED = "The session can be resumed as it is (its last call is pending): what is found matters to other readers, and later."


@pytest.mark.parametrize(
    ("names", "after", "expected"),
    [
        ([], PENDING, ()),
        (["a"], ACCEPTED, ("Passes: `a`, loses and invents nothing.",)),
        (["a"], PENDING, ("Still can be resumed (its last call is pending): `a`, loses and invents nothing.",)),
    ],
)
def test_where_the_session_can_be_resumed_that_is_said_first(names: list[str], after: Ending, expected: tuple[str, ...]) -> None:
    """An alternative after which it can be resumed, too, was said to pass."""
    passing = [Passing(("b",), "lossy", PENDING)]
    assert lines(Tried(tuple(names), "safe", after), PENDING, passing) == (RESUMED, *expected)


@pytest.mark.parametrize(("names", "words"), [(("a", "b"), ["recommended", "partial"]), (("a", "c"), ["recommended", "optional"])])
def test_an_option_is_called_what_its_own_end_is(names: tuple[str, str], words: list[str]) -> None:
    now, after = (REJECTED, SILENT) if words[1] == "partial" else (ACCEPTED, ACCEPTED)
    options = repair_options(Tried(names, "lossy", after), now, [Passing(("a",), "lossy", ACCEPTED)])
    assert [option.word for option in options] == words[-len(options) :]
