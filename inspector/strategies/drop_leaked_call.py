"""Removes the tool call that arrived as text at the end of a turn."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from inspector.conversation.edits import Edit, Remove, Safety
from inspector.conversation.model import Chunk, Message
from inspector.conversation.queries import turns
from inspector.rules.base import Case
from inspector.rules.tool_call_in_thinking import answer_part, ending, leaks
from inspector.strategies.base import CaseCost, Strategy


def propose(case: Case) -> Iterator[Edit]:
    yield from (Remove(chunk) for chunk in leaked(case))


def leaked(case: Case) -> Iterator[Chunk]:
    """The chunks of each turn's last answer that hold leaked calls, and the blank text after them; where nothing else is left of it, those of the answer before it too."""
    for turn in _ended(case):
        while holding := {chunk.key for chunk, _ in leaks(case, turn)}:
            chunks = ending(turn)
            last = max(number for number, chunk in enumerate(chunks) if chunk.key in holding)
            removed = [
                chunk for number, chunk in enumerate(chunks) if chunk.key in holding or (number > last and answer_part(chunk).is_blank)
            ]
            yield from removed
            keys = {chunk.key for chunk in removed}
            shortened = [replace(message, chunks=tuple(chunk for chunk in message.chunks if chunk.key not in keys)) for message in turn]
            turn = [message for message in shortened if message.chunks]


def _ended(case: Case) -> Sequence[Sequence[Message]]:
    """Its turns without one that still runs."""
    all_turns = turns(case.messages)
    return all_turns[:-1] if case.running else all_turns


def _cost_of(case: Case) -> CaseCost | None:
    calls: dict[str, str] = {}
    for turn in _ended(case):
        for chunk, call in leaks(case, turn):
            calls[chunk.key] = calls.get(chunk.key, chunk.text).replace(chunk.text[call.start : call.end], "")
    is_all = not any(calls.get(chunk.key, chunk.text).strip() for chunk in leaked(case))
    return CaseCost(_LOSSY, "The call leaves the history: what is removed holds nothing else.") if is_all else None


_LOSSY = frozenset({Safety.LOSSY})
STRATEGY = Strategy(
    name="drop-leaked-call",
    safety=_LOSSY,
    summary="removes the thinking or text at the end of a turn in which a tool call arrived as text",
    cost="The whole chunk leaves the history, with what the model wrote before the call.",
    cost_of=_cost_of,
    user_visible_effect="The turn ends with what came before; a message of nothing else is gone after a reload.",
    pros="The model no longer reads its own leaked syntax, which it would copy in the next turn.",
    cons="The chunk is evidence, and what the model wanted to do next is lost: promote-leaked-call keeps it where it can be read exactly.",
    write_kind="W2",
    propose=propose,
    manual_only=True,
    order=370,
)
