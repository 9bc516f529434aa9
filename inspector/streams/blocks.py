"""The blocks of a message while it is put together, bounded."""

from dataclasses import dataclass, field

from inspector.streams.model import StreamBlock

TEXT_KEPT = 4_000_000
"""Characters of one block that are kept for the assembled message; what is beyond is counted. Memory stays bounded by this, not by the capture."""
BLOCKS_KEPT = 10_000
TOTAL_KEPT = 32_000_000
"""Characters of all blocks together that are kept."""
SHOWN_NAME = 1_000
"""Characters of a name or id that are kept."""
_PIECES = 1024


@dataclass(slots=True)
class Building:
    """A block that grows: `pieces` are joined now and then, so that a stream of single characters costs what its text costs."""

    kind: str
    first: int
    last: int
    name: str = ""
    call_id: str = ""
    signature: str = ""
    complete: bool = False
    size: int = 0
    kept_size: int = 0
    pieces: list[str] = field(default_factory=list)
    whole: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.whole) + "".join(self.pieces)

    @property
    def is_whole(self) -> bool:
        """Whether all of its text is kept."""
        return self.size == self.kept_size


class Blocks:
    """Blocks by their index in order of opening; one beyond the limits is counted, not kept. `shared_with`: blocks that share the limit of TOTAL_KEPT."""

    def __init__(self, most: int = BLOCKS_KEPT, shared_with: "Blocks | None" = None) -> None:
        self.all: list[Building] = []
        self.opened = 0
        self._most = most
        self._kept: list[int] = [0] if shared_with is None else shared_with._kept

    def open(self, kind: str, event: int, name: str = "", call_id: str = "") -> int:
        self.opened += 1
        if self.opened <= self._most:
            self.all.append(Building(kind, event, event, name[:SHOWN_NAME], call_id[:SHOWN_NAME]))
        return self.opened - 1

    def get(self, index: int | None) -> Building | None:
        return self.all[index] if index is not None and 0 <= index < len(self.all) else None

    def add(self, index: int, text: str, event: int) -> None:
        block = self.get(index)
        if block is None:
            return
        size = kept_size = len(text)
        if block.kept_size + size > TEXT_KEPT or self._kept[0] + size > TOTAL_KEPT:
            text = text[: max(0, min(TEXT_KEPT - block.kept_size, TOTAL_KEPT - self._kept[0]))]
            kept_size = len(text)
        block.pieces.append(text)
        block.size += size
        block.kept_size += kept_size
        self._kept[0] += kept_size
        block.last = event
        if len(block.pieces) >= _PIECES:
            block.whole.append("".join(block.pieces))
            block.pieces.clear()

    def sign(self, index: int, signature: str) -> None:
        """Where a signature comes twice the later one counts, as for the SDKs."""
        block = self.get(index)
        if block is not None:
            block.signature = signature[: max(0, min(TEXT_KEPT, TOTAL_KEPT - self._kept[0]))]
            self._kept[0] += len(block.signature)

    def close(self, index: int, event: int) -> None:
        block = self.get(index)
        if block is not None:
            block.complete, block.last = True, event

    def assembled(self) -> tuple[StreamBlock, ...]:
        return tuple(
            StreamBlock(
                block.kind, block.text, block.first, block.last, block.name, block.call_id, block.signature, block.complete, block.size
            )
            for block in self.all
        )
