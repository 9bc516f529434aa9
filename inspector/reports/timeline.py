"""The three columns of a conversation, aligned by chunk: what is stored, what a reader makes of it, what is sent.

Each column is a list of cells over the visible rows; a cell covers the neighboring rows that went into the same message, so
that a merge is one tall cell beside many small ones.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

from inspector.conversation.model import Chunk
from inspector.projections.base import WireMessage
from inspector.reports.columns import NOT_RECORDED, SYSTEM, Columns, held_messages
from inspector.reports.row_words import arguments, hue, letter, synthetic, words
from inspector.reports.wire_pieces import made_up
from inspector.rules.base import Finding, Origin

MADE_UP_SHOWN = 200


def role_of(message: WireMessage) -> str:
    """What a message of the wire is labelled with; items of the Responses shape have a type where others have a role."""
    said = message.value.get("role") or message.value.get("type") or ""
    return said if isinstance(said, str) else ""


@dataclass(frozen=True, slots=True)
class Row:
    """One stored chunk. `position` is its place in the conversation, `partner` the seq of its call or result.

    `bracket` (rows of its true message), `read` and `sent` are set on the first row of a cell only; a cell spans the rows below it.
    """

    position: int
    chunk: Chunk
    letter: str
    words: str
    starts_message: bool
    turn: str
    partner: int | None
    badges: tuple[str, ...]
    hit: bool
    departs: str
    arguments: str
    synthetic: str
    bracket: int
    read: "ReadCell | None"
    sent: "SentCell | None"
    behind: "tuple[ReadCell, ...]" = ()
    """Messages that the reader made up and put here."""
    elsewhere: tuple[int, str] | None = None
    """In a tree, where the result of a call stands that is not on the path: its node in the tree view, and in words."""
    line: int | None = None
    """In a tree, its line as the tree view counts."""
    ledger: "tuple[LedgerCell, ...]" = ()
    """Runs of tools beside it, where the store has a ledger of them."""


@dataclass(frozen=True, slots=True)
class LedgerCell:
    """One run of a tool, or that a call has none (`status` is ""). `tone` is a badge's class; `times` are UTC; `note` says what is unusual about it."""

    status: str = ""
    tone: str = ""
    tool: str = ""
    place: str = ""
    words: str = ""
    times: str = ""
    call_id: str = ""
    uuid: str = ""
    note: str = ""
    shows_tool: bool = False
    """Its call does not stand beside it."""
    is_meant: bool = False
    """That it has no call is how the program means it."""


@dataclass(frozen=True, slots=True)
class ReadCell:
    span: int
    letter: str
    label: str
    count: int
    lane: tuple[str, ...]
    merged: bool
    why: str
    badges: tuple[str, ...]
    continued: bool
    lost: bool
    sent_as: str = ""
    """Of a message that the reader made up: what it is in the request."""


@dataclass(frozen=True, slots=True)
class Seam:
    """A piece of sent text with the chunk it came from."""

    letter: str
    seq: int
    text: str


@dataclass(frozen=True, slots=True)
class SentCell:
    span: int
    letter: str
    label: str
    lane: tuple[str, ...]
    merged: bool
    seams: tuple[Seam, ...]
    gone: tuple[tuple[str, str], ...]
    violations: tuple[tuple[str, str], ...]
    nothing: str
    continued: bool


@dataclass(frozen=True, slots=True)
class Timeline:
    rows: tuple[Row, ...]
    made_up: tuple[ReadCell, ...]
    """Messages that the reader made up and that follow no visible row."""


def timeline(all_columns: Columns, positions: Sequence[int], hits: frozenset[int], is_end: bool) -> Timeline:
    """The visible rows with their cells. `positions` are places of chunks, ascending; `hits` the seqs to light up."""
    chunks = all_columns.conversation.chunks
    visible = [chunks[position] for position in positions]
    badges = _badges(all_columns.findings)
    brackets = {start: span for start, span, _ in runs_of([all_columns.stored.get(chunk.key, chunk.key) for chunk in visible])}
    read = dict(_read_cells(all_columns, visible, badges))
    sent = dict(_sent_cells(all_columns, visible))
    seams = {at for at in range(len(visible)) if at + 1 == len(visible) or all(at + 1 in cells for cells in (brackets, read, sent))}
    behind, at_end = _made_up(all_columns, {chunk.key: at for at, chunk in enumerate(visible)}, seams, positions[0] if positions else 0)
    rows = tuple(
        Row(
            positions[at],
            chunk,
            hue(chunk),
            words(chunk),
            at in brackets,
            all_columns.turns.get(all_columns.stored.get(chunk.key, -1), "") if at in brackets else "",
            all_columns.partners.get(chunk.key),
            badges.get((Origin.STORE, chunk.key), ()),
            chunk.seq in hits,
            all_columns.departs.get(chunk.key, ""),
            arguments(chunk),
            synthetic(chunk),
            brackets.get(at, 0),
            read.get(at),
            sent.get(at),
            tuple(behind.get(at, ())),
        )
        for at, chunk in enumerate(visible)
    )
    return Timeline(rows, tuple(at_end) if is_end else ())


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


def _badges(findings: Sequence[Finding]) -> dict[tuple[Origin, str], tuple[str, ...]]:
    """Codes by stage and chunk. What came wrong in the stream shows beside the stored row."""
    result: dict[tuple[Origin, str], tuple[str, ...]] = {}
    for finding in findings:
        stage = Origin.READER if finding.origin is Origin.READER else Origin.STORE
        result[stage, finding.key] = (*result.get((stage, finding.key), ()), finding.code)
    return result


def _read_cells(
    all_columns: Columns, visible: Sequence[Chunk], badges: dict[tuple[Origin, str], tuple[str, ...]]
) -> Iterator[tuple[int, ReadCell]]:
    messages_by_code = {(finding.key, finding.code): finding.message for finding in all_columns.findings}
    seen: set[int] = set()
    for start, span, owner in runs_of([all_columns.read[chunk.key] for chunk in visible]):
        index, why = owner.index, owner.why
        held = visible[start : start + span]
        codes = tuple(code for chunk in held for code in badges.get((Origin.READER, chunk.key), ()))
        said = [messages_by_code[chunk.key, code] for chunk in held for code in badges.get((Origin.READER, chunk.key), ())]
        if index is None:
            is_control = all(hue(chunk) == "c" for chunk in held)
            label = (
                "not known" if why == NOT_RECORDED else "no message" if is_control else "left out, as meant" if owner.meant else "left out"
            )
            yield start, ReadCell(span, hue(held[0]), label, len(held), (), False, why, codes, False, True)
            continue
        message = all_columns.read_messages[index]
        several = held_messages(all_columns, message.chunks)
        lane = tuple(letter(chunk.role) for chunk in held)
        label = f"MSG {index} · {message.role}"
        why = said[0] if said else f"{several} messages read as one" if several > 1 and index not in seen else ""
        yield start, ReadCell(span, letter(message.role), label, len(message.chunks), lane, several > 1, why, codes, index in seen, False)
        seen.add(index)


def _made_up(all_columns: Columns, rows: dict[str, int], seams: set[int], first: int) -> tuple[dict[int, list[ReadCell]], list[ReadCell]]:
    """Row -> what was made up after it, and what follows no row. MADE_UP_SHOWN are shown, and in one more cell how many there are besides.

    `rows`: key of a visible chunk -> its row; `seams`: rows after which every column begins a new cell; `first`: place of the first row.
    """
    sent = {id(wire.source): (index, wire) for index, wire in enumerate(all_columns.prompt.messages) if wire.source is not None}
    beside = _beside_real_chunks(all_columns) if any(message.synthetic for message in all_columns.read_messages) else {}
    places = {chunk.key: at for at, chunk in enumerate(all_columns.conversation.chunks)}
    behind: dict[int, list[ReadCell]] = {}
    at_end: list[ReadCell] = []
    count, last = 0, ""
    for index, message in enumerate(all_columns.read_messages):
        if not message.synthetic:
            last = message.chunks[-1].key if message.chunks else last
            continue
        count += 1
        if count > MADE_UP_SHOWN:
            continue
        why = f"made up by the reader, in no store: {message.chunks[0].text}"
        found = sent.get(id(message)) or beside.get(message.chunks[0].call_id)
        sent_as = f"{all_columns.prompt.root}.{found[0]} · {role_of(found[1])}" if found else ""
        cell = ReadCell(1, letter(message.role), f"MSG {index} · {message.role}", 1, (), False, why, (), False, False, sent_as)
        row = rows.get(last, -1)
        if row in seams:
            behind.setdefault(row, []).append(cell)
        elif row >= 0 or places.get(last, first) >= first:
            at_end.append(cell)
    if count > MADE_UP_SHOWN:
        more = f"and {count - MADE_UP_SHOWN:,} more messages made up by the reader"
        at_end.append(ReadCell(1, "t", more, 1, (), False, "", (), False, False))
    return behind, at_end


def _beside_real_chunks(all_columns: Columns) -> dict[str, tuple[int, WireMessage]]:
    """Id of a call -> the message of the request that has its synthetic result as one block of several, and its place."""
    found: dict[str, tuple[int, WireMessage]] = {}
    for index, wire in enumerate(all_columns.prompt.messages):
        for piece in made_up(wire) if wire.parts else ():
            for id_ in piece.call_ids:
                found.setdefault(id_, (index, wire))
    return found


def _sent_cells(all_columns: Columns, visible: Sequence[Chunk]) -> Iterator[tuple[int, SentCell]]:
    violations: dict[int, list[tuple[str, str]]] = {}
    for violation in all_columns.judgement.violations:
        root, _, rest = violation.path.partition(".")
        number = rest.partition(".")[0] if root == all_columns.prompt.root else "-1" if root == "system" else ""
        if number == str(SYSTEM) or (number.isdecimal() and len(number) < 9):
            violations.setdefault(int(number), []).append((violation.id, violation.text))
    seen: set[int] = set()

    def owner(chunk: Chunk) -> tuple[int | None, str]:
        found = all_columns.sent[chunk.key]
        return (found.index, "" if found.index is not None else found.why or all_columns.read[chunk.key].why)

    for start, span, (index, why) in runs_of([owner(chunk) for chunk in visible]):
        held = visible[start : start + span]
        if index is None:
            nothing = why if why == NOT_RECORDED else f"nothing is sent: {why}"
            yield start, SentCell(span, hue(held[0]), "", (), False, (), (), (), nothing, False)
            continue
        if index == SYSTEM:
            texts = {part.chunk.key: part.text for part in all_columns.prompt.system_parts}
            pieces = tuple(Seam(letter(chunk.role), chunk.seq, texts[chunk.key]) for chunk in held)
            refused = tuple(violations.get(index, ())) if index not in seen else ()
            yield start, SentCell(span, "s", "system, outside the list", (), False, pieces, (), refused, "", index in seen)
            seen.add(index)
            continue
        wire = all_columns.prompt.messages[index]
        keys = {chunk.key for chunk in held}
        role = role_of(wire)
        gone = [
            (f"seq {chunk.seq} {chunk.kind}", all_columns.calls_lost[chunk.key]) for chunk in held if chunk.key in all_columns.calls_lost
        ]
        lane = tuple(letter(chunk.role) for chunk in held)
        merged = _is_wrongly_joined(all_columns, [part.chunk for part in wire.parts], letter(role))
        seams = tuple(Seam(letter(part.chunk.role), part.chunk.seq, part.text) for part in wire.parts if part.chunk.key in keys)
        refused = tuple(violations.get(index, ())) if index not in seen else ()
        yield (
            start,
            SentCell(
                span,
                letter(role),
                f"{all_columns.prompt.root}.{index} · {role}",
                lane,
                merged,
                seams,
                tuple(gone),
                refused,
                "",
                index in seen,
            ),
        )
        seen.add(index)


def _is_wrongly_joined(all_columns: Columns, chunks: Sequence[Chunk], role_letter: str) -> bool:
    """Several messages in one; not where a projection puts results and the user's words together, as every client of that wire does."""
    several = held_messages(all_columns, chunks)
    if several < 2:
        return False
    read = {all_columns.read[chunk.key].index for chunk in chunks}
    return len(read) < several or role_letter != "u" or any(letter(chunk.role) == "a" for chunk in chunks)
