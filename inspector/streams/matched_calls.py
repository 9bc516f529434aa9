"""Which call of the client is which call of the backend, where a proxy may have made structured calls of what the model wrote as text."""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

from inspector.streams.consumer import ConsumedCall, ConsumedSide
from inspector.streams.leaked_calls import AnswerPart, TextCall, text_calls, where_of
from inspector.streams.leaked_scan import region_at, thinking
from inspector.streams.request_rules import RequestFacts
from inspector.streams.text_compare import Span
from inspector.streams.text_rules import answer_part
from inspector.text import js_json

Key = tuple[str, str]
MOST_TEXT_CALLS = 200
"""Calls in text that are looked for on the other side, each look being one pass over its words."""


@dataclass(slots=True)
class Matched:
    """`lost` and the others: name and event (of the backend for `lost`, of the client for the rest). `removed`: spans of the backend's words that the proxy was right to take out, or
    that are lost as calls.
    """

    lost: list[tuple[str, int]] = field(default_factory=list)
    altered: list[tuple[ConsumedCall, ConsumedCall]] = field(default_factory=list)
    """Structured calls of the backend, each with the one of its name that the client got in its place."""
    promoted: list[tuple[str, int]] = field(default_factory=list)
    repeated: list[tuple[str, int]] = field(default_factory=list)
    removed: list[Span] = field(default_factory=list)


class _UnmatchedCalls:
    """Calls of the client that are no call of the backend yet."""

    def __init__(self, calls: list[ConsumedCall]) -> None:
        self._by_key: dict[Key, deque[ConsumedCall]] = {}
        self._by_name: dict[str, deque[Key]] = {}
        for call in calls:
            self._by_key.setdefault((call.name, call.meaning), deque()).append(call)
            self._by_name.setdefault(call.name, deque()).append((call.name, call.meaning))

    def take(self, key: Key) -> ConsumedCall | None:
        waiting = self._by_key.get(key)
        return waiting.popleft() if waiting else None

    def take_any(self, name: str) -> ConsumedCall | None:
        """One of this name: values of text are typed by every proxy in its own way."""
        keys = self._by_name.get(name, deque())
        while keys and not self._by_key[keys[0]]:
            keys.popleft()
        return self.take(keys[0]) if keys else None

    def remaining(self) -> Iterator[ConsumedCall]:
        for waiting in self._by_key.values():
            yield from waiting


def matched(backend: ConsumedSide, client: ConsumedSide, request: RequestFacts) -> Matched:
    """Structured calls first; then those in text, unless the client got their text as it was."""
    matches, unmatched, sent = Matched(), _UnmatchedCalls(client.calls), set[Key]()
    missing: list[ConsumedCall] = []
    for call in backend.calls:
        sent.add((call.name, call.meaning))
        if unmatched.take((call.name, call.meaning)) is None:
            missing.append(call)
    for call in missing:
        received = unmatched.take_any(call.name)
        if received is not None:
            matches.altered.append((call, received))
        else:
            matches.lost.append((call.name, call.event))
    for text_call in text_calls_of(backend, request):
        if backend.words[text_call.start : text_call.end] in client.words:
            continue
        key = (text_call.name, js_json.canonical(text_call.arguments) if text_call.arguments is not None else "")
        received = unmatched.take(key) or unmatched.take_any(text_call.name)
        if received is not None:
            sent.add((received.name, received.meaning))
            if not text_call.is_call and _is_thought(backend, text_call.start):
                matches.promoted.append((text_call.name, received.event))
        elif key in sent:
            pass
        elif text_call.is_call and text_call.closed and text_call.name:
            matches.lost.append((text_call.name, backend.event_at(text_call.start)))
        else:
            continue
        matches.removed.append((text_call.start, text_call.end))
    matches.repeated = [(call.name, call.event) for call in unmatched.remaining() if (call.name, call.meaning) in sent]
    return matches


def _is_thought(backend: ConsumedSide, at: int) -> bool:
    """Whether the place is reasoning: given apart, or between tags of thinking in the text."""
    number = max(0, bisect_right([start for _, start in backend.runs], at) - 1)
    kind, start = backend.runs[number]
    end = backend.runs[number + 1][1] if number + 1 < len(backend.runs) else len(backend.words)
    return kind == "thinking" or region_at(thinking(backend.words[start:end], []), at - start) is not None


def text_calls_of(backend: ConsumedSide, request: RequestFacts) -> list[TextCall]:
    """Calls in the backend's words, with their places among all of them."""
    calls_in_text: list[TextCall] = []
    # Where the structured calls are among the words is not known: none of them ends the reasoning.
    calls = [answer_part(block) for block in backend.answer.blocks if block.kind == "tool-call"]
    spans = list(pairwise([*(start for _, start in backend.runs), len(backend.words)]))
    is_signed = bool(backend.signatures)
    words = [
        AnswerPart("thinking", backend.words[start:end], is_signed)
        if kind == "thinking"
        else AnswerPart("content", backend.words[start:end])
        for (kind, _), (start, end) in zip(backend.runs, spans, strict=True)
    ]
    for number, (start, end) in enumerate(spans):
        where = where_of([*calls, *words], len(calls) + number, backend.answer.finish)
        for call in text_calls(backend.words[start:end], None if request.open else request.tools, where):
            calls_in_text.append(replace(call, start=call.start + start, end=call.end + start))
        if len(calls_in_text) >= MOST_TEXT_CALLS:
            break
    return calls_in_text[:MOST_TEXT_CALLS]
