"""What becomes of a conversation with another client, in words: one table, for the page and the command."""

from typing import NamedTuple

from inspector.presentation.conversation.verdict import PASSES, REJECTED, SILENT
from inspector.presentation.whatif.differences import Difference


class Becomes(NamedTuple):
    """Words for one conversation and for several, and the class of their color; `now` is that of how it fails already, where it becomes another failure."""

    one: str
    several: str
    color: str
    now: str = ""


STATE_WORDS = {PASSES: "pass", SILENT: "wrong silently", REJECTED: "rejected"}
"""Of next requests, counted."""

NEXT_REQUEST_WORDS = {
    "newly_silent": Becomes("newly goes wrong silently", "newly go wrong silently", "why"),
    "newly_rejected": Becomes("is newly rejected", "are newly rejected", "why"),
    "rejected_not_silent": Becomes("is rejected instead of wrong silently", "are rejected instead of wrong silently", "why", "mixed"),
    "silent_not_rejected": Becomes("is wrong silently instead of rejected", "are wrong silently instead of rejected", "mixed", "why"),
    "newly_passes": Becomes("newly passes", "newly pass", "good"),
}
KIND_WORDS = {
    "only_worse": Becomes("gets worse", "get worse", "worse"),
    "mixed": Becomes("gets better and worse", "get better and worse", "mixed"),
    "only_better": Becomes("gets better", "get better", "good"),
    "neither": Becomes("is read differently, neither better nor worse", "are read differently, neither better nor worse", "neither"),
    "same": Becomes("stays the same", "stay the same", "same"),
}
WORDS = NEXT_REQUEST_WORDS | KIND_WORDS


def part_of(difference: Difference) -> str:
    """Exactly one of WORDS: what becomes of its next request, where that changes; else its kind."""
    return difference.next_request or difference.kind
