"""Gives a result whose id no call has the id of the call that it follows."""

from collections.abc import Iterator

from inspector.conversation import queries
from inspector.conversation.edits import Edit, Replace, Safety
from inspector.conversation.model import Chunk, Kind
from inspector.rules.base import Case, answered
from inspector.strategies.arrangement import is_tree
from inspector.strategies.base import Strategy
from inspector.strategies.rename_repeated_ids import with_id


def adopted(case: Case) -> Iterator[tuple[Chunk, Chunk]]:
    """(result, call) where the results in a batch that answer nothing are as many as its open calls, and no name speaks against it."""
    call_ids = {chunk.call_id for chunk in case.conversation.chunks if chunk.kind is Kind.TOOL_CALL}
    by_message: dict[int, list[Chunk]] = {}
    batches: dict[int, frozenset[str]] = {}
    for answer in answered(case):
        batches[answer.message] = answer.batch
        # In a session no program pairs a result with a call that has no id: that needs one first (TOOL205).
        if not answer.results and (answer.call.call_id or not is_tree(case)):
            by_message.setdefault(answer.message, []).append(answer.call)
    strays = {result.key: result for _, result in queries.orphaned_results(case.messages) if result.call_id not in call_ids}
    for index, calls in by_message.items():
        results = [result for key, result in strays.items() if key in batches[index]]
        pairs = list(zip(results, calls, strict=False))
        if len(results) == len(calls) and all(result.tool_name in ("", call.tool_name) for result, call in pairs):
            yield from pairs


def propose(case: Case) -> Iterator[Edit]:
    return (Replace(result, with_id(result, call.call_id)) for result, call in adopted(case))


STRATEGY = Strategy(
    name="adopt-results",
    safety=frozenset({Safety.INVENTED}),
    summary="gives results that follow open calls, and whose id no call has, the ids of these calls, in order",
    cost="Which call a result answers is inferred from their order and number: nothing stored says so. What the result says stays.",
    user_visible_effect="Nothing: ids are not shown.",
    pros="There are as many results of unknown calls after the message as it has open calls: an id that was rewritten on the way is likelier than a result of something else. The real output is kept.",
    cons="It is a guess from order and number. Where a log still has the ids, look there first.",
    write_kind="content",
    propose=propose,
    manual_only=True,
    order=260,
)
