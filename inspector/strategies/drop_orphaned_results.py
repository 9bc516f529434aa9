"""Removes results whose call is nowhere in the conversation."""

from collections.abc import Iterator

from inspector.conversation import queries
from inspector.conversation.edits import Edit, Remove, Safety
from inspector.conversation.model import Chunk, Kind
from inspector.rules.base import Case
from inspector.strategies.base import Strategy


def without_call(case: Case) -> Iterator[Chunk]:
    """Results with an id that no call has, in a message of any role, and that no unreadable row mentions: the call may be in it."""
    call_ids = {chunk.call_id for chunk in case.conversation.chunks if chunk.kind in (Kind.TOOL_CALL, Kind.UNREADABLE)}
    hidden = [chunk.raw for chunk in (case.tree or case.conversation).chunks if chunk.kind is Kind.UNREADABLE]
    for _, result in queries.orphaned_results(case.messages):
        call_id = result.call_id.encode("utf-8", "surrogatepass")
        if result.call_id not in call_ids and not any(call_id in raw for raw in hidden):
            yield result


def propose(case: Case) -> Iterator[Edit]:
    return (Remove(chunk) for chunk in without_call(case))


STRATEGY = Strategy(
    name="drop-orphaned-results",
    safety=frozenset({Safety.LOSSY}),
    summary="removes the results whose call is nowhere in the conversation",
    cost="What the tool said leaves the history.",
    user_visible_effect="Tool runs without a call are gone after a reload.",
    pros="Most providers reject a result without its call, so the conversation cannot go on with them; without the call nobody knows what it answers.",
    cons="The output may hold facts that later answers rest on.",
    write_kind="W2",
    propose=propose,
    instead="Put the missing call back before its result, where a log or an archive still has it: then nothing is lost.",
    order=330,
)
