"""Which violations only follow from another one: a call without its result joins the answer after it to its own, and the rules on one answer fail on both. And which findings cause a rejection."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cache

from inspector.conversation.model import Chunk, Kind
from inspector.profiles.base import Judgement
from inspector.profiles.catalogue import PROFILES
from inspector.rules.base import Finding

HOW = "two answers run together in one message"
"""How the rules that follow from a cause come to fail."""


@cache
def _follows() -> dict[str, tuple[str, ...]]:
    return {rule.id: rule.follows for profile in PROFILES for rule in profile.rules if rule.follows}


def with_causes(judgement: Judgement) -> Judgement:
    """The same, where each violation that follows from one in the same message names the rule of that."""
    by_message: dict[str, set[str]] = {}
    for violation in judgement.violations:
        by_message.setdefault(_message(violation.path), set()).add(violation.id)
    follows = _follows()
    violations = (
        replace(violation, cause=next((id_ for id_ in follows.get(violation.id, ()) if id_ in by_message[_message(violation.path)]), ""))
        for violation in judgement.violations
    )
    return replace(judgement, violations=tuple(violations))


def _message(path: str) -> str:
    return ".".join(path.split(".")[:2])


def causes(chunks: Sequence[Chunk], rejected: Collection[int], findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Of these findings the one that a rejection at these seqs is about; () where there is none.

    It is only the effect, and after its cause, where another one with the same repair is about the call of a result there.
    """
    there = next((one for one in findings if not set(rejected).isdisjoint(one.seqs)), None)
    if there is None:
        return ()
    same, calls = set(there.repaired_by), calls_of(chunks, rejected)
    others = (one for one in findings if one.code != there.code and not same.isdisjoint(one.repaired_by))
    cause = next((one for one in others if not calls.isdisjoint(one.seqs)), None)
    return (there,) if cause is None else (cause, there)


def calls_of(chunks: Sequence[Chunk], seqs: Collection[int]) -> set[int]:
    """The seqs of the calls whose results are at these seqs."""
    ids = {chunk.call_id for chunk in chunks if chunk.seq in seqs and chunk.kind is Kind.TOOL_RESULT and chunk.call_id}
    return {chunk.seq for chunk in chunks if chunk.kind is Kind.TOOL_CALL and chunk.call_id in ids}
