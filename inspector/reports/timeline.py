"""The three columns of a conversation, aligned by chunk: what is stored, what a reader makes of it, what is sent.

Each column is a list of cells over the visible rows; a cell covers the neighbouring rows that went into the same message, so
that a merge is one tall cell beside many small ones.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import TypeVar

from inspector.conversation import jsontext
from inspector.conversation.model import Chunk, Conversation, Dropped, Kind, Message
from inspector.detectors.base import Case, Fault, Finding
from inspector.profiles.base import Judgement
from inspector.projections.base import Prompt, WireMessage
from inspector.readers.dispatch import INTERRUPTED
from inspector.reports.clock import turn_times

MADE_UP_SHOWN = 200
NOT_RECORDED = "not known: the prompt of this request is not recorded"
SYSTEM = -1
"""Place of a chunk that is sent outside of the list, as the system prompt."""
ROLE_LETTERS = {
    "user": "u", "assistant": "a", "tool": "t", "system": "s", "model": "a", "developer": "s", "reasoning": "a",
    "function_call": "a", "function_call_output": "t",
}  # fmt: skip
"""Roles of chunks, and what other wire shapes say in their place; an item of the Responses shape has a type."""


def letter(role: str) -> str:
    return ROLE_LETTERS.get(role, "x")


def hue(chunk: Chunk) -> str:
    """The letter of its role; what a session keeps beside its messages has none, and that is no damage."""
    return "c" if chunk.kind is Kind.CONTROL and not chunk.role else letter(chunk.role)


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
class Owner:
    """Where a chunk went in one column: a message (`index`), or nowhere and why."""

    index: int | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Columns:
    """Owners of every chunk of a conversation in each column; computed once, sliced by every page."""

    conversation: Conversation
    true_messages: tuple[Message, ...]
    read_messages: tuple[Message, ...]
    prompt: Prompt
    judgement: Judgement
    findings: tuple[Finding, ...]
    stored: dict[str, int]
    read: dict[str, Owner]
    sent: dict[str, Owner]
    partners: dict[str, int]
    turns: dict[int, str]
    """Index of the message that starts a turn -> which turn it is, and when it began."""
    departs: dict[str, str]
    calls_lost: dict[str, str]


def columns(
    case: Case,
    read_messages: tuple[Message, ...],
    dropped: Sequence[Dropped],
    prompt: Prompt,
    judgement: Judgement,
    findings: Sequence[Finding],
    elsewhere: str = "not read into any message",
) -> Columns:
    """`elsewhere` says why a chunk is in no message although nothing dropped it (for a past step: it came later)."""
    conversation, true_messages = case.conversation, case.messages
    stored = {chunk.key: index for index, message in enumerate(true_messages) for chunk in message.chunks}
    read = {chunk.key: Owner(index) for index, message in enumerate(read_messages) if not message.synthetic for chunk in message.chunks}
    for gone in dropped:
        for chunk in gone.chunks:
            read[chunk.key] = Owner(None, gone.why)
    lost = {chunk.key: gone.why for gone in prompt.lost for chunk in gone.chunks}
    sent: dict[str, Owner] = {}
    first_wire: dict[int, int] = {}
    for part in prompt.system_parts:
        sent[part.chunk.key] = Owner(SYSTEM)
    for index, wire in enumerate(prompt.messages):
        if wire.source is not None:
            first_wire.setdefault(id(wire.source), index)
        for part in wire.parts:
            sent[part.chunk.key] = Owner(index)
    for message in read_messages:
        for chunk in message.chunks:
            if chunk.key not in sent:
                sent[chunk.key] = Owner(first_wire.get(id(message)), lost.get(chunk.key, "nothing of it is sent"))
    for chunk in conversation.chunks:
        read.setdefault(chunk.key, Owner(None, elsewhere))
        sent.setdefault(chunk.key, Owner(None, ""))
    return Columns(
        conversation, true_messages, read_messages, prompt, judgement, tuple(findings), stored, read, sent,
        _partners(conversation), _turns(case), _departures(conversation, stored, read), lost,
    )  # fmt: skip


def _partners(conversation: Conversation) -> dict[str, int]:
    """Key of a call -> seq of its result, and the other way round; the first of each id counts."""
    calls: dict[str, Chunk] = {}
    partners: dict[str, int] = {}
    for chunk in conversation.chunks:
        if chunk.kind is Kind.TOOL_CALL:
            calls.setdefault(chunk.call_id, chunk)
        elif chunk.kind is Kind.TOOL_RESULT and chunk.call_id in calls:
            call = calls[chunk.call_id]
            partners.setdefault(call.key, chunk.seq)
            partners[chunk.key] = call.seq
    return partners


def _turns(case: Case) -> dict[int, str]:
    times = turn_times(case.messages, case.trace)
    starts = [index for index, message in enumerate(case.messages) if message.role == "user"]
    return {index: f"turn {number} · {_clock(times.get(index))}" for number, index in enumerate(starts, start=1)}


def _clock(milliseconds: int | None) -> str:
    return "time unknown" if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%m-%d %H:%M:%S")


def _departures(conversation: Conversation, stored: dict[str, int], read: dict[str, Owner]) -> dict[str, str]:
    """The first chunk that the reader puts into another message than it was written in, or leaves out."""
    held: dict[int, int] = {}
    for chunk in conversation.chunks:
        owner, message = read[chunk.key], stored.get(chunk.key)
        if owner.why == NOT_RECORDED:
            return {}
        if owner.index is None:
            return {chunk.key: "left out from here"}
        if message is not None and held.setdefault(owner.index, message) != message:
            return {chunk.key: "read wrongly from here"}
    return {}


def arguments(chunk: Chunk) -> str:
    value = chunk.payload.get("input")
    return value if isinstance(value, str) else jsontext.compact(value) if chunk.kind is Kind.TOOL_CALL else ""


def words(chunk: Chunk) -> str:
    """What a row says of its chunk: its text, or why it cannot be read."""
    if chunk.kind is Kind.UNREADABLE:
        return f"{chunk.reason}\n{chunk.raw[:2000].decode('utf-8', 'replace')}"
    return chunk.text or _entry_words(chunk)


# What an entry without message says of itself, in the order in which a person asks.
_ENTRY_FIELDS = ("summary", "label", "name", "modelId", "thinkingLevel", "customType", "targetId", "firstKeptEntryId", "reason")


def _entry_words(chunk: Chunk) -> str:
    """`model change: modelId m`, of a control row of a session; "" for anything else."""
    about = chunk.payload.get("entry") if chunk.kind is Kind.CONTROL else None
    if not isinstance(about, Mapping) or not isinstance(about.get("type"), str):
        return ""
    said = ", ".join(f"{name} {value[:200]}" for name in _ENTRY_FIELDS if isinstance(value := about.get(name), str) and value)
    return f"{about['type'].replace('_', ' ')}{f': {said}' if said else ''}"


def synthetic(chunk: Chunk) -> str:
    """Why a stored result is none that a tool gave; "" for all others. The texts are those of Dispatch's kernel and reconcile.ts, whole."""
    if chunk.kind is not Kind.TOOL_RESULT:
        return ""
    if chunk.text == INTERRUPTED:
        return "no tool said this: it stands in for a result that is missing"
    if chunk.is_error and chunk.text == "Aborted":
        return "no tool said this: the turn was stopped"
    if chunk.is_error and chunk.text == f"Unknown tool: {chunk.tool_name}":
        return "no tool said this: there is none of that name"
    return ""


@dataclass(frozen=True, slots=True)
class Timeline:
    rows: tuple[Row, ...]
    made_up: tuple[ReadCell, ...]
    """Messages that the reader made up and that stand behind no visible row."""


def timeline(all_columns: Columns, positions: Sequence[int], hits: frozenset[int], is_end: bool) -> Timeline:
    """The visible rows with their cells. `positions` are places of chunks, ascending; `hits` the seqs to light up."""
    chunks = all_columns.conversation.chunks
    visible = [chunks[position] for position in positions]
    badges = _badges(all_columns.findings)
    brackets = {start: span for start, span, _ in _runs([all_columns.stored.get(chunk.key, chunk.key) for chunk in visible])}
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
            badges.get((Fault.STORE, chunk.key), ()),
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


def _runs(owners: Sequence[T]) -> list[tuple[int, int, T]]:
    """(place of the first, how many, owner) of neighbours with one owner."""
    runs: list[tuple[int, int, T]] = []
    start = 0
    for owner, group in groupby(owners):
        span = len(list(group))
        runs.append((start, span, owner))
        start += span
    return runs


def _badges(findings: Sequence[Finding]) -> dict[tuple[Fault, str], tuple[str, ...]]:
    """Codes by stage and chunk. What came wrong in the stream shows beside the stored row."""
    result: dict[tuple[Fault, str], tuple[str, ...]] = {}
    for finding in findings:
        stage = Fault.READER if finding.fault is Fault.READER else Fault.STORE
        result[stage, finding.key] = (*result.get((stage, finding.key), ()), finding.code)
    return result


def _read_cells(
    all_columns: Columns, visible: Sequence[Chunk], badges: dict[tuple[Fault, str], tuple[str, ...]]
) -> Iterator[tuple[int, ReadCell]]:
    messages_by_code = {(finding.key, finding.code): finding.message for finding in all_columns.findings}
    seen: set[int] = set()
    for start, span, (index, why) in _runs([(all_columns.read[chunk.key].index, all_columns.read[chunk.key].why) for chunk in visible]):
        held = visible[start : start + span]
        codes = tuple(code for chunk in held for code in badges.get((Fault.READER, chunk.key), ()))
        said = [messages_by_code[chunk.key, code] for chunk in held for code in badges.get((Fault.READER, chunk.key), ())]
        if index is None:
            label = "not known" if why == NOT_RECORDED else "left out"
            yield start, ReadCell(span, hue(held[0]), label, len(held), (), False, why, codes, False, True)
            continue
        message = all_columns.read_messages[index]
        several = _held(all_columns, message.chunks)
        lane = tuple(letter(chunk.role) for chunk in held)
        label = f"MSG {index} · {message.role}"
        why = said[0] if said else f"{several} messages read as one" if several > 1 and index not in seen else ""
        yield start, ReadCell(span, letter(message.role), label, len(message.chunks), lane, several > 1, why, codes, index in seen, False)
        seen.add(index)


def _held(all_columns: Columns, chunks: Iterable[Chunk]) -> int:
    """Of how many true messages these chunks are."""
    return len({all_columns.stored.get(chunk.key) for chunk in chunks} - {None})


def _made_up(all_columns: Columns, rows: dict[str, int], seams: set[int], first: int) -> tuple[dict[int, list[ReadCell]], list[ReadCell]]:
    """Row -> what was made up behind it, and what stands behind no row. MADE_UP_SHOWN are shown, and in one more cell how many there are besides.

    `rows`: key of a visible chunk -> its row; `seams`: rows behind which every column begins a new cell; `first`: place of the first row.
    """
    sent = {id(wire.source): (index, wire) for index, wire in enumerate(all_columns.prompt.messages) if wire.source is not None}
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
        place, wire = sent.get(id(message), (0, None))
        sent_as = f"{all_columns.prompt.root}.{place} · {role_of(wire)}" if wire else ""
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

    for start, span, (index, why) in _runs([owner(chunk) for chunk in visible]):
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
    several = _held(all_columns, chunks)
    if several < 2:
        return False
    read = {all_columns.read[chunk.key].index for chunk in chunks}
    return len(read) < several or role_letter != "u" or any(letter(chunk.role) == "a" for chunk in chunks)


def merged_seqs(all_columns: Columns) -> list[int]:
    """Seqs of chunks that stand in a message of the middle column together with another true message."""
    seqs: list[int] = []
    for message in all_columns.read_messages:
        if _held(all_columns, message.chunks) > 1:
            seqs += [chunk.seq for chunk in message.chunks]
    return sorted(seqs)


@dataclass(frozen=True, slots=True)
class Tick:
    x: float
    width: float
    letter: str
    dim: bool
    seq: int


@dataclass(frozen=True, slots=True)
class Strip:
    """The overview: one tick a chunk (or a bucket of them), below it the messages as read, above it the findings."""

    chunks: tuple[Tick, ...]
    read: tuple[Tick, ...]
    findings: tuple[Tick, ...]


def strip(all_columns: Columns, most: int = 400, width: float = 1000.0) -> Strip:
    """Never loads more than `most` ticks a lane; a bucket shows the role of its first chunk."""
    chunks = all_columns.conversation.chunks
    if not chunks:
        return Strip((), (), ())
    step = max(1, -(-len(chunks) // most))
    place = {chunk.key: at * width / len(chunks) for at, chunk in enumerate(chunks)}
    one = width / len(chunks)
    ticks = [
        Tick(
            round(at * one, 1),
            round(max(one * min(step, len(chunks) - at) - 1, 0.8), 1),
            hue(chunks[at]),
            chunks[at].kind is Kind.THINKING,
            chunks[at].seq,
        )
        for at in range(0, len(chunks), step)
    ]
    runs: list[Tick] = []
    for start, span, index in _runs([all_columns.read[chunk.key].index for chunk in chunks]):
        if index is None or len(runs) >= most * 2:
            continue
        message = all_columns.read_messages[index]
        merged = _held(all_columns, message.chunks) > 1
        runs.append(
            Tick(
                round(start * one, 1), round(max(span * one - 1, 0.8), 1), "x" if merged else letter(message.role), False, chunks[start].seq
            )
        )
    marks: dict[float, Tick] = {}
    for finding in all_columns.findings:
        if finding.key in place:
            x = round(place[finding.key] + one / 2 - 2, 1)
            marks.setdefault(x, Tick(x, 4, "x", False, finding.seqs[0]))
    return Strip(tuple(ticks), tuple(runs), tuple(marks.values())[:most])
