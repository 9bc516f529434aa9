"""What a cell of the request says of the chunks in it."""

import pytest

from inspector.presentation.conversation.timeline import Seam, SentCell


@pytest.mark.parametrize(
    ("stored_as", "sent_as", "is_as_stored"),
    [("a", "a", True), ("t", "u", True), ("a", "u", False), ("u", "a", False)],
)
def test_an_answer_that_is_sent_as_the_words_of_the_user_is_not_as_stored(stored_as: str, sent_as: str, is_as_stored: bool) -> None:
    cell = SentCell(1, sent_as, "messages.0", False, (Seam(stored_as, 1, "", 0, True),), (), (), "", False)
    assert cell.is_as_stored is is_as_stored
