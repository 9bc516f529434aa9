"""The three columns of a conversation, aligned by chunk: what is stored, what a reader makes of it, what is sent.

Each column is a list of cells over the visible rows; a cell covers the neighboring rows that went into the same message, so
that a merge is one tall cell next to many small ones.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeVar

from inspector.conversation.model import Kind
from inspector.presentation.conversation.columns import NOT_RECORDED
from inspector.presentation.conversation.placed import Inserted, PlacedChunk, ReadCell, ReadMessage, SentMessage
from inspector.presentation.conversation.row_words import letter


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """One stored chunk. `bracket` (rows of its true message), `read` and `sent` are set on the first row of a cell only; a cell spans the rows below it."""

    chunk: PlacedChunk
    is_highlighted: bool
    turn: str
    bracket: int
    read: ReadCell | None
    sent: "SentCell | None"
    read_piece: "Piece | None" = None
    sent_piece: "Piece | None" = None
    """Of a merged message, what became of this row in it."""
    inserted: tuple[ReadCell, ...] = ()
    """Synthetic messages that the reader inserted after this row."""

    @property
    def classes(self) -> str:
        chunk = self.chunk
        states = (
            ("turn", bool(self.turn)),
            ("hit", self.is_highlighted),
            ("dim", chunk.kind == Kind.THINKING),
            ("broken", chunk.kind == Kind.UNREADABLE),
        )
        return " ".join([chunk.letter, *(name for name, is_so in states if is_so)])


@dataclass(frozen=True, slots=True)
class Seam:
    """A piece of sent text with the chunk it came from; `left` characters of it are not shown. Where `is_as_stored`, `text` is ""."""

    letter: str
    seq: int
    text: str
    left: int
    is_as_stored: bool


@dataclass(frozen=True, slots=True)
class SentCell:
    span: int
    letter: str
    label: str
    merged: bool
    seams: tuple[Seam, ...]
    lost: tuple[tuple[int, str, str], ...]
    """(seq, kind, why) of chunks that are lost on the way."""
    violations: tuple[tuple[str, str], ...]
    nothing: str
    continued: bool

    @property
    def is_as_stored(self) -> bool:
        """Whether all of it is sent as the store has it. A result is a message of the user on many wires; an answer never is."""
        is_whole = bool(self.seams) and not self.merged and not self.lost
        return is_whole and all(seam.is_as_stored and {seam.letter, self.letter} != {"a", "u"} for seam in self.seams)


@dataclass(frozen=True, slots=True)
class Piece:
    """One row of a merged message. `label` and `letter` are those of the message; `label` is "" where the row gives nothing to it.

    `has_other_role`: the message has another role than the row; `lost`: why the row is not sent; `seams` are the texts that are not as stored.
    `repeats`: the row above is of the same stored message, and the same became of it.
    """

    label: str
    letter: str
    has_other_role: bool = False
    lost: str = ""
    seams: tuple[Seam, ...] = ()
    repeats: bool = False
    is_last: bool = False

    @property
    def is_changed(self) -> bool:
        return bool(self.has_other_role or self.lost or self.seams)


@dataclass(frozen=True, slots=True)
class Window:
    """Chunks to show with their places in the conversation, ascending, and the messages that they went into by index."""

    places: tuple[int, ...]
    rows: tuple[PlacedChunk, ...]
    read: Mapping[int, ReadMessage]
    sent: Mapping[int, SentMessage]


@dataclass(frozen=True, slots=True)
class Timeline:
    rows: tuple[TimelineRow, ...]
    inserted_at_end: tuple[ReadCell, ...]
    """Synthetic messages of the reader that follow no visible row."""


def timeline(window: Window, inserted: Iterable[Inserted], highlighted: frozenset[int], is_end: bool) -> Timeline:
    """The rows with their cells. `highlighted` are the seqs to highlight; `is_end`: no chunk after these is to be shown."""
    rows = window.rows
    # A chunk of no message is alone.
    brackets = {
        start: span for start, span, _ in runs_of([(row.stored, -1 if row.stored is not None else at) for at, row in enumerate(rows)])
    }
    read = dict(_read_cells(window))
    sent = dict(_sent_cells(window))
    read_pieces, sent_pieces = dict(_pieces(rows, read, _read_piece)), dict(_pieces(rows, sent, _sent_piece))
    seams = {at for at in range(len(rows)) if at + 1 == len(rows) or all(at + 1 in cells for cells in (brackets, read, sent))}
    after, at_end = _inserted_cells(window.places, inserted, seams)
    return Timeline(
        tuple(
            TimelineRow(
                row,
                row.seq in highlighted,
                row.turn if at in brackets else "",
                brackets.get(at, 0),
                read.get(at),
                sent.get(at),
                read_pieces.get(at),
                sent_pieces.get(at),
                tuple(after.get(at, ())),
            )
            for at, row in enumerate(rows)
        ),
        tuple(at_end) if is_end else (),
    )


T = TypeVar("T")


def runs_of(owners: Sequence[T]) -> list[tuple[int, int, T]]:
    """(place of the first, how many, owner) of neighbors with one owner."""
    runs: list[tuple[int, int, T]] = []
    start = 0
    for owner, group in groupby(owners):
        span = len(list(group))
        runs.append((start, span, owner))
        start += span
    return runs


def _read_cells(window: Window) -> Iterator[tuple[int, ReadCell]]:
    seen_indexes: set[int] = set()
    for start, span, (index, why, is_intentional) in runs_of([(row.read, row.read_why, row.is_intentional) for row in window.rows]):
        run = window.rows[start : start + span]
        marks = tuple(mark for row in run for mark in row.read_badges)
        if index is None:
            is_control = all(row.letter == "c" for row in run)
            is_left_out = not (why == NOT_RECORDED or is_control or is_intentional)
            label = (
                "not known" if why == NOT_RECORDED else "no message" if is_control else f"left out{'' if is_left_out else ' on purpose'}"
            )
            yield start, ReadCell(span, run[0].letter, label, len(run), False, why, marks, False, True, is_left_out=is_left_out)
            continue
        message = window.read[index]
        note = next((row.read_note for row in run if row.read_note), "")
        why = note or (f"{message.several} messages read as one" if message.several > 1 and index not in seen_indexes else "")
        label = f"MSG {index} · {message.role}"
        yield (
            start,
            ReadCell(
                span,
                letter(message.role),
                label,
                message.count,
                message.several > 1,
                why,
                marks,
                index in seen_indexes,
                False,
                is_as_stored=message.several == 1 and all(row.role_letter == letter(message.role) and not row.is_altered for row in run),
            ),
        )
        seen_indexes.add(index)


Cell = TypeVar("Cell", ReadCell, SentCell)


def _pieces(
    rows: Sequence[PlacedChunk], cells: Mapping[int, Cell], piece_of: Callable[[PlacedChunk, Cell], Piece]
) -> Iterator[tuple[int, Piece]]:
    """Of each row in a merged message its piece of it."""
    for start, cell in cells.items():
        last = start + cell.span - 1
        above = None
        for at in range(start, last + 1) if cell.merged else ():
            piece = piece_of(rows[at], cell)
            repeats = piece == above and rows[at].stored is not None and rows[at].stored == rows[at - 1].stored
            yield at, replace(piece, repeats=repeats, is_last=at == last)
            above = piece


def _read_piece(row: PlacedChunk, cell: ReadCell) -> Piece:
    return Piece(_name(cell.label), cell.letter, row.role_letter != cell.letter)


def _sent_piece(row: PlacedChunk, cell: SentCell) -> Piece:
    if row.sent_lost or not row.sent_parts:
        return Piece("", cell.letter, lost=row.sent_lost)
    seams = tuple(Seam(row.role_letter, row.seq, part.text, part.left, False) for part in row.sent_parts if not part.is_as_stored)
    # On many wires a result is a piece of a message of the user.
    has_other_role = row.role_letter != cell.letter and (row.role_letter, cell.letter) != ("t", "u")
    return Piece(_name(cell.label), cell.letter, has_other_role, seams=seams)


def _name(label: str) -> str:
    """Of the message, without its role."""
    return label.partition(" · ")[0]


def _inserted_cells(
    places: Sequence[int], inserted: Iterable[Inserted], seams: set[int]
) -> tuple[dict[int, list[ReadCell]], list[ReadCell]]:
    """Row -> the synthetic messages after it, and those that follow no row. `seams`: rows after which every column begins a new cell."""
    rows = {place: row for row, place in enumerate(places)}
    first = places[0] if places else 0
    after: dict[int, list[ReadCell]] = {}
    at_end: list[ReadCell] = []
    for message in inserted:
        row = -1 if message.after is None else rows.get(message.after, -1)
        if row in seams:
            after.setdefault(row, []).append(message.cell)
        elif row >= 0 or message.after is None or message.after >= first:
            at_end.append(message.cell)
    return after, at_end


def _sent_cells(window: Window) -> Iterator[tuple[int, SentCell]]:
    seen_indexes: set[int] = set()
    for start, span, (index, why) in runs_of([(row.sent, row.sent_why) for row in window.rows]):
        run = window.rows[start : start + span]
        if index is None:
            nothing = why if why == NOT_RECORDED else f"nothing is sent: {why}"
            yield start, SentCell(span, run[0].letter, "", False, (), (), (), nothing, False)
            continue
        message = window.sent[index]
        # In the order of the message: a wire may want the results of tools before the words.
        pieces = sorted(((part, row) for row in run for part in row.sent_parts), key=lambda piece: piece[0].place)
        seams = tuple(Seam(row.role_letter, row.seq, part.text, part.left, part.is_as_stored) for part, row in pieces)
        lost = tuple((row.seq, row.kind, row.sent_lost) for row in run if row.sent_lost)
        continued = index in seen_indexes
        violations = () if continued else message.violations
        yield start, SentCell(span, message.letter, message.label, message.merged, seams, lost, violations, "", continued)
        seen_indexes.add(index)
