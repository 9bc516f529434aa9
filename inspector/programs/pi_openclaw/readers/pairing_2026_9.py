"""`repairToolUseResultPairing` of OpenClaw 2026.9.6 with failed turns dropped, as in production: by occurrence of an id."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from inspector.conversation.model import Chunk, Dropped, Message
from inspector.programs.pi_openclaw.readers.result_pairing import (
    DETAIL,
    FAILED,
    MISSING,
    TYPES_OF_CALL,
    Paired,
    adopted,
    calls_of,
    counts_of,
    duplicate_of,
    id_of,
    is_openclaw_placeholder,
    named,
    orphan_of,
    single,
    stop_reason,
    synthetic_result,
)


@dataclass(slots=True)
class _Occurrence:
    """One call of a frame; `stored` is the result that answers it, as it is in the history."""

    call: Chunk
    result: Message | None = None
    stored: Message | None = None

    def take(self, result: Message, stored: Message) -> None:
        self.result, self.stored = named(result, self.call.tool_name), stored


@dataclass(slots=True)
class _Frame:
    """An assistant with calls, and what follows up to the next one."""

    assistant: Message
    occurrences: list[_Occurrence]
    other_messages: list[Message] = field(default_factory=list)
    unclaimed: list[tuple[Message, Message]] = field(default_factory=list)


@dataclass(slots=True)
class _Count:
    duplicates: int = 0
    orphans: int = 0
    dropped: list[Dropped] = field(default_factory=list)


def pairing_2026_9(messages: Sequence[Message], missing: str = MISSING) -> Paired:
    """By occurrence: an unclaimed result goes back only to the one open call of its id. Failed turns go with their results, as in production.

    `missing`: what a synthetic result says.
    """
    source = single(messages)
    count = _Count()
    unframed, frames = _frames(source, count)
    _move_back(frames, count)
    out: list[Message] = []
    for message in unframed:
        if message.role == "tool":
            count.orphans += 1
            count.dropped.append(orphan_of(message))
        else:
            out.append(message)
    for frame in frames:
        _settle(frame, out, count, missing)
    added = sum(message.synthetic for message in out)
    changed = len(out) != len(source) or any(new is not old for new, old in zip(out, source, strict=True))
    report = {
        **counts_of(added, count.duplicates, count.orphans, changed),
        "discarded": sum(dropped.chunks[0].role == "tool" for dropped in count.dropped),
    }
    return Paired(out if changed else source, count.dropped, MappingProxyType(report))


def _frames(source: Sequence[Message], count: _Count) -> tuple[list[Message], list[_Frame]]:
    """What comes before the first frame, and the frames with what their own results answer."""
    unframed: list[Message] = []
    frames: list[_Frame] = []
    calls: list[Chunk] = []
    waiting: dict[str, deque[_Occurrence]] = {}
    replaceable: dict[str, deque[_Occurrence]] = {}
    for message in source:
        if frame_calls := calls_of(message, TYPES_OF_CALL):
            calls, waiting, replaceable = frame_calls, {}, {}
            frames.append(_Frame(message, [_Occurrence(call) for call in calls]))
            for occurrence in frames[-1].occurrences:
                waiting.setdefault(occurrence.call.call_id, deque()).append(occurrence)
            continue
        if not frames:
            unframed.append(message)
            continue
        if message.role != "tool":
            frames[-1].other_messages.append(message)
            continue
        own = adopted(message, calls)
        id_ = id_of(own)
        if not id_ or id_ not in waiting:
            frames[-1].unclaimed.append((own, message))
        elif waiting[id_]:
            occurrence = waiting[id_].popleft()
            occurrence.take(own, message)
            if is_openclaw_placeholder(own.chunks[0]):
                replaceable.setdefault(id_, deque()).append(occurrence)
        else:
            count.duplicates += 1
            if not is_openclaw_placeholder(own.chunks[0]) and replaceable.get(id_):
                occurrence = replaceable[id_].popleft()
                count.dropped.append(duplicate_of(occurrence.stored or message))
                occurrence.take(own, message)
            else:
                count.dropped.append(duplicate_of(message))
    return unframed, frames


def _move_back(frames: Sequence[_Frame], count: _Count) -> None:
    """Results that their frame does not claim go to the one call of their id, up to that frame, that is open; else they are orphans."""
    empty: dict[str, list[_Occurrence]] = {}
    synthetic: dict[str, list[_Occurrence]] = {}
    for frame in frames:
        for occurrence in frame.occurrences:
            if occurrence.result is None:
                empty.setdefault(occurrence.call.call_id, []).append(occurrence)
            elif is_openclaw_placeholder(occurrence.result.chunks[0]):
                synthetic.setdefault(occurrence.call.call_id, []).append(occurrence)
        for result, stored in frame.unclaimed:
            id_, real = id_of(result), not is_openclaw_placeholder(result.chunks[0])
            waiting, replaceable = empty.get(id_, []), synthetic.get(id_, []) if real else []
            if not id_ or len(waiting) + len(replaceable) != 1:
                count.orphans += 1
                count.dropped.append(orphan_of(stored))
                continue
            occurrence = (waiting or replaceable).pop()
            if occurrence.stored is not None:
                count.duplicates += 1
                count.dropped.append(duplicate_of(occurrence.stored))
            occurrence.take(result, stored)
            if not real:
                synthetic.setdefault(id_, []).append(occurrence)


def _settle(frame: _Frame, out: list[Message], count: _Count, missing: str) -> None:
    reason = stop_reason(frame.assistant)
    if reason in FAILED:
        count.dropped.append(
            Dropped(frame.assistant.chunks, f"its turn ended as {reason!r}: left out whole, with the results of its calls")
        )
        for occurrence in frame.occurrences:
            if occurrence.stored is not None:
                count.dropped.append(Dropped(occurrence.stored.chunks, f"its call is in a turn that ended as {reason!r}: left out with it"))
    else:
        out.append(frame.assistant)
        for occurrence in frame.occurrences:
            details = {DETAIL: True, "reason": "missing_tool_result"}
            out.append(occurrence.result or synthetic_result(occurrence.call, missing, occurrence.call.tool_name or "unknown", details))
    out += frame.other_messages
