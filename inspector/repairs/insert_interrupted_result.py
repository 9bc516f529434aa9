"""Puts an interrupted result right after each call that has none."""

from collections.abc import Iterator
from dataclasses import replace

from inspector.conversation import queries
from inspector.conversation.edits import Edit, Insert, Safety, apply, between
from inspector.conversation.model import Kind
from inspector.detectors.base import Case
from inspector.readers.dispatch import interrupted_result
from inspector.repairs.base import Strategy
from inspector.repairs.renumber_messages import renumbered


def propose(case: Case) -> Iterator[Edit]:
    """After the results that its message already has, in call order. Messages are renumbered with it: an inserted row must not share a msgIdx."""
    inserts: list[Edit] = []
    last_place: dict[int, str] = {}
    for index, call in queries.unanswered_calls(case.messages):
        if index not in last_place:
            last_place[index] = _end_of_results(case, index)
        chunk = replace(interrupted_result(call), key=f"new:{call.key}")
        inserts.append(Insert(last_place[index], chunk))
        last_place[index] = chunk.key
    if inserts:
        # A number that no neighbour has, so that the renumbering sees messages of their own.
        spare = max((chunk.msg_idx or 0 for chunk in case.conversation.chunks), default=0) + 1
        numbered = [
            replace(edit, chunk=replace(edit.chunk, msg_idx=spare + at)) for at, edit in enumerate(inserts) if isinstance(edit, Insert)
        ]
        yield from between(case.conversation, renumbered(apply(case.conversation, numbered)))


def _end_of_results(case: Case, index: int) -> str:
    end = case.messages[index].chunks[-1]
    for message in case.messages[index + 1 :]:
        if message.role != "tool" or not all(chunk.kind is Kind.TOOL_RESULT for chunk in message.chunks):
            break
        end = message.chunks[-1]
    return end.key


STRATEGY = Strategy(
    name="insert-interrupted-result",
    safety=frozenset({Safety.INVENTED}),
    summary="inserts an interrupted result right after each call that has none, and renumbers the messages",
    cost="One made-up result per call, marked as an error; rows after it move up by one.",
    noticed_by_user="A failed tool run appears where the turn was interrupted. Clients that hold rows by number should reload.",
    argued_for="It is what the loader makes up on every read anyway, put where providers accept it. The call is not run again.",
    argued_against="No tool produced this result: the tool may have run, in part or whole, before the interruption.",
    write_kind="W3",
    propose=propose,
)
