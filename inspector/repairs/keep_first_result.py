"""Keeps one result of each call that has several which differ."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit, Remove, Safety
from inspector.conversation.model import Chunk
from inspector.detectors.base import Case
from inspector.repairs.base import Strategy
from inspector.repairs.pairing import answered
from inspector.repairs.synthetic_texts import is_synthetic


def kept_and_dropped(case: Case) -> Iterator[tuple[Chunk, list[Chunk]]]:
    """Of the results of each call the one that stays: the first real one of its batch, else the first real one, else the first."""
    for found in answered(case.messages):
        if len(found.results) < 2:
            continue
        real = [result for result in found.results if not is_synthetic(result)] or list(found.results)
        kept = next((result for result in real if result.key in found.batch), real[0])
        yield kept, [result for result in found.results if result is not kept]


def propose(case: Case) -> Iterator[Edit]:
    return (Remove(result) for _, dropped in kept_and_dropped(case) for result in dropped)


STRATEGY = Strategy(
    name="keep-first-result",
    safety=frozenset({Safety.LOSSY}),
    summary="of several results of one call keeps the first real one, and removes the others",
    cost="What the other results say leaves the history (undo and the audit page keep it). Made-up results go before real ones.",
    noticed_by_user="One output is shown for the call instead of several.",
    argued_for="Providers take one result for a call and refuse the request for ever otherwise; what the model went on with was, as a rule, the first.",
    argued_against="A real output is lost where two differ: nobody can tell from the history which one was right. Look at both first.",
    write_kind="W2",
    propose=propose,
)
