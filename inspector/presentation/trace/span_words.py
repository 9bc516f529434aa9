"""What a span did and how it ended, in words; what is not recorded is reported as unknown, never as absent."""

from collections.abc import Mapping
from typing import Any

from inspector.presentation.clock import moment
from inspector.presentation.visible import clipped
from inspector.text import jsontext
from inspector.traces.model import Span, Step
from inspector.traces.tree import is_side_call

_STATES = {
    "never closed": "never closed: aborted, crashed or still running, so how it ended is unknown",
    "open record missing": "open record missing: retention or rotation removed it, so what it asked is unknown, not absent",
}
_KINDS = {
    "turn": "turn",
    "step": "step",
    "prompt": "prompt",
    "provider.request": "request",
    "tool-call": "tool",
    "reconcile.repair": "load",
    "ttft": "timing",
    "decode": "timing",
}
_LABELS = {
    "ttft": "time to first token",
    "provider.request": "request",
    "tool-call": "tool call",
    "reconcile.repair": "repair by the loader (reconcile.repair)",
}
_USAGE = "usage."
_USAGE_WORDS = {"inputTokens": "in", "outputTokens": "out", "cacheReadTokens": "cache read", "cacheWriteTokens": "cache written"}
# Attribute and its words, per span name; {} is the value, |s the ending of a plural.
_WORDS: dict[str, tuple[tuple[str, str], ...]] = {
    "turn": (("model", "{}"),),
    "prompt": (("messageCount", "{} message|s"), ("toolCount", "{} tool|s")),
    "provider.request": (("model", "{}"), ("status", "HTTP {}")),
    "tool-call": (("name", "{}"), ("toolCallId", "{}"), ("contentLength", "result of {} character|s")),
    "reconcile.repair": (
        ("droppedEmptyMessages", "{} message|s dropped as empty"),
        ("strippedErrorChunks", "{} error chunk|s stripped"),
        ("repairedCount", "{} call|s given an interrupted result"),
        ("firstRepairedToolCallId", "the first of them {}"),
    ),
}

_ONCE = ("model", "toolCount")
"""Attributes that say nothing of a span where they are the same in all."""


def kind(span: Span) -> str:
    return "side" if is_side_call(span) else _KINDS.get(span.name, "other")


def label(span: Span) -> str:
    if is_side_call(span):
        warm = any(record.attributes.get("warm") is True for record in (span.opened, span.closed) if record)
        return "cache warming request" if warm else "compaction request"
    return _LABELS.get(span.name, span.name or "(no name)")


def has_usage(span: Span) -> bool:
    return any(key.startswith(_USAGE) for key in span.attributes)


def words(
    span: Span, attempt: tuple[int, int] | None = None, *, with_usage: bool = True, shared: frozenset[str] = frozenset()
) -> tuple[str, ...]:
    """What it did and how it ended, and what it used; `attempt` is the place of a request among those of its step, and how many there are.

    `shared` names the attributes that are shown once for all spans.
    """
    fields = span.attributes
    parts: list[str] = []
    if attempt and attempt[1] > 1:
        parts.append(f"attempt {attempt[0]} of {attempt[1]}, {'the one that counts' if attempt[0] == attempt[1] else 'then retried'}")
    parts += [
        _filled(template, fields[key])
        for key, template in _WORDS.get(span.name, ())
        if fields.get(key) is not None and not _no_answer(span, key) and not (key in _ONCE and key in shared)
    ]
    if "finishReason" in fields:
        parts.append(f"finish {text(fields['finishReason'])}")
    usage = [(key.removeprefix(_USAGE), value) for key, value in fields.items() if key.startswith(_USAGE)]
    if usage and with_usage:
        parts.append("tokens " + ", ".join(f"{_USAGE_WORDS.get(key, key)} {_number(value)}" for key, value in usage))
    return tuple(parts)


def problems(span: Span, step: Step | None = None) -> tuple[str, ...]:
    fields = span.attributes
    parts = [_STATES[span.state]] if span.state in _STATES else []
    if step and step.request is None:
        parts.append("no request is recorded, which is not the same as no request")
    if fields.get("isError") is True:
        parts.append("the result is an error")
    if fields.get("orphaned") is True:
        parts.append("orphaned: the call has no result")
    if _no_answer(span, "status"):
        parts.append("the network failed, so there is no HTTP answer")
    if span.closed and span.closed.status == "error":
        parts.append("closed as an error")
    return (*parts, *(f"{key}: {text(fields[key])}" for key in ("error.message", "response.error_body") if fields.get(key)))


def attributes(fields: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Names and values to show, clipped."""
    return tuple((text(key), text(value, 4000)) for key, value in fields.items())


def text(value: Any, limit: int = 300) -> str:
    """A stored value, visible and clipped."""
    try:
        encoded = value if isinstance(value, str) else jsontext.compact(value)
    except RecursionError:
        return "(nested too deeply to be shown)"
    shown, left_out = clipped(encoded, limit)
    return f"{shown} … and {left_out:,} more characters" if left_out else shown


def count(number: int, word: str) -> str:
    return f"{number:,} {word if number == 1 else word + 's'}"


def clock(at: int) -> str:
    """Epoch milliseconds as the time of day (UTC), to the millisecond."""
    time = moment(at, "%H:%M:%S.%f")
    return time if time == "unknown" else time[:-3]


def lasted(milliseconds: int) -> str:
    """842 ms, 3.67 s, 5 min 14 s, 2 h 3 min, 4 d 1 h."""
    seconds = milliseconds // 1000
    for unit, size, smaller, part in (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if seconds >= size:
            return f"{seconds // size:,} {unit} {seconds % size // part} {smaller}"
    return f"{milliseconds / 1000:.2f} s" if seconds else f"{milliseconds} ms"


def _no_answer(span: Span, key: str) -> bool:
    """Upstream writes HTTP status 0 where the network failed."""
    value = span.attributes.get(key)
    return span.name == "provider.request" and key == "status" and value == 0 and value is not False


def _filled(words: str, value: Any) -> str:
    return words.replace("|s", "" if value == 1 else "s").format(text(value))


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**15 else text(value, 40)
