"""One side of an exchange from its bytes to what is wrong with it: frames, protocol, machine, and the rules that look at frames, clock and words."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from inspector.rules.base import Severity, at_least
from inspector.streams import text_rules
from inspector.streams.assembling import AnswerMachine
from inspector.streams.catalogue import PROTOCOLS, UNKNOWN, RecognizedProtocol, sniff, sniff_line
from inspector.streams.clock import Clock
from inspector.streams.frame_rules import Frames
from inspector.streams.framing import frames
from inspector.streams.model import Assembled, End, Exchange, Frame, How, Means, ObservedEvent, Read, Side, StreamViolation
from inspector.streams.records import Holds, StreamRecord, record
from inspector.streams.request_rules import request_facts
from inspector.streams.violations import BY_NAME, StreamRule, severity_of

LOOKED_AT = 64
"""Frames that are looked at before a protocol is taken from what the capture says."""
EVIDENCE = 5
ANSWERS_KEPT = 100
_NO_END = ("missing-terminal", "missing-finish-reason", "response-without-end")


class Ran:
    """One pass over one side: iterate it once, then read what is left. Memory is bounded by what the machine keeps.

    `protocol` is "" until the first records show it, and `unsupported` says what it is where no machine reads it. `answers` are the messages: several where the kind of
    capture keeps events of several answers one after the other. `closing` are the violations that only the end shows.
    """

    def __init__(self, exchange: Exchange, side: Side, choice: int | None = None) -> None:
        self.exchange, self.side = exchange, side
        self.choices: tuple[int, ...] = ()
        """Indexes of the choices that came, where the protocol has several."""
        self.protocol = ""
        self.unsupported = ""
        self.problems: list[str] = list(exchange.problems)
        self.closing: tuple[StreamViolation, ...] = ()
        self.state = "start"
        self.how = How.UNKNOWN
        self.answers: list[Assembled] = []
        self._end: End | None = None
        self._request = request_facts(exchange.request)
        self._choice = choice
        self._machine: AnswerMachine | None = None
        self._clock = Clock()
        self._frames = Frames(exchange.content_types.get(side, ""), exchange.statuses.get(side), exchange.lacks)
        self._foreign_end = False
        self._binary = False
        self._closing: list[StreamViolation] = []

    def __iter__(self) -> Iterator[ObservedEvent]:
        waiting: list[tuple[Frame, StreamRecord]] = []
        hint: RecognizedProtocol | None = None
        decided = False
        for frame in frames(self._reads(), self.side, self.exchange.keeps_reads):
            content = record(frame)
            if not decided:
                waiting.append((frame, content))
                recognized = sniff(content.value, frame.name) if content.holds is Holds.JSON else None
                hint = recognized if hint is None or (recognized is not None and recognized.sure) else hint
                decided = (recognized is not None and recognized.sure) or len(waiting) >= LOOKED_AT
                if decided:
                    self._decide(hint, waiting)
                    for pending_frame in waiting:
                        yield self._observed(*pending_frame)
                    waiting.clear()
                continue
            yield self._observed(frame, content)
        if not decided:
            self._decide(hint, waiting)
            for pending_frame in waiting:
                yield self._observed(*pending_frame)
        self._close()

    def _reads(self) -> Iterator[Read | End]:
        for happening in self.exchange.happenings():
            if isinstance(happening, End) and happening.side is self.side:
                self._end = happening
            yield happening

    def _decide(self, recognized: RecognizedProtocol | None, waiting: list[tuple[Frame, StreamRecord]]) -> None:
        declared = self.exchange.protocols.get(self.side, "")
        status = self.exchange.statuses.get(self.side, 200)
        if status >= 400:
            self.problems.append(f"The {self.side.value} side was answered with HTTP {status}: what came is an error, and no stream.")
        # Others end with [DONE] too: it says which protocol this is only where no record says anything else.
        if recognized is None and not declared and _is_done_alone(content for _, content in waiting):
            declared = "openai-chat"
        # A line that may be either of Ollama's is what the capture says.
        sure = recognized if recognized is not None and (recognized.sure or declared not in PROTOCOLS) else None
        name = sure.name if sure else declared or UNKNOWN
        if sure is not None and sure.supported and declared and declared != sure.name:
            self.problems.append(
                f"The capture says that the {self.side.value} side speaks {declared}; its events are {sure.name}, and are read as such."
            )
        if name in PROTOCOLS:
            self.protocol = name
            self._machine = self._new()
        else:
            binary = "eventstream" in self.exchange.content_types.get(self.side, "")
            # Without a record of JSON nothing says that these are lines of text at all.
            self._binary = binary or not any(content.holds in (Holds.JSON, Holds.DONE) for _, content in waiting)
            lines = next(
                (recognized.name for frame, content in waiting if content.holds is Holds.PLAIN and (recognized := sniff_line(frame.data))),
                name,
            )
            self.protocol, self.unsupported = UNKNOWN, "an Amazon event stream, which is binary" if binary else lines
            self.problems.append(
                f"The {self.side.value} side speaks a protocol that is not judged here: {self.unsupported}."
                + ("" if self._binary else " Only its framing is judged.")
            )

    def _new(self) -> AnswerMachine:
        machine = PROTOCOLS[self.protocol].machine(self._request, self.exchange.lacks)
        machine.choice = self._choice
        return machine

    def _observed(self, frame: Frame, content: StreamRecord) -> ObservedEvent:
        machine = self._machine
        body = self._frames.is_body(frame, content)
        violations = self._clock.feed(frame) + self._frames.feed(frame, content)
        if machine is None:
            if self._binary:
                return ObservedEvent(frame, UNKNOWN)
            if content.holds is Holds.MALFORMED:
                violations += (StreamViolation("record-not-json", frame.index, f"The record cannot be read: {content.reason}."),)
            return ObservedEvent(frame, UNKNOWN, (), violations)
        if machine.ended and self._next_begins(content, frame):
            self._finish_answer(How.UNKNOWN)
            machine = self._machine = self._new()
        elif (
            self._frames.mixed
            and content.holds is Holds.JSON
            and (recognized := sniff(content.value, frame.name))
            and recognized.name != self.protocol
        ):
            # A record of another protocol under another framing says nothing to a client of this one, but it may be the intended end.
            self._foreign_end = self._foreign_end or content.value.get("done") is True or recognized.name == "openai-chat"
            return ObservedEvent(frame, machine.state, (), violations)
        observed = machine.take(frame, content)
        self.state = observed.state
        if violations or body:
            violations_left = [violation for violation in observed.violations if not (body and violation.name == "in-band-error")]
            observed.violations = (*violations, *violations_left)
        return observed

    def _next_begins(self, content: StreamRecord, frame: Frame) -> bool:
        """Whether another answer begins, in a kind of capture that keeps events only and may hold several answers."""
        if "framing" not in self.exchange.lacks or content.holds is not Holds.JSON:
            return False
        kind = content.value.get("type") if isinstance(content.value, dict) else None
        return kind in ("message_start", "response.created")

    def _close(self) -> None:
        self.how = self._end.how if self._end is not None else How.CUT
        self._finish_answer(self.how)
        self.closing = tuple(self._closing)

    def _finish_answer(self, how: How) -> None:
        machine = self._machine
        if machine is None:
            return
        violations = list(machine.end(how))
        if self._foreign_end:
            violations = [violation for violation in violations if violation.name not in _NO_END]
        violations += self._clock.end(self._end, machine.ended or bool(machine.error))
        assembled = machine.assembled()
        self.choices = machine.choices
        by_client = is_read_by_client(self.exchange, self.side)
        violations += text_rules.text_violations(assembled, self._request, by_client)
        for other in assembled.others:
            violations += (of_choice(other.choice, violation) for violation in text_rules.text_violations(other, self._request, by_client))
        if len(self.answers) < ANSWERS_KEPT:
            self.answers.append(assembled)
        if len(self.answers) == 2:
            self.problems.append("The capture holds several answers one after the other: each is judged on its own.")
        self._closing += violations


def _is_done_alone(records: Iterable[StreamRecord]) -> bool:
    """Whether the `[DONE]` line came, and otherwise nothing but errors."""
    holds = [
        content.holds
        for content in records
        if not (content.holds is Holds.JSON and isinstance(content.value, dict) and content.value.get("error"))
    ]
    return Holds.DONE in holds and Holds.JSON not in holds


def run(exchange: Exchange, side: Side, choice: int | None = None) -> Ran:
    """The events of one side, each with the state of the machine after it. Raises nothing on any bytes. `choice` as in `AnswerMachine`."""
    return Ran(exchange, side, choice)


def of_choice(choice: int, violation: StreamViolation) -> StreamViolation:
    return replace(violation, text=f"Choice {choice}: {violation.text}")


def is_read_by_client(exchange: Exchange, side: Side) -> bool:
    """Whether what this side holds is what a client read: the backend's side is not, where a proxy is between."""
    return side is Side.CLIENT or Side.CLIENT not in exchange.sides


@dataclass(frozen=True, slots=True)
class Evidence:
    """A row of the table as it was violated: the first of the violations, how many there are, and the severity of the worst of them."""

    rule: StreamRule
    first: tuple[StreamViolation, ...]
    total: int
    severity: Severity

    @property
    def is_only_noted(self) -> bool:
        """None of the violations is as bad as the row says: nothing need be corrected."""
        return self.severity is Severity.NOTE is not self.rule.severity


@dataclass(frozen=True, slots=True)
class OneSide:
    """What one side shows by itself. `counts`: deltas by what they mean. `evidence` in the order of the table."""

    side: Side
    protocol: str
    unsupported: str
    state: str
    how: How
    events: int
    counts: Mapping[Means, int]
    evidence: tuple[Evidence, ...]
    answers: tuple[Assembled, ...]
    problems: tuple[str, ...] = ()
    names: frozenset[str] = field(default=frozenset())

    @property
    def assembled(self) -> Assembled:
        """The message of the only answer, or of the first one."""
        return self.answers[0] if self.answers else Assembled(())


class Gathered:
    """Violations by row, bounded."""

    def __init__(self) -> None:
        self._first: dict[str, list[StreamViolation]] = {}
        self._total: Counter[str] = Counter()
        self._worst: dict[str, Severity] = {}

    def add(self, violation: StreamViolation) -> None:
        self._total[violation.name] += 1
        severity = severity_of(violation)
        if at_least(severity, self._worst.get(violation.name, severity)):
            self._worst[violation.name] = severity
        first = self._first.setdefault(violation.name, [])
        if len(first) < EVIDENCE:
            first.append(violation)

    def evidence(self) -> tuple[Evidence, ...]:
        rules = sorted((BY_NAME[name] for name in self._first), key=lambda rule: rule.code)
        return tuple(Evidence(rule, tuple(self._first[rule.name]), self._total[rule.name], self._worst[rule.name]) for rule in rules)


def one_side(exchange: Exchange, side: Side) -> OneSide:
    """All that one side shows by itself."""
    ran, gathered, counts, events = run(exchange, side), Gathered(), dict[str, int](), 0
    for observed in ran:
        events += 1
        for delta in observed.deltas:
            # By the plain word: the hash of an enum's member is a function of Python.
            word = delta.means._value_
            counts[word] = counts.get(word, 0) + 1
        for violation in observed.violations:
            gathered.add(violation)
    for violation in ran.closing:
        gathered.add(violation)
    evidence = gathered.evidence()
    return OneSide(
        side,
        ran.protocol,
        ran.unsupported,
        ran.state,
        ran.how,
        events,
        Counter({Means(word): count for word, count in counts.items()}),
        evidence,
        tuple(ran.answers),
        tuple(ran.problems),
        frozenset(item.rule.name for item in evidence),
    )
