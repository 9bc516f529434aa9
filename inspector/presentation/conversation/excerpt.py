"""A chunk in a line: where a page quotes what a finding names."""

from collections.abc import Collection
from dataclasses import dataclass

from inspector.conversation.model import Chunk, Reading
from inspector.presentation.conversation import row_words
from inspector.presentation.conversation.placed import Block
from inspector.presentation.visible import beginning
from inspector.rules.base import Case

WORDS = 4_200
"""Characters of a chunk that a page may shorten to what it has room for."""


@dataclass(frozen=True, slots=True)
class ExcerptLine:
    """`read` says what the reader makes of it; "" where that is what is stored, or it is left out on purpose."""

    seq: int
    role: str
    kind: str
    words: str
    read: str = ""


def excerpt(case: Case, seqs: Collection[int]) -> dict[int, ExcerptLine]:
    """Of the chunks with these seqs, by seq."""
    if not seqs:
        return {}
    roles = _roles(case.reading)
    intended = {chunk.seq for dropped in case.reading.dropped if dropped.intentional for chunk in dropped.chunks}
    return {
        chunk.seq: ExcerptLine(
            chunk.seq, str(chunk.role or ""), str(chunk.kind), _words(chunk), _read(chunk.role, roles.get(chunk.seq), chunk.seq in intended)
        )
        for chunk in case.conversation.chunks
        if chunk.seq in seqs
    }


def excerpt_of_block(block: Block, seqs: Collection[int]) -> dict[int, ExcerptLine]:
    """The same of what is kept of a large conversation."""
    return {
        row.seq: ExcerptLine(
            row.seq,
            row.role,
            row.kind,
            f"{row.tool_name} {row.arguments}" if row.arguments else row.words,
            _read(row.role, None if row.read is None else block.read[row.read].role, row.is_intentional),
        )
        for row in block.rows
        if row.seq in seqs
    }


def _roles(reading: Reading) -> dict[int, str]:
    return {chunk.seq: message.role for message in reading.messages if not message.synthetic for chunk in message.chunks}


def _read(stored: str | None, read: str | None, is_intended: bool) -> str:
    """An entry of no role is no message, and nothing is wrong where it is not read."""
    if not stored or stored == read or is_intended:
        return ""
    return "not read" if read is None else f"read as {read}"


def _words(chunk: Chunk) -> str:
    called = row_words.arguments(chunk)
    return beginning(f"{chunk.tool_name} {called}" if called else row_words.words(chunk), WORDS)
