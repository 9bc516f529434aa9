"""Results on the path whose calls are in lines of the file that the path does not have, as a rule before a compaction."""

from collections.abc import Mapping

from inspector.conversation.model import Chunk, Kind
from inspector.conversation.tree import entries
from inspector.programs.claude_code.lines import BOUNDARY
from inspector.rules.base import Case, cached_per_case, orphaned


@cached_per_case
def calls_off_the_path(case: Case) -> Mapping[str, Chunk]:
    """Key of a result without its call -> the call, where exactly one line of the file off the path has it before the result."""
    if case.tree is None:
        return {}
    ids = {chunk.call_id for chunk in case.conversation.chunks if chunk.kind is Kind.TOOL_CALL}
    elsewhere: dict[str, list[Chunk]] = {}
    for chunk in case.tree.chunks:
        if chunk.kind is Kind.TOOL_CALL and chunk.call_id and chunk.call_id not in ids:
            elsewhere.setdefault(chunk.call_id, []).append(chunk)
    return {
        result.key: calls[0]
        for _, result in orphaned(case)
        if len(calls := elsewhere.get(result.call_id, [])) == 1 and calls[0].seq < result.seq
    }


def boundary_line(case: Case) -> int | None:
    """The line of the compaction that the path begins with, counted from 0."""
    first = next(iter(entries(case.conversation)), None)
    return first.chunks[0].msg_idx if first is not None and first.about.get("subtype") == BOUNDARY else None
