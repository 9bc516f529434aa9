"""One side of an exchange, prepared to be compared with the other: its words, its calls, how it ended, and when. Bounded, in one pass."""

import hashlib
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

from inspector.projections.base import OPENAI_CHAT
from inspector.streams.assembling import arguments
from inspector.streams.model import Assembled, End, Exchange, Frame, Framing, Means, ObservedEvent, Read, Side
from inspector.streams.run import Ran, run
from inspector.text import js_json, jsontext

TEXT_KEPT = 4_000_000
"""Characters of a side's words that are compared."""
NOTED = 10_000
"""Events of one sort that are remembered."""
MALFORMED = 100
"""Records that cannot be read whose words are looked for on the other side."""
SAYS = {Means.TEXT: "text", Means.REFUSAL: "text", Means.THINKING: "thinking"}
PAYLOAD = frozenset({*SAYS, Means.CALL, Means.ARGUMENTS, Means.FINISH, Means.USAGE})
"""What a client must have got before its stream may end."""
_CONTENT_MEMBER = re.compile(
    rb"""["']?\b(?:content|text|response|thinking|reasoning_content|reasoning)\b["']?\s{0,9}:\s{0,9}("(?:[^"\\]|\\.)*")"""
)


@dataclass(frozen=True, slots=True)
class EventPlace:
    """An event, and the number of the happening that completed it: numbers of both sides count together."""

    event: int
    moment: int


@dataclass(frozen=True, slots=True)
class ConsumedCall:
    """`meaning` is equal for calls of one meaning: name and arguments as a value, or as text where they are none."""

    name: str
    meaning: str
    event: int


class ConsumedSide:
    """All that one side said: consumed when it is created. `before` is a moment up to which events are counted; `choice` as in `run`."""

    def __init__(self, exchange: Exchange, side: Side, before: int | None = None, choice: int | None = None) -> None:
        self.side = side
        self.after_end = 0
        """Bytes after the end of this side."""
        self.ran: Ran = run(replace(exchange, happenings=partial(self._numbered, exchange)), side, choice)
        self.records = 0
        self.records_before = 0
        self.size = 0
        self.runs: list[tuple[str, int]] = []
        """Kind of words and where each run of it begins, in order."""
        self.pieces: set[str] = set()
        self.terminal: EventPlace | None = None
        self.terminal_word = ""
        self.at_terminal = 0
        """Characters before the terminal."""
        self.has_content_after_terminal = False
        self.finished: EventPlace | None = None
        self.error: EventPlace | None = None
        self.last_payload: EventPlace | None = None
        """The last event with content, of those before the terminal."""
        self.split: set[int] = set()
        self.broken = False
        """Some of its bytes are no UTF-8."""
        self.signatures: list[tuple[str, int]] = []
        """Hash and event of each, "" for an empty one."""
        self.usage_event = -1
        self.malformed: list[tuple[str, int]] = []
        self.body_event = -1
        self._texts: list[str] = []
        self._kept = 0
        self._starts, self._events = array("q"), array("q")
        self._before = before
        for observed in self.ran:
            self._consume(observed)
        self.words = "".join(self._texts)
        self._texts.clear()

    @property
    def answer(self) -> Assembled:
        return self.ran.answers[0] if self.ran.answers else Assembled(())

    @property
    def every(self) -> tuple[Assembled, ...]:
        """The answers of all choices."""
        return (self.answer, *self.answer.others)

    @property
    def calls(self) -> list[ConsumedCall]:
        return [ConsumedCall(block.name, meaning(block.text), block.first) for block in self.answer.blocks if block.kind == "tool-call"]

    @property
    def ended_badly(self) -> bool:
        """It ended as a stream does, and its terminal is missing."""
        return any(violation.name in ("missing-terminal", "response-without-end") for violation in self.ran.closing)

    @property
    def is_finished(self) -> bool:
        """The answer is whole without a terminal record: in Chat Completions its finish reason ends it, and some servers send no `[DONE]`."""
        return self.ran.protocol == OPENAI_CHAT and self.finished is not None

    def event_at(self, place: int) -> int:
        """The event of the character at `place`."""
        index = bisect_right(self._starts, place) - 1
        return self._events[index] if index >= 0 else 0

    def kind_at(self, place: int) -> str:
        index = bisect_right([start for _, start in self.runs], place) - 1
        return self.runs[index][0] if index >= 0 else "text"

    def _numbered(self, exchange: Exchange) -> Iterator[Read | End]:
        """The happenings with the number of each for its time, so that events of both sides can be put in order."""
        ended = False
        for number, happening in enumerate(exchange.happenings()):
            if happening.side is self.side:
                if isinstance(happening, End):
                    ended = True
                elif ended:
                    self.after_end += len(happening.data)
            yield replace(happening, at=float(number))

    def _consume(self, observed: ObservedEvent) -> None:
        frame = observed.frame
        moment = int(frame.at) if frame.at is not None else -1
        here = EventPlace(frame.index, moment)
        if frame.framing is not Framing.OTHER and frame.data:
            self.records += 1
            self.records_before += self._before is not None and moment < self._before
        self.broken = self.broken or "bad-utf8" in frame.marks
        if "split" in frame.marks and len(self.split) < NOTED:
            self.split.add(frame.index)
        for violation in observed.violations:
            if violation.name == "record-not-json" and len(self.malformed) < MALFORMED and (words := salvaged_content(frame)):
                self.malformed.append((words, frame.index))
            elif violation.name == "http-error-body-midstream" and self.body_event < 0:
                self.body_event = frame.index
        for delta in observed.deltas:
            means = delta.means
            if means in SAYS:
                self._say(SAYS[means], delta.text, frame.index)
            elif means is Means.SIGNATURE and len(self.signatures) < NOTED:
                digest = hashlib.sha256(delta.text.encode("utf-8", "surrogatepass")).hexdigest()
                self.signatures.append((digest if delta.text else "", frame.index))
            elif means is Means.ERROR and self.error is None:
                self.error = here
            elif means is Means.USAGE:
                self.usage_event = frame.index
            elif means is Means.FINISH and delta.text:
                self.finished = here
            elif means is Means.TERMINAL and self.terminal is None:
                self.terminal, self.terminal_word, self.at_terminal = here, delta.text, self.size
            if means in PAYLOAD and (delta.text or means is not Means.FINISH):
                if self.terminal is None or self.terminal.event == frame.index:
                    self.last_payload = here
                elif means is not Means.USAGE and means is not Means.FINISH:
                    self.has_content_after_terminal = True

    def _say(self, kind: str, text: str, event: int) -> None:
        if (not self.runs or self.runs[-1][0] != kind) and len(self.runs) < NOTED:
            self.runs.append((kind, self.size))
        if self._kept < TEXT_KEPT:
            piece = text[: TEXT_KEPT - self._kept]
            self._texts.append(piece)
            self._starts.append(self._kept)
            self._events.append(event)
            self._kept += len(piece)
        if len(text) < 16 and len(self.pieces) < NOTED:
            self.pieces.add(text.strip())
        self.size += len(text)


def meaning(text: str) -> str:
    """Argument text as what it means."""
    read = arguments(text)
    return js_json.canonical(dict(read.input)) if read.input is not None else text


def salvaged_content(frame: Frame) -> str:
    """The content of a record that cannot be read as a whole; "" where none is recognized."""
    match = _CONTENT_MEMBER.search(frame.data[:2000])
    if match is None:
        return ""
    try:
        value = jsontext.parse(match[1].decode("utf-8", "replace"))
    except jsontext.Unreadable:
        return ""
    return value if isinstance(value, str) else ""
