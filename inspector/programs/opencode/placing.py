"""Where the result of a call goes: after those of the calls before it in its step, since one part holds both."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from inspector.conversation.edits import Edit, Remove, apply, between
from inspector.conversation.model import Chunk, Kind
from inspector.conversation.numbering import in_order
from inspector.rules.base import Case


def placed_in_steps(case: Case, results: Sequence[tuple[str, Chunk]], without: Mapping[str, Chunk]) -> Iterator[Edit]:
    base = case.conversation
    remaining = apply(base, [Remove(chunk) for chunk in without.values()]).chunks
    waiting = {chunk.call_id: chunk for _, chunk in results}
    spare = max((chunk.msg_idx or 0 for chunk in base.chunks), default=0) + 1
    chunks: list[Chunk] = []
    place = 0
    while place < len(remaining):
        step: list[Chunk] = []
        while place < len(remaining) and remaining[place].role != "tool" and (not step or remaining[place].msg_idx == step[0].msg_idx):
            step.append(remaining[place])
            place += 1
        stored: list[Chunk] = []
        while place < len(remaining) and remaining[place].role == "tool":
            stored.append(remaining[place])
            place += 1
        calls = [chunk.call_id for chunk in step if chunk.kind is Kind.TOOL_CALL]
        new = [waiting.pop(id_) for id_ in calls if id_ in waiting]
        if new:
            spare += 1
            number = stored[0].msg_idx if stored else spare
            order = {id_: position for position, id_ in reversed(list(enumerate(calls)))}
            stored += [replace(chunk, msg_idx=number) for chunk in new]
            stored.sort(key=lambda chunk: order.get(chunk.call_id, len(calls)))
        chunks += step + stored
    yield from between(base, in_order(replace(base, chunks=tuple(chunks))))
