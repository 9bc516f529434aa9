"""Rows of transcript_events as the lines of a session file, so that one code reads both; what is no event keeps its place and says why."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import zstandard

from inspector.conversation.model import Chunk, Kind
from inspector.programs.formats import Record
from inspector.programs.pi_openclaw.entries import ParsedSession, read_session
from inspector.programs.pi_openclaw.openclaw_tables import SqlRow, whole
from inspector.text import jsontext

MOST = 4 << 20
"""Bytes of an event that is packed with zstd: the program packs none that is larger."""
MOST_OF_ALL = 1 << 30
"""Bytes of all unpacked events of a store: thousands of small frames can be a bomb together."""
# A line that no program reads: it keeps the place of a row that cannot be read.
_NOTHING = b"#"
_BOM = b"\xef\xbb\xbf"
_NAMED = 20


class NoEvent(Exception):
    """The row holds no event: `damage` is a short code, `reason` says what is wrong."""

    def __init__(self, damage: str, reason: str) -> None:
        super().__init__(reason)
        self.damage, self.reason = damage, reason


class EventUnpacker:
    """Unpacks the events of one store, no more than MOST_OF_ALL bytes of them."""

    def __init__(self) -> None:
        self._remaining = MOST_OF_ALL

    def unpacked(self, data: bytes) -> bytes:
        """The content of one zstd frame. Raises NoEvent."""
        try:
            size = zstandard.frame_content_size(data)
            if size > MOST:
                raise NoEvent("bad-zstd", f"event_zstd says that it unpacks to {size:,} bytes, and no event has more than {MOST:,}")
            # The limit counts only where the frame does not say its size itself.
            content: bytes = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompress(
                data, max_output_size=MOST, allow_extra_data=False
            )
        except zstandard.ZstdError as error:
            raise NoEvent("bad-zstd", f"event_zstd cannot be unpacked ({error})") from None
        self._remaining -= len(content)
        if self._remaining < 0:
            raise NoEvent(
                "bad-zstd", f"the packed events of this store have over {MOST_OF_ALL:,} bytes, which is over what is unpacked here"
            )
        return content


@dataclass(frozen=True, slots=True)
class Events:
    """`data` is the session file that the rows would be; `session` what it holds, with `msg_idx` and states by seq; `gaps` the seqs without row."""

    data: bytes
    session: ParsedSession
    last_seq: int | None
    gaps: str


def read_events(rows: Iterable[tuple[SqlRow, Record]], unpacker: EventUnpacker) -> Events:
    """In the order of seq; rows whose seq is none, or is there already, come last and hold no event. Linear in their bytes."""
    placed: dict[int, tuple[SqlRow, Record]] = {}
    stray: list[tuple[SqlRow, Record]] = []
    for row, record in rows:
        seq = whole(row.get("seq"))
        if seq is None or seq < 0 or seq in placed:
            stray.append((row, record))
        else:
            placed[seq] = (row, record)
    seqs = sorted(placed)
    lines: list[bytes] = []
    raws: list[bytes] = []
    damaged: dict[int, NoEvent] = {}
    for place, (row, record) in enumerate([*(placed[seq] for seq in seqs), *stray]):
        try:
            if place >= len(seqs):
                raise NoEvent(
                    "wrong-seq", f"seq is {jsontext.shown(row.get('seq'))[:60]}, which is no number from 0 on that no other row has"
                )
            raw = _event(row, unpacker)
            line = _line(raw)
        except NoEvent as problem:
            raw, line, damaged[place] = record.value.data, _NOTHING, problem
        raws.append(raw)
        lines.append(line)
    data = b"".join(line + b"\n" for line in lines)
    session = read_session(data)
    numbers: list[int | None] = [*seqs, *(None for _ in stray)]
    session.chunks = [_placed(chunk, numbers, raws, damaged) for chunk in session.chunks]
    session.states = _states(session, numbers, damaged)
    return Events(data, session, seqs[-1] if seqs else None, _gaps(seqs))


def _event(row: SqlRow, unpacker: EventUnpacker) -> bytes:
    """The bytes of the event. Raises NoEvent."""
    plain, packed = row.get("event_json"), row.get("event_zstd")
    if plain is not None and packed is not None:
        raise NoEvent("two-payloads", "it holds both event_json and event_zstd, and only one of them can be the event")
    if plain is None and packed is None:
        raise NoEvent("no-payload", "it holds neither event_json nor event_zstd")
    if isinstance(plain, str):
        try:
            # Bytes that are no UTF-8 came as surrogates, one a byte.
            return plain.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            raise NoEvent("not-utf8", "event_json holds what no text can") from None
    blob = packed.get("blob") if isinstance(packed, Mapping) else None
    if plain is not None or not isinstance(blob, str):
        raise NoEvent("wrong-type", "event_json is no text" if plain is not None else "event_zstd is no blob")
    content = unpacker.unpacked(bytes.fromhex(blob))
    size = row.get("event_utf8_bytes")
    if size is not None and size != len(content):
        raise NoEvent("bad-zstd", f"event_zstd unpacks to {len(content):,} bytes, and event_utf8_bytes says {jsontext.shown(size)[:20]}")
    return content


def _line(event: bytes) -> bytes:
    """The event on one line. The program writes it so; JSON with line ends between its values is the same event. Raises NoEvent."""
    if not event.strip():
        raise NoEvent("blank", "its event is empty")
    if b"\n" not in event and b"\r" not in event and not event.startswith(_BOM):
        return event
    try:
        json.loads(event.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise NoEvent("not-json", f"its event is no JSON: {error}") from None
    return event.replace(b"\n", b" ").replace(b"\r", b" ")


def _placed(chunk: Chunk, numbers: Sequence[int | None], raws: Sequence[bytes], damaged: Mapping[int, NoEvent]) -> Chunk:
    """The chunk with the seq of its row for a line number. Only what differs is made again: a store may have 200,000 of them."""
    place = chunk.msg_idx or 0
    problem = damaged.get(place)
    if problem is not None:
        chunk = replace(chunk, kind=Kind.UNREADABLE, payload={}, damage=problem.damage, reason=_with_row(problem.reason, numbers[place]))
    elif chunk.kind is Kind.UNREADABLE:
        # Rows have no offset in a file.
        chunk = replace(chunk, reason=_with_row(chunk.reason.partition(", in the line at byte ")[0], numbers[place]))
    if chunk.msg_idx != numbers[place] or chunk.raw != raws[place]:
        chunk = replace(chunk, msg_idx=numbers[place], raw=raws[place])
    return chunk


def _with_row(reason: str, seq: int | None) -> str:
    return reason if seq is None else f"{reason} (row {seq:,} of transcript_events)"


def _states(session: ParsedSession, numbers: Sequence[int | None], damaged: Mapping[int, NoEvent]) -> dict[str, list[int]]:
    states: dict[str, list[int]] = {}
    for state, places in session.states.items():
        for place in places:
            if place not in damaged and (seq := numbers[place]) is not None:
                states.setdefault(state, []).append(seq)
    for place, problem in damaged.items():
        # A row without a number has its place after all others.
        states.setdefault(problem.damage, []).append(place if (seq := numbers[place]) is None else seq)
    return states


def _gaps(seqs: Sequence[int]) -> str:
    """The seqs from 0 on that no row has: "3, 7-9"."""
    gaps: list[str] = []
    expected = 0
    for seq in seqs:
        if seq > expected:
            gaps.append(str(expected) if seq == expected + 1 else f"{expected}-{seq - 1}")
        expected = seq + 1
    return ", ".join(gaps[:_NAMED]) + (f" and {len(gaps) - _NAMED:,} more" if len(gaps) > _NAMED else "")
