"""The JSON record that one frame carries."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from inspector.streams.model import Frame, Framing
from inspector.text import jsontext


class Holds(StrEnum):
    """`done`: the `[DONE]` line of OpenAI; `nothing`: a comment, or an event without data; `plain`: a line outside of all records."""

    JSON = "json"
    DONE = "done"
    NOTHING = "nothing"
    MALFORMED = "malformed"
    PLAIN = "plain"


@dataclass(slots=True, unsafe_hash=True)
class StreamRecord:
    """`reason` says why a malformed one could not be read."""

    holds: Holds
    value: Any = None
    reason: str = ""


_CUT = frozenset({"unterminated", "no-line-end"})
_DONE = b"[DONE]"
_NOTHING = StreamRecord(Holds.NOTHING)


def record(frame: Frame) -> StreamRecord:
    """What the frame carries; never raises."""
    data = frame.data.strip()
    if frame.marks and "over-limit" in frame.marks:
        return StreamRecord(Holds.MALFORMED, reason="over the size that is read here")
    if not data:
        return _NOTHING
    if frame.framing is Framing.OTHER and "json-body" not in frame.marks:
        return StreamRecord(Holds.PLAIN)
    if data == _DONE:
        return StreamRecord(Holds.DONE)
    try:
        return StreamRecord(Holds.JSON, jsontext.parse(data.decode("utf-8", "replace")))
    except jsontext.Unreadable as error:
        # What the end of the bytes cuts off is no complete record: the missing terminal says it.
        if _CUT & set(frame.marks):
            return _NOTHING
        return StreamRecord(Holds.MALFORMED, reason=error.reason)
