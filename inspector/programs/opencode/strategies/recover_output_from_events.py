"""Puts back the outcome of a tool from the event that recorded it."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit
from inspector.conversation.model import Chunk, Kind
from inspector.programs.base import FROM_LEDGER
from inspector.programs.opencode.events import outcomes_in
from inspector.rules.base import Case, answered
from inspector.strategies.arrangement import placed
from inspector.strategies.base import Strategy


def propose(case: Case) -> Iterator[Edit]:
    """Only of a call whose part never ended, and that has no result by now."""
    outcomes = outcomes_in(case.conversation)
    results = []
    for answer in answered(case) if outcomes else ():
        call = answer.call
        if (one := outcomes.get(call.key)) is not None and not any(result.key in stored_keys(case) for result in answer.results):
            payload = {
                "type": "tool-result",
                "toolCallId": call.call_id,
                "toolName": call.tool_name,
                "content": one.text,
                "isError": one.is_error,
            }
            results.append((answer.batch_end, Chunk(f"{FROM_LEDGER}{call.key}", 0, "tool", Kind.TOOL_RESULT, payload, 0, 0, at=call.at)))
    yield from placed(case, results, {})


def stored_keys(case: Case) -> frozenset[str]:
    return frozenset(chunk.key for chunk in case.conversation.chunks)


STRATEGY = Strategy(
    name="recover-output-from-events",
    safety=frozenset(),
    summary="gives a tool that never ended in the store the outcome that the store's own events recorded",
    cost="One result for each such tool.",
    user_visible_effect="The tool is shown as ended, with its output, in the imported session.",
    pros="It is what the tool gave, by the event of the very part that holds its call.",
    cons="Only databases of versions that write events have it; a trimmed output is what the program itself kept.",
    write_kind="W3",
    propose=propose,
    order=186,
)
