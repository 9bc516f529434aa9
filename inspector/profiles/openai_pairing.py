"""Calls and tool messages as every provider pairs them that speaks the wire shape of OpenAI Chat: results directly after their calls."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from inspector.profiles.bodies import entries, entry, word


class Fault(Enum):
    UNANSWERED = "a call without its tool message"
    NO_CALLS = "a tool message with no calls before it"
    UNKNOWN_ID = "a tool message whose id is not among the calls before it"


@dataclass(frozen=True, slots=True)
class Unpaired:
    """`n` is the message with the calls, or the tool message that has none; `open_ended`: nothing but results follows the calls."""

    fault: Fault
    n: int
    ids: tuple[str, ...]
    open_ended: bool = False


def unpaired(messages: Sequence[Any]) -> Iterator[Unpaired]:
    """One pass. A second result for one call is no fault: no report of a refusal is known."""
    waiting: Counter[str] = Counter()
    called: frozenset[str] | None = None
    caller = 0
    for n, message in enumerate(map(entry, messages)):
        if message.get("role") == "tool":
            call = word(message.get("tool_call_id"))
            if called is None:
                yield Unpaired(Fault.NO_CALLS, n, (call,))
            elif call not in called:
                yield Unpaired(Fault.UNKNOWN_ID, n, (call,))
            elif waiting[call]:
                waiting[call] -= 1
            continue
        if +waiting:
            yield Unpaired(Fault.UNANSWERED, caller, tuple(waiting.elements()))
        ids = [word(call.get("id")) for call in entries(message.get("tool_calls"))] if message.get("role") == "assistant" else []
        waiting, called, caller = Counter(ids), frozenset(ids) if ids else None, n
    if +waiting:
        yield Unpaired(Fault.UNANSWERED, caller, tuple(waiting.elements()), open_ended=True)
