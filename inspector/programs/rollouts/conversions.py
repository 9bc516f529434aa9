"""Thinking that rollouts converts before a request, since another provider or interface gave it (THINK203)."""

from collections.abc import Iterator

from inspector.conversation.model import Chunk, Kind
from inspector.conversation.queries import span_text
from inspector.programs.rollouts.readers import about, converted, target_of
from inspector.rules.base import Case


def converted_thinking(case: Case) -> Iterator[tuple[list[Chunk], str]]:
    """The chunks of each source, with a sentence."""
    target = target_of(case.conversation, case.messages)
    by_source: dict[str, list[Chunk]] = {}
    for before, after in zip(case.messages, converted(case.messages, target), strict=True):
        changed = [
            old for old, new in zip(before.chunks, after.chunks, strict=True) if old.kind is Kind.THINKING and new.kind is not old.kind
        ]
        if changed:
            source = " ".join(filter(None, (about(before, "provider"), about(before, "api")))) or "another provider"
            by_source.setdefault(source, []).extend(changed)
    for source, chunks in by_source.items():
        text = (
            f"Thinking at seq {span_text([chunk.seq for chunk in chunks])} is of {source[:80]}, and the session goes to {target.provider[:40]} "
            f"({target.api[:40]}): rollouts sends it as text between tags."
        )
        yield chunks, text
