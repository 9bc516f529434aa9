"""What a repair makes of the next request: its end before and after, in a few words."""

from typing import NamedTuple

from inspector.presentation.conversation.ending import ACCEPTED, WRONG_SILENTLY, Ending
from inspector.presentation.conversation.verdict import NOT_JUDGED, NOT_KNOWN, REJECTED, UNREADABLE


class Outcome(NamedTuple):
    """Of the next request: before and after in a few words, and where it is rejected or why it goes wrong."""

    words: str
    why: str = ""

    @property
    def text(self) -> str:
        return f"{self.words} {self.why}".rstrip()


def outcome(before: Ending, after: Ending) -> Outcome:
    why = after.why if after.words == REJECTED or not after.why else f"({after.why})"
    if before.words != after.words:
        return Outcome(f"{before.words} → {after.words}", why)
    return Outcome("accepted, as before" if after.words == ACCEPTED else f"still {after.words}", why)


def tone(words: str) -> str:
    """Of an outcome: "yes" where the request passes then, "still" where it goes wrong silently or nobody knows, "no" where it does not pass."""
    end = words.rpartition("→")[2]
    if UNREADABLE in end or REJECTED in end:
        return "no"
    return "still" if any(words in end for words in (WRONG_SILENTLY, NOT_KNOWN, NOT_JUDGED)) else "yes"
