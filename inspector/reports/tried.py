"""What a reader or a strategy would make of a history, tried in memory and written nowhere: the verdict of one profile on each."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from inspector.conversation.edits import apply
from inspector.profiles.base import Judgement
from inspector.profiles.judging import judged
from inspector.rules.base import Case
from inspector.strategies.base import Strategy
from inspector.strategies.catalogue import STRATEGIES

LARGEST = 2000
"""Chunks of a history on which all of them are tried for one page."""


@dataclass(frozen=True, slots=True)
class Tried:
    """`count`: messages in the request. `edits`: chunks or facts that a strategy would touch; 0 for a reader."""

    name: str
    summary: str
    safety: str
    judgement: Judgement
    count: int
    failure: str = ""
    """Why nothing can be read; then the judgement is of nothing."""
    edits: int = 0
    chosen: bool = False


def readers_tried(case: Case, names: Iterable[str], own_projection: str, profile_name: str) -> Iterator[Tried]:
    for name in names:
        other = case if name == case.reading.reader else case.with_conversation(case.conversation, name)
        prompt, judgement = judged(other.reading, other.conversation, profile_name, own_projection)
        yield Tried(name, "", "", judgement, len(prompt.messages), other.reading.failure, 0, name == case.reading.reader)


def strategies_tried(case: Case, chosen: Sequence[str], own_projection: str, profile_name: str) -> Iterator[Tried]:
    """Each strategy that would change something, alone; the chosen ones first."""
    found = [(each, list(each.edits(case))) for each in STRATEGIES]
    for each, edits in sorted(found, key=lambda pair: pair[0].name not in chosen):
        if edits:
            other = case.with_conversation(apply(case.conversation, edits))
            prompt, judgement = judged(other.reading, other.conversation, profile_name, own_projection)
            failure, is_chosen = other.reading.failure, each.name in chosen
            yield Tried(each.name, each.summary, safety_words(each), judgement, len(prompt.messages), failure, len(edits), is_chosen)


def safety_words(strategy: Strategy) -> str:
    return " and ".join(sorted(strategy.safety)) or "safe"
