"""Puts an interrupted result right after each call that has none."""

from collections.abc import Iterator
from dataclasses import replace

from inspector.conversation import queries
from inspector.conversation.edits import Edit, Safety
from inspector.conversation.model import Chunk, Kind
from inspector.conversation.pairing import answered
from inspector.detectors.base import Case
from inspector.detectors.synthetic_texts import OURS, ROLLOUTS
from inspector.readers.dispatch import interrupted_result
from inspector.repairs.arrangement import is_dispatch, placed
from inspector.repairs.base import Strategy
from inspector.repairs.insertion import end_of_results, inserted


def propose(case: Case) -> Iterator[Edit]:
    """After the results that its message already has, in call order."""
    if not is_dispatch(case):
        return placed(case, [(found.batch_end, _result(case, found.call)) for found in answered(case.messages) if not found.results], {})
    return inserted(
        case,
        [
            (end_of_results(case, index), (replace(interrupted_result(call), key=f"new:{call.key}"),))
            for index, call in queries.unanswered_calls(case.messages)
        ],
    )


def _result(case: Case, call: Chunk) -> Chunk:
    """In the words of the program that keeps the store, so that it knows them again; else in ours."""
    words = ROLLOUTS if case.conversation.format == "rollouts" else OURS
    payload = {"type": "tool-result", "toolCallId": call.call_id, "toolName": call.tool_name, "content": words, "isError": True}
    return Chunk(f"new:{call.key}", 0, "tool", Kind.TOOL_RESULT, payload, 0, 0, at=call.at)


STRATEGY = Strategy(
    name="insert-interrupted-result",
    safety=frozenset({Safety.INVENTED}),
    summary="inserts an interrupted result right after each call that has none, and renumbers the messages",
    cost="One made-up result per call, marked as an error where the store can say so; rows after it move up by one.",
    noticed_by_user="A failed tool run appears where the turn was interrupted. Clients that hold rows by number should reload.",
    argued_for="It is what the loader makes up on every read anyway, put where providers accept it. The call is not run again.",
    argued_against="No tool produced this result: the tool may have run, in part or whole, before the interruption.",
    write_kind="W3",
    propose=propose,
)
