"""Gives every message a msgIdx of its own, counted from 1, so that every known reader separates them."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit, Replace, between
from inspector.programs.dispatch.numbering import own_numbers
from inspector.rules.base import Case
from inspector.strategies.base import Strategy


def propose(case: Case) -> Iterator[Edit]:
    """Nothing where the reader's messages already are the true ones under every grouping, that is, where no neighbors share a msgIdx."""
    if case.program.numbering.by_message and any(
        first.chunks[-1].msg_idx == second.chunks[0].msg_idx for first, second in zip(case.messages, case.messages[1:], strict=False)
    ):
        yield from (edit for edit in between(case.conversation, own_numbers(case.conversation)) if isinstance(edit, Replace))


STRATEGY = Strategy(
    name="renumber-messages",
    safety=frozenset(),
    summary="gives each message its own msgIdx, so that every reader separates the messages as they were written",
    cost="No content changes: only the number of each row. A server that is not fixed merges again on its next turn.",
    user_visible_effect="Nothing in the history view, which hides the number. The next request has each message under its own role.",
    pros="Every stored row still says which message it belongs to (seq - chunkIdx), so nothing is guessed; it works with the unfixed loader and with both proposed fixes.",
    cons="A fixed loader needs no write at all. An unfixed server merges the next turns again; the repair must then be repeated.",
    write_kind="W1",
    propose=propose,
    order=570,
)
