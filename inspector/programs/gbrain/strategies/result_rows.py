"""Results where gbrain keeps them: all of one turn in one row of the user, at the index after the message with the calls."""

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, groupby

from inspector.conversation.edits import Edit, between
from inspector.conversation.model import Chunk, Kind
from inspector.rules.base import Case
from inspector.strategies.numbering import renumbered


def placed_in_rows(case: Case, results: Sequence[tuple[str, Chunk]], without: Mapping[str, Chunk]) -> Iterator[Edit]:
    """`results`, each with the key of a chunk of the turn that it belongs to; `without` goes first.

    A row that is there already is completed: what is in it keeps its order, and a new result comes before those of later calls. Where words have
    that index the results come before them; whether the program can live with that, the format says when it writes.
    """
    base = case.conversation
    rows = _rows(chunk for chunk in base.chunks if chunk.key not in without)
    index_of = {chunk.key: index for index, row in rows.items() for chunk in row}
    speaking = _speaking(rows)
    new: dict[int, list[Chunk]] = {}
    for after, result in results:
        calling = speaking.get(index_of.get(after, -1))
        if calling is not None:
            new.setdefault(calling, []).append(replace(result, msg_idx=calling + 1))
    for calling, new_results in new.items():
        calls = [chunk for chunk in rows[calling] if chunk.kind is Kind.TOOL_CALL]
        rows[calling + 1] = _completed(rows.get(calling + 1, []), new_results, calls)
    chunks = tuple(chunk for index in sorted(rows) for chunk in rows[index])
    yield from between(base, renumbered(replace(base, chunks=chunks)))


def _rows(chunks: Iterable[Chunk]) -> dict[int, list[Chunk]]:
    rows: dict[int, list[Chunk]] = {}
    for index, group in groupby(chunks, key=lambda chunk: chunk.msg_idx or 0):
        rows.setdefault(index, []).extend(group)
    return rows


def _speaking(rows: Mapping[int, Sequence[Chunk]]) -> dict[int, int]:
    """Index of a row -> that of the nearest assistant's row, itself or before it."""
    nearest: dict[int, int] = {}
    last: int | None = None
    for index in sorted(rows):
        if any(chunk.role == "assistant" for chunk in rows[index]):
            last = index
        if last is not None:
            nearest[index] = last
    return nearest


def _completed(row: Sequence[Chunk], new: Sequence[Chunk], calls: Sequence[Chunk]) -> list[Chunk]:
    # An empty row holds nothing but the note that it is empty.
    present = [chunk for chunk in row if chunk.payload.get("empty") is None]
    place = _places([*(chunk for chunk in present if chunk.kind is Kind.TOOL_RESULT), *new], calls)
    positions = sorted((place[chunk.key], number) for number, chunk in enumerate(present) if chunk.kind is Kind.TOOL_RESULT)
    last = list(accumulate((number for _, number in positions), max))
    # Never after words, where it would answer nothing.
    leading = next((number for number, chunk in enumerate(present) if chunk.kind is not Kind.TOOL_RESULT), len(present))
    before: dict[int, list[Chunk]] = {}
    for chunk in sorted(new, key=lambda chunk: place[chunk.key]):
        earlier = bisect_left(positions, (place[chunk.key], -1))
        before.setdefault(min(last[earlier - 1] + 1 if earlier else 0, leading), []).append(chunk)
    return [chunk for number in range(len(present) + 1) for chunk in (*before.get(number, ()), *present[number : number + 1])]


def _places(results: Sequence[Chunk], calls: Sequence[Chunk]) -> dict[str, int]:
    """Which call each result answers, by its place; of calls with one id the first has the first result. A stranger follows all."""
    waiting: dict[str, deque[int]] = {}
    for number, call in enumerate(calls):
        waiting.setdefault(call.call_id, deque()).append(number)
    return {result.key: waiting[result.call_id].popleft() if waiting.get(result.call_id) else len(calls) for result in results}
