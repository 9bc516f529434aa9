"""What all machines share: the answer under way, how its members are read, and how its calls are judged."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inspector.rules.base import Severity
from inspector.streams.blocks import BLOCKS_KEPT, SHOWN_NAME, Blocks, Building
from inspector.streams.model import Assembled, Delta, Frame, How, Means, ObservedEvent, StreamViolation
from inspector.streams.records import Holds, StreamRecord
from inspector.streams.request_rules import UNKNOWN_REQUEST, RequestFacts
from inspector.text import jsontext

MOST_REPORTED_ONCE = 500
"""Violations that are reported once each."""
SHOWN = 80

MISSED = {
    How.EOF: "The stream ends",
    How.RESET: "The connection is reset",
    How.TIMEOUT: "The wait for the stream ends",
    How.UNKNOWN: "The capture ends (how the connection did is not recorded)",
}
"""Ends after which what has not come is missing, in words. A capture that was cut proves nothing."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """`input`: the object that the text means, None where it means none; `fault` names the violation; `cut`: the text stops inside of its JSON."""

    input: Mapping[str, Any] | None
    fault: str = ""
    reason: str = ""
    cut: bool = False


def arguments(text: str) -> Arguments:
    """What argument text means. Nothing at all means no arguments: Anthropic's rule, and what many servers of the other protocols send for them."""
    if not text.strip():
        return Arguments({})
    try:
        value = jsontext.parse(text)
    except jsontext.Unreadable as error:
        return Arguments(None, "tool-args-invalid-json", error.reason, _is_cut(text))
    if isinstance(value, dict):
        return Arguments(value)
    return Arguments(None, "tool-args-not-object", f"they are {named(value)}")


def _is_cut(text: str) -> bool:
    depth, quoted, escaped = 0, False, False
    for letter in text:
        if quoted:
            escaped, quoted = letter == "\\" and not escaped, letter != '"' or escaped
        elif letter == '"':
            quoted = True
        elif letter in "[{":
            depth += 1
        elif letter in "]}":
            depth -= 1
    return quoted or depth > 0


def named(value: Any) -> str:
    if value is None:
        return "null"
    return {bool: "true or false", int: "a number", float: "a number", str: "a text", list: "a list", dict: "an object"}[type(value)]


def shown(text: Any) -> str:
    """A short piece of a captured value, for a sentence."""
    content = text if isinstance(text, str) else jsontext.compact(text)
    return content if len(content) <= SHOWN else content[:SHOWN] + "…"


def words(value: Any) -> str:
    """A member that should be text."""
    return value if isinstance(value, str) else ""


def fields(value: Any) -> Mapping[str, Any]:
    """A member that should be an object."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """A member that should be a list."""
    return value if isinstance(value, list) else []


def place(value: Any) -> int | None:
    """A member that should be an index."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None


class AnswerMachine:
    """What the machines share: the answer under way, what the present event says, and what is wrong with it.

    `lacks` names what this kind of capture does not keep: of it nothing is missed.
    """

    protocol = ""
    choice: int | None = None
    """The choice that is assembled, where the protocol has several; None: the first that comes."""

    def __init__(self, request: RequestFacts = UNKNOWN_REQUEST, lacks: frozenset[str] = frozenset()) -> None:
        self.request = request
        self.lacks = lacks
        self.state = "start"
        self.blocks = Blocks()
        self.finish = ""
        self.ended = False
        self.error = ""
        self.role = ""
        self.id = ""
        self.model = ""
        self.usage: dict[str, Any] = {}
        self.event = 0
        self.ids: set[str] = set()
        self.calls = 0
        self.records = 0
        self.ended_first = False
        self.aside = ""
        """What the event says now belongs to another choice than the one that is assembled, and to which."""
        self._at: float | None = None
        self._deltas: list[Delta] = []
        self._violations: list[StreamViolation] = []
        self._reported: set[str] = set()

    def take(self, frame: Frame, read: StreamRecord) -> ObservedEvent:
        """`read`: the record that the frame carries."""
        self.event, self._at, self._deltas, self._violations = frame.index, frame.at, [], []
        holds = read.holds
        if holds is Holds.JSON and isinstance(read.value, dict):
            self.consume(read.value, frame.name)
            self.records += 1
        elif holds is Holds.JSON:
            self.report("record-not-json", f"The record is {named(read.value)}, no object.")
        elif holds is Holds.DONE:
            self.done_line()
            self.records += 1
        elif holds is Holds.MALFORMED:
            self.report("record-not-json", f"The record cannot be read: {read.reason}.")
        return ObservedEvent(frame, self.state, tuple(self._deltas), tuple(self._violations))

    def consume(self, value: Mapping[str, Any], name: str) -> None:
        raise NotImplementedError

    def done_line(self) -> None:
        """A `[DONE]` line; outside of Chat Completions some servers send it after their own terminal, and clients pass over it."""
        self.say(Means.OTHER, text="[DONE]")

    def close(self, how: How) -> None:
        raise NotImplementedError

    def end(self, how: How) -> tuple[StreamViolation, ...]:
        self._deltas, self._violations = [], []
        self.close(how)
        if self.ended and not self.has_content and not self.error and self.finish not in _EMPTY_IS_RIGHT:
            self.report("empty-stream", "The answer ended with neither content nor a call.")
        return tuple(self._violations)

    @property
    def choices(self) -> tuple[int, ...]:
        """Indexes of the choices that came, where the protocol has several."""
        return ()

    @property
    def has_content(self) -> bool:
        return bool(self.blocks.opened)

    def assembled(self) -> Assembled:
        return Assembled(self.blocks.assembled(), self.role, self.finish, self.ended, self.error, self.id, self.model, self.usage)

    def say(
        self,
        means: Means,
        block: int | None = None,
        text: str = "",
        name: str = "",
        call_id: str = "",
        value: Mapping[str, Any] | None = None,
    ) -> None:
        if self.aside:
            means, name = Means.CHOICE, self.aside
        self._deltas.append(Delta(means, self.event, block, text, name, call_id, value, self._at))

    def report(self, name: str, text: str, event: int | None = None, severity: Severity | None = None) -> None:
        self._violations.append(StreamViolation(name, self.event if event is None else event, text, severity))

    def report_once(self, name: str, text: str, key: str = "", severity: Severity | None = None) -> None:
        """`report`, of what would be true of every later event. `severity` as in `StreamViolation`."""
        if name + key not in self._reported and len(self._reported) < MOST_REPORTED_ONCE:
            self._reported.add(name + key)
            self.report(name, text, severity=severity)

    def failed(self, error: Any) -> None:
        """The server says in the stream that it failed."""
        message = fields(error).get("message", error)
        self.error = words(message)[:SHOWN_NAME] or shown(message)
        self.say(Means.ERROR, text=self.error, value=fields(error) or None)
        self.report("in-band-error", f"The server reports an error: {shown(self.error)}")
        self.state = "failed"

    def grow(self, kind: str, means: Means, text: str, index: int | None = None) -> int:
        """Adds text to block `index`, or to the last block where that is of this kind, or to a new one."""
        last = self.blocks.get(self.blocks.opened - 1)
        if index is None and last is not None and last.kind == kind and not last.complete:
            index = self.blocks.opened - 1
        if index is None:
            self.settle()
            index = self.blocks.open(kind, self.event)
        self.blocks.add(index, text, self.event)
        self.say(means, index, text)
        return index

    def settle(self) -> None:
        """The last block ends, in protocols that have no event for it; a call ends where its arguments are read."""
        last = self.blocks.get(self.blocks.opened - 1)
        if last is not None and not last.complete and last.kind in ("text", "thinking", "refusal"):
            last.complete = True
            self.say(Means.BLOCK_END, self.blocks.opened - 1)

    def sign(self, index: int, signature: str) -> None:
        self.blocks.sign(index, signature)
        self.say(Means.SIGNATURE, index, signature)

    def call(self, name: str, call_id: str) -> int:
        """Opens a call."""
        index = self.blocks.open("tool-call", self.event, name, call_id)
        self.calls += 1
        self.say(Means.CALL, index, name=name, call_id=call_id)
        if call_id and call_id[:SHOWN_NAME] in self.ids:
            self.report("tool-id-duplicate", f"Two calls of this answer have the id {shown(call_id)}.")
        elif call_id and call_id in self.request.call_ids:
            self.report("tool-id-duplicate", f"An earlier turn of the request has a call with the id {shown(call_id)} already.")
        if call_id and len(self.ids) < BLOCKS_KEPT:
            self.ids.add(call_id[:SHOWN_NAME])
        return index

    def called(self, index: int) -> Arguments | None:
        """The call is complete: its arguments are read and judged by the request. None where not all of them are kept."""
        block = self.blocks.get(index)
        if block is None or not block.is_whole:
            self.say(Means.BLOCK_END, index)
            return None
        read = arguments(block.text)
        self.blocks.close(index, self.event)
        self.say(
            Means.BLOCK_END, index, name=block.name, call_id=block.call_id, value=None if read.input is None else {"input": read.input}
        )
        self.judge(block.name, read)
        return read

    def judge(self, name: str, read: Arguments) -> None:
        """Judges a call by the tools of the request."""
        if name:
            for row, text in self.request.judged(name, read.input):
                self.report(row, text)

    def faulty(self, block: Building | None, read: Arguments | None, success: bool, event: int | None = None) -> None:
        """Arguments that mean no object, of a call that was sent as complete."""
        if block is None or read is None or not read.fault:
            return
        self.report(read.fault, f"The arguments of the call of {shown(block.name) or 'a tool'} are wrong: {read.reason}.", event)
        if success and read.cut:
            self.report(
                "tool-args-truncated-with-success", "They stop inside of their JSON, and the answer ends as if they were whole.", event
            )

    def named_as(self, ident: str, model: str) -> None:
        """What a record says that it belongs to."""
        for word, old, new in (("id", self.id, ident), ("model", self.model, model)):
            if old and new and old != new:
                self.report("id-or-model-changed", f"The {word} changes from {shown(old)} to {shown(new)}.")
        self.id, self.model = ident[:SHOWN_NAME] or self.id, model[:SHOWN_NAME] or self.model

    def late(self, what: str) -> bool:
        """Whether content comes after the terminal, which is then reported."""
        if not self.ended:
            return False
        if self.ended_first:
            self.report_once("terminal-before-content", f"The terminal is the first record, and {what} follows.")
        self.report("content-after-terminal", f"{what[0].upper()}{what[1:]} comes after the terminal.")
        return True

    def terminal(self, word: str, twice: str = "duplicate-terminal") -> bool:
        """The terminal record came. False: it came before."""
        self.say(Means.TERMINAL, text=word)
        if self.ended:
            self.report(twice, f"The terminal {word} comes a second time.")
            return False
        self.ended, self.ended_first = True, not self.blocks.opened and not self.records
        self.state = "ended"
        return True


_EMPTY_IS_RIGHT = frozenset(
    {"content_filter", "refusal", "load", "unload", "length", "max_tokens", "max_output_tokens", "failed", "pause_turn"}
)
"""Finish reasons that say themselves why nothing came."""
