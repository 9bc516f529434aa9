"""The message that each side's events assemble to, with what did not reach the client, what came to it twice, and what was a call written as text."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from inspector.reports.stream_report import Analysis
from inspector.reports.stream_words import usage_words
from inspector.streams.hearing import Heard
from inspector.streams.matched_calls import matched, spelled_in
from inspector.streams.model import Assembled, Side
from inspector.streams.request_rules import asked
from inspector.streams.text_compare import Span, differences

KEPT = 3_000
"""Characters of a run that is the same on both sides."""
EDGE = 400
"""Characters that stay on each side of what is left out of a long run."""
MOST_PIECES = 80
MOST_OTHERS = 32
"""Other choices that are shown, of both sides together."""
MOST_COMPARED = 200_000
"""Events of all sides up to which their words are compared here: beyond them that takes half a minute more, and the findings say what differs."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of words of one kind. `how`: "" the same on both sides, `lost`, `again`, `added`, `moved`, or `as-text`: a call in words. `left_out`: characters that are not shown in its middle."""

    kind: str
    how: str
    text: str
    event: int
    size: int
    rest: str = ""
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Call:
    """A structured call. `how`: "", `lost`, `again`, `added`, or `altered`: the other side has it with other arguments."""

    name: str
    call_id: str
    arguments: str
    event: int
    is_complete: bool
    how: str
    size: int


@dataclass(frozen=True, slots=True)
class Said:
    """One side's message. `parts` in the order in which they came; `parts_at` is the event at which the sides part, None where they do not."""

    side: Side
    parts: tuple[Piece | Call, ...]
    role: str
    model: str
    id: str
    finish: str
    is_ended: bool
    error: str
    usage: str
    left_out: int
    choice: int = 0
    has_others: bool = False
    """The stream has several choices, and this is one of them."""


def said(analysis: Analysis) -> tuple[Said, ...]:
    """Of each side; of the first answer where a capture holds several. Then the other choices of each side, which are shown and not compared here.

    Beyond MOST_COMPARED events nothing is compared.
    """
    others = [_uncompared(side.side, answer, True) for side in analysis.judged.alone.values() for answer in side.assembled.others]
    return (*_messages(analysis), *sorted(others[:MOST_OTHERS], key=lambda each: each.choice))


def _messages(analysis: Analysis) -> tuple[Said, ...]:
    exchange = analysis.exchange
    if analysis.events > MOST_COMPARED:
        return tuple(_uncompared(side.side, side.assembled) for side in analysis.judged.alone.values())
    heard = {side: Heard(exchange, side) for side in exchange.sides}
    client, backend = heard.get(Side.CLIENT), heard.get(Side.BACKEND)
    given = asked(exchange.request)
    if client is None or backend is None:
        return tuple(
            _said(side, alone, [((each.start, each.end), "as-text") for each in spelled_in(alone, given) if each.is_call], {})
            for side, alone in heard.items()
        )
    calls = matched(backend, client, given)
    ours, theirs = _compared(calls.removed, backend, client)
    known = {call.name for call in backend.calls} | {each.name for each in spelled_in(backend, given)}
    lost = {event: "lost" for _, event in calls.lost} | {call.event: "altered" for call, _ in calls.altered}
    made_up = {call.event: "added" for call in client.calls if call.name not in known} | {
        call.event: "altered" for _, call in calls.altered
    }
    again = {event: "again" for _, event in calls.repeated}
    return (_said(Side.BACKEND, backend, ours, lost), _said(Side.CLIENT, client, theirs, made_up | again))


def _uncompared(side: Side, answer: Assembled, is_other: bool = False) -> Said:
    parts: list[Piece | Call] = []
    for block in answer.blocks[:MOST_PIECES]:
        size = max(block.size, len(block.text))
        if block.kind == "tool-call":
            parts.append(Call(block.name, block.call_id, block.text[:KEPT], block.first, block.complete, "", size))
        else:
            parts.append(replace(_piece(block.kind, "", block.text, block.first), size=size))
    return _with(side, answer, parts, len(answer.blocks) - len(parts), is_other)


def _compared(taken_out: Sequence[Span], backend: Heard, client: Heard) -> tuple[list[tuple[Span, str]], list[tuple[Span, str]]]:
    """Spans of both sides' words that are not simply the same, in order."""
    removed = sorted(taken_out)
    kept, places, at, size = list[str](), list[tuple[int, int]](), 0, 0
    for start, end in [*removed, (len(backend.words), len(backend.words))]:
        if start < at:
            continue
        places.append((size, at))
        kept.append(backend.words[at:start])
        size += start - at
        at = end
    found = differences("".join(kept), client.words, backend.pieces)
    ours = [(span, "as-text") for span in removed]
    ours += [(span, "lost") for lost in found.lost for span in _original(lost, places)]
    theirs = [(span, "again") for span in found.replayed] + [(span, "added") for span in found.added]
    if found.moved is not None:
        theirs.append(((found.moved, len(client.words)), "moved"))
    return sorted(ours), sorted(theirs)


def _original(span: Span, places: Sequence[tuple[int, int]]) -> Iterator[Span]:
    """Spans of the words as sent, of one of what is left when the calls are taken out."""
    ends = [start for start, _ in places[1:]] + [2**62]
    for (start, original), end in zip(places, ends, strict=True):
        first, last = max(span[0], start), min(span[1], end)
        if first < last:
            yield original + first - start, original + last - start


def _said(side: Side, heard: Heard, spans: Sequence[tuple[Span, str]], calls: Mapping[int, str]) -> Said:
    answer: Assembled = heard.answer
    parts: list[Piece | Call] = [
        Call(
            block.name,
            block.call_id,
            block.text[:KEPT],
            block.first,
            block.complete,
            calls.get(block.first, ""),
            max(block.size, len(block.text)),
        )
        for block in answer.blocks
        if block.kind == "tool-call"
    ]
    parts += _pieces(heard, spans)
    parts.sort(key=lambda part: part.event)
    return _with(side, answer, parts[:MOST_PIECES], len(parts) - MOST_PIECES)


def _with(side: Side, answer: Assembled, parts: Sequence[Piece | Call], left_out: int, is_other: bool = False) -> Said:
    return Said(
        side,
        tuple(parts),
        answer.role,
        answer.model,
        answer.id,
        answer.finish,
        answer.ended,
        answer.error,
        usage_words(answer.usage),
        max(0, left_out),
        answer.choice,
        is_other or bool(answer.others),
    )


def _pieces(heard: Heard, spans: Sequence[tuple[Span, str]]) -> Iterator[Piece]:
    """The words of a side, cut where their kind or what became of them changes."""
    words = heard.words
    hows: list[tuple[int, int, str]] = []
    at = 0
    for (start, end), how in spans:
        start = max(start, at)
        if start < end:
            hows += [(at, start, "")] if at < start else []
            hows.append((start, end, how))
            at = end
    hows += [(at, len(words), "")] if at < len(words) else []
    if not heard.runs:
        return
    ends = [start for _, start in heard.runs[1:]] + [len(words)]
    kinds = [(start, end, kind) for (kind, start), end in zip(heard.runs, ends, strict=True)]
    place = 0
    for start, end, how in hows:
        while place < len(kinds) and kinds[place][1] <= start:
            place += 1
        number = place
        while number < len(kinds) and kinds[number][0] < end:
            first, last = max(start, kinds[number][0]), min(end, kinds[number][1])
            if first < last:
                yield _piece(kinds[number][2], how, words[first:last], heard.event_at(first))
            number += 1


def _piece(kind: str, how: str, text: str, event: int) -> Piece:
    if len(text) <= KEPT:
        return Piece(kind, how, text, event, len(text))
    return Piece(kind, how, text[: KEPT - EDGE], event, len(text), text[-EDGE:], len(text) - KEPT)
