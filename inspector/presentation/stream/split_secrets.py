"""Secrets that a model said in several events: no part of one is recognized by itself, so they are looked for in the text that the events amount to."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from inspector.presentation.masking import is_revealing, mask, secrets_in
from inspector.streams.model import Exchange, Means, ObservedEvent, Side
from inspector.streams.run import run

_TEXTS = frozenset({Means.TEXT, Means.THINKING, Means.REFUSAL, Means.ARGUMENTS})
_AT_ONCE = 1 << 20
"""Characters of one block that are looked at together; a secret over the edge of so many is not recognized."""
Shown = Mapping[tuple[int, int], str]
"""(event, number of the delta in it) -> its text with the parts of secrets masked, for those that have any."""


@dataclass(slots=True)
class _Joined:
    pieces: list[tuple[tuple[int, int], str]]
    size: int = 0

    def masked(self) -> Iterator[tuple[tuple[int, int], str]]:
        whole = "".join(text for _, text in self.pieces)
        spans = secrets_in(whole)
        number = start = 0
        text_of = dict[tuple[int, int], str]()
        for place, text in self.pieces:
            end, parts, at = start + len(text), list[str](), start
            while number < len(spans) and spans[number].start < end:
                span = spans[number]
                parts.append(text[at - start : max(at, span.start) - start])
                if span.start >= start:
                    # The mask is where the secret begins; what goes on with it is left out.
                    parts.append(mask(whole[span.start : span.end], span.kind))
                at = min(span.end, end)
                if span.end > end:
                    break
                number += 1
            if parts or at > start:
                text_of[place] = "".join(parts) + text[at - start :]
            start = end
        yield from text_of.items()


def split_secrets(exchange: Exchange, side: Side) -> Shown:
    """Reads the side once; nothing where the answer reveals."""
    shown: dict[tuple[int, int], str] = {}
    if is_revealing():
        return shown
    blocks: dict[tuple[int | None, Means], _Joined] = {}
    for observed in run(exchange, side):
        for number, delta in enumerate(observed.deltas):
            if delta.means in _TEXTS and delta.text:
                joined = blocks.setdefault((delta.block, delta.means), _Joined([]))
                joined.pieces.append(((observed.frame.index, number), delta.text))
                joined.size += len(delta.text)
                if joined.size > _AT_ONCE:
                    shown.update(blocks.pop((delta.block, delta.means)).masked())
    for joined in blocks.values():
        shown.update(joined.masked())
    return shown


def without_secrets(observed: ObservedEvent, shown: Shown) -> ObservedEvent:
    places = [(observed.frame.index, number) for number in range(len(observed.deltas))] if shown else []
    if not any(place in shown for place in places):
        return observed
    deltas = (replace(delta, text=shown.get(place, delta.text)) for place, delta in zip(places, observed.deltas, strict=True))
    return replace(observed, deltas=tuple(deltas))


def bytes_without_secrets(data: bytes, observed: ObservedEvent, shown: Shown) -> bytes:
    """The bytes of an event, in which a text is a string of JSON; where it is not found as one, a sentence in the place of all."""
    for number, delta in enumerate(observed.deltas):
        text = shown.get((observed.frame.index, number))
        if text is None or text == delta.text:
            continue
        forms = {json.dumps(delta.text, ensure_ascii=is_ascii).encode("utf-8", "surrogatepass") for is_ascii in (True, False)}
        written = [form for form in forms if form in data]
        if not written:
            return b"[masked: a part of a secret, which other events go on with]"
        for form in written:
            data = data.replace(form, json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    return data
