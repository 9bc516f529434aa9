"""Puts empty thinking at the start of answers that have none."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from inspector.conversation.edits import Edit, Insert, Replace, Safety, apply, between
from inspector.conversation.model import Chunk, Kind
from inspector.rules.base import Case
from inspector.strategies.arrangement import by_message, entry_of, is_tree
from inspector.strategies.base import Strategy
from inspector.strategies.numbering import renumbered


def propose(case: Case) -> Iterator[Edit]:
    """Not in Dispatch, whose rows of a message are numbered without room for one more."""
    if by_message(case):
        return
    previous = {chunk.key: before.key for before, chunk in pairwise(case.conversation.chunks)}
    inserts: list[Edit] = []
    for message in case.messages:
        first = message.chunks[0]
        # Redacted thinking of another provider is not passed on, and so is none.
        if message.role == "assistant" and not any(chunk.kind is Kind.THINKING for chunk in message.chunks):
            payload = {"type": "thinking", "text": ""}
            if is_tree(case) and first.kind is Kind.CONTROL and "empty" in first.payload:
                # A list of blocks has nothing next to them: the mark that it is empty goes.
                inserts.append(Replace(first, replace(first, kind=Kind.THINKING, payload={**payload, **entry_of(first)})))
                continue
            # A block more of its entry, which says how the answer ended (TOOL209).
            payload |= entry_of(first) if is_tree(case) else {}
            chunk = Chunk(f"new:thinking:{first.key}", 0, "assistant", Kind.THINKING, payload, first.msg_idx, 0)
            inserts.append(Insert(previous.get(first.key), chunk))
    if inserts:
        yield from between(case.conversation, renumbered(apply(case.conversation, inserts)))


STRATEGY = Strategy(
    name="add-empty-thinking",
    safety=frozenset({Safety.INVENTED}),
    summary="puts empty thinking at the start of each answer that has none",
    when="an answer has no thinking, and the provider wants it back",
    cost="No words are added: only that there was thinking, and that it is not known.",
    user_visible_effect="Nothing: empty thinking is not shown.",
    pros="DeepSeek wants the reasoning of each answer back and accepts an empty one, as several clients send it.",
    cons="The model goes on without what it thought; where a trace still has the reasoning, that is better. Anthropic refuses it, for want of a signature.",
    write_kind="W3",
    propose=propose,
    manual_only=True,
    order=490,
)
