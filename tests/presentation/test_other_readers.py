"""What a repair gains for readers other than the chosen one is said where it changes something for them."""

import pytest

from inspector.presentation.conversation.other_readers import ReadByOthers, gained

CUT = ReadByOthers(13, (3, 5), 9)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (CUT, ReadByOthers(13, (), 9), "2 of 9 other readers read fewer of its 13 messages, down to 3; after it, none does"),
        (CUT, ReadByOthers(13, (5,), 9), "2 of 9 other readers read fewer of its 13 messages, down to 3; after it, 1 does, down to 5"),
        (CUT, ReadByOthers(13, (7, 5), 9), "2 of 9 other readers read fewer of its 13 messages, down to 3; after it, 2 do, down to 5"),
        (CUT, CUT, ""),
        (CUT, ReadByOthers(13, (2, 5), 9), ""),
        (CUT, ReadByOthers(13, (3, 5, 7), 9), ""),
        (ReadByOthers(13, (), 9), ReadByOthers(13, (3,), 9), ""),
        (ReadByOthers(13, (), 9), ReadByOthers(13, (), 9), ""),
        (ReadByOthers(1, (), 0), ReadByOthers(2, (), 0), ""),
    ],
)
def test_what_other_readers_gain(before: ReadByOthers, after: ReadByOthers, words: str) -> None:
    assert gained(before, after) == words
