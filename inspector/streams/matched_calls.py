"""Which call of the client is which call of the backend, where a proxy may have made structured calls of what the model wrote as text."""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

from inspector.conversation import js_json
from inspector.streams.hearing import Called, Heard
from inspector.streams.leaked_calls import Found, Part, found_calls, where_of
from inspector.streams.leaked_scan import region_at, thinking
from inspector.streams.request_rules import Asked
from inspector.streams.text_compare import Span
from inspector.streams.text_rules import part_of

Key = tuple[str, str]
MOST_SPELLED = 200
"""Calls in text that are looked for on the other side, each look being one pass over its words."""


@dataclass(slots=True)
class Matched:
    """`lost` and the others: name and event (of the backend for `lost`, of the client for the rest). `removed`: spans of the backend's words that the proxy was right to take out, or
    that are lost as calls.
    """

    lost: list[tuple[str, int]] = field(default_factory=list)
    altered: list[tuple[Called, Called]] = field(default_factory=list)
    """Structured calls of the backend, each with the one of its name that the client got in its place."""
    promoted: list[tuple[str, int]] = field(default_factory=list)
    repeated: list[tuple[str, int]] = field(default_factory=list)
    removed: list[Span] = field(default_factory=list)


class _Left:
    """Calls of the client that are no call of the backend yet."""

    def __init__(self, calls: list[Called]) -> None:
        self._by_key: dict[Key, deque[Called]] = {}
        self._by_name: dict[str, deque[Key]] = {}
        for call in calls:
            self._by_key.setdefault((call.name, call.meant), deque()).append(call)
            self._by_name.setdefault(call.name, deque()).append((call.name, call.meant))

    def take(self, key: Key) -> Called | None:
        waiting = self._by_key.get(key)
        return waiting.popleft() if waiting else None

    def take_any(self, name: str) -> Called | None:
        """One of this name: values of text are typed by every proxy in its own way."""
        keys = self._by_name.get(name, deque())
        while keys and not self._by_key[keys[0]]:
            keys.popleft()
        return self.take(keys[0]) if keys else None

    def rest(self) -> Iterator[Called]:
        for waiting in self._by_key.values():
            yield from waiting


def matched(backend: Heard, client: Heard, asked: Asked) -> Matched:
    """Structured calls first; then those in text, unless the client got their text as it was."""
    found, left, sent = Matched(), _Left(client.calls), set[Key]()
    missing: list[Called] = []
    for call in backend.calls:
        sent.add((call.name, call.meant))
        if left.take((call.name, call.meant)) is None:
            missing.append(call)
    for call in missing:
        got = left.take_any(call.name)
        if got is not None:
            found.altered.append((call, got))
        else:
            found.lost.append((call.name, call.event))
    for each in spelled_in(backend, asked):
        if backend.words[each.start : each.end] in client.words:
            continue
        key = (each.name, js_json.canonical(each.arguments) if each.arguments is not None else "")
        got = left.take(key) or left.take_any(each.name)
        if got is not None:
            sent.add((got.name, got.meant))
            if not each.is_call and _is_thought(backend, each.start):
                found.promoted.append((each.name, got.event))
        elif key in sent:
            pass
        elif each.is_call and each.closed and each.name:
            found.lost.append((each.name, backend.event_at(each.start)))
        else:
            continue
        found.removed.append((each.start, each.end))
    found.repeated = [(call.name, call.event) for call in left.rest() if (call.name, call.meant) in sent]
    return found


def _is_thought(backend: Heard, at: int) -> bool:
    """Whether the place is reasoning: given apart, or between tags of thinking in the text."""
    number = max(0, bisect_right([start for _, start in backend.runs], at) - 1)
    kind, start = backend.runs[number]
    end = backend.runs[number + 1][1] if number + 1 < len(backend.runs) else len(backend.words)
    return kind == "thinking" or region_at(thinking(backend.words[start:end], []), at - start) is not None


def spelled_in(backend: Heard, asked: Asked) -> list[Found]:
    """Calls in the backend's words, with their places among all of them."""
    found: list[Found] = []
    # Where the structured calls are among the words is not known: none of them ends the reasoning.
    calls = [part_of(block) for block in backend.answer.blocks if block.kind == "tool-call"]
    spans = list(pairwise([*(start for _, start in backend.runs), len(backend.words)]))
    is_signed = bool(backend.signatures)
    words = [
        Part("thinking", backend.words[start:end], is_signed) if kind == "thinking" else Part("content", backend.words[start:end])
        for (kind, _), (start, end) in zip(backend.runs, spans, strict=True)
    ]
    for number, (start, end) in enumerate(spans):
        where = where_of([*calls, *words], len(calls) + number, backend.answer.finish)
        for each in found_calls(backend.words[start:end], None if asked.open else asked.tools, where):
            found.append(replace(each, start=each.start + start, end=each.end + start))
        if len(found) >= MOST_SPELLED:
            break
    return found[:MOST_SPELLED]
