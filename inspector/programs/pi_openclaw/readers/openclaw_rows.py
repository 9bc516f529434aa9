"""Which rows the session manager of OpenClaw 2026.9.6 reads, and the times at which it throws.

Measured with the published package: rows put into a store of its own, and `SessionManager.openAsync`, which a run opens it with. It checks each row
against a schema before it builds the context; a row that fails is a link between others and nothing else, so that nothing throws at it. A text
for a time passes that check, and is parsed later: it throws there, as 2026.7.1 does.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from inspector.conversation.model import Chunk, Kind, Message
from inspector.conversation.tree import spoken
from inspector.programs.pi_openclaw.readers.rows import PathRow, mapping, stored_name

_REASONS = ("new", "reset", "idle", "daily", "cron-stale")
_MISSING = object()
_TIMED = {"compaction": "compaction summary", "branch_summary": "branch summary", "custom_message": "custom message"}
# What V8's Date.parse takes of an ISO text; it knows no months without a 31st day.
_ISO = re.compile(r"[+-]?\d{4,6}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(T([01]\d:[0-5]\d|2[0-3]:[0-5]\d|24:00)\S*)?")
_LIKE_ISO = re.compile(r"\d{4}-\d+-\d+T")


def unread_because(row: PathRow, is_old: bool) -> str:
    """What of a stored row the schema refuses; "" where it reads it. `is_old`: in files below version 3 only types and messages are looked at."""
    about, first = row.about, row.chunks[0]
    # A row without bytes is no stored one: a plan put it there, and what is written of it has all members.
    if not about or not first.raw:
        return ""
    if row.type == "message":
        why = _of_message(row)
        if why or is_old:
            return why
    elif not is_old:
        why = next(
            (
                f"its {name} is {_shape(about.get(name, _MISSING))}"
                for name, is_good in _MEMBERS.get(row.type, ())
                if not is_good(about.get(name, _MISSING))
            ),
            "",
        )
        if why:
            return why
    return "" if is_old or isinstance(about.get("timestamp", ""), str) else f"its timestamp is {_shape(about['timestamp'])}"


def untimed(message: Message) -> str:
    """What the program calls the time of the entry that it makes this message of, where it throws at it; "" where it does not."""
    chunk = message.chunks[0]
    entry = mapping(chunk.payload.get("entry"))
    kind = _TIMED.get(str(entry.get("type")))
    if kind is None or not chunk.raw or is_time(entry.get("timestamp")):
        return ""
    return f"{kind} timestamp of the entry {spoken(str(entry.get('id'))[:40])} (seq {chunk.seq})"


def is_time(value: Any) -> bool:
    """Whether JavaScript may read the text as a time: what is known to be none is an ISO text of a month, day or hour that is none, and any other without a digit."""
    if not isinstance(value, str):
        return False
    return bool(_ISO.fullmatch(value.strip())) or (not _LIKE_ISO.match(value.strip()) and any(map(str.isdigit, value)))


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _filled(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _boolean(value: Any) -> bool:
    return isinstance(value, bool)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _content(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, list) and all(isinstance(block, Mapping) and _text(block.get("type")) for block in value)
    )


def _reason(value: Any) -> bool:
    return value in _REASONS


def _text_or_missing(value: Any) -> bool:
    return value is _MISSING or isinstance(value, str)


_MEMBERS: Mapping[str, tuple[tuple[str, Callable[[Any], bool]], ...]] = {
    "compaction": (("summary", _text), ("firstKeptEntryId", _filled), ("tokensBefore", _number)),
    "branch_summary": (("fromId", _text), ("summary", _text)),
    "custom_message": (("customType", _filled), ("content", _content), ("display", _boolean)),
    "model_change": (("provider", _filled), ("modelId", _filled)),
    "reset": (("reason", _reason), ("firstKeptEntryId", _text_or_missing)),
}


def _of_message(row: PathRow) -> str:
    about, first = row.about, row.chunks[0]
    role = about.get("role")
    if role == "toolResult":
        has_id = isinstance(about.get("toolCallId"), str) or (first.call_id and stored_name(first, "toolCallId") == "toolCallId")
        if not has_id:
            return "it has no toolCallId that is a text"
        if not (first.tool_name or isinstance(about.get("toolName"), str)):
            return "it has no toolName that is a text"
        if not (first.is_error or isinstance(about.get("isError"), bool)):
            return "its isError is neither true nor false"
        # An object alone is made a list of when a file is taken over.
        blocks = first.payload.get("blocks")
        is_wrong = first.damage == "wrong-type" and not (isinstance(blocks, list) and isinstance(blocks[0], Mapping))
        return "its content is no list" if is_wrong or first.payload.get("empty") else ""
    if role == "custom" and not isinstance(about.get("customType", ""), str):
        return "its customType is no text"
    if role in ("user", "assistant", "custom", "hookMessage"):
        return next((why for chunk in row.chunks if (why := _of_block(chunk))), "")
    return ""


def _of_block(chunk: Chunk) -> str:
    payload = chunk.payload
    if payload.get("whole") is True or payload.get("empty") in ("null", "missing"):
        return "its content is neither text nor a list"
    if chunk.kind not in (Kind.CONTROL, Kind.UNREADABLE) or "block" not in payload:
        return ""
    block = payload["block"]
    return "" if isinstance(block, Mapping) and isinstance(block.get("type"), str) else "a block of it is no object with a type"


def _shape(value: Any) -> str:
    return "missing" if value is _MISSING else "null" if value is None else "empty" if value == "" else "of a wrong type"
