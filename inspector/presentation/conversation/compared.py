"""Two conversations chunk by chunk, aligned by what the chunks say: an original and its fork, two copies, or two revisions of one.

Or one conversation as two readers have it, aligned by the chunks themselves.
"""

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import groupby, zip_longest

from inspector.conversation.model import Chunk, Conversation, Message
from inspector.planning.preview import DiffRow
from inspector.presentation.conversation.row_words import arguments, words
from inspector.programs.registry import program_or_default

CONTEXT = 3
"""Equal rows that are shown next to a difference; the others are one line."""
WINDOW = 200
"""Lines of a page."""
_MOST = 3_000
"""Chunks between two anchors that are aligned: the time of that grows with their square. More are paired by their places."""


@dataclass(frozen=True, slots=True)
class ComparedLine:
    """A row of both sides, or `folded` equal rows that are not shown (`row` is then the first of them).

    With the `op` "replaced", two that have nothing to do with each other: what was removed is next to what was inserted in its place.
    """

    row: DiffRow
    folded: int = 0

    @property
    def kind(self) -> str:
        """Its `op`, or "relabeled" where only the role of a changed one differs."""
        return "relabeled" if self.row.op == "changed" and _is_relabeled(self.row) else self.row.op


@dataclass(frozen=True, slots=True)
class ComparedWindow:
    """`counts` are rows by their `op`, `relabeled` those of the changed ones that differ in the role alone; `start` is the place of the first line among `total`."""

    lines: tuple[ComparedLine, ...]
    start: int
    total: int
    counts: dict[str, int]
    relabeled: int = 0

    @property
    def changed(self) -> int:
        """Rows with other content."""
        return self.counts.get("changed", 0) - self.relabeled


def window(rows: Sequence[DiffRow], start: int, marked: Collection[int] = ()) -> ComparedWindow:
    """Rows with a `marked` seq are shown as those that differ are."""
    lines = list(_lines(rows, marked))
    start = min(max(0, start), max(0, len(lines) - 1))
    relabeled = sum(_is_relabeled(row) for row in rows if row.op == "changed")
    return ComparedWindow(tuple(lines[start : start + WINDOW]), start, len(lines), dict(Counter(row.op for row in rows)), relabeled)


def _is_relabeled(row: DiffRow) -> bool:
    return row.before is not None and row.after is not None and _content(row.before)[1:] == _content(row.after)[1:]


def _lines(rows: Sequence[DiffRow], marked: Collection[int]) -> Iterator[ComparedLine]:
    groups = [
        (is_equal, list(group))
        for is_equal, group in groupby(rows, key=lambda row: row.op == "same" and (row.before is None or row.before.seq not in marked))
    ]
    for number, (is_equal, group) in enumerate(groups):
        head = CONTEXT if number else 0
        tail = CONTEXT if number + 1 < len(groups) else 0
        if not is_equal:
            yield from _split(group)
            continue
        if len(group) <= head + tail + 1 or len(groups) == 1:
            yield from map(ComparedLine, group)
            continue
        yield from map(ComparedLine, group[:head])
        yield ComparedLine(group[head], len(group) - head - tail)
        yield from map(ComparedLine, group[len(group) - tail :])


def _split(rows: Sequence[DiffRow]) -> Iterator[ComparedLine]:
    """Both columns from the top, so that a part that was written again takes the height of the longer side, not of both."""
    for is_one_sided, group in groupby(rows, key=lambda row: row.op in ("removed", "inserted")):
        if not is_one_sided:
            yield from map(ComparedLine, group)
            continue
        several = list(group)
        removed, inserted = ([row for row in several if row.op == op] for op in ("removed", "inserted"))
        for left, right in zip_longest(removed, inserted):
            one = left or right
            if one is not None:
                yield ComparedLine(DiffRow("replaced", left.before, right.after) if left and right else one)


def compared(old: Conversation, new: Conversation) -> tuple[DiffRow, ...]:
    """In the order of both. `op` as in DiffRow: reindexed rows say the same and differ in numbers that a store holds."""
    left, right = old.chunks, new.chunks
    left_words, right_words = list(map(_content, left)), list(map(_content, right))
    first = next((at for at, (a, b) in enumerate(zip(left_words, right_words, strict=False)) if a != b), min(len(left), len(right)))
    last = next(
        (at for at, (a, b) in enumerate(zip(reversed(left_words[first:]), reversed(right_words[first:]), strict=False)) if a != b),
        min(len(left), len(right)) - first,
    )
    has_numbers = program_or_default(old.format).numbering.is_stored and old.format == new.format
    ends = len(left) - last, len(right) - last
    pairs: list[tuple[Chunk | None, Chunk | None]] = [*zip(left[:first], right[:first], strict=True)]
    for (a, b), (c, d) in _between(left_words[first : ends[0]], right_words[first : ends[1]]):
        pairs += _paired(left[first + a : first + b], right[first + c : first + d])
    pairs += zip(left[ends[0] :], right[ends[1] :], strict=True)
    return tuple(DiffRow(_op(before, after, has_numbers), before, after) for before, after in pairs)


def _content(chunk: Chunk) -> "_Words":
    return chunk.role, chunk.kind, chunk.tool_name, words(chunk), arguments(chunk)


_Words = tuple[str, str, str, str, str]
_Part = tuple[int, int]


def _between(left: list[_Words], right: list[_Words]) -> Iterator[tuple[_Part, _Part]]:
    """Parts of both sides that belong together: cut at what both say once, and aligned between these."""
    a = b = 0
    for at, other in [*_anchors(left, right), (len(left), len(right))]:
        for low, high, low_right, high_right in _gap(left[a:at], right[b:other]):
            yield (a + low, a + high), (b + low_right, b + high_right)
        if at < len(left):
            yield (at, at + 1), (other, other + 1)
        a, b = at + 1, other + 1


def _gap(left: list[_Words], right: list[_Words]) -> Iterator[tuple[int, int, int, int]]:
    if len(left) * len(right) > _MOST * _MOST:
        yield 0, len(left), 0, len(right)
        return
    for _, a, b, c, d in SequenceMatcher(None, left, right).get_opcodes():
        yield a, b, c, d


def _anchors(left: list[_Words], right: list[_Words]) -> list[tuple[int, int]]:
    """Places of what both sides say exactly once, in the same order on both: the longest such sequence."""
    counts, places = (Counter(left), Counter(right)), {content: at for at, content in enumerate(right)}
    pairs = [(at, places[content]) for at, content in enumerate(left) if counts[0][content] == 1 == counts[1][content]]
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(tails, place)
        before.append(ends[length - 1] if length else -1)
        if length == len(tails):
            tails.append(place)
            ends.append(number)
        else:
            tails[length], ends[length] = place, number
    chain = []
    number = ends[-1] if ends else -1
    while number >= 0:
        chain.append(pairs[number])
        number = before[number]
    return chain[::-1]


def _paired(left: Sequence[Chunk], right: Sequence[Chunk]) -> Iterator[tuple[Chunk | None, Chunk | None]]:
    """Two at one place are one row where they are of one kind."""
    for before, after in zip_longest(left, right):
        if before is not None and after is not None and (before.role, before.kind) != (after.role, after.kind):
            yield before, None
            yield None, after
        else:
            yield before, after


def _op(before: Chunk | None, after: Chunk | None, has_numbers: bool) -> str:
    if before is None or after is None:
        return "inserted" if before is None else "removed"
    if _content(before) != _content(after):
        return "changed"
    is_same = (before.msg_idx, before.chunk_idx) == (after.msg_idx, after.chunk_idx)
    return "same" if is_same or not has_numbers else "reindexed"


def compared_readings(one: Sequence[Message], other: Sequence[Message]) -> tuple[DiffRow, ...]:
    """Every chunk that a reader has: with the role of its message, the index of that as `msg_idx`, and its place in it as `chunk_idx`.

    A row is reindexed where its place in the message differs: the messages are cut otherwise. After a merge all indexes differ, and nothing is wrong.
    """
    left, right = _as_read(one), deque(_as_read(other))
    # Both have the order of the store, but for what a reader moves: that is removed at one place, and inserted at the other.
    ahead = {chunk.key for chunk in left}
    rows: list[DiffRow] = []
    for before in left:
        while right and right[0].key not in ahead:
            rows.append(DiffRow("inserted", None, right.popleft()))
        is_next = bool(right) and right[0].key == before.key
        after = right.popleft() if is_next else None
        rows.append(DiffRow(_op_read(before, after) if after else "removed", before, after))
        ahead.discard(before.key)
    return (*rows, *(DiffRow("inserted", None, chunk) for chunk in right))


def _as_read(messages: Sequence[Message]) -> list[Chunk]:
    return [
        replace(chunk, role=message.role, msg_idx=index, chunk_idx=place)
        for index, message in enumerate(messages)
        for place, chunk in enumerate(message.chunks)
    ]


def _op_read(before: Chunk, after: Chunk) -> str:
    if _content(before) != _content(after):
        return "changed"
    return "same" if before.chunk_idx == after.chunk_idx else "reindexed"
