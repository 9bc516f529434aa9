"""Removes the tool call that arrived as text at the end of a turn."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit, Remove, Safety
from inspector.conversation.model import Chunk
from inspector.conversation.queries import calls, turns
from inspector.detectors.base import Case
from inspector.detectors.tool_call_in_thinking import declared, leaked_call
from inspector.repairs.base import Strategy


def propose(case: Case) -> Iterator[Edit]:
    yield from (Remove(chunk) for chunk in leaked(case))


def leaked(case: Case) -> Iterator[Chunk]:
    """The chunks with which turns end, from the last one back, as long as each is a leaked call."""
    all_turns = turns(case.messages)
    for turn in all_turns[:-1] if case.running else all_turns:
        tools = declared(case, turn) if turn[-1].role == "assistant" else None
        for message in reversed(turn):
            if message.role != "assistant" or calls(message):
                break
            for chunk in reversed(message.chunks):
                if not leaked_call(chunk, tools):
                    break
                yield chunk
            else:
                continue
            break


STRATEGY = Strategy(
    name="drop-leaked-call",
    safety=frozenset({Safety.LOSSY}),
    summary="removes the thinking or text at the end of a turn in which a tool call arrived as text",
    cost="The whole chunk leaves the history, with what the model wrote before the call (undo and the audit page keep it). In place, a gap in the numbers stays.",
    noticed_by_user="The turn ends with what came before; a message of nothing else is gone after a reload.",
    argued_for="The model no longer reads its own leaked syntax, which it would copy in the next turn.",
    argued_against="The chunk is evidence, and what the model wanted to do next is lost: promote-leaked-call keeps it where it can be read exactly.",
    write_kind="W2",
    propose=propose,
    by_choice=True,
)
