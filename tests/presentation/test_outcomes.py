"""What a repair makes of the next request, in words: it passes, goes wrong silently or is rejected, before and after."""

import pytest

from inspector.presentation.repair.alternatives import outcome, tone
from inspector.profiles.base import Judgement, Violation

PASSES = Judgement("openai-chat", (), ())
REJECTED = Judgement("openai-chat", (Violation("OC-2", "messages.1", "no call", (2,)),), ())
LOST = "without seq 14"


@pytest.mark.parametrize(
    ("before", "after", "silences", "said", "toned"),
    [
        (REJECTED, PASSES, ("", ""), "rejected → accepted", "yes"),
        (PASSES, PASSES, (LOST, ""), "wrong silently → accepted", "yes"),
        (PASSES, PASSES, ("", ""), "accepted, as before", "yes"),
        (REJECTED, PASSES, ("", LOST), "rejected → wrong silently (without seq 14)", "still"),
        (PASSES, PASSES, ("", LOST), "accepted → wrong silently (without seq 14)", "still"),
        (PASSES, PASSES, (LOST, LOST), "still wrong silently (without seq 14)", "still"),
        (REJECTED, REJECTED, ("", ""), "still rejected at messages.1 (OC-2)", "no"),
        (PASSES, REJECTED, ("", ""), "accepted → rejected at messages.1 (OC-2)", "no"),
        (PASSES, REJECTED, (LOST, ""), "wrong silently → rejected at messages.1 (OC-2)", "no"),
    ],
)
def test_what_becomes_of_the_next_request(before: Judgement, after: Judgement, silences: tuple[str, str], said: str, toned: str) -> None:
    of = outcome(before, after, silences)
    assert (of.text, tone(of.text), tone(of.words)) == (said, toned, toned)


def test_what_cannot_be_read_is_no_success() -> None:
    of = outcome(PASSES, PASSES, ("", ""), "the file is accepted by nobody")
    assert of.text == "nothing can be read: the file is accepted by nobody" and tone(of.text) == "no"
