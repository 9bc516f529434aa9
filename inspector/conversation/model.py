"""The canonical model: what every stored shape is read into, and what a client reads out of it.

Imports nothing of ours. Everything here is frozen; a payload is a plain parsed JSON value and is never changed in place.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

from inspector.text.light import light_dataclass


class Kind(StrEnum):
    TEXT = "text"
    THINKING = "thinking"
    REDACTED_THINKING = "redacted-thinking"
    TOOL_CALL = "tool-call"
    TOOL_RESULT = "tool-result"
    IMAGE = "image"
    FILE = "file"
    ERROR = "error"
    SYSTEM = "system"
    CONTROL = "control"
    UNREADABLE = "unreadable"


_WORDS = {
    Kind.TEXT: "text",
    Kind.THINKING: "text",
    Kind.SYSTEM: "text",
    Kind.TOOL_RESULT: "content",
    Kind.ERROR: "message",
    Kind.IMAGE: "url",
}
_WORDS_OF_UNREADABLE = ("text", "content", "message", "url")


@light_dataclass(frozen=True, slots=True)
class Chunk:
    """One block of a conversation as its store holds it.

    `key` names it across revisions (record key, and block index where a record holds several); `seq` is the store's own
    number; `payload` is the parsed block; `raw` is the whole record, byte for byte. An unreadable chunk has `damage` (a short
    code that rules match) and `reason` (a sentence); whatever of it could be read is still in `role` and `payload`.
    `at` is epoch milliseconds, or None where neither row nor trace gives a time.
    """

    key: str
    seq: int
    role: str
    kind: Kind
    payload: Mapping[str, Any]
    msg_idx: int | None = None
    chunk_idx: int | None = None
    raw: bytes = b""
    damage: str = ""
    reason: str = ""
    at: int | None = None
    parent: str | None = None

    @property
    def text(self) -> str:
        """The words of the chunk: text, result content, error message or image address; "" where it has none."""
        name = _WORDS.get(self.kind)
        if name is not None:
            value = self.payload.get(name)
            return value if isinstance(value, str) else ""
        for name in _WORDS_OF_UNREADABLE:
            value = self.payload.get(name)
            if isinstance(value, str):
                return value
        return ""

    @property
    def call_id(self) -> str:
        value = self.payload.get("toolCallId")
        return value if isinstance(value, str) else ""

    @property
    def tool_name(self) -> str:
        value = self.payload.get("toolName")
        return value if isinstance(value, str) else ""

    @property
    def step_id(self) -> str | None:
        value = self.payload.get("stepId")
        return value if isinstance(value, str) else None

    @property
    def is_error(self) -> bool:
        return self.payload.get("isError") is True


class Span(NamedTuple):
    """Bytes of a larger value, cut out when they are asked for: a chunk may have them for its `raw`, so that a long file is in memory once."""

    data: bytes
    start: int
    stop: int


_KEPT = Chunk.__dict__["raw"]


class _Raw:
    """`Chunk.raw`: bytes, whatever is kept of them."""

    last: tuple[Span, bytes] = (Span(b"", 0, 0), b"")
    """What was cut out last. Changed copies of all blocks of a long line share it: each has its own else, a gigabyte for a line of 200 kilobytes."""

    def __get__(self, chunk: Chunk, owner: type[Chunk]) -> bytes:
        raw: bytes | Span = _KEPT.__get__(chunk)
        if not isinstance(raw, Span):
            return raw
        span, cut = self.last
        if span is not raw:
            cut = raw.data[raw.start : raw.stop]
            self.last = raw, cut
        return cut

    def __set__(self, chunk: Chunk, raw: bytes | Span) -> None:
        _KEPT.__set__(chunk, raw)


setattr(Chunk, "raw", _Raw())  # noqa: B010 (its type stays that of the field)


def kept_raw(chunk: Chunk) -> bytes | Span:
    """The very object of which `raw` is made: one for all chunks of a line."""
    raw: bytes | Span = _KEPT.__get__(chunk)
    return raw


@dataclass(frozen=True, slots=True)
class Fact:
    """What a store keeps next to chunks: `value` is its exact text (None where the store has none), `key` its record."""

    name: str
    value: str | None
    key: str = ""


@dataclass(frozen=True, slots=True)
class TurnMetrics:
    """What a store counted of one turn that reached its end: an independent witness of its steps, text-only ones included.

    Tokens are sums over the turn as the program counted them, 0 where it did not; `reason` says why a row could not be read.
    """

    key: str
    turn_id: str
    step_ids: tuple[str, ...] = ()
    input_tokens: int = 0
    output_tokens: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Execution:
    """One run of a tool as a ledger next to the messages keeps it: a witness of what happened, whether or not the history has its result.

    `message_idx` is the message whose call was run, `ordinal` its place among that message's calls (None: an older row, which knows the id only).
    `status` is the store's word (`pending`, `complete`, `failed`); `output` is the parsed value of a complete run, `error` the text of a failed one.
    `started_at` and `ended_at` are epoch milliseconds; `uuid` is the ledger's own id of the run, where it gave one. `damage` is a short code and `reason` a sentence where a value could not be read.
    """

    key: str
    message_idx: int
    call_id: str
    tool_name: str
    status: str
    ordinal: int | None = None
    input: Any = None
    output: Any = None
    error: str | None = None
    started_at: int | None = None
    ended_at: int | None = None
    damage: str = ""
    reason: str = ""
    uuid: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """`legacy` are whole messages of an older generation of the store, which the program of today never reads; `ledger` is in the store's order."""

    native_id: str
    format: str
    chunks: tuple[Chunk, ...]
    facts: Mapping[str, Fact] = field(default_factory=lambda: MappingProxyType({}))
    title: str = ""
    metrics: tuple[TurnMetrics, ...] = ()
    legacy: "tuple[Message, ...]" = ()
    ledger: tuple[Execution, ...] = ()

    def fact(self, name: str) -> str | None:
        fact = self.facts.get(name)
        return fact.value if fact else None


@light_dataclass(frozen=True, slots=True)
class Message:
    """Chunks that a reader takes for one message; `role` is what it labels them with. `synthetic`: added by the reader, not stored."""

    role: str
    chunks: tuple[Chunk, ...]
    synthetic: bool = False

    @property
    def seqs(self) -> tuple[int, ...]:
        return () if self.synthetic else tuple(chunk.seq for chunk in self.chunks)


@light_dataclass(frozen=True, slots=True)
class Dropped:
    """Chunks that a reader or projection leaves out, and why, in one sentence.

    `intentional`: its user or the program chose so, and wrote it down (a compaction, a context edit): nothing is wrong with it. `skipped`: the reader goes on
    across them before any repair of its own, so that to it the messages before and after are neighbors.
    """

    chunks: tuple[Chunk, ...]
    why: str
    intentional: bool = False
    skipped: bool = False

    @property
    def seqs(self) -> tuple[int, ...]:
        return tuple(chunk.seq for chunk in self.chunks)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a client makes of a conversation.

    `grouped` is before its own repair, `messages` after it; `report` is the repair's report as the client logs it.
    `failure` is set where the client's loader throws: then nothing is read, and `messages` is empty.
    """

    reader: str
    grouped: tuple[Message, ...]
    messages: tuple[Message, ...]
    dropped: tuple[Dropped, ...] = ()
    report: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    failure: str = ""
    warnings: tuple[str, ...] = ()
