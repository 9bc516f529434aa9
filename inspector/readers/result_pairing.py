"""How each program makes every call of a history have its result, version by version, defects included.

Read off the published packages: pi-ai 0.68.1, 0.69.0, 0.87.1 and 1.5.2 (transformMessages), openclaw 2026.1.30, 2026.7.1 and 2026.9.6
(repairToolUseResultPairing). All of them work message by message; ours are linear where theirs search the rest of the list for each call.
"""

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from inspector.conversation import queries
from inspector.conversation.model import Chunk, Dropped, Kind, Message
from inspector.readers.session_rows import mapping, spelling, word

NO_RESULT = "No result provided"
MISSING = "[openclaw] missing tool result in session history; inserted synthetic error result for transcript repair."
FAILED = ("error", "aborted")
_DETAIL = "openclawSyntheticMissingToolResult"


@dataclass(slots=True)
class Paired:
    """What the repair hands on, what it leaves out and why, and its report as the program has it."""

    messages: list[Message] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    report: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


Pairing = Callable[[Sequence[Message]], Paired]


def single(messages: Sequence[Message]) -> list[Message]:
    """Each result a message of its own, as both programs store them; a strategy may have put several into one."""
    found: list[Message] = []
    for message in messages:
        if message.role == "tool" and len(message.chunks) > 1:
            found += [Message(message.role, (chunk,), message.synthetic) for chunk in message.chunks]
        else:
            found.append(message)
    return found


def stop_reason(message: Message) -> str:
    return word(mapping(message.chunks[0].payload.get("entry")).get("stopReason"))


def calls_of(message: Message, types: tuple[str, ...], blank: bool = False) -> list[Chunk]:
    """The calls whose blocks the program takes for calls; those without an id only where `blank`."""
    if message.role != "assistant":
        return []
    return [call for call in queries.calls(message) if spelling(call, "toolCall") in types and (blank or call.call_id)]


def given_id(result: Chunk, keys: tuple[str, ...]) -> str:
    return result.call_id if spelling(result, "toolCallId") in keys else ""


def made_up(call: Chunk, text: str, name: str, details: Mapping[str, Any] | None = None) -> Message:
    payload: dict[str, Any] = {"type": "tool-result", "toolCallId": call.call_id, "toolName": name, "content": text, "isError": True}
    if details:
        payload["extra"] = {"details": details}
    chunk = Chunk(f"synthesized:{call.key}", call.seq, "tool", Kind.TOOL_RESULT, payload, 0, 0, at=call.at)
    return Message("tool", (chunk,), synthetic=True)


def is_made_up(result: Chunk) -> bool:
    """Whether OpenClaw takes it for one of its own: an error that says so in its details, or in a block with exactly its words."""
    if not result.is_error:
        return False
    details = mapping(mapping(result.payload.get("entry")).get("details")) or mapping(mapping(result.payload.get("extra")).get("details"))
    if details.get(_DETAIL) is True:
        return True
    blocks = result.payload.get("blocks")
    texts = [mapping(block).get("text") for block in blocks] if isinstance(blocks, list) else [result.text]
    return MISSING in texts


def pi_pairing(at_end: bool, holds_system: bool) -> Pairing:
    """Failed turns go, their results stay; results are made up before the next user or assistant message, and `at_end`."""

    def paired(messages: Sequence[Message]) -> Paired:
        out: list[Message] = []
        dropped: list[Dropped] = []
        pending: list[Chunk] = []
        given: set[str] = set()
        held: list[Message] = []
        added = 0

        def close() -> None:
            nonlocal added
            missing = [call for call in pending if call.call_id not in given]
            added += len(missing)
            out.extend(made_up(call, NO_RESULT, call.tool_name) for call in missing)
            out.extend(held)
            pending.clear()
            given.clear()
            held.clear()

        for message in single(messages):
            if message.role == "assistant":
                close()
                if stop_reason(message) in FAILED:
                    why = f"its turn ended as {stop_reason(message)!r}: left out whole; results of its calls are not"
                    dropped.append(Dropped(message.chunks, why))
                    continue
                if found := calls_of(message, ("toolCall",), blank=True):
                    pending[:] = found
                    given.clear()
            elif message.role == "tool":
                given.add(given_id(message.chunks[0], ("toolCallId",)))
            elif message.role == "user":
                close()
            elif message.role == "system" and holds_system and pending:
                held.append(message)
                continue
            out.append(message)
        if at_end:
            close()
        return Paired(out, dropped, MappingProxyType({"syntheticResults": added, "skippedAssistants": len(dropped)}))

    return paired


def _report(added: int, duplicates: int, orphans: int, moved: bool) -> Mapping[str, Any]:
    return MappingProxyType({"added": added, "droppedDuplicateCount": duplicates, "droppedOrphanCount": orphans, "moved": moved})


def _duplicate(message: Message) -> Dropped:
    return Dropped(message.chunks, f"a further result for {message.chunks[0].call_id[:60]!r}: dropped as a duplicate")


def _orphan(message: Message) -> Dropped:
    return Dropped(message.chunks, f"the result for {message.chunks[0].call_id[:60]!r} answers no call of its span: dropped as an orphan")


_TYPES_OF_CALL = ("toolCall", "toolUse", "functionCall")
_KEYS_1 = ("toolCallId", "toolUseId")
_KEYS = (*_KEYS_1, "tool_call_id", "tool_use_id", "callId", "call_id")


def pairing_2026_1(messages: Sequence[Message]) -> Paired:
    """Spans end at the next assistant; one set of seen ids; failed turns get made-up results too. A duplicate at the very end survives."""
    source = single(messages)
    out: list[Message] = []
    dropped: list[Dropped] = []
    seen: set[str] = set()
    added = duplicates = orphans = at = 0
    changed = False

    def push(message: Message, id_: str) -> None:
        nonlocal duplicates
        if id_ in seen:
            duplicates += 1
            if not message.synthetic:
                dropped.append(_duplicate(message))
            return
        seen.add(id_)
        out.append(message)

    while at < len(source):
        message = source[at]
        at += 1
        calls = calls_of(message, _TYPES_OF_CALL)
        if not calls:
            if message.role == "tool":
                orphans += 1
                dropped.append(_orphan(message))
            else:
                out.append(message)
            continue
        wanted = {call.call_id for call in calls}
        span: dict[str, Message] = {}
        rest: list[Message] = []
        while at < len(source) and source[at].role != "assistant":
            following = source[at]
            at += 1
            id_ = given_id(following.chunks[0], _KEYS_1) if following.role == "tool" else ""
            if following.role != "tool":
                rest.append(following)
            elif id_ not in wanted:
                orphans += 1
                dropped.append(_orphan(following))
            elif id_ in seen:
                duplicates += 1
                dropped.append(_duplicate(following))
            elif id_ in span:
                # Not counted: with nothing behind it the span looks unchanged, and the stored list is sent as it is.
                dropped.append(_duplicate(following))
            else:
                span[id_] = following
        out.append(message)
        changed |= bool(span and rest)
        for call in calls:
            if call.call_id not in span:
                added += 1
            push(span.get(call.call_id) or made_up(call, MISSING, call.tool_name or "unknown"), call.call_id)
        out += rest
    changed |= bool(added or duplicates or orphans)
    if not changed:
        return Paired(source, [], _report(0, 0, 0, False))
    return Paired(out, _still_gone(dropped, out), _report(added, duplicates, orphans, changed))


def _named(message: Message, name: str) -> Message:
    """With the tool's name trimmed, or that of the call where it has none."""
    chunk = message.chunks[0]
    # Only a name that is stored and blank becomes this word.
    blank = isinstance(mapping(chunk.payload.get("entry")).get("toolName"), str)
    own = chunk.tool_name.strip() or name.strip() or ("unknown" if blank else "")
    return message if own == chunk.tool_name else replace(message, chunks=(replace(chunk, payload={**chunk.payload, "toolName": own}),))


def _adopted(message: Message, calls: Sequence[Chunk]) -> Message:
    """A result without id belongs to the one call of its turn, unless it names another tool; it becomes an error."""
    chunk = message.chunks[0]
    if given_id(chunk, _KEYS).strip() or len(calls) != 1:
        return message
    own, called = chunk.tool_name.strip(), calls[0].tool_name.strip()
    if own and called and own != called:
        return message
    payload = {**chunk.payload, "toolCallId": calls[0].call_id, "isError": True}
    return replace(message, chunks=(replace(chunk, payload=payload),))


def _id(message: Message) -> str:
    return given_id(message.chunks[0], _KEYS).strip()


class _Later:
    """The results of a history by id and, for those without one, by the tool that they name: the first behind a place."""

    def __init__(self, source: Sequence[Message]) -> None:
        self._by_id: dict[str, list[int]] = {}
        self._nameless: dict[str, list[int]] = {}
        for index, message in enumerate(source):
            if message.role == "tool":
                id_ = _id(message)
                held = self._by_id.setdefault(id_, []) if id_ else self._nameless.setdefault(message.chunks[0].tool_name.strip(), [])
                held.append(index)
        self._any = sorted(index for held in self._nameless.values() for index in held)

    def first(self, call: Chunk, start: int, alone: bool) -> int | None:
        lists = [self._by_id.get(call.call_id, [])]
        name = call.tool_name.strip()
        if alone:
            lists += [self._nameless.get(name, []), self._nameless.get("", [])] if name else [self._any]
        found = [held[at] for held in lists if (at := bisect_left(held, start)) < len(held)]
        return min(found, default=None)


def pairing_2026_7(messages: Sequence[Message]) -> Paired:
    """Text-only assistants end no span; a result is pulled from any later turn; real beats made-up; failed turns stay as they are."""
    source = single(messages)
    later = _Later(source)
    out: list[Message] = []
    dropped: list[Dropped] = []
    places: dict[str, int] = {}
    added: Counter[str] = Counter()
    duplicates = orphans = at = 0
    changed = False

    def push(message: Message, stored: Message | None) -> None:
        nonlocal duplicates
        id_ = _id(message)
        place = places.get(id_)
        if place is None:
            places[id_] = len(out)
            out.append(message)
            return
        duplicates += 1
        old = out[place]
        if is_made_up(old.chunks[0]) and not is_made_up(message.chunks[0]):
            out[place] = message
            added[id_] -= added[id_] > 0
            if not old.synthetic:
                dropped.append(_duplicate(old))
        elif stored is not None:
            dropped.append(_duplicate(stored))

    while at < len(source):
        message = source[at]
        at += 1
        calls = calls_of(message, _TYPES_OF_CALL)
        if not calls:
            if message.role == "tool":
                orphans += 1
                dropped.append(_orphan(message))
            else:
                out.append(message)
            continue
        names = {call.call_id: call.tool_name for call in calls}
        span: dict[str, Message] = {}
        rest: list[Message] = []
        while at < len(source) and not calls_of(source[at], _TYPES_OF_CALL):
            stored = source[at]
            at += 1
            if stored.role != "tool":
                rest.append(stored)
                continue
            adopted = _adopted(stored, calls)
            id_ = _id(adopted)
            if id_ and id_ in places:
                push(_named(adopted, names.get(id_, "")), stored)
                continue
            if not id_ or id_ not in names:
                orphans += 1
                dropped.append(_orphan(stored))
                continue
            named = _named(adopted, names[id_])
            changed |= named is not stored
            if id_ not in span:
                span[id_] = named
                continue
            duplicates += 1
            if is_made_up(span[id_].chunks[0]) and not is_made_up(named.chunks[0]):
                dropped.append(_duplicate(span[id_]))
                span[id_] = named
            else:
                dropped.append(_duplicate(stored))
        out.append(message)
        if stop_reason(message) in FAILED:
            for call in calls:
                if call.call_id in span:
                    push(span[call.call_id], span[call.call_id])
            out += rest
            continue
        changed |= bool(span and rest)
        # Settled before any is pushed: a call takes no result of an id that an earlier turn has.
        pulled = {
            call.call_id: index
            for call in calls
            if call.call_id not in span and call.call_id not in places and (index := later.first(call, at, len(calls) == 1)) is not None
        }
        for call in calls:
            if call.call_id in span:
                push(span[call.call_id], span[call.call_id])
            elif call.call_id in pulled:
                found = source[pulled.pop(call.call_id)]
                changed = True
                push(_named(_adopted(found, calls), names[call.call_id]), found)
            else:
                new = made_up(call, MISSING, call.tool_name or "unknown", {_DETAIL: True})
                changed = True
                added[call.call_id.strip()] += 1
                push(new, None)
        out += rest
    changed |= bool(duplicates or orphans)
    if not changed:
        return Paired(source, [], _report(0, 0, 0, False))
    return Paired(out, _still_gone(dropped, out), _report(added.total(), duplicates, orphans, True))


def _still_gone(dropped: Sequence[Dropped], out: Sequence[Message]) -> list[Dropped]:
    """Without those whose very result was pulled to its call: it is passed again where it stood, and counted there."""
    sent = {chunk.key for message in out if not message.synthetic for chunk in message.chunks}
    return [each for each in dropped if not all(chunk.key in sent for chunk in each.chunks)]


@dataclass(slots=True)
class _Occurrence:
    """One call of a frame; `stored` is the result that answers it, as it stands in the history."""

    call: Chunk
    result: Message | None = None
    stored: Message | None = None

    def take(self, result: Message, stored: Message) -> None:
        self.result, self.stored = _named(result, self.call.tool_name), stored


@dataclass(slots=True)
class _Frame:
    """An assistant with calls, and what follows up to the next one."""

    assistant: Message
    occurrences: list[_Occurrence]
    rest: list[Message] = field(default_factory=list)
    unclaimed: list[tuple[Message, Message]] = field(default_factory=list)


@dataclass(slots=True)
class _Count:
    duplicates: int = 0
    orphans: int = 0
    dropped: list[Dropped] = field(default_factory=list)


def pairing_2026_9(messages: Sequence[Message]) -> Paired:
    """By occurrence: an unclaimed result goes back only to the one open call of its id. Failed turns go with their results, as in production."""
    source = single(messages)
    count = _Count()
    unframed, frames = _frames(source, count)
    _move_back(frames, count)
    out: list[Message] = []
    for message in unframed:
        if message.role == "tool":
            count.orphans += 1
            count.dropped.append(_orphan(message))
        else:
            out.append(message)
    for frame in frames:
        _settle(frame, out, count)
    added = sum(message.synthetic for message in out)
    changed = len(out) != len(source) or any(new is not old for new, old in zip(out, source, strict=True))
    report = {
        **_report(added, count.duplicates, count.orphans, changed),
        "discarded": sum(each.chunks[0].role == "tool" for each in count.dropped),
    }
    return Paired(out if changed else source, count.dropped, MappingProxyType(report))


def _frames(source: Sequence[Message], count: _Count) -> tuple[list[Message], list[_Frame]]:
    """What stands before the first frame, and the frames with what their own results answer."""
    unframed: list[Message] = []
    frames: list[_Frame] = []
    calls: list[Chunk] = []
    waiting: dict[str, deque[_Occurrence]] = {}
    replaceable: dict[str, deque[_Occurrence]] = {}
    for message in source:
        if found := calls_of(message, _TYPES_OF_CALL):
            calls, waiting, replaceable = found, {}, {}
            frames.append(_Frame(message, [_Occurrence(call) for call in calls]))
            for occurrence in frames[-1].occurrences:
                waiting.setdefault(occurrence.call.call_id, deque()).append(occurrence)
            continue
        if not frames:
            unframed.append(message)
            continue
        if message.role != "tool":
            frames[-1].rest.append(message)
            continue
        adopted = _adopted(message, calls)
        id_ = _id(adopted)
        if not id_ or id_ not in waiting:
            frames[-1].unclaimed.append((adopted, message))
        elif waiting[id_]:
            occurrence = waiting[id_].popleft()
            occurrence.take(adopted, message)
            if is_made_up(adopted.chunks[0]):
                replaceable.setdefault(id_, deque()).append(occurrence)
        else:
            count.duplicates += 1
            if not is_made_up(adopted.chunks[0]) and replaceable.get(id_):
                occurrence = replaceable[id_].popleft()
                count.dropped.append(_duplicate(occurrence.stored or message))
                occurrence.take(adopted, message)
            else:
                count.dropped.append(_duplicate(message))
    return unframed, frames


def _move_back(frames: Sequence[_Frame], count: _Count) -> None:
    """Results that their frame does not claim go to the one call of their id, up to that frame, that is open; else they are orphans."""
    empty: dict[str, list[_Occurrence]] = {}
    invented: dict[str, list[_Occurrence]] = {}
    for frame in frames:
        for occurrence in frame.occurrences:
            if occurrence.result is None:
                empty.setdefault(occurrence.call.call_id, []).append(occurrence)
            elif is_made_up(occurrence.result.chunks[0]):
                invented.setdefault(occurrence.call.call_id, []).append(occurrence)
        for result, stored in frame.unclaimed:
            id_, real = _id(result), not is_made_up(result.chunks[0])
            waiting, replaceable = empty.get(id_, []), invented.get(id_, []) if real else []
            if not id_ or len(waiting) + len(replaceable) != 1:
                count.orphans += 1
                count.dropped.append(_orphan(stored))
                continue
            occurrence = (waiting or replaceable).pop()
            if occurrence.stored is not None:
                count.duplicates += 1
                count.dropped.append(_duplicate(occurrence.stored))
            occurrence.take(result, stored)
            if not real:
                invented.setdefault(id_, []).append(occurrence)


def _settle(frame: _Frame, out: list[Message], count: _Count) -> None:
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
            details = {_DETAIL: True, "reason": "missing_tool_result"}
            out.append(occurrence.result or made_up(occurrence.call, MISSING, occurrence.call.tool_name or "unknown", details))
    out += frame.rest


def strict_problems(messages: Sequence[Message]) -> list[str]:
    """What a strict provider refuses, one sentence each: calls without a result behind them, results elsewhere or twice, repeated ids."""
    problems: list[str] = []
    known: set[str] = set()
    waiting: dict[str, None] = {}
    answered: set[str] = set()

    def close() -> None:
        problems.extend(f"the call {id_[:60]!r} has no result behind it" for id_ in waiting)
        waiting.clear()

    for message in messages:
        if message.role == "tool":
            for result in queries.results(message):
                if result.call_id in waiting:
                    del waiting[result.call_id]
                    answered.add(result.call_id)
                elif result.call_id in answered:
                    problems.append(f"the call {result.call_id[:60]!r} has more than one result (seq {result.seq})")
                else:
                    problems.append(f"the result for {result.call_id[:60]!r} (seq {result.seq}) does not follow its call")
            continue
        close()
        for call in queries.calls(message) if message.role == "assistant" else ():
            if call.call_id in known:
                problems.append(f"the id {call.call_id[:60]!r} is that of more than one call (seq {call.seq})")
            known.add(call.call_id)
            waiting[call.call_id] = None
    close()
    return problems
