"""Both sides of a proxy compared: what the client got that the backend had not sent, and what the backend had sent that the client never got.

Events are aligned by what they mean, so that the sides may speak different protocols. What the order of both sides would have to show is claimed only where the capture
kept that order.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from inspector.rules.base import Severity
from inspector.streams.assembling import MISSED, shown
from inspector.streams.catalogue import FILTER, LENGTH, common_finish, common_usage
from inspector.streams.consumer import TEXT_KEPT, ConsumedSide
from inspector.streams.matched_calls import Matched, matched
from inspector.streams.model import Exchange, How, Side, StreamViolation
from inspector.streams.request_rules import request_facts
from inspector.streams.run import Evidence, Gathered, OneSide, of_choice, one_side
from inspector.streams.text_compare import Differences, Span, differences
from inspector.streams.text_rules import THINK, WRAPPERS, is_fragment

ON_BACKEND = frozenset(
    {"choice-lost", "terminal-swallowed", "tool-call-lost", "tool-call-partial-lost", "content-lost", "record-split-by-proxy"}
)
"""Rows whose violations name events of the backend; those of all others are of the client."""

EXPLAINED = {"tool-call-lost": frozenset({"empty-stream"}), "record-split-by-proxy": frozenset({"empty-stream"})}
"""Row of both sides -> rows of the client's side alone that say no more than it does, of the same events."""

_MOST_COMPARED = 1_000_000
"""Events, counted once for each choice, up to which every choice is compared: each comparison reads the capture again."""
_LONGEST_TAG = 200
_BROKEN = "\N{REPLACEMENT CHARACTER}"
_TAGS = (*(tag for pair in THINK for tag in pair), *(f"<{end}{name}>" for name in WRAPPERS for end in ("", "/")))
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")


@dataclass(frozen=True, slots=True)
class TwoSides:
    """`evidence` in the order of the table. `remarks` are sentences on what differs and is no fault by any rule, or could not be compared."""

    evidence: tuple[Evidence, ...]
    remarks: tuple[str, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        return frozenset(evidence.rule.name for evidence in self.evidence)


@dataclass(frozen=True, slots=True)
class Judged:
    """An exchange as a whole. `evidence` has that of each side, without what a row of both sides explains; `sides` is None where there is only one."""

    alone: Mapping[Side, OneSide]
    sides: TwoSides | None

    def evidence(self, side: Side) -> tuple[Evidence, ...]:
        explained = (
            frozenset[str]().union(*(EXPLAINED.get(name, ()) for name in self.sides.names)) if self.sides and side is Side.CLIENT else ()
        )
        return tuple(evidence for evidence in self.alone[side].evidence if evidence.rule.name not in explained)

    def by_side(self) -> Iterator[tuple[Side, Evidence]]:
        """All evidence, each with the side whose events it names."""
        yield from ((side, evidence) for side in self.alone for evidence in self.evidence(side))
        for evidence in self.sides.evidence if self.sides else ():
            yield Side.BACKEND if evidence.rule.name in ON_BACKEND else Side.CLIENT, evidence


def judged(exchange: Exchange) -> Judged:
    """What each side shows alone, and both together."""
    return Judged({side: one_side(exchange, side) for side in exchange.sides}, two_sides(exchange))


def two_sides(exchange: Exchange) -> TwoSides | None:
    """What only both sides can prove; None where the capture has one side. Reads the capture twice; raises nothing on any bytes."""
    if set(exchange.sides) != set(Side):
        return None
    client = ConsumedSide(exchange, Side.CLIENT)
    before = client.terminal.moment if client.terminal else None
    backend = ConsumedSide(exchange, Side.BACKEND, before)
    if backend.answer.choice != client.answer.choice:
        # The sides begin with different choices: the lowest one is the message of both.
        choice = min(answer.choice for answer in (*backend.every, *client.every))
        client, backend = ConsumedSide(exchange, Side.CLIENT, choice=choice), ConsumedSide(exchange, Side.BACKEND, before, choice)
    for side in (backend, client):
        if side.ran.unsupported:
            return TwoSides((), (f"The {side.side.value} side speaks a protocol that is not read here: the sides are not compared.",))
        if len(side.ran.answers) > 1:
            return TwoSides((), (f"The {side.side.value} side holds several answers: the sides are not compared.",))
    gathered, remarks = Gathered(), list[str]()
    comparison = _Comparison(exchange, backend, client, remarks)
    for violation in comparison.all():
        gathered.add(violation)
    for violation in _of_others(exchange, backend, client, remarks):
        gathered.add(violation)
    return TwoSides(gathered.evidence(), tuple(remarks))


def _of_others(exchange: Exchange, backend: ConsumedSide, client: ConsumedSide, remarks: list[str]) -> Iterator[StreamViolation]:
    """What became of the choices of the backend that are not the message."""
    client_choices, backend_choices = {answer.choice for answer in client.every}, {answer.choice for answer in backend.every}
    remarks += [
        f"The client got a choice {index}, which the backend had not sent."
        for index in sorted(client_choices - backend_choices)
        if backend_choices
    ]
    is_cut_off = client.ran.how in (How.RESET, How.CUT) and client.terminal is None
    if is_cut_off or client.error is not None or client.body_event >= 0:
        return
    others = [answer for answer in backend.every if answer.choice != client.answer.choice and answer.blocks]
    for answer in others:
        if answer.choice not in client_choices:
            words = shown(" ".join(block.text or block.name for block in answer.blocks))
            text = f"Choice {answer.choice} of the backend did not reach the client: {words}"
            yield StreamViolation("choice-lost", answer.blocks[0].first, text)
    both = [answer.choice for answer in others if answer.choice in client_choices]
    most = _MOST_COMPARED // max(1, backend.records + client.records)
    if len(both) > most:
        remarks.append(f"Of the {len(both):,} further choices, {most:,} are compared: the capture is too long for more.")
    for choice in both[:most]:
        choice_remarks: list[str] = []
        sent, received = (ConsumedSide(exchange, side, choice=choice) for side in (Side.BACKEND, Side.CLIENT))
        for violation in _Comparison(exchange, sent, received, choice_remarks).of_answer():
            yield of_choice(choice, violation)
        remarks += [f"Choice {choice}: {remark}" for remark in choice_remarks]


class _Comparison:
    def __init__(self, exchange: Exchange, backend: ConsumedSide, client: ConsumedSide, remarks: list[str]) -> None:
        self.exchange, self.backend, self.client, self.remarks = exchange, backend, client, remarks
        self.ordered = exchange.ordered and "stream" not in exchange.lacks
        # A client that hung up, or a capture that was cut, got no more because of that.
        self.hung_up = client.ran.how in (How.RESET, How.CUT) and client.terminal is None
        self.died_at = client.error is not None or client.body_event >= 0

    def all(self) -> Iterator[StreamViolation]:
        calls = matched(self.backend, self.client, request_facts(self.exchange.request))
        yield from self._terminals(self.backend.size - sum(end - start for start, end in calls.removed))
        yield from self._answer(calls)
        yield from self._usage()
        if self.client.after_end:
            yield StreamViolation(
                "after-end-write",
                max(self.client.records - 1, 0),
                f"{self.client.after_end:,} bytes were written after the end of the stream.",
            )

    def of_answer(self) -> Iterator[StreamViolation]:
        """What became of the content alone, of one choice of several."""
        return self._answer(matched(self.backend, self.client, request_facts(self.exchange.request)))

    def _answer(self, calls: Matched) -> Iterator[StreamViolation]:
        yield from self._calls(calls)
        yield from self._words(calls.removed)
        yield from self._signatures()
        yield from self._finish()

    def _ended_in_error(self) -> bool:
        return self.died_at and self.client.terminal is None

    def _terminals(self, expected: int) -> Iterator[StreamViolation]:
        backend, client = self.backend, self.client
        if client.terminal is not None:
            yield from self._premature(expected)
            if self._is_fabricated():
                how = "with an error" if backend.error else f"without one ({backend.ran.how.value})"
                text = f"The client got {client.terminal_word}, and the backend had ended {how}."
                yield StreamViolation("fabricated-terminal", client.terminal.event, text)
        elif (
            backend.terminal is not None
            and not backend.error
            and not self.died_at
            and client.ended_badly
            and client.ran.how is not How.RESET
        ):
            if client.is_finished:
                text = (
                    f"The backend's {backend.terminal_word} came, and the client's stream ended at its finish reason, without a terminal."
                )
            else:
                text = f"The backend's {backend.terminal_word} came, and the client's stream ended without a terminal."
            severity = Severity.WARNING if client.is_finished else None
            yield StreamViolation("terminal-swallowed", backend.terminal.event, text, severity)

    def _premature(self, expected: int) -> Iterator[StreamViolation]:
        """`expected`: characters that the client should have got by then."""
        backend, client = self.backend, self.client
        terminal, last = client.terminal, backend.last_payload
        if terminal is None or not self.ordered:
            return
        # A terminal record of the backend that is all that was still to come is no loss: Ollama's last line says finish and end in one.
        if last is not None and terminal.moment < last.moment:
            text = f"Ended too early: the client's terminal came at input {backend.records_before:,} of {backend.records:,} of the backend, and content of the backend after it."
            yield StreamViolation("premature-terminal", terminal.event, text)
        elif client.has_content_after_terminal and last is not None and self._is_late(terminal.event, expected):
            size = client.size - client.at_terminal
            text = f"The client got its terminal before {size:,} characters that the backend sent before its own."
            yield StreamViolation("premature-terminal", terminal.event, text)
            yield StreamViolation("content-reordered", terminal.event, "The backend sent its terminal last, and the client got it earlier.")

    def _is_late(self, terminal: int, expected: int) -> bool:
        """Whether what follows the client's terminal is of the backend, and no echo of what came before it."""
        return self.client.at_terminal < expected or any(call.event > terminal for call in self.client.calls)

    def _is_fabricated(self) -> bool:
        backend, client = self.backend, self.client
        finish = common_finish(client.ran.protocol, client.answer.finish)
        if finish in (LENGTH, FILTER, "failed") or "stream" in self.exchange.lacks:
            return False
        if backend.terminal is None:
            # A server that never sends [DONE] ends with its finish reason, and a proxy may well add what its client waits for.
            is_missed = backend.ran.how in MISSED and "terminal-record" not in self.exchange.lacks and not backend.is_finished
            return backend.error is not None or is_missed
        return backend.error is not None and client.error is None

    def _calls(self, calls: Matched) -> Iterator[StreamViolation]:
        for name, event in calls.promoted:
            text = f"The call of {shown(name)} is only a thought of the backend's model, and the client got it as a real one."
            yield StreamViolation("tool-text-promoted-from-reasoning", event, text)
        for name, event in calls.repeated:
            yield StreamViolation("content-replayed", event, f"The client got the call of {shown(name)} again.")
        if self.hung_up:
            return
        row = "tool-call-partial-lost" if self.client.calls else "tool-call-lost"
        # A call in which the client's stream ended is lost: nobody altered it.
        is_cut = self.client.terminal is None
        cut_off = [(sent.name, sent.event) for sent, _ in calls.altered] if is_cut else []
        for name, event in [*calls.lost, *cut_off]:
            if event in self.backend.split and self._ended_in_error():
                yield StreamViolation(
                    "record-split-by-proxy",
                    event,
                    f"The record came in several reads, and its call of {shown(name)} did not reach the client.",
                )
                return
            how = "reached the client cut off" if (name, event) in cut_off else "did not reach the client"
            yield StreamViolation(row, event, f"The call of {shown(name)} {how}.")
        for sent, received in () if is_cut else calls.altered:
            text = f"The backend called {shown(sent.name)} with {shown(sent.meaning)}, and the client got {shown(received.meaning)}."
            yield StreamViolation("tool-args-altered", received.event, text)

    def _words(self, removed: Sequence[Span]) -> Iterator[StreamViolation]:
        backend, client = self.backend, self.client
        if max(backend.size, client.size) > TEXT_KEPT:
            self.remarks.append(f"The first {TEXT_KEPT:,} characters of each side are compared, of {backend.size:,} and {client.size:,}.")
        sent = _Sent(backend, client.words, removed, {call.name for call in client.calls})
        text_differences = differences(sent.words, client.words, backend.pieces)
        if not backend.broken and client.words.count(_BROKEN) > sent.words.count(_BROKEN):
            at = client.event_at(client.words.index(_BROKEN))
            yield StreamViolation(
                "utf8-broken", at, f"The client got {client.words.count(_BROKEN):,} U+FFFD that the backend had not sent."
            )
            # What is broken is not reported as lost too: only the rest is compared.
            ours, theirs = (_BEYOND_ASCII.sub("", words) for words in (sent.words, client.words))
            if ours == theirs:
                return
            text_differences = Differences(
                tuple(span for span in text_differences.lost if sent.words[slice(*span)].isascii()),
                text_differences.replayed,
                tuple(span for span in text_differences.added if _BROKEN not in client.words[slice(*span)]),
                text_differences.moved,
            )
        yield from self._differences(sent, text_differences)
        yield from self._unread(client.words)

    def _differences(self, sent: "_Sent", text_differences: Differences) -> Iterator[StreamViolation]:
        backend, client = self.backend, self.client
        lost = [span for span in text_differences.lost if not (sent.is_seam(*span) or self._is_beyond(sent.words, span[1]))]
        # A client that got an error in place of the record got nothing after it either.
        cut_off = self._ended_in_error() and bool(lost) and self._next_split(sent, lost[0])
        for number, (start, end) in enumerate(lost):
            event, words = backend.event_at(sent.place(start)), shown(sent.words[start : min(end, start + 200)])
            if cut_off and number:
                break
            if cut_off or (event in backend.split and event == backend.event_at(sent.place(end - 1))):
                text = f"The record came in several reads, and its words did not reach the client: {words}"
                yield StreamViolation("record-split-by-proxy", event, text)
                continue
            what = "Reasoning" if backend.kind_at(sent.place(start)) == "thinking" else "Text"
            yield StreamViolation(
                "content-lost", event, f"{what} of the backend did not reach the client ({end - start:,} characters): {words}"
            )
        for start, end in text_differences.replayed if self.backend.ran.how is not How.CUT else ():
            yield StreamViolation(
                "content-replayed", client.event_at(start), f"The client got again what it had got: {shown(client.words[start:end])}"
            )
        if text_differences.moved is not None:
            yield StreamViolation(
                "content-reordered",
                client.event_at(text_differences.moved),
                "From here on the client got the backend's text in another order.",
            )
        for start, end in text_differences.added[:3]:
            if client.words[start:end].strip():
                self.remarks.append(f"The client got {shown(client.words[start:end])}, which the backend had not sent.")

    def _next_split(self, sent: "_Sent", span: Span) -> bool:
        """Whether a record that was split is among those of the span."""
        first, last = (self.backend.event_at(sent.place(at)) for at in (span[0], span[1] - 1))
        return any(first <= event <= last for event in self.backend.split)

    def _is_beyond(self, words: str, end: int) -> bool:
        """Whether the end of what is compared explains it: words that were cut off at the limit, or a client that had gone."""
        return (self.hung_up or max(self.backend.size, self.client.size) > TEXT_KEPT) and end >= len(words.rstrip())

    def _unread(self, received_words: str) -> Iterator[StreamViolation]:
        """Records of the backend that cannot be read, contain content all the same, and did not reach the client in any shape."""
        if self.hung_up:
            return
        for words, event in self.backend.malformed:
            if words.strip() and words.strip() not in received_words:
                yield StreamViolation(
                    "content-lost",
                    event,
                    f"The record cannot be read, and the text in it did not reach the client: {shown(words)}",
                )

    def _signatures(self) -> Iterator[StreamViolation]:
        ours = [signature for signature, _ in self.backend.signatures]
        for number, (signature, event) in enumerate(self.client.signatures):
            if ours and signature and signature not in ours[number : number + 1]:
                yield StreamViolation("signature-altered", event, "The signature of the thinking is not the one that the backend sent.")

    def _usage(self) -> Iterator[StreamViolation]:
        counts = common_usage(self.client.answer.usage)
        if self.client.usage_event >= 0 and self.backend.usage_event < 0 and counts and not any(counts.values()):
            yield StreamViolation(
                "usage-zero-fabricated", self.client.usage_event, "The client got a usage of 0, and the backend had given none."
            )

    def _finish(self) -> Iterator[StreamViolation]:
        backend, client = (common_finish(side.ran.protocol, side.answer.finish, bool(side.calls)) for side in (self.backend, self.client))
        finished = self.client.finished
        if backend == LENGTH and client and client != LENGTH and finished is not None:
            text = f"The backend's answer was cut off at its limit, and the client got {client}."
            yield StreamViolation("finish-altered", finished.event, text)


class _Sent:
    """The words of the backend that the client should have got, each with its place among all of them."""

    def __init__(self, backend: ConsumedSide, received_words: str, removed: Sequence[Span], names: Collection[str]) -> None:
        whole = backend.words
        self._names = names
        # A tag may be within a call that was taken out as a whole.
        spans = sorted({*removed, *_tags(whole, received_words)}, key=lambda span: (span[0], -span[1]))
        self._places: list[tuple[int, int]] = []
        self._seams: list[int] = []
        """Where something was taken out."""
        pieces, at, size = list[str](), 0, 0
        for start, end in [*spans, (len(whole), len(whole))]:
            if start < at:
                continue
            self._places.append((size, at))
            pieces.append(whole[at:start])
            size += start - at
            at = end
            self._seams += [size] if spans and end > start else []
        self.words = "".join(pieces)

    def place(self, at: int) -> int:
        """Where the character `at` is among all words of the backend."""
        start, original = self._places[max(0, bisect_right(self._places, (at, 2**62)) - 1)]
        return original + at - start

    def is_seam(self, start: int, end: int) -> bool:
        """Whether the span is what may go with something that was taken out: blanks, and what is left of a call's tags."""
        bare = self.words[start : min(end, start + _LONGEST_TAG)].strip()
        seam = bisect_left(self._seams, start)
        if seam == len(self._seams) or self._seams[seam] > end:
            return False
        return not self.words[start:end].strip() or (end - start < _LONGEST_TAG and any(is_fragment(bare, name) for name in self._names))


def _tags(whole: str, received_words: str) -> Iterator[Span]:
    """Tags of thinking and of the wrapper that the proxy took out, as it should."""
    for tag in _TAGS:
        if tag in whole and tag not in received_words:
            yield from ((match.start(), match.end()) for match in re.finditer(re.escape(tag), whole))
