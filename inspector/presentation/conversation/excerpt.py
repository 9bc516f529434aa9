"""A chunk in a line: where a page quotes what a finding names."""

from dataclasses import dataclass

from inspector.conversation.model import Chunk
from inspector.presentation.conversation import row_words
from inspector.presentation.visible import beginning

WORDS = 4_200
"""Characters of a chunk that a page may shorten to what it has room for."""


@dataclass(frozen=True, slots=True)
class ExcerptLine:
    seq: int
    role: str
    kind: str
    words: str


def excerpt_line(chunk: Chunk) -> ExcerptLine:
    called = row_words.arguments(chunk)
    words = f"{chunk.tool_name} {called}" if called else row_words.words(chunk)
    return ExcerptLine(chunk.seq, str(chunk.role or ""), str(chunk.kind), beginning(words, WORDS))
