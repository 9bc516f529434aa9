"""The minimap of a conversation: the positions of its chunks, its messages as read, and its findings."""

from collections.abc import Iterator
from dataclasses import dataclass

from inspector.conversation.model import Kind
from inspector.presentation.conversation.columns import Columns, stored_message_count
from inspector.presentation.conversation.row_words import hue, letter
from inspector.presentation.conversation.timeline import runs_of
from inspector.rules.base import Severity

MOST = 400
"""Chunks that are drawn one by one; of more, each stands for its neighbors."""
LINKS = 80
WIDTH = 1000.0
_CHUNKS, _READ, _FINDINGS = (8, 14), (25, 5), (0, 6)
"""(top, height) of each lane."""
_WORST_FIRST = tuple(Severity)


@dataclass(frozen=True, slots=True)
class Tick:
    """A part that leads to a seq. `x` and `width` are lengths of SVG, as text: a template would take them for numbers of a language."""

    x: str
    width: str
    seq: int


@dataclass(frozen=True, slots=True)
class Shape:
    """All rectangles of one color as one path: `classes` are those of the rows."""

    classes: str
    path: str


@dataclass(frozen=True, slots=True)
class Minimap:
    """Chunks by role, below them the messages as read, above them the findings; `links` divide it into parts, `findings` lead to each or some of them."""

    shapes: tuple[Shape, ...]
    links: tuple[Tick, ...]
    findings: tuple[Tick, ...]


def tick(place: int, count: int, seq: int) -> Tick:
    """A mark at one of `count` chunks."""
    return Tick(_length(place * WIDTH / max(1, count)), "2.5", seq)


def minimap(all_columns: Columns) -> Minimap:
    """However long the conversation is, it has at most MOST chunks, twice as many messages, and LINKS links of each kind."""
    chunks = all_columns.conversation.chunks
    if not chunks:
        return Minimap((), (), ())
    drawn: dict[str, list[str]] = {}
    for classes, start, span, lane in (*_chunk_boxes(all_columns), *_read_boxes(all_columns)):
        drawn.setdefault(classes, []).append(_box(start, span, len(chunks), lane))
    places = _finding_places(all_columns)
    for place, (_, severity) in places.items():
        drawn.setdefault(f"severity {severity}", []).append(_box(place, 1, len(chunks), _FINDINGS))
    step, finding_step = -(-len(chunks) // LINKS), max(1, -(-len(places) // LINKS))
    unit = WIDTH / len(chunks)
    links = [Tick(_length(at * unit), _length(unit * min(step, len(chunks) - at)), chunks[at].seq) for at in range(0, len(chunks), step)]
    findings = [Tick(_length(at * unit + unit / 2 - 2), "4", seq) for at, (seq, _) in list(places.items())[::finding_step]]
    return Minimap(tuple(Shape(classes, "".join(boxes)) for classes, boxes in drawn.items() if boxes), tuple(links), tuple(findings))


_Box = tuple[str, int, int, tuple[int, int]]
"""Classes, place of the first chunk, number of chunks, lane."""


def _chunk_boxes(all_columns: Columns) -> Iterator[_Box]:
    chunks = all_columns.conversation.chunks
    step = max(1, -(-len(chunks) // MOST))
    for at in range(0, len(chunks), step):
        yield f"{hue(chunks[at])}{' dim' if chunks[at].kind is Kind.THINKING else ''}", at, min(step, len(chunks) - at), _CHUNKS


def _read_boxes(all_columns: Columns) -> Iterator[_Box]:
    """Each message as read; where there are too many, each box stands for the messages of some chunks, and shows one that is merged."""
    indexes = [all_columns.read[chunk.key].index for chunk in all_columns.conversation.chunks]
    classes: dict[int, str] = {}
    for index in {index for index in indexes if index is not None}:
        message = all_columns.read_messages[index]
        classes[index] = "merged" if stored_message_count(all_columns, message.chunks) > 1 else letter(message.role)
    runs = runs_of(indexes)
    if len(runs) <= 2 * MOST:
        yield from ((classes[index], start, span, _READ) for start, span, index in runs if index is not None)
        return
    step = -(-len(indexes) // MOST)
    for at in range(0, len(indexes), step):
        among = [classes[index] for index in indexes[at : at + step] if index is not None]
        if among:
            yield "merged" if "merged" in among else among[0], at, min(step, len(indexes) - at), _READ


def _finding_places(all_columns: Columns) -> dict[int, tuple[int, str]]:
    """Place of a chunk with a finding -> the first seq of that, and its severity; MOST of them. Of several at a chunk the worst one's."""
    places = {chunk.key: at for at, chunk in enumerate(all_columns.conversation.chunks)}
    seqs: dict[int, tuple[int, str]] = {}
    for finding in sorted(all_columns.findings, key=lambda finding: _WORST_FIRST.index(finding.severity)):
        if finding.key in places and finding.seqs and len(seqs) < MOST:
            seqs.setdefault(places[finding.key], (finding.seqs[0], str(finding.severity)))
    return dict(sorted(seqs.items()))


def _box(start: int, span: int, count: int, lane: tuple[int, int]) -> str:
    top, height = lane
    if lane is _FINDINGS:
        x, width = WIDTH * (start + 0.5) / count - 2, 4.0
    else:
        x, width = WIDTH * start / count, max(WIDTH * span / count - 1, 0.8)
    return f"M{_length(x)} {top}h{_length(width)}v{height}h-{_length(width)}z"


def _length(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
