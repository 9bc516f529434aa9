"""What a repair writes: a new thread that names this one as its origin, or the lines of the file itself.

A line that nothing changes keeps its bytes. The words of a message are stored twice, and both are changed together. What is written is read again first.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from inspector.conversation.edits import Plan, Set, apply
from inspector.conversation.model import Chunk, Conversation, Kind, Message
from inspector.programs.codex import archives
from inspector.programs.codex.entries import entry_of, line_of, read_rollout
from inspector.programs.codex.items import COMPACTED, META, PAGINATED, is_uuid
from inspector.programs.codex.twins import place_of, twins_of
from inspector.programs.formats import Cell, Change, Stored, WriteMode, WriteRefused
from inspector.projections.catalogue import projection
from inspector.text import json_pieces, jsontext
from inspector.text.json_lines import BOM
from inspector.text.json_pieces import Piece
from inspector.text.jsontext import Unreadable
from inspector.text.timestamps import milliseconds
from inspector.wires.elsewhere import answering_in_kind

FORK, IN_PLACE = "new-thread", "same-file"
MODES: tuple[WriteMode, ...] = (
    WriteMode(FORK, "writes the repaired thread as a new rollout file with a new id next to this one, which stays as it is", "fork"),
    WriteMode(IN_PLACE, "rewrites the lines of the thread that change; every other line keeps its bytes", "in-place"),
)
_INSTEAD = "write a new thread (--mode new-thread)"
_AS_SENT = "openai-responses+as-sent"


def options(mode: str, stored: Stored, fresh_id: str) -> dict[str, str]:
    """Id and time of a new thread. Both follow from the thread and `fresh_id`, so that the same question has the same answer."""
    if mode != FORK:
        return {}
    last = int(stored.conversation.fact("lastActivityAt") or 0) + 1000
    digest = hashlib.sha256(fresh_id.encode()).hexdigest()
    stamp = f"{last:012x}"[-12:]
    fork_id = f"{stamp[:8]}-{stamp[8:]}-7{digest[:3]}-8{digest[3:6]}-{digest[6:18]}"
    return {"fork_id": fork_id, "now": _iso(last)}


def write(plan: Plan, stored: Stored) -> Sequence[Change]:
    """One change: of the file, or to a new one. Raises WriteRefused, EditMismatch."""
    for edit in plan.edits:
        if isinstance(edit, Set):
            raise WriteRefused(f"A rollout file has no place for {edit.field}: leave out the strategy that sets it.")
    record = stored.records[0]
    data, problem = content_of(record.value.data)
    is_fork = plan.mode == FORK
    if not is_fork:
        if not plan.edits:
            return []
        if archives.is_packed(record.value.data):
            raise WriteRefused(f"The thread is packed with zstd, and Codex packs it again at any time: {_INSTEAD}.")
    if problem:
        raise WriteRefused(f"The archive is damaged ({problem}): unpack as much of it as there is, with `zstd -d`, and repair that file.")
    final = apply(stored.conversation, plan.edits)
    draft = _Draft(data, stored.conversation, read_rollout(data).meta.get("history_mode") == PAGINATED)
    lines = draft.lines_of(final)
    if is_fork:
        lines = _forked(lines, draft, plan, stored.conversation)
    elif draft.is_paginated:
        lines = _counted_on(lines)
    written = _joined(lines, data)
    _refuse_unless_as_planned(final, written)
    if not is_fork:
        return [] if written == data else [Change(record.key, record.value, Cell(written, record.value.type))]
    folder = record.key.rpartition("/")[0]
    if not folder:
        raise WriteRefused(
            "A new thread is written next to this one, outside of what is open here: name the folder that holds the file, or write --mode same-file."
        )
    name = f"rollout-{plan.options['now'][:19].replace(':', '-')}-{plan.options['fork_id']}.jsonl"
    return [Change(f"{folder}/{name}", None, Cell(written, record.value.type))]


def content_of(data: bytes) -> tuple[bytes, str]:
    """The lines of a file, plain or packed; and what is wrong with an archive."""
    if not archives.is_packed(data):
        return data, ""
    try:
        return archives.unpacked(data), ""
    except archives.Packed as problem:
        # As far as it goes: a file that was cut off holds the beginning of its thread.
        return archives.start_of(data, archives.MOST)[0], problem.reason


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the new file without its end; `number` is that of the stored line whose place it takes, None for one that is new."""

    raw: bytes
    number: int | None = None
    is_changed: bool = False


@dataclass(slots=True)
class _Draft:
    data: bytes
    base: Conversation
    is_paginated: bool
    stored: list[bytes] = field(init=False)
    places: dict[int, list[str]] = field(init=False)
    """The records of each line, in their order."""
    chunks: dict[str, list[Chunk]] = field(init=False)
    """The chunks of each record, or item of a replacement history."""
    twins: Mapping[str, Chunk] = field(init=False)
    calls: Mapping[str, Chunk] = field(init=False)
    """The last call of each id."""

    def __post_init__(self) -> None:
        self.stored = self.data.split(b"\n")
        if self.data.endswith(b"\n") or not self.data:
            self.stored.pop()
        self.places, self.chunks = {}, {}
        for chunk in self.base.chunks:
            place = place_of(chunk.key)
            if place not in self.chunks:
                self.chunks[place] = []
                self.places.setdefault(line_of(chunk.key) or 0, []).append(place)
            self.chunks[place].append(chunk)
        self.twins = twins_of(self.base.chunks)
        self.calls = {chunk.call_id: chunk for chunk in self.base.chunks if chunk.kind is Kind.TOOL_CALL}

    def lines_of(self, final: Conversation) -> list[_Line]:
        groups = [(place, tuple(chunks)) for place, chunks in self._groups(final)]
        kept_places = {place for place, _ in groups if place}
        events = self._events(groups, kept_places)
        lines: list[_Line] = []
        bare = [number for number in range(len(self.stored)) if number not in self.places]
        last = -1
        for number, run in groupby(self._by_line(groups), key=lambda item: item[0]):
            if number is not None:
                if number < last:
                    raise WriteRefused(
                        "Records of this thread would change their order, which their times and turns say: repair it by hand."
                    )
                last = number
                lines += (_Line(self.stored[at], at) for at in bare if at < number)
                bare = [at for at in bare if at > number]
            members = [group for _, group in run]
            if number is None:
                lines += (_Line(self._new(group, lines)) for group in members)
            elif number in events:
                if (raw := events[number]) is not None:
                    lines.append(_Line(raw, number, is_changed=True))
            else:
                lines += self._line(number, members)
        return [*lines, *(_Line(self.stored[at], at) for at in bare)]

    def _groups(self, final: Conversation) -> Iterator[tuple[str, Sequence[Chunk]]]:
        """Chunks by the record that they are of; those that a strategy put in by message, each result alone."""
        known = {chunk.key for chunk in self.base.chunks}
        for key, run in groupby(final.chunks, key=lambda chunk: (place_of(chunk.key), None) if chunk.key in known else ("", chunk.msg_idx)):
            chunks = list(run)
            if key[0]:
                yield key[0], chunks
            else:
                for _, same in groupby(chunks, key=lambda chunk: (chunk.role, chunk.key if chunk.kind is Kind.TOOL_RESULT else "")):
                    yield "", list(same)

    def _by_line(self, groups: Sequence[tuple[str, tuple[Chunk, ...]]]) -> Iterator[tuple[int | None, tuple[str, tuple[Chunk, ...]]]]:
        """What is put in between two items of one replacement history belongs to its line."""
        numbers = [line_of(f"{place}.") if place else None for place, _ in groups]
        following: list[int | None] = [None] * len(groups)
        after: int | None = None
        for at in range(len(groups) - 1, -1, -1):
            after = numbers[at] if numbers[at] is not None else after
            following[at] = after
        before: int | None = None
        for at, group in enumerate(groups):
            before = numbers[at] if numbers[at] is not None else before
            yield (before if numbers[at] is None and before is not None and before == following[at] else numbers[at]), group

    def _events(self, groups: Sequence[tuple[str, tuple[Chunk, ...]]], kept_places: set[str]) -> dict[int, bytes | None]:
        """Lines of events whose message changed its words, as they are then; None where the message is gone."""
        changed: dict[int, bytes | None] = {}
        finals = dict(group for group in groups if group[0])
        for place, event in self.twins.items():
            number = line_of(event.key)
            if number is None or place_of(event.key) not in kept_places or len(self.places[number]) != 1:
                continue
            if place not in finals:
                changed[number] = None
                continue
            old = {chunk.key: chunk.text for chunk in self.chunks[place]}
            words = [(old[chunk.key], chunk.text) for chunk in finals[place] if old.get(chunk.key, chunk.text) != chunk.text]
            if words:
                changed[number] = self._event(number, words)
        return changed

    def _event(self, number: int, words: Sequence[tuple[str, str]]) -> bytes:
        text = self._text(number)
        value = jsontext.parse(text)
        new = _with_words(value["payload"], dict(words))
        return self._encoded(number, json_pieces.amended(text, {"payload": _spliced(_member(text, "payload"), value["payload"], new)}))

    def _line(self, number: int, groups: Sequence[tuple[str, tuple[Chunk, ...]]]) -> list[_Line]:
        raw = self.stored[number]
        places = [place for place, _ in groups]
        if places == self.places[number] and all(self._same(place, chunks) for place, chunks in groups):
            return [_Line(raw, number)]
        own = [self._own_bytes(chunks, raw) for _, chunks in groups]
        says_same = all(self._says_same(place, chunks) for place, chunks in groups)
        if all(own) and places == self.places[number] and says_same:
            # Of a line that is not split all records have the same bytes.
            is_one = len(set(own)) == 1 and (
                len(own) == 1 or any(".r" in place or "part" in entry_of(chunks[0]) for place, chunks in groups)
            )
            return [_Line(data, number, is_changed=True) for data in (own[:1] if is_one else own)]
        if any("/" in place for place in self.places[number]):
            return self._split(number, groups)
        text = self._text(number, next((data for data in own if data), raw))
        return [_Line(self._encoded(number, self._amended(text, groups)), number, is_changed=True)]

    def _amended(self, text: str, groups: Sequence[tuple[str, tuple[Chunk, ...]]]) -> str:
        """The text of a record with the item, or the compaction, that its chunks are by now."""
        value = jsontext.parse(text)
        payload = _member(text, "payload")
        if value.get("type") == COMPACTED:
            new = self._compaction(payload, value["payload"], groups)
        else:
            new = _spliced(payload, value["payload"], self._item(groups[0][1]))
        return json_pieces.amended(text, {"payload": new})

    def _split(self, number: int, groups: Sequence[tuple[str, tuple[Chunk, ...]]]) -> list[_Line]:
        """A line of several records to each of which a strategy gave its own bytes, and others took one out, changed it or put one in."""
        lines: list[_Line] = []
        records: set[str] = set()
        for record, run in groupby(groups, key=lambda group: group[0].partition(".")[0]):
            of_record = list(run)
            if not record:
                lines += (_Line(self._new(group, lines)) for group in of_record)
                continue
            first = of_record[0][1]
            data = self._own_bytes(first, self.stored[number])
            if not data or "part" in entry_of(first[0]) or record in records:
                raise WriteRefused(
                    f"Line {number + 1:,} holds several records: add the strategy split-spliced-records, which gives each a line of its own."
                )
            records.add(record)
            places = [place for place in self.places[number] if place.partition(".")[0] == record]
            if places != [place for place, _ in of_record] or not all(self._says_same(*group) for group in of_record):
                data = jsontext.encode(self._amended(self._text(number, data), of_record))
            lines.append(_Line(data, number, is_changed=True))
        return lines

    def _same(self, place: str, chunks: Sequence[Chunk]) -> bool:
        """Whether nothing but numbers differs, which the file does not hold."""
        return [_content(chunk) for chunk in chunks] == [_content(chunk) for chunk in self.chunks.get(place, [])]

    def _says_same(self, place: str, chunks: Sequence[Chunk]) -> bool:
        """Whether nothing differs but the line itself."""
        return [_meaning_of(chunk) for chunk in chunks] == [_meaning_of(chunk) for chunk in self.chunks.get(place, [])]

    def _own_bytes(self, chunks: Sequence[Chunk], raw: bytes) -> bytes:
        """The bytes of a line that a strategy brings; b"" where its chunks have none of their own."""
        own = chunks[0].raw
        return own if own and own != raw and all(chunk.raw == own for chunk in chunks) else b""

    def _compaction(self, payload: str, value: Mapping[str, Any], groups: Sequence[tuple[str, tuple[Chunk, ...]]]) -> str:
        own = [(place, chunks) for place, chunks in groups if place and entry_of(chunks[0]).get("type") == COMPACTED]
        if not own:
            raise WriteRefused("A compaction is taken out as a whole, with its history: repair it by hand.")
        items = [(place, chunks) for place, chunks in groups if (place, chunks) not in own]
        words = own[0][1][0].text
        values = {"message": jsontext.compact(words)} if words != value.get("message") else {}
        if "replacement_history" in value and isinstance(value["replacement_history"], list):
            inside = json_pieces.value_of(payload, "replacement_history") or "[]"
            spans = json_pieces.elements(inside)
            pieces: list[Piece] = []
            for place, chunks in items:
                at = int(place.rpartition(".r")[2]) if place else None
                if at is not None and self._same(place, chunks):
                    pieces.append((inside[slice(*spans[at])], at))
                elif at is not None:
                    pieces.append((_spliced(inside[slice(*spans[at])], value["replacement_history"][at], self._item(chunks)), at))
                else:
                    pieces += ((jsontext.compact(item), None) for item in self._items(chunks))
            values["replacement_history"] = json_pieces.rearranged(inside, spans, pieces)
        return json_pieces.amended(payload, values)

    def _item(self, chunks: Sequence[Chunk]) -> dict[str, Any]:
        items = self._items(chunks)
        if len(items) != 1:
            raise WriteRefused(
                f"The item of {chunks[0].key} would become {len(items)} items: leave the strategy that changes it out of the plan."
            )
        return items[0]

    def _items(self, chunks: Sequence[Chunk]) -> list[dict[str, Any]]:
        """The items of the history that chunks of one message are."""
        if not chunks[0].role or any(chunk.kind is Kind.UNREADABLE for chunk in chunks):
            raise WriteRefused(f"The record of {chunks[0].key} is no item that a repair can change: leave that strategy out of the plan.")
        numbered = [replace(chunk, seq=number + 1, msg_idx=0, chunk_idx=number) for number, chunk in enumerate(chunks)]
        prompt = projection(_AS_SENT).project([Message(numbered[0].role, tuple(numbered))])
        if prompt.lost:
            raise WriteRefused(
                f"A rollout file has no place for {prompt.lost[0].chunks[0].key} ({prompt.lost[0].why}): leave that strategy out."
            )
        return [dict(message.value) for message in prompt.messages]

    def _new(self, group: tuple[str, tuple[Chunk, ...]], before: Sequence[_Line]) -> bytes:
        """A line of its own, at the time of the record before it."""
        items = self._items(self._in_kind(group[1]))
        if len(items) != 1:
            raise WriteRefused(f"The item of {group[1][0].key} would become {len(items)} items: leave the strategy that puts it in out.")
        times = (_timestamp(line.raw) for line in reversed(before))
        value = {
            "timestamp": next((time for time in times if time), "1970-01-01T00:00:00.000Z"),
            "type": "response_item",
            "payload": items[0],
        }
        return jsontext.encode(jsontext.compact(value))

    def _in_kind(self, chunks: Sequence[Chunk]) -> Sequence[Chunk]:
        """An output is of the type that its call asks for; that of a local shell is a function's."""
        called = self.calls.get(chunks[0].call_id)
        if called is None or entry_of(called).get("name") == "local_shell_call":
            return chunks
        return list(answering_in_kind([called, *chunks]))[1:]

    def _text(self, number: int, raw: bytes | None = None) -> str:
        try:
            return jsontext.decode(self.stored[number] if raw is None else raw).removeprefix("\ufeff").strip(" \t\r")
        except Unreadable as problem:
            raise WriteRefused(f"Line {number + 1:,} is {problem.reason}: add the strategy replace-invalid-bytes to the plan.") from None

    def _encoded(self, number: int, text: str) -> bytes:
        raw = self.stored[number]
        return jsontext.encode(text) + (b"\r" if raw.endswith(b"\r") else b"")


def _content(chunk: Chunk) -> tuple[Any, ...]:
    return chunk.key, chunk.role, chunk.kind, dict(chunk.payload), chunk.raw


def _meaning_of(chunk: Chunk) -> tuple[Any, ...]:
    return chunk.key, chunk.role, chunk.kind, {name: value for name, value in chunk.payload.items() if name != "entry"}


def _member(text: str, name: str) -> str:
    return json_pieces.value_of(text, name) or "{}"


def _spliced(text: str, old: Any, new: Any) -> str:
    """The text of `old` with what differs from `new` exchanged; members that `new` does not name stay."""
    if old == new and type(old) is type(new):
        return text
    if isinstance(old, dict) and isinstance(new, dict):
        spans = json_pieces.members(text)
        values = {
            name: _spliced(text[slice(*spans[name][1:])], old[name], item) if name in old else jsontext.compact(item)
            for name, item in new.items()
            if name not in old or old[name] != item
        }
        # Arguments are a text in the file, of which the value alone is known.
        if isinstance(old.get("arguments"), str) and "arguments" in values and _means_same(old["arguments"], new["arguments"]):
            del values["arguments"]
        return json_pieces.amended(text, values) if values else text
    if isinstance(old, list) and isinstance(new, list):
        spans_of = json_pieces.elements(text)
        pieces: list[Piece] = []
        for at, item in enumerate(new):
            same = at if len(old) == len(new) else next((number for number, was in enumerate(old) if was == item), None)
            pieces.append(
                (jsontext.compact(item), None) if same is None else (_spliced(text[slice(*spans_of[same])], old[same], item), same)
            )
        return json_pieces.rearranged(text, spans_of, pieces)
    return jsontext.compact(new)


def _means_same(first: str, second: Any) -> bool:
    if not isinstance(second, str):
        return False
    return jsontext.object_or_text(first or "{}") == jsontext.object_or_text(second or "{}")


def _with_words(value: Any, words: Mapping[str, str]) -> Any:
    """The payload of an event with these texts exchanged, where an event holds words."""
    if isinstance(value, str):
        return words.get(value, value)
    if isinstance(value, dict):
        names = ("message", "text", "item", "content", "summary_text")
        return {name: _with_words(item, words) if name in names else item for name, item in value.items()}
    return [_with_words(item, words) for item in value] if isinstance(value, list) else value


def _timestamp(raw: bytes) -> str:
    time = jsontext.object_of(raw.removeprefix(BOM)).get("timestamp")
    return time if isinstance(time, str) else ""


def _forked(lines: Sequence[_Line], draft: _Draft, plan: Plan, base: Conversation) -> list[_Line]:
    """The lines under a new id, the session_meta first, and the records of a paginated thread counted from 0."""
    fork_id, now = plan.options["fork_id"], plan.options["now"]
    if not is_uuid(fork_id) or milliseconds(now) is None:
        # A plan may come from a file, and the id becomes the name of one.
        raise WriteRefused("The id or time that the plan has for the new thread is none that Codex takes; make the plan again.")
    metas = [number for number, line in enumerate(lines) if jsontext.object_of(line.raw.removeprefix(BOM)).get("type") == META]
    if not metas:
        raise WriteRefused(
            "The file holds no session_meta, so no thread can be made of it: copy one from another thread of the same folder first."
        )
    meta = lines[metas[0]]
    text = jsontext.decode(meta.raw.removeprefix(BOM)).strip(" \t\r")
    value = jsontext.parse(text)
    payload = value.get("payload")
    if not isinstance(payload, dict):
        raise WriteRefused("The session_meta of the file has no payload: copy one from another thread of the same folder first.")
    origin = payload.get("id")
    own = {"id": fork_id, "forked_from_id": origin if is_uuid(origin) else None, "timestamp": now}
    own |= {"session_id": fork_id} if "session_id" in payload else {}
    values = {name: jsontext.compact(item) for name, item in own.items() if item is not None}
    head = json_pieces.amended(text, {"timestamp": jsontext.compact(now), "payload": json_pieces.amended(_member(text, "payload"), values)})
    rest = [line for number, line in enumerate(lines) if number != metas[0]]
    forked = [_Line(jsontext.encode(head), meta.number, is_changed=True), *rest]
    return _numbered(forked) if draft.is_paginated else forked


def _numbered(lines: Sequence[_Line]) -> list[_Line]:
    numbered: list[_Line] = []
    count = 0
    for line in lines:
        value = jsontext.object_of(line.raw)
        if isinstance(value.get("type"), str):
            if value.get("ordinal") != count or isinstance(value["ordinal"], bool | float):
                text = json_pieces.amended(jsontext.decode(line.raw).strip(" \t\r"), {"ordinal": str(count)})
                line = replace(line, raw=jsontext.encode(text), is_changed=True)
            count += 1
        numbered.append(line)
    return numbered


def _counted_on(lines: Sequence[_Line]) -> list[_Line]:
    """In place, records can only be put in at the end, where the count goes on: others would move all that follow. Raises WriteRefused."""
    stored = [line.number for line in lines if line.number is not None]
    is_whole = stored == list(range(len(stored)))
    first_new = next((number for number, line in enumerate(lines) if line.number is None), len(lines))
    if not is_whole or any(line.number is not None for line in lines[first_new:]):
        raise WriteRefused(
            f"This thread counts its records, and a record in its middle cannot be put in or taken out of its own file: {_INSTEAD}."
        )
    ordinals = [jsontext.object_of(line.raw).get("ordinal") for line in lines[:first_new]]
    last = max((ordinal for ordinal in ordinals if isinstance(ordinal, int)), default=-1)
    return [
        *lines[:first_new],
        *(
            replace(line, raw=jsontext.encode(json_pieces.amended(jsontext.decode(line.raw), {"ordinal": str(last + at)})))
            for at, line in enumerate(lines[first_new:], start=1)
        ),
    ]


def _joined(lines: Sequence[_Line], data: bytes) -> bytes:
    """The last line keeps its missing end where it is the last one still."""
    joined = b"\n".join(line.raw for line in lines)
    is_same_end = bool(lines) and not data.endswith(b"\n") and not lines[-1].is_changed and lines[-1].number == data.count(b"\n")
    return joined if is_same_end or not lines else joined + b"\n"


def _refuse_unless_as_planned(final: Conversation, written: bytes) -> None:
    planned = [_visible(chunk) for chunk in final.chunks if _is_compared(chunk)]
    read = [_visible(chunk) for chunk in read_rollout(written).chunks if _is_compared(chunk)]
    if planned == read:
        return
    at = next(
        (number for number, (first, second) in enumerate(zip(planned, read, strict=False)) if first != second), min(len(planned), len(read))
    )
    raise WriteRefused(
        f"The thread would not read back as planned, from block {at + 1:,} of its messages on: leave out strategies one by one."
    )


def _is_compared(chunk: Chunk) -> bool:
    return bool(chunk.role)


def _visible(chunk: Chunk) -> tuple[Any, ...]:
    """What every record says of a chunk; whether a result is an error is not among it."""
    given = chunk.payload.get("input") if chunk.kind is Kind.TOOL_CALL else None
    return chunk.role, chunk.kind, chunk.text, chunk.call_id, given, chunk.payload.get("block")


def _iso(milliseconds: int) -> str:
    try:
        time = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return "1970-01-01T00:00:00.000Z"
    return f"{time:%Y-%m-%dT%H:%M:%S}.{milliseconds % 1000:03d}Z"
