"""The message that each side's events assemble to, with what did not reach the client, what came to it twice, and what was a call written as text."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from inspector.presentation.stream.report import StreamAnalysis
from inspector.presentation.stream.words import usage_words
from inspector.presentation.visible import beginning, ending
from inspector.streams.consumer import ConsumedSide
from inspector.streams.matched_calls import matched, text_calls_of
from inspector.streams.model import Assembled, Side, StreamBlock
from inspector.streams.request_rules import RequestFacts, request_facts
from inspector.streams.text_compare import Span, differences

RUN_SHOWN = 3_000
"""Characters of a run that is the same on both sides."""
EDGE = 400
"""Characters that stay on each side of what is left out of a long run."""
MOST_PIECES = 80
MOST_OTHERS = 32
"""Other choices that are shown, of both sides together."""
MOST_COMPARED = 200_000
"""Events of all sides up to which their words are compared here: beyond them that takes half a minute more, and the findings say what differs."""


@dataclass(frozen=True, slots=True)
class MessagePiece:
    """A run of words of one kind. `how`: "" the same on both sides, `lost`, `again`, `added`, `moved`, or `as-text`: a call in words. `left_out`: characters that are not shown in its middle."""

    kind: str
    how: str
    text: str
    event: int
    size: int
    tail: str = ""
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class MessageCall:
    """A structured call. `how`: "", `lost`, `again`, `added`, or `altered`: the other side has it with other arguments."""

    name: str
    call_id: str
    arguments: str
    event: int
    is_complete: bool
    how: str
    size: int


@dataclass(frozen=True, slots=True)
class SideMessage:
    """One side's message. `parts` in the order in which they came; `parts_at` is the event at which the sides diverge, None where they do not."""

    side: Side
    parts: tuple[MessagePiece | MessageCall, ...]
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


def side_messages(analysis: StreamAnalysis) -> tuple[SideMessage, ...]:
    """Of each side; of the first answer where a capture holds several. Then the other choices of each side, which are shown and not compared here.

    Beyond MOST_COMPARED events nothing is compared.
    """
    others = [_uncompared(side.side, answer, True) for side in analysis.judged.alone.values() for answer in side.assembled.others]
    return (*_messages(analysis), *sorted(others[:MOST_OTHERS], key=lambda message: message.choice))


def _messages(analysis: StreamAnalysis) -> tuple[SideMessage, ...]:
    exchange = analysis.exchange
    if analysis.events > MOST_COMPARED:
        return tuple(_uncompared(side.side, side.assembled) for side in analysis.judged.alone.values())
    consumed = {side: ConsumedSide(exchange, side) for side in exchange.sides}
    client, backend = consumed.get(Side.CLIENT), consumed.get(Side.BACKEND)
    request = request_facts(exchange.request)
    if client is None or backend is None:
        return tuple(_side_message(side, alone, _written_calls(alone, request), {}) for side, alone in consumed.items())
    calls = matched(backend, client, request)
    ours, theirs = _compared(calls.removed, backend, client)
    theirs += [
        (span, how)
        for span, how in _written_calls(client, request)
        if all(span[1] <= start or end <= span[0] for (start, end), _ in theirs)
    ]
    known_names = {call.name for call in backend.calls} | {call_in_text.name for call_in_text in text_calls_of(backend, request)}
    lost = {event: "lost" for _, event in calls.lost} | {call.event: "altered" for call, _ in calls.altered}
    added = {call.event: "added" for call in client.calls if call.name not in known_names} | {
        call.event: "altered" for _, call in calls.altered
    }
    repeated = {event: "again" for _, event in calls.repeated}
    return (_side_message(Side.BACKEND, backend, ours, lost), _side_message(Side.CLIENT, client, sorted(theirs), added | repeated))


def _written_calls(side: ConsumedSide, request: RequestFacts) -> list[tuple[Span, str]]:
    """With the space before it that came in the same event: a row of the table counts whole events."""
    return [((_event_start(side, call.start), call.end), "as-text") for call in text_calls_of(side, request) if call.is_call]


def _event_start(side: ConsumedSide, place: int) -> int:
    start = place
    while start and side.words[start - 1].isspace() and side.event_at(start - 1) == side.event_at(place):
        start -= 1
    return start


def _uncompared(side: Side, answer: Assembled, is_other: bool = False) -> SideMessage:
    blocks = [
        _call(block, "")
        if block.kind == "tool-call"
        else replace(_piece(block.kind, "", block.text, block.first), size=max(block.size, len(block.text)))
        for block in answer.blocks[:MOST_PIECES]
    ]
    return _with(side, answer, blocks, len(answer.blocks) - len(blocks), is_other)


def _compared(
    taken_out: Sequence[Span], backend: ConsumedSide, client: ConsumedSide
) -> tuple[list[tuple[Span, str]], list[tuple[Span, str]]]:
    """Spans of both sides' words that are not simply the same, in order."""
    removed = sorted(taken_out)
    kept_words, places, at, size = list[str](), list[tuple[int, int]](), 0, 0
    for start, end in [*removed, (len(backend.words), len(backend.words))]:
        if start < at:
            continue
        places.append((size, at))
        kept_words.append(backend.words[at:start])
        size += start - at
        at = end
    text_differences = differences("".join(kept_words), client.words, backend.pieces)
    ours = [(span, "as-text") for span in removed]
    ours += [(span, "lost") for lost in text_differences.lost for span in _original(lost, places)]
    theirs = [(span, "again") for span in text_differences.replayed] + [(span, "added") for span in text_differences.added]
    if text_differences.moved is not None:
        theirs.append(((text_differences.moved, len(client.words)), "moved"))
    return sorted(ours), sorted(theirs)


def _original(span: Span, places: Sequence[tuple[int, int]]) -> Iterator[Span]:
    """Spans of the words as sent, of one of what is left when the calls are taken out."""
    ends = [start for start, _ in places[1:]] + [2**62]
    for (start, original), end in zip(places, ends, strict=True):
        first, last = max(span[0], start), min(span[1], end)
        if first < last:
            yield original + first - start, original + last - start


def _side_message(side: Side, consumed: ConsumedSide, spans: Sequence[tuple[Span, str]], calls: Mapping[int, str]) -> SideMessage:
    answer: Assembled = consumed.answer
    message_parts: list[MessagePiece | MessageCall] = [
        _call(block, calls.get(block.first, "")) for block in answer.blocks if block.kind == "tool-call"
    ]
    message_parts += _pieces(consumed, spans)
    message_parts.sort(key=lambda part: part.event)
    return _with(side, answer, message_parts[:MOST_PIECES], len(message_parts) - MOST_PIECES)


def _with(side: Side, answer: Assembled, parts: Sequence[MessagePiece | MessageCall], left_out: int, is_other: bool = False) -> SideMessage:
    return SideMessage(
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


def _pieces(consumed: ConsumedSide, spans: Sequence[tuple[Span, str]]) -> Iterator[MessagePiece]:
    """The words of a side, cut where their kind or what became of them changes."""
    words = consumed.words
    hows: list[tuple[int, int, str]] = []
    at = 0
    for (start, end), how in spans:
        start = max(start, at)
        if start < end:
            hows += [(at, start, "")] if at < start else []
            hows.append((start, end, how))
            at = end
    hows += [(at, len(words), "")] if at < len(words) else []
    if not consumed.runs:
        return
    ends = [start for _, start in consumed.runs[1:]] + [len(words)]
    kinds = [(start, end, kind) for (kind, start), end in zip(consumed.runs, ends, strict=True)]
    place = 0
    for start, end, how in hows:
        while place < len(kinds) and kinds[place][1] <= start:
            place += 1
        number = place
        while number < len(kinds) and kinds[number][0] < end:
            first, last = max(start, kinds[number][0]), min(end, kinds[number][1])
            if first < last:
                yield _piece(kinds[number][2], how, words[first:last], consumed.event_at(first))
            number += 1


def _call(block: StreamBlock, how: str) -> MessageCall:
    return MessageCall(
        block.name, block.call_id, beginning(block.text, RUN_SHOWN), block.first, block.complete, how, max(block.size, len(block.text))
    )


def _piece(kind: str, how: str, text: str, event: int) -> MessagePiece:
    if len(text) <= RUN_SHOWN:
        return MessagePiece(kind, how, text, event, len(text))
    return MessagePiece(kind, how, beginning(text, RUN_SHOWN - EDGE), event, len(text), ending(text, EDGE), len(text) - RUN_SHOWN)
