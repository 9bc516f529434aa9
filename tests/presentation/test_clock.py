"""How long ago something was, in words."""

import pytest

from inspector.presentation.clock import age

NOW = 1_790_000_000_000
SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000


@pytest.mark.parametrize(
    ("before", "words"),
    [
        (0, "just now"),
        (59 * SECOND, "just now"),
        (MINUTE, "1 min ago"),
        (HOUR - SECOND, "59 min ago"),
        (HOUR, "1 h ago"),
        (DAY - SECOND, "23 h ago"),
        (DAY, "1 d ago"),
        (30 * DAY - SECOND, "29 d ago"),
        # From here on the day says more than a count of days does.
        (30 * DAY, "2026-08-22"),
        # A clock that is a little ahead of ours, and what is to come.
        (-59 * SECOND, "just now"),
        (-MINUTE, "in 1 min"),
        (-7 * DAY + SECOND, "in 7 d"),
        (-30 * DAY, "2026-10-21"),
    ],
)
def test_an_age_in_words(before: int, words: str) -> None:
    assert age(NOW - before, NOW) == words


def test_a_moment_that_no_calendar_has() -> None:
    assert age(-(10**18), NOW) == "unknown"
