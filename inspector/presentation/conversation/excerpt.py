"""A chunk in a line: where a page quotes what a finding names."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from inspector.conversation.model import Chunk, Kind, Reading
from inspector.presentation.conversation import row_words
from inspector.presentation.conversation.placed import Block
from inspector.presentation.tree.view import TreeView
from inspector.presentation.visible import beginning
from inspector.rules.base import Case

WORDS = 4_200
"""Characters of a chunk that a page may shorten to what it has room for."""
MOST = 4
"""Lines of an excerpt."""


@dataclass(frozen=True, slots=True)
class ExcerptLine:
    """`read` says what the reader makes of it; "" where that is what is stored, or it is left out on purpose."""

    seq: int
    role: str
    kind: str
    words: str
    read: str = ""
    left_out: int = 0
    """Chunks between the line before and this one."""
    is_named: bool = True
    """Whether the finding names it; the others are what is around it."""


class Excerpt(NamedTuple):
    """What a finding names: all of it where that is little, else the chunks that are not read as they are stored, of many the first and the last. A result comes with its call.

    `left` counts the chunks that it names after the last line.
    """

    lines: tuple[ExcerptLine, ...] = ()
    left: int = 0


def excerpts(case: Case, named: Iterable[Collection[int]], is_filled: bool = False) -> list[Excerpt]:
    """One for each finding, by the seqs that it names; of a tree they may be off the path. `is_filled`: with what is around them, up to `MOST` lines."""
    chunks, roles = (case.tree or case.conversation).chunks, _roles(case.reading)
    on_path = {chunk.seq for chunk in case.conversation.chunks}
    intended = {chunk.seq for dropped in case.reading.dropped if dropped.intentional for chunk in dropped.chunks}
    places = {chunk.seq: place for place, chunk in enumerate(chunks)}
    calls = {chunk.call_id: place for place, chunk in enumerate(chunks) if chunk.kind is Kind.TOOL_CALL and chunk.call_id}

    def read(place: int) -> str:
        chunk = chunks[place]
        return _read(chunk.role, chunk.kind, roles.get(chunk.seq), chunk.seq in intended)

    def line(place: int) -> ExcerptLine:
        chunk = chunks[place]
        return ExcerptLine(chunk.seq, str(chunk.role or ""), str(chunk.kind), _words(chunk), read(place))

    def call(place: int) -> int | None:
        return calls.get(chunks[place].call_id) if chunks[place].kind is Kind.TOOL_RESULT else None

    def next_to(place: int, step: int) -> int | None:
        """On the path the next of it; at its end, or off it, the next in the file."""
        others = range(place + step, len(chunks) if step > 0 else -1, step)
        if chunks[place].seq not in on_path:
            return next(iter(others), None)
        return next((other for other in others if chunks[other].seq in on_path), next(iter(others), None))

    return [
        _excerpt(sorted({places[seq] for seq in seqs if seq in places}), read, line, call, next_to if is_filled else None) for seqs in named
    ]


def excerpt_of_block(block: Block, seqs: Collection[int], is_filled: bool = False) -> Excerpt:
    """The same of what is kept of a large conversation."""
    rows = block.rows
    places = {row.seq: place for place, row in enumerate(rows)}

    def read(place: int) -> str:
        row = rows[place]
        return _read(row.role, row.kind, None if row.read is None else block.read[row.read].role, row.is_intentional)

    def line(place: int) -> ExcerptLine:
        row = rows[place]
        words = _stored(row.kind, f"{row.tool_name} {row.arguments}" if row.arguments else row.words)
        return ExcerptLine(row.seq, row.role, row.kind, words, read(place))

    def call(place: int) -> int | None:
        row = rows[place]
        return places.get(row.partner) if row.kind == Kind.TOOL_RESULT and row.partner is not None else None

    def next_to(place: int, step: int) -> int | None:
        return place + step if 0 <= place + step < len(rows) else None

    return _excerpt(sorted({places[seq] for seq in seqs if seq in places}), read, line, call, next_to if is_filled else None)


def above_cut(excerpt: Excerpt, tree: TreeView | None, seqs: Collection[int], first: int) -> Excerpt:
    """With what a cut hides above the path, where the finding names that or the path's `first` seq: of what is kept of a large conversation the tree has it."""
    hidden = tree.above_cut if tree else ()
    if not hidden or not {first, *(entry.seq for entry in hidden)} & {*seqs}:
        return excerpt
    lines = [
        ExcerptLine(entry.seq, "", entry.what, entry.words, "not read", is_named=entry.seq in seqs)
        for entry in hidden[-max(MOST // 2, MOST - len(excerpt.lines)) :]
    ]
    return Excerpt((*lines, *excerpt.lines[: MOST - len(lines)]), excerpt.left)


def _excerpt(
    named: list[int],
    read: Callable[[int], str],
    line: Callable[[int], ExcerptLine],
    call: Callable[[int], int | None],
    next_to: Callable[[int, int], int | None] | None,
) -> Excerpt:
    """`named` are places; `call` gives that of the call of a result, `next_to` that of the line before (-1) or after (1)."""
    quoted = named if len(named) <= MOST else [place for place in named if read(place)] or named
    quoted = sorted({*quoted, *(place for place in map(call, quoted) if place is not None)})
    if not quoted:
        return Excerpt()
    if len(quoted) > MOST:
        quoted = quoted[: MOST // 2] + quoted[MOST // 2 - MOST :]
    shown = _filled(quoted, next_to) if next_to else quoted
    gaps = (place - before - 1 for before, place in pairwise([shown[0] - 1, *shown]))
    lines = tuple(replace(line(place), left_out=gap, is_named=place in quoted) for place, gap in zip(shown, gaps, strict=True))
    return Excerpt(lines, sum(place > quoted[-1] for place in named))


def _filled(quoted: list[int], next_to: Callable[[int, int], int | None]) -> list[int]:
    """First with what is between them, where there is room for all of it."""
    shown = list(range(quoted[0], quoted[-1] + 1)) if quoted[-1] - quoted[0] < MOST else quoted
    steps = [-1, 1]
    while steps and len(shown) < MOST:
        step = steps.pop(0)
        if (place := next_to(shown[0 if step < 0 else -1], step)) is not None:
            shown = sorted([*shown, place])
            steps.append(step)
    return shown


def _roles(reading: Reading) -> dict[int, str]:
    return {chunk.seq: message.role for message in reading.messages if not message.synthetic for chunk in message.chunks}


def _read(stored: str | None, kind: str, read: str | None, is_intended: bool) -> str:
    """An entry of no role is no message, and nothing is wrong where it is not read, unless nobody can read it."""
    if not (stored or kind == Kind.UNREADABLE) or stored == read or is_intended:
        return ""
    return "not read" if read is None else f"read as {read}"


def _words(chunk: Chunk) -> str:
    called = row_words.arguments(chunk)
    return beginning(_stored(chunk.kind, f"{chunk.tool_name} {called}" if called else row_words.words(chunk)), WORDS)


def _stored(kind: str, words: str) -> str:
    """Of what nobody can read the bytes, and not first the reason, which the finding says."""
    return words.partition("\n")[2] or words if kind == Kind.UNREADABLE else words
