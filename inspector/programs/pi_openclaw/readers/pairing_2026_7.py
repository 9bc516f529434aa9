"""`repairToolUseResultPairing` of OpenClaw 2026.7.1: by span, with a look ahead for each call that has no result."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

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
    still_dropped,
    stop_reason,
    synthetic_result,
)


class _Later:
    """The results of a history by id and, for those without one, by the tool that they name: the first after a place."""

    def __init__(self, source: Sequence[Message]) -> None:
        self._by_id: dict[str, list[int]] = {}
        self._nameless: dict[str, list[int]] = {}
        for index, message in enumerate(source):
            if message.role == "tool":
                id_ = id_of(message)
                places = self._by_id.setdefault(id_, []) if id_ else self._nameless.setdefault(message.chunks[0].tool_name.strip(), [])
                places.append(index)
        self._any = sorted(index for places in self._nameless.values() for index in places)

    def first(self, call: Chunk, start: int, alone: bool) -> int | None:
        lists = [self._by_id.get(call.call_id, [])]
        name = call.tool_name.strip()
        if alone:
            lists += [self._nameless.get(name, []), self._nameless.get("", [])] if name else [self._any]
        candidates = [places[at] for places in lists if (at := bisect_left(places, start)) < len(places)]
        return min(candidates, default=None)


def pairing_2026_7(messages: Sequence[Message]) -> Paired:
    """Text-only assistants end no span; a result is pulled from any later turn; real beats synthetic; failed turns stay as they are."""
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
        id_ = id_of(message)
        place = places.get(id_)
        if place is None:
            places[id_] = len(out)
            out.append(message)
            return
        duplicates += 1
        old = out[place]
        if is_openclaw_placeholder(old.chunks[0]) and not is_openclaw_placeholder(message.chunks[0]):
            out[place] = message
            added[id_] -= added[id_] > 0
            if not old.synthetic:
                dropped.append(duplicate_of(old))
        elif stored is not None:
            dropped.append(duplicate_of(stored))

    while at < len(source):
        message = source[at]
        at += 1
        calls = calls_of(message, TYPES_OF_CALL)
        if not calls:
            if message.role == "tool":
                orphans += 1
                dropped.append(orphan_of(message))
            else:
                out.append(message)
            continue
        names = {call.call_id: call.tool_name for call in calls}
        span: dict[str, Message] = {}
        other_messages: list[Message] = []
        while at < len(source) and not calls_of(source[at], TYPES_OF_CALL):
            stored = source[at]
            at += 1
            if stored.role != "tool":
                other_messages.append(stored)
                continue
            own = adopted(stored, calls)
            id_ = id_of(own)
            if id_ and id_ in places:
                push(named(own, names.get(id_, "")), stored)
                continue
            if not id_ or id_ not in names:
                orphans += 1
                dropped.append(orphan_of(stored))
                continue
            repaired = named(own, names[id_])
            changed |= repaired is not stored
            if id_ not in span:
                span[id_] = repaired
                continue
            duplicates += 1
            if is_openclaw_placeholder(span[id_].chunks[0]) and not is_openclaw_placeholder(repaired.chunks[0]):
                dropped.append(duplicate_of(span[id_]))
                span[id_] = repaired
            else:
                dropped.append(duplicate_of(stored))
        out.append(message)
        if stop_reason(message) in FAILED:
            for call in calls:
                if call.call_id in span:
                    push(span[call.call_id], span[call.call_id])
            out += other_messages
            continue
        changed |= bool(span and other_messages)
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
                pulled_message = source[pulled.pop(call.call_id)]
                changed = True
                push(named(adopted(pulled_message, calls), names[call.call_id]), pulled_message)
            else:
                new = synthetic_result(call, MISSING, call.tool_name or "unknown", {DETAIL: True})
                changed = True
                added[call.call_id.strip()] += 1
                push(new, None)
        out += other_messages
    changed |= bool(duplicates or orphans)
    if not changed:
        return Paired(source, [], counts_of(0, 0, 0, False))
    return Paired(out, still_dropped(dropped, out), counts_of(added.total(), duplicates, orphans, True))
