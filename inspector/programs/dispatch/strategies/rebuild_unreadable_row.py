"""Restores what damaged rows must have contained: numbers from the rows next to them, a lost chunk from a prompt that was traced."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from inspector.conversation.edits import Edit, Replace
from inspector.conversation.model import Chunk, Kind
from inspector.programs.dispatch.rows import read_chunk
from inspector.programs.dispatch.strategies.suffixes import Suffix, suffix
from inspector.programs.dispatch.strategies.traced_chunks import TracedChunk, chunk_between, name_of, prompts
from inspector.programs.formats import Cell, Record
from inspector.rules.base import Case
from inspector.strategies.base import Strategy
from inspector.text import jsontext, limits
from inspector.text.jsontext import Unreadable


def propose(case: Case) -> Iterator[Edit]:
    """A row that is rebuilt may determine the one on either side, so the rows are gone through, there and back, until nothing more comes of it."""
    chunks = list(case.conversation.chunks)
    damaged = [place for place, chunk in enumerate(chunks) if chunk.kind is Kind.UNREADABLE]
    traced = prompts(case.trace) if any(lost(chunks[place]) for place in damaged) else []
    names = [_name(chunk) for chunk in chunks] if traced else []
    changed = True
    while changed:
        changed = False
        for place in (*damaged, *reversed(damaged)):
            if chunks[place].kind is not Kind.UNREADABLE:
                continue
            rebuilt = _from_own(chunks, place) or (_from_trace(chunks, place, names, traced) if traced else None)
            if rebuilt is not None:
                chunks[place], changed = rebuilt, True
                if traced:
                    names[place] = _name(rebuilt)
    yield from (Replace(case.conversation.chunks[place], chunks[place]) for place in damaged if chunks[place].kind is not Kind.UNREADABLE)


def _name(chunk: Chunk) -> str:
    return name_of(chunk.payload) if chunk.kind is not Kind.UNREADABLE else ""


def _from_own(chunks: Sequence[Chunk], place: int) -> Chunk | None:
    """The row itself is whole where it is only stored as a BLOB, its chunk where only what follows it is missing or wrong."""
    chunk = chunks[place]
    if chunk.damage == "not-text":
        as_text = read_chunk(Record(chunk.key, Cell(chunk.raw)), chunk.seq)
        return as_text if not as_text.damage else None
    target = suffix(chunks, place, chunk.payload) if chunk.payload else None
    return _row(chunk, chunk.payload, target) if target else None


def _from_trace(chunks: Sequence[Chunk], place: int, names: Sequence[str], traced: Sequence[Sequence[TracedChunk]]) -> Chunk | None:
    """Only where nothing of the chunk can be read: a chunk of a newer version of the program is not ours to replace."""
    if not lost(chunks[place]):
        return None
    traced_chunk = chunk_between(names, place, traced)
    target = suffix(chunks, place, traced_chunk.payload, traced_chunk.starts) if traced_chunk else None
    return _row(chunks[place], traced_chunk.payload, target) if traced_chunk and target else None


def lost(chunk: Chunk) -> bool:
    """Whether nothing of the row's content can be read, here or in the program. Rows over our own limits are not lost."""
    return chunk.kind is Kind.UNREADABLE and not chunk.payload and chunk.damage not in limits.OWN_DAMAGE


def _row(chunk: Chunk, payload: Mapping[str, Any], target: Suffix) -> Chunk | None:
    """The row with these, as it will be read; None where it would be damaged again."""
    row = {"chunk": dict(payload), "role": target.role, "msgIdx": target.msg_idx, "chunkIdx": target.chunk_idx}
    try:
        data = jsontext.encode(jsontext.compact(row))
    except (Unreadable, ValueError):
        return None
    rebuilt = read_chunk(Record(chunk.key, Cell(data)), chunk.seq)
    return rebuilt if not rebuilt.damage else None


STRATEGY = Strategy(
    name="rebuild-unreadable-row",
    safety=frozenset(),
    summary="restores the role and numbers of damaged rows from the rows next to them, and a lost chunk from the one traced prompt that fits",
    cost="Nothing that can be read is changed. A row for which more than one content or place would do stays as it is.",
    user_visible_effect="What was missing in the history is there after a reload.",
    pros="Numbers follow from the rows next to it, since an append counts seq and chunkIdx in lockstep; a prompt body is what the program itself had loaded.",
    cons="The damaged bytes are evidence of how they were damaged (undo and the audit log keep them). A prompt shows what was loaded then, not what was written since.",
    write_kind="content",
    propose=propose,
    order=10,
)
