"""What was observed while it ran: log records as they were written, and the spans, steps and turns that they make up."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing in a source that could not be read as it should be. `where` names the row or byte, `reason` is a sentence."""

    where: str
    reason: str


Report = Callable[[Problem], None]
"""Gets every problem as it is met (`problems.append` will do); the caller decides how many it keeps."""


def complainer(report: Report, where: str) -> Callable[[str], None]:
    """Reports reasons, written as the rest of a sentence without its full stop, as problems of one place."""
    return lambda reason: report(Problem(where, reason[0].upper() + reason[1:] + "."))


@dataclass(frozen=True, slots=True)
class TraceRecord:
    """One log record. `kind` is `log`, `span-open` or `span-close`; `timestamp` is epoch milliseconds.

    Readers keep `timestamp` between 0 and the end of the year 9999, so that every one can be shown as a date.
    `body` names the body in the trace's `bodies` (None: the record has none); `order` breaks ties of `timestamp`.
    """

    id: str
    kind: str
    timestamp: int
    order: int
    extension_id: str
    name: str = ""
    message: str = ""
    level: str = ""
    span_id: str = ""
    parent_span_id: str = ""
    conversation_id: str = ""
    turn_id: str = ""
    duration_ms: int | None = None
    status: str = ""
    attributes: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    links: tuple[Mapping[str, Any], ...] = ()
    body: str | None = None


@dataclass(slots=True)
class Span:
    """An open record and its close, matched by span id. Either may be missing: retention, rotation and aborts lose them."""

    span_id: str
    name: str
    opened: TraceRecord | None = None
    closed: TraceRecord | None = None
    children: list["Span"] = field(default_factory=list)
    logs: list[TraceRecord] = field(default_factory=list)

    @property
    def state(self) -> str:
        """`complete`, `never closed` or `open record missing`."""
        if self.opened and self.closed:
            return "complete"
        return "never closed" if self.opened else "open record missing"

    @property
    def attributes(self) -> dict[str, Any]:
        """Of the open record, then of the close record (which wins where both name one)."""
        merged: dict[str, Any] = {}
        for record in (self.opened, self.closed):
            if record:
                merged.update(record.attributes)
        return merged

    @property
    def start(self) -> int:
        if self.opened:
            return self.opened.timestamp
        assert self.closed
        return self.closed.timestamp - (self.closed.duration_ms or 0)

    @property
    def end(self) -> int | None:
        return self.closed.timestamp if self.closed else None

    @property
    def body(self) -> str | None:
        """Name of its body (on the open record; on the close record of other programs)."""
        for record in (self.opened, self.closed):
            if record and record.body is not None:
                return record.body
        return None


@dataclass(slots=True)
class Step:
    """One model request with its retries and tool calls: the k-th `step` span of its turn, counted from 0; `step_id` = turn id # k."""

    turn_id: str
    index: int
    span: Span
    prompt: Span | None = None
    requests: list[Span] = field(default_factory=list)
    tool_calls: list[Span] = field(default_factory=list)

    @property
    def step_id(self) -> str:
        return f"{self.turn_id}#{self.index}"

    @property
    def request(self) -> Span | None:
        """The request that counted: the last one, where it was retried."""
        return self.requests[-1] if self.requests else None


@dataclass(slots=True)
class Turn:
    turn_id: str
    span: Span | None
    steps: list[Step] = field(default_factory=list)
    other: list[Span] = field(default_factory=list)
    """Spans of the turn that hang under no step."""


@dataclass(slots=True, weakref_slot=True)
class Trace:
    """All that was observed of one conversation: turns in order, and the lane of spans and logs that belong to no turn."""

    conversation_id: str
    turns: list[Turn] = field(default_factory=list)
    lane: list[Span] = field(default_factory=list)
    logs: list[TraceRecord] = field(default_factory=list)
    bodies: Callable[[str], bytes | None] = lambda name: None
    problems: tuple[str, ...] = ()
    worked_out: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """What was read out of bodies once and is asked again: bodies are large (see witness.py)."""

    def steps(self) -> list[Step]:
        return [step for turn in self.turns for step in turn.steps]

    def step(self, step_id: str) -> Step | None:
        return next((step for step in self.steps() if step.step_id == step_id), None)
