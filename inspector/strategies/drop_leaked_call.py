"""Removes the tool call that arrived as text at the end of a turn."""

from collections.abc import Iterator
from dataclasses import replace

from inspector.conversation.edits import Edit, Remove, Safety
from inspector.conversation.model import Chunk
from inspector.conversation.queries import turns
from inspector.rules.base import Case
from inspector.rules.tool_call_in_thinking import answer_part, ending, leaks
from inspector.strategies.base import Strategy


def propose(case: Case) -> Iterator[Edit]:
    yield from (Remove(chunk) for chunk in leaked(case))


def leaked(case: Case) -> Iterator[Chunk]:
    """The chunks of each turn's last answer that hold leaked calls, and the blank text after them; where nothing else is left of it, those of the answer before it too."""
    all_turns = turns(case.messages)
    for turn in all_turns[:-1] if case.running else all_turns:
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


STRATEGY = Strategy(
    name="drop-leaked-call",
    safety=frozenset({Safety.LOSSY}),
    summary="removes the thinking or text at the end of a turn in which a tool call arrived as text",
    cost="The whole chunk leaves the history, with what the model wrote before the call.",
    user_visible_effect="The turn ends with what came before; a message of nothing else is gone after a reload.",
    pros="The model no longer reads its own leaked syntax, which it would copy in the next turn.",
    cons="The chunk is evidence, and what the model wanted to do next is lost: promote-leaked-call keeps it where it can be read exactly.",
    write_kind="W2",
    propose=propose,
    manual_only=True,
    order=370,
)
