"""What a reader or a strategy would make of a history, tried in memory and written nowhere: the verdict of one profile on each."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from inspector.conversation.edits import apply
from inspector.presentation.conversation.verdict import RULES_OF_SILENCE, SILENT, NextRequest, verdict
from inspector.profiles.base import Judgement
from inspector.profiles.judging import judged
from inspector.rules.base import Case, Finding, findings
from inspector.strategies.base import Strategy
from inspector.strategies.catalogue import STRATEGIES

ACCEPTED, REJECTED, WRONG_SILENTLY, UNREADABLE = "accepted", "rejected", "wrong silently", "cannot be opened"
"""What becomes of a next request; of one that is none of them a verdict has words of its own."""
LARGEST = 2000
"""Chunks of a history on which all of them are tried for one page."""


class Ending(NamedTuple):
    """What becomes of a next request, in a few words, and where or why."""

    words: str
    why: str = ""

    @property
    def silence(self) -> str:
        """Why the request goes wrong silently; "" where it does not."""
        return self.why if self.words == WRONG_SILENTLY else ""


def ending(case: Case, reported: Sequence[Finding], judgement: Judgement) -> Ending:
    """`reported` has at least the findings of RULES_OF_SILENCE where the request passes."""
    if case.reading.failure:
        return Ending(UNREADABLE, case.reading.failure)
    return ending_of(verdict(case, reported, judgement).next_request, judgement)


def ending_of(following: NextRequest, judgement: Judgement) -> Ending:
    """In the words of a page of the conversation."""
    if following.state == SILENT:
        return Ending(WRONG_SILENTLY, following.more)
    if not following.state and following.words:
        return Ending(following.words, following.more)
    if judgement.sendable:
        return Ending(ACCEPTED)
    return Ending(REJECTED, f"at {judgement.violations[0].path} ({judgement.violations[0].id})")


def tried(case: Case, judgement: Judgement) -> Ending:
    """By the rules that a silent error depends on: all of them take most of the time of a trial."""
    return ending(case, findings(case, RULES_OF_SILENCE) if judgement.sendable else (), judgement)


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

    @property
    def words(self) -> str:
        if self.failure:
            return f"cannot be loaded: {self.failure}"
        if not self.judgement.sendable:
            return self.judgement.verdict
        return "sendable" if self.is_fine else f"{self.ending.words}: {self.ending.why}"

    @property
    def is_fine(self) -> bool:
        return self.ending.words == ACCEPTED


def reader_alternatives(case: Case, names: Iterable[str], own_projection: str, profile_name: str) -> Iterator[Attempt]:
    for name in names:
        other = case if name == case.reading.reader else case.with_conversation(case.conversation, name)
        prompt, judgement = judged(other.reading, other.conversation, profile_name, own_projection)
        is_own = name == case.reading.reader
        yield Attempt(name, "", "", judgement, len(prompt.messages), tried(other, judgement), other.reading.failure, 0, is_own)


def strategy_alternatives(
    case: Case, chosen: Sequence[str], own_projection: str, profile_name: str, among: Iterable[Strategy] = STRATEGIES
) -> Iterator[Attempt]:
    """Each strategy that would change something, alone; the chosen ones first."""
    edits_of = [(strategy, list(strategy.edits(case))) for strategy in among]
    for strategy, edits in sorted(edits_of, key=lambda pair: pair[0].name not in chosen):
        if edits:
            other = case.with_conversation(apply(case.conversation, edits))
            prompt, judgement = judged(other.reading, other.conversation, profile_name, own_projection)
            failure, is_chosen = other.reading.failure, strategy.name in chosen
            yield Attempt(
                strategy.name,
                strategy.summary,
                safety_words(strategy.safety),
                judgement,
                len(prompt.messages),
                tried(other, judgement),
                failure,
                len(edits),
                is_chosen,
            )


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
    return "still" if any(words in end for words in (WRONG_SILENTLY, "not known", "not judged")) else "yes"


def safety_words(safety: Collection[object]) -> str:
    """What a strategy does beyond moving things."""
    return " and ".join(sorted(map(str, safety))) or "safe"
