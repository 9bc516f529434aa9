"""Removes results that repeat another result of the same call byte for byte."""

from collections import Counter
from collections.abc import Iterator

from inspector.conversation import jsontext, queries
from inspector.conversation.edits import Edit, Remove, Safety
from inspector.conversation.model import Chunk
from inspector.rules.base import Case
from inspector.strategies.base import Strategy


def propose(case: Case) -> Iterator[Edit]:
    """Of each group of equal results stays the one that follows its call, or the first where none does."""
    misplaced = {chunk.key for _, chunk in queries.orphaned_results(case.messages)}
    for repeated in repeats(case):
        kept = next((chunk for chunk in repeated if chunk.key not in misplaced), repeated[0])
        yield from (Remove(chunk) for chunk in repeated if chunk is not kept)


def repeats(case: Case) -> list[list[Chunk]]:
    """Groups of two results and more with one content, of ids that no two calls share: whose result it is would be a guess there."""
    calls = Counter(call.call_id for message in case.messages for call in queries.calls(message))
    groups: dict[tuple[str, str], list[Chunk]] = {}
    for message in case.messages:
        for result in queries.results(message):
            if result.call_id and calls[result.call_id] < 2:
                groups.setdefault((message.role, _said(result)), []).append(result)
    return [group for group in groups.values() if len(group) > 1]


def _said(result: Chunk) -> str:
    """All of it but the place in a file that it has."""
    return jsontext.compact({name: value for name, value in result.payload.items() if name != "entry"})


STRATEGY = Strategy(
    name="deduplicate-results",
    safety=frozenset({Safety.LOSSY}),
    summary="keeps one of the results of a call that are equal byte for byte, and removes the others",
    cost="Nothing that was said is lost, only how often it was stored (undo and the audit page keep that). In place, a gap in the numbers stays.",
    user_visible_effect="A tool output that was shown several times is shown once after a reload.",
    pros="A provider takes one result for a call and refuses more, or the model pays for each copy again on every request.",
    cons="The copies are evidence of what went wrong in the run. Results that differ, and ids that several calls share, are left as they are.",
    write_kind="W2",
    propose=propose,
    order=270,
)
