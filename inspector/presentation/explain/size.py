"""How much is stored of a conversation whose request was too long: what is too long is not always the history."""

from collections.abc import Mapping
from dataclasses import dataclass

from inspector.conversation.model import Span
from inspector.conversation.queries import stored_pieces
from inspector.presentation.visible import size
from inspector.programs.formats import not_read
from inspector.rules.base import Case

BYTES_OF_TOKEN = 4
"""Of what is written in ASCII; any other character is taken for a token, which most of Chinese are."""
MORE = 2
"""How many times as many tokens a text may have: numbers, code and rare characters have more than prose."""
_ASCII, _NO_FIRST_BYTES = bytes(range(0x80)), bytes(range(0xC0))


@dataclass(frozen=True, slots=True)
class StoredSize:
    """`tokens` are about as many as the bytes come to. `window`: what the model takes, 0 where the text does not say that more was sent; `output`: tokens
    that were asked for as answer."""

    stored_bytes: int
    tokens: int
    window: int
    output: int

    @property
    def is_far_below(self) -> bool:
        """Whether what is stored can hardly be what is too long."""
        return self.tokens * MORE + self.output < self.window

    @property
    def words(self) -> str:
        return f"{size(self.stored_bytes)}, about {self.tokens:,} tokens" + (
            f", far below the window of {self.window:,}" if self.is_far_below else ""
        )

    @property
    def advice(self) -> str:
        """Where it is far below."""
        places = "tools, the system prompt or `max_tokens`" if self.output else "tools or the system prompt"
        return f"the excess is in {places}, or it is another conversation"


def stored_size(case: Case, values: Mapping[str, str], window: int) -> StoredSize | None:
    """Of the rows or lines of the history; None where not all of it was read. `values` are what the error text says."""
    if not_read(case.conversation):
        return None
    count, tokens = 0, 0.0
    for piece in stored_pieces(case.conversation.chunks):
        data = piece.data[piece.start : piece.stop] if isinstance(piece, Span) else piece
        others = data.translate(None, _ASCII)
        count += len(data)
        tokens += (len(data) - len(others)) / BYTES_OF_TOKEN + len(others.translate(None, _NO_FIRST_BYTES))
    return StoredSize(count, round(tokens), window, int(values.get("output", 0)) if window else 0) if count else None
