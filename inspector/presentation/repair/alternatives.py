"""What a reader or a strategy would make of a history, tried in memory and written nowhere: the verdict of one profile on each."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from inspector.conversation.edits import apply
from inspector.presentation.conversation.verdict import RULES_OF_SILENCE, silence
from inspector.profiles.base import Judgement
from inspector.profiles.judging import judged
from inspector.rules.base import Case, findings
from inspector.strategies.base import Strategy
from inspector.strategies.catalogue import STRATEGIES

ACCEPTED, REJECTED, WRONG_SILENTLY, UNREADABLE = "accepted", "rejected", "wrong silently", "nothing can be read"
"""What becomes of a next request."""
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
    failure: str = ""
    """Why nothing can be read; then the judgement is of nothing."""
    silence: str = ""
    """Why the request goes wrong silently, though it passes."""
    edits: int = 0
    chosen: bool = False

    @property
    def words(self) -> str:
        if self.failure:
            return f"cannot be loaded: {self.failure}"
        if not self.judgement.sendable:
            return self.judgement.verdict
        return f"{WRONG_SILENTLY}: {self.silence}" if self.silence else "sendable"

    @property
    def is_fine(self) -> bool:
        return self.words == "sendable"


def reader_alternatives(case: Case, names: Iterable[str], own_projection: str, profile_name: str) -> Iterator[Attempt]:
    for name in names:
        other = case if name == case.reading.reader else case.with_conversation(case.conversation, name)
        prompt, judgement = judged(other.reading, other.conversation, profile_name, own_projection)
        is_own = name == case.reading.reader
        yield Attempt(name, "", "", judgement, len(prompt.messages), other.reading.failure, silent(other, judgement), 0, is_own)


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
                failure,
                silent(other, judgement),
                len(edits),
                is_chosen,
            )


def silent(case: Case, judgement: Judgement) -> str:
    """Why a request that passes goes wrong silently; "" where it does not."""
    return silence(case, findings(case, RULES_OF_SILENCE), judgement) if judgement.sendable and not case.reading.failure else ""


class Outcome(NamedTuple):
    """Of the next request: before and after in a few words, and where it is rejected or why it goes wrong silently."""

    words: str
    why: str = ""

    @property
    def text(self) -> str:
        return f"{self.words} {self.why}".rstrip()


def outcome(before: Judgement, after: Judgement, silences: tuple[str, str], failure: str = "") -> Outcome:
    """`silences`: why it goes wrong silently before and after, as `Attempt.silence`."""
    if failure:
        return Outcome(f"{UNREADABLE}:", failure)
    old, new = (ending(judgement, why) for judgement, why in zip((before, after), silences, strict=True))
    why = ""
    if new == REJECTED:
        why = f"at {after.violations[0].path} ({after.violations[0].id})"
    elif new == WRONG_SILENTLY:
        why = f"({silences[1]})"
    return Outcome(f"{old} → {new}" if old != new else "accepted, as before" if new == ACCEPTED else f"still {new}", why)


def ending(judgement: Judgement, silence: str) -> str:
    """What becomes of a request, in two words at most."""
    return REJECTED if not judgement.sendable else WRONG_SILENTLY if silence else ACCEPTED


def tone(words: str) -> str:
    """Of an outcome: "yes" where the request passes then, "still" where it goes wrong silently, "no" where it does not pass."""
    end = words.rpartition("→")[2]
    if UNREADABLE in end or REJECTED in end:
        return "no"
    return "still" if WRONG_SILENTLY in end else "yes"


def safety_words(safety: Collection[object]) -> str:
    """What a strategy does beyond moving things."""
    return " and ".join(sorted(map(str, safety))) or "safe"
