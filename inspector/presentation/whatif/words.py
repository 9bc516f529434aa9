"""What becomes of a conversation with another client, in words: one table, for the page, its filter, side by side and the command."""

from collections.abc import Mapping
from typing import NamedTuple

from inspector.presentation.conversation.verdict import PASSES, REJECTED, SILENT
from inspector.presentation.whatif.differences import NOT_KNOWN, Difference, Summary, standing

WORSE, BOTH, DIFFERENT, BETTER, SAME = "worse than now", "better and worse", "fails differently", "better than now", "the same"


class Words(NamedTuple):
    """Words for one conversation and for several.

    Of what becomes of a conversation also: how that compares to now, the class of its color, and that of how it fails already, where it becomes another failure.
    """

    one: str
    several: str
    than_now: str = ""
    color: str = ""
    now: str = ""


class Standing(NamedTuple):
    """Words for what a reader is next to the one that runs now, and until when what fails with it is to be repaired; "" where nobody goes on to it."""

    label: str
    until: str = ""


STANDINGS = {
    "older": Standing("older"),
    "newer": Standing("newer", "before you change to it"),
    "proposed": Standing("might ship", "before it ships"),
    "withdrawn": Standing("never shipped"),
    "compared": Standing("compared"),
}
WORDS = {
    PASSES: Words("passes", "pass"),
    SILENT: Words("wrong silently", "wrong silently"),
    REJECTED: Words("rejected", "rejected"),
    NOT_KNOWN: Words("not known", "not known"),
    "newly_silent": Words("newly goes wrong silently", "newly go wrong silently", WORSE, "why"),
    "newly_rejected": Words("is newly rejected", "are newly rejected", WORSE, "why"),
    "only_worse": Words("is read worse", "are read worse", WORSE, "worse"),
    "mixed": Words("is read better and worse", "are read better and worse", BOTH, "mixed"),
    "rejected_not_silent": Words(
        "is rejected instead of wrong silently", "are rejected instead of wrong silently", DIFFERENT, "why", "mixed"
    ),
    "silent_not_rejected": Words(
        "is wrong silently instead of rejected", "are wrong silently instead of rejected", DIFFERENT, "mixed", "why"
    ),
    "neither": Words("is read differently", "are read differently", "as good as now", "neither"),
    "newly_lacks": Words("newly passes, but not all of it is right", "newly pass, but not all of it is right", BETTER, "mixed"),
    "newly_passes": Words("newly passes", "newly pass", BETTER, "good"),
    "only_better": Words("is read better", "are read better", BETTER, "good"),
    "still_rejected": Words("stays rejected", "stay rejected", SAME, "why"),
    "still_silent": Words("stays wrong silently", "stay wrong silently", SAME, "mixed"),
    "same": Words("stays the same", "stay the same", SAME, "same"),
    "all": Words("differs or stays merged", "differ or stay merged"),
    "wrong": Words("is not right then", "are not right then"),
    "failing": Words("changes and does not pass", "change and do not pass"),
    "worse": Words("has something worse or fails differently", "have something worse or fail differently"),
    "worse_in_part": Words("has something worse", "have something worse"),
    "merged": Words("stays merged", "stay merged"),
    "refused": Words("is rejected even so", "are rejected even so"),
}
PARTS = tuple(name for name, words in WORDS.items() if words.than_now)
"""Each conversation is in one of them; worse ones first."""


def part_of(difference: Difference) -> str:
    """One of PARTS: what becomes of its next request, where that changes; else its kind, and what is read the same by how it ends."""
    if difference.next_request == "newly_passes" and difference.silence_b:
        return "newly_lacks"
    if difference.next_request or difference.kind != "same":
        return difference.next_request or difference.kind
    return {REJECTED: "still_rejected", SILENT: "still_silent"}.get(difference.state_b, "same")


def loss_words(parts: Mapping[str, int], summary: Summary) -> str:
    """How many conversations get worse, by the names of PARTS, and what is no longer read; "" where none does."""
    counts = [(parts.get(name, 0), WORDS[name]) for name in PARTS if WORDS[name].than_now in (WORSE, BOTH)]
    losses = [f"{count:,} {words.one if count == 1 else words.several}" for count, words in counts if count]
    a, b = summary.shrunk
    return ", ".join((*losses, *([f"{a:,} messages read become {b:,}"] if a else ())))


def going_back(summary: Summary, losses: str) -> str:
    """Of a reader that is older than what runs now: what going back to it comes to; "" of another."""
    if standing(summary.reader_a, summary.reader_b) != "older":
        return ""
    others = summary.worse.count
    so = "do not go back" if losses else f"going back makes {others:,} fail differently" if others else "going back makes nothing worse"
    return f"Older than what runs now: {so}."


def state_words(summary: Summary) -> str:
    """How many next requests are in each state, with A and with B."""
    lacking = ", ".join(f"{count:,} {silence}" for silence, count in summary.lacking.items())
    more = {PASSES: f" ({lacking})"} if lacking else {}
    return ", ".join(f"{WORDS[state].several} {a:,} → {b:,}{more.get(state, '')}" for state, (a, b) in summary.states.items() if a or b)
