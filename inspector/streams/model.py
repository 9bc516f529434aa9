"""A captured response: what each side read and when, the events in its bytes, what they mean, and what is wrong with them.

Everything is one pass: a capture of 500 MB is iterated, never in memory as a whole. What is made for every event is not frozen, which would take a fifth of the pass; nobody changes it. Indexes count from 0, times are milliseconds since the capture began (None: not recorded).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from inspector.rules.base import Severity


class Side(StrEnum):
    """`backend`: what the proxy (or the client itself) got from the model's server; `client`: what the proxy wrote to its client."""

    BACKEND = "backend"
    CLIENT = "client"


class How(StrEnum):
    """How a side ended. `cut`: the capture ends without saying so; `unknown`: the kind of capture keeps no end."""

    EOF = "eof"
    RESET = "reset"
    TIMEOUT = "timeout"
    CUT = "cut"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Read:
    """Bytes that arrived together. Kinds of capture that keep no read boundaries give one or several reads of any size."""

    side: Side
    data: bytes
    at: float | None = None


@dataclass(frozen=True, slots=True)
class End:
    side: Side
    how: How
    at: float | None = None


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its answer as captured.

    `happenings` begins again at every call and gives reads and ends in the order in which they happened (all of one side first, where the
    order was not kept: then `ordered` is False and nothing is claimed about before and after). `request` is the JSON body without secrets, None where
    it was not captured. `protocols` names a side's protocol where the capture says it; else it is detected from the events. `keeps_reads`: read boundaries are real.
    """

    native_id: str
    happenings: Callable[[], Iterator[Read | End]]
    sides: tuple[Side, ...]
    request: Mapping[str, Any] | None = None
    title: str = ""
    protocols: Mapping[Side, str] = field(default_factory=lambda: MappingProxyType({}))
    content_types: Mapping[Side, str] = field(default_factory=lambda: MappingProxyType({}))
    statuses: Mapping[Side, int] = field(default_factory=lambda: MappingProxyType({}))
    ordered: bool = True
    keeps_reads: bool = False
    problems: tuple[str, ...] = ()
    """What could not be read of it, as sentences."""
    lacks: frozenset[str] = frozenset()
    """What this kind of capture never holds, so that its absence says nothing about the stream. Words of `LACKS`."""


LACKS = {
    "framing": "events are kept without their SSE lines: frames are `ndjson` whatever the protocol, and have no names",
    "terminal-record": "records that are no JSON (`[DONE]`) are dropped",
    "end": "how the transfer ended is not kept",
    "times": "when bytes arrived is not kept",
    "read-boundaries": "which bytes arrived together is not kept",
    "stream": "the answer was asked for and given in one piece: nothing is claimed about its order or its end",
    "bytes": "events were kept as values and are re-encoded here",
}


class Framing(StrEnum):
    """`sse`: server-sent event; `ndjson`: a line of JSON outside of one; `other`: a line that is neither (comment, unknown field, plain text)."""

    SSE = "sse"
    NDJSON = "ndjson"
    OTHER = "other"


@dataclass(slots=True, unsafe_hash=True)
class Frame:
    """One event of the framing layer: bytes `start` to `end` of its side. `data` is the joined data lines, or the line, without line ends.

    `marks`: `crlf`, `bare-cr`, `bom` (first event only), `comment`, `unknown-field`, `unterminated` (SSE event without blank line at the end: to be
    discarded by clients), `bad-utf8`, `split` (its bytes came in several reads). `framing.MARKS` has them all.
    """

    index: int
    start: int
    end: int
    framing: Framing
    data: bytes
    name: str = ""
    at: float | None = None
    marks: tuple[str, ...] = ()


class Means(StrEnum):
    """What an event says, in one word for all protocols."""

    START = "start"
    ROLE = "role"
    TEXT = "text"
    THINKING = "thinking"
    SIGNATURE = "signature"
    REFUSAL = "refusal"
    CALL = "call"
    ARGUMENTS = "arguments"
    BLOCK_END = "block-end"
    FINISH = "finish"
    USAGE = "usage"
    TERMINAL = "terminal"
    ERROR = "error"
    PING = "ping"
    CHOICE = "choice"
    """Something of another choice than the one that is assembled; `name` says of which."""
    OTHER = "other"


@dataclass(slots=True, unsafe_hash=True)
class Delta:
    """One thing that one event says. `block` is the block of the assembled message that it belongs to (index in order of opening, None where it belongs to none).

    `text` is the new text, arguments fragment, finish reason or error message; `name` and `call_id` those of a call. `value` holds what is no text (usage counts).
    """

    means: Means
    event: int
    block: int | None = None
    text: str = ""
    name: str = ""
    call_id: str = ""
    value: Mapping[str, Any] | None = None
    at: float | None = None


@dataclass(frozen=True, slots=True)
class StreamViolation:
    """`name` is that of the row in the table of violations; `event` the event that shows it (the last one, where something is missing at the end).

    `severity` overrides that of the row, where this place differs.
    """

    name: str
    event: int
    text: str
    severity: Severity | None = None


@dataclass(slots=True, unsafe_hash=True)
class ObservedEvent:
    """What a state machine made of one frame: the state that it is in after it."""

    frame: Frame
    state: str
    deltas: tuple[Delta, ...] = ()
    violations: tuple[StreamViolation, ...] = ()


@dataclass(frozen=True, slots=True)
class StreamBlock:
    """One block of the assembled message. `kind`: text, thinking, refusal, tool-call or other; for a call `text` is the argument text as sent.

    `first` and `last` are the events that began and ended it; `complete` is False where the stream left it open. `size` counts all characters where `text` was cut at the limit.
    """

    kind: str
    text: str
    first: int
    last: int
    name: str = ""
    call_id: str = ""
    signature: str = ""
    complete: bool = True
    size: int = 0


@dataclass(frozen=True, slots=True)
class Assembled:
    """The message that the events of one side assemble to. `finish` is the protocol's own word ("" = none came), `ended` whether the terminal record came.

    Where a request asks for several answers (`n` of Chat Completions), this is that of `choice`, and `others` are those of the other choices in order.
    """

    blocks: tuple[StreamBlock, ...]
    role: str = ""
    finish: str = ""
    ended: bool = False
    error: str = ""
    id: str = ""
    model: str = ""
    usage: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    choice: int = 0
    others: tuple["Assembled", ...] = ()
