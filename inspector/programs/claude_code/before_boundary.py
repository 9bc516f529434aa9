"""Results that are sent, whose calls are in lines of the file that are not: as a rule before a compaction."""

from collections.abc import Mapping

from inspector.conversation.model import Chunk, Kind
from inspector.conversation.tree import about_of
from inspector.programs.claude_code.kept import is_boundary
from inspector.rules.base import Case, cached_per_case, orphaned


@cached_per_case
def calls_not_sent(case: Case) -> Mapping[str, Chunk]:
    """Key of a result without its call -> the call, where exactly one line of the file has it, before the result, and no request."""
    if not orphaned(case):
        return {}
    ids = sent_ids(case)
    elsewhere: dict[str, list[Chunk]] = {}
    for chunk in (case.tree or case.conversation).chunks:
        if chunk.kind is Kind.TOOL_CALL and chunk.call_id and chunk.call_id not in ids:
            elsewhere.setdefault(chunk.call_id, []).append(chunk)
    return {
        result.key: calls[0]
        for _, result in orphaned(case)
        if len(calls := elsewhere.get(result.call_id, [])) == 1 and calls[0].seq < result.seq
    }


def sent_ids(case: Case) -> frozenset[str]:
    """Ids of the calls that a request has."""
    return frozenset(chunk.call_id for message in case.messages for chunk in message.chunks if chunk.kind is Kind.TOOL_CALL)


def boundary_line(case: Case) -> int | None:
    """The line of the compaction that the context begins with, counted from 0."""
    return max((chunk.msg_idx or 0 for chunk in case.conversation.chunks if is_boundary(about_of(chunk))), default=None)
