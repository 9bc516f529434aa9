"""The three columns of a conversation, aligned by chunk: what is stored, what a reader makes of it, what is sent.

Each column is a list of cells over the visible rows; a cell covers the neighboring rows that went into the same message, so
that a merge is one tall cell next to many small ones.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

from inspector.conversation.model import Chunk
from inspector.presentation.conversation.columns import NOT_RECORDED, SYSTEM, Columns, stored_message_count
from inspector.presentation.conversation.row_words import arguments, hue, letter, synthetic, words
from inspector.presentation.prompt.wire_pieces import synthetic_pieces
from inspector.projections.base import WireMessage
from inspector.rules.base import Finding, Origin

SYNTHETIC_SHOWN = 200


def role_of(message: WireMessage) -> str:
    """What a message of the wire is labeled with; items of the Responses shape have a type where others have a role."""
    name = message.value.get("role") or message.value.get("type") or ""
    return name if isinstance(name, str) else ""


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """One stored chunk. `position` is its place in the conversation, `partner` the seq of its call or result.

    `bracket` (rows of its true message), `read` and `sent` are set on the first row of a cell only; a cell spans the rows below it.
    """

    position: int
    chunk: Chunk
    letter: str
    words: str
    turn: str
    partner: int | None
    badges: tuple[str, ...]
    is_highlighted: bool
    departs: str
    arguments: str
    synthetic: str
    bracket: int
    read: "ReadCell | None"
    sent: "SentCell | None"
    inserted: "tuple[ReadCell, ...]" = ()
    """Synthetic messages that the reader inserted after this row."""
    elsewhere: tuple[int, str] | None = None
    """In a tree, where the result of a call is that is not on the path: its node in the tree view, and in words."""
    line: int | None = None
    """In a tree, its line as the tree view counts."""
    ledger: "tuple[LedgerCell, ...]" = ()
    """Runs of tools for it, where the store has a ledger of them."""


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
    """Its call is in another row."""
    is_intentional: bool = False
    """The program runs it without a call on purpose."""


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
    """Of a synthetic message: what it is in the request."""


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
    lost: tuple[tuple[str, str], ...]
    violations: tuple[tuple[str, str], ...]
    nothing: str
    continued: bool


@dataclass(frozen=True, slots=True)
class Timeline:
    rows: tuple[TimelineRow, ...]
    inserted_at_end: tuple[ReadCell, ...]
    """Synthetic messages of the reader that follow no visible row."""


def timeline(all_columns: Columns, positions: Sequence[int], highlighted: frozenset[int], is_end: bool) -> Timeline:
    """The visible rows with their cells. `positions` are places of chunks, ascending; `highlighted` the seqs to highlight."""
    chunks = all_columns.conversation.chunks
    visible = [chunks[position] for position in positions]
    badges = _badges(all_columns.findings)
    brackets = {start: span for start, span, _ in runs_of([all_columns.stored.get(chunk.key, chunk.key) for chunk in visible])}
    read = dict(_read_cells(all_columns, visible, badges))
    sent = dict(_sent_cells(all_columns, visible))
    seams = {at for at in range(len(visible)) if at + 1 == len(visible) or all(at + 1 in cells for cells in (brackets, read, sent))}
    inserted, at_end = _inserted_cells(
        all_columns, {chunk.key: at for at, chunk in enumerate(visible)}, seams, positions[0] if positions else 0
    )
    rows = tuple(
        TimelineRow(
            positions[at],
            chunk,
            hue(chunk),
            words(chunk),
            all_columns.turns.get(all_columns.stored.get(chunk.key, -1), "") if at in brackets else "",
            all_columns.partners.get(chunk.key),
            badges.get((Origin.STORE, chunk.key), ()),
            chunk.seq in highlighted,
            all_columns.departs.get(chunk.key, ""),
            arguments(chunk),
            synthetic(chunk),
            brackets.get(at, 0),
            read.get(at),
            sent.get(at),
            tuple(inserted.get(at, ())),
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
    """Codes by stage and chunk. Damage of the stream shows next to the stored row."""
    result: dict[tuple[Origin, str], tuple[str, ...]] = {}
    for finding in findings:
        stage = Origin.READER if finding.origin is Origin.READER else Origin.STORE
        result[stage, finding.key] = (*result.get((stage, finding.key), ()), finding.code)
    return result


def _read_cells(
    all_columns: Columns, visible: Sequence[Chunk], badges: dict[tuple[Origin, str], tuple[str, ...]]
) -> Iterator[tuple[int, ReadCell]]:
    messages_by_code = {(finding.key, finding.code): finding.message for finding in all_columns.findings}
    seen_indexes: set[int] = set()
    for start, span, owner in runs_of([all_columns.read[chunk.key] for chunk in visible]):
        index, why = owner.index, owner.why
        run = visible[start : start + span]
        codes = tuple(code for chunk in run for code in badges.get((Origin.READER, chunk.key), ()))
        messages = [messages_by_code[chunk.key, code] for chunk in run for code in badges.get((Origin.READER, chunk.key), ())]
        if index is None:
            is_control = all(hue(chunk) == "c" for chunk in run)
            label = (
                "not known"
                if why == NOT_RECORDED
                else "no message"
                if is_control
                else "left out on purpose"
                if owner.intentional
                else "left out"
            )
            yield start, ReadCell(span, hue(run[0]), label, len(run), (), False, why, codes, False, True)
            continue
        message = all_columns.read_messages[index]
        several = stored_message_count(all_columns, message.chunks)
        lane = tuple(letter(chunk.role) for chunk in run)
        label = f"MSG {index} · {message.role}"
        why = messages[0] if messages else f"{several} messages read as one" if several > 1 and index not in seen_indexes else ""
        yield (
            start,
            ReadCell(span, letter(message.role), label, len(message.chunks), lane, several > 1, why, codes, index in seen_indexes, False),
        )
        seen_indexes.add(index)


def _inserted_cells(
    all_columns: Columns, rows: dict[str, int], seams: set[int], first: int
) -> tuple[dict[int, list[ReadCell]], list[ReadCell]]:
    """Row -> the synthetic messages after it, and those that follow no row. MADE_UP_SHOWN are shown, and one more cell counts the others.

    `rows`: key of a visible chunk -> its row; `seams`: rows after which every column begins a new cell; `first`: place of the first row.
    """
    sent = {id(wire.source): (index, wire) for index, wire in enumerate(all_columns.prompt.messages) if wire.source is not None}
    blocks = _blocks_among_real_chunks(all_columns) if any(message.synthetic for message in all_columns.read_messages) else {}
    places = {chunk.key: at for at, chunk in enumerate(all_columns.conversation.chunks)}
    inserted: dict[int, list[ReadCell]] = {}
    at_end: list[ReadCell] = []
    count, last = 0, ""
    for index, message in enumerate(all_columns.read_messages):
        if not message.synthetic:
            last = message.chunks[-1].key if message.chunks else last
            continue
        count += 1
        if count > SYNTHETIC_SHOWN:
            continue
        why = f"synthetic, inserted by the reader, in no store: {message.chunks[0].text}"
        message_of_request = sent.get(id(message)) or blocks.get(message.chunks[0].call_id)
        sent_as = f"{all_columns.prompt.root}.{message_of_request[0]} · {role_of(message_of_request[1])}" if message_of_request else ""
        cell = ReadCell(1, letter(message.role), f"MSG {index} · {message.role}", 1, (), False, why, (), False, False, sent_as)
        row = rows.get(last, -1)
        if row in seams:
            inserted.setdefault(row, []).append(cell)
        elif row >= 0 or places.get(last, first) >= first:
            at_end.append(cell)
    if count > SYNTHETIC_SHOWN:
        more = f"and {count - SYNTHETIC_SHOWN:,} more synthetic messages inserted by the reader"
        at_end.append(ReadCell(1, "t", more, 1, (), False, "", (), False, False))
    return inserted, at_end


def _blocks_among_real_chunks(all_columns: Columns) -> dict[str, tuple[int, WireMessage]]:
    """Id of a call -> the message of the request that has its synthetic result as one block of several, and its place."""
    messages: dict[str, tuple[int, WireMessage]] = {}
    for index, wire in enumerate(all_columns.prompt.messages):
        for piece in synthetic_pieces(wire) if wire.parts else ():
            for id_ in piece.call_ids:
                messages.setdefault(id_, (index, wire))
    return messages


def _sent_cells(all_columns: Columns, visible: Sequence[Chunk]) -> Iterator[tuple[int, SentCell]]:
    violations: dict[int, list[tuple[str, str]]] = {}
    for violation in all_columns.judgement.violations:
        root, _, tail = violation.path.partition(".")
        number = tail.partition(".")[0] if root == all_columns.prompt.root else "-1" if root == "system" else ""
        if number == str(SYSTEM) or (number.isdecimal() and len(number) < 9):
            violations.setdefault(int(number), []).append((violation.id, violation.text))
    seen_indexes: set[int] = set()

    def owner(chunk: Chunk) -> tuple[int | None, str]:
        place = all_columns.sent[chunk.key]
        return (place.index, "" if place.index is not None else place.why or all_columns.read[chunk.key].why)

    for start, span, (index, why) in runs_of([owner(chunk) for chunk in visible]):
        run = visible[start : start + span]
        if index is None:
            nothing = why if why == NOT_RECORDED else f"nothing is sent: {why}"
            yield start, SentCell(span, hue(run[0]), "", (), False, (), (), (), nothing, False)
            continue
        if index == SYSTEM:
            texts = {part.chunk.key: part.text for part in all_columns.prompt.system_parts}
            pieces = tuple(Seam(letter(chunk.role), chunk.seq, texts[chunk.key]) for chunk in run)
            refused = tuple(violations.get(index, ())) if index not in seen_indexes else ()
            yield start, SentCell(span, "s", "system, outside the list", (), False, pieces, (), refused, "", index in seen_indexes)
            seen_indexes.add(index)
            continue
        wire = all_columns.prompt.messages[index]
        keys = {chunk.key for chunk in run}
        role = role_of(wire)
        lost = [
            (f"seq {chunk.seq} {chunk.kind}", all_columns.calls_lost[chunk.key]) for chunk in run if chunk.key in all_columns.calls_lost
        ]
        lane = tuple(letter(chunk.role) for chunk in run)
        merged = _is_wrongly_joined(all_columns, [part.chunk for part in wire.parts], letter(role))
        seams = tuple(Seam(letter(part.chunk.role), part.chunk.seq, part.text) for part in wire.parts if part.chunk.key in keys)
        refused = tuple(violations.get(index, ())) if index not in seen_indexes else ()
        yield (
            start,
            SentCell(
                span,
                letter(role),
                f"{all_columns.prompt.root}.{index} · {role}",
                lane,
                merged,
                seams,
                tuple(lost),
                refused,
                "",
                index in seen_indexes,
            ),
        )
        seen_indexes.add(index)


def _is_wrongly_joined(all_columns: Columns, chunks: Sequence[Chunk], role_letter: str) -> bool:
    """Several messages in one; not where a projection puts results and the user's words together, as every client of that wire does."""
    several = stored_message_count(all_columns, chunks)
    if several < 2:
        return False
    read = {all_columns.read[chunk.key].index for chunk in chunks}
    return len(read) < several or role_letter != "u" or any(letter(chunk.role) == "a" for chunk in chunks)
