"""What a reader or a strategy would make of a history, tried in memory and written nowhere: the verdict of one profile on each."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from inspector.conversation.edits import between
from inspector.conversation.model import Conversation
from inspector.conversation.tree import entries
from inspector.planning.recommend import composed, longer
from inspector.presentation.conversation.ending import ACCEPTED, Ending, ending_without_findings
from inspector.presentation.conversation.verdict import unnoticed_of_streams
from inspector.presentation.repair.ends import ending_with, is_same_request
from inspector.profiles.base import Judgement
from inspector.profiles.judging import judged
from inspector.rules.base import Case, Rule, findings
from inspector.strategies.base import Strategy
from inspector.strategies.catalogue import STRATEGIES

LARGEST = 2000
"""Chunks of a history on which all of them are tried for one page."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """`count`: messages in the request. `edits`: chunks or facts that a strategy would touch; 0 for a reader."""

    name: str
    summary: str
    safety: str
    judgement: Judgement
    count: int
    ending: Ending
    failure: str = ""
    """Why nothing can be read; then the judgement is of nothing."""
    edits: int = 0
    chosen: bool = False
    reached: int = 0
    """Entries on the path of a reader; 0 where the conversation is no tree, and for a strategy."""
    is_same_request: bool = False
    """Whether the request is, word for word, the one that is sent without the strategy."""
    ends: frozenset[str] = frozenset()
    """Codes of the rules that were watched and find nothing after a strategy."""
    unnoticed: str = ""
    """What is wrong in what a reader reads although it passes, since a stream was stored so: "call not run"; "" where nothing is."""
    used: Strategy | None = None
    """The strategy with what it costs there; None for a reader."""

    @property
    def words(self) -> str:
        if self.failure:
            return f"cannot be loaded: {self.failure}"
        if not self.judgement.sendable:
            return self.judgement.verdict
        if not self.is_fine:
            return f"{self.ending.words}: {self.ending.why}"
        return f"{ACCEPTED}, but {self.unnoticed}" if self.unnoticed else ACCEPTED

    @property
    def is_fine(self) -> bool:
        return self.ending.words == ACCEPTED


def reader_alternatives(
    case: Case, content: Conversation, names: Iterable[str], own_projection: str, profile_name: str
) -> Iterator[Attempt]:
    """`content` is what the other readers read: a whole tree, of which each takes its own path, or what strategies made of the path of the case."""
    for name in names:
        other = case if name == case.reading.reader else case.with_conversation(content, name)
        prompt, judgement = judged(other.reading, other.conversation, profile_name, own_projection)
        is_own = name == case.reading.reader
        yield Attempt(
            name,
            "",
            "",
            judgement,
            len(prompt.messages),
            ending_without_findings(other, judgement),
            other.reading.failure,
            chosen=is_own,
            reached=len(entries(other.conversation)) if other.tree else 0,
            unnoticed=unnoticed_of_streams(other),
        )


def strategy_alternatives(
    case: Case,
    chosen: Sequence[str],
    own_projection: str,
    profile_name: str,
    among: Iterable[Strategy] = STRATEGIES,
    watched: Sequence[Rule] = (),
    written: Callable[[Sequence[str]], Case | None] = lambda names: None,
) -> Iterator[Attempt]:
    """Each strategy that would change something, on top of the chosen ones, and these first. `watched`: rules of which it is to be known whether a strategy ends them.

    `written`: what strategies leave once it is stored, where it is to be of that.
    """
    now = judged(case.reading, case.conversation, profile_name, own_projection)[0]
    together, later = composed(case, chosen)
    if chosen:
        now = judged(later.reading, later.conversation, profile_name, own_projection)[0]
    for strategy in sorted(among, key=lambda strategy: strategy.name not in chosen):
        used, other = (together, later) if strategy.name in chosen else longer(case, together, later, strategy.name)
        names = [of.name for of in used]
        own = next((of for of in used if of.name == strategy.name), None)
        if own is not None:
            edits = between((case if strategy.name in chosen else later).conversation, other.conversation)
            other = written(names) or other
            prompt, judgement = judged(other.reading, other.conversation, profile_name, own_projection)
            failure, is_chosen = other.reading.failure, strategy.name in chosen
            yield Attempt(
                strategy.name,
                strategy.summary,
                safety_words(own.safety),
                judgement,
                len(prompt.messages),
                ending_with(case, used, other, prompt, judgement, own_projection),
                failure,
                len(edits),
                is_chosen,
                is_same_request=is_same_request(now, prompt),
                ends=frozenset(rule.code for rule in watched if not failure and not findings(other, [rule])),
                unnoticed=unnoticed_of_streams(other),
                used=own,
            )


def safety_words(safety: Collection[object]) -> str:
    """What a strategy does beyond moving things."""
    return " and ".join(sorted(map(str, safety))) or "safe"
