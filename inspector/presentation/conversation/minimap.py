"""The minimap of a conversation: the positions of its chunks, its messages as read, and its findings."""

from dataclasses import dataclass

from inspector.conversation.model import Kind
from inspector.presentation.conversation.columns import Columns, stored_message_count
from inspector.presentation.conversation.row_words import hue, letter
from inspector.presentation.conversation.timeline import runs_of


@dataclass(frozen=True, slots=True)
class Tick:
    x: float
    width: float
    letter: str
    dim: bool
    seq: int


@dataclass(frozen=True, slots=True)
class Minimap:
    """The overview: one tick a chunk (or a bucket of them), below it the messages as read, above it the findings."""

    chunks: tuple[Tick, ...]
    read: tuple[Tick, ...]
    findings: tuple[Tick, ...]


def minimap(all_columns: Columns, most: int = 400, width: float = 1000.0) -> Minimap:
    """Never loads more than `most` ticks a lane; a bucket shows the role of its first chunk."""
    chunks = all_columns.conversation.chunks
    if not chunks:
        return Minimap((), (), ())
    step = max(1, -(-len(chunks) // most))
    place = {chunk.key: at * width / len(chunks) for at, chunk in enumerate(chunks)}
    unit = width / len(chunks)
    ticks = [
        Tick(
            round(at * unit, 1),
            round(max(unit * min(step, len(chunks) - at) - 1, 0.8), 1),
            hue(chunks[at]),
            chunks[at].kind is Kind.THINKING,
            chunks[at].seq,
        )
        for at in range(0, len(chunks), step)
    ]
    runs: list[Tick] = []
    for start, span, index in runs_of([all_columns.read[chunk.key].index for chunk in chunks]):
        if index is None or len(runs) >= most * 2:
            continue
        message = all_columns.read_messages[index]
        merged = stored_message_count(all_columns, message.chunks) > 1
        runs.append(
            Tick(
                round(start * unit, 1),
                round(max(span * unit - 1, 0.8), 1),
                "x" if merged else letter(message.role),
                False,
                chunks[start].seq,
            )
        )
    marks: dict[float, Tick] = {}
    for finding in all_columns.findings:
        if finding.key in place:
            x = round(place[finding.key] + unit / 2 - 2, 1)
            marks.setdefault(x, Tick(x, 4.0, "x", False, finding.seqs[0]))
    return Minimap(tuple(ticks), tuple(runs), tuple(marks.values())[:most])
