"""What a span did and how it ended, in words; what is not recorded is said to be unknown, never absent."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from inspector.conversation import jsontext
from inspector.reports.visible import clipped
from inspector.traces import observe
from inspector.traces.model import Span, Step
from inspector.traces.tree import is_side_call

_STATES = {
    "never closed": "never closed: aborted, crashed or still running, so how it ended is unknown",
    "open record missing": "open record missing: retention or rotation removed it, so what it asked is unknown, not absent",
}
_USAGE = "usage."
_USAGE_WORDS = {"inputTokens": "in", "outputTokens": "out", "cacheReadTokens": "cache read", "cacheWriteTokens": "cache written"}
_LOAD_REPORT = (
    ("droppedEmptyMessages", "dropped as empty: {} messages"),
    ("strippedErrorChunks", "error chunks stripped: {}"),
    ("repairedCount", "calls answered with an interrupted result: {}"),
    ("firstRepairedToolCallId", "the first of them: {}"),
)


def kind(span: Span) -> str:
    if is_side_call(span):
        return "side"
    known = {
        "turn": "turn",
        "step": "step",
        "prompt": "prompt",
        "provider.request": "request",
        "tool-call": "tool",
        "reconcile.repair": "load",
    }
    return known.get(span.name, "timing" if span.name in ("ttft", "decode") else "other")


def label(span: Span) -> str:
    for key, label in (("warm", "cache warming request"), ("compaction", "compaction request")):
        if is_side_call(span) and span.attributes.get(key) is True:
            return label
    return {
        "ttft": "time to first token",
        "provider.request": "request",
        "tool-call": "tool call",
        "reconcile.repair": "repair by the loader",
    }.get(span.name, span.name or "(no name)")


def words(span: Span, step: Step | None, attempt: tuple[int, int] | None) -> tuple[str, ...]:
    given = span.attributes
    words: list[str] = []
    if attempt and attempt[1] > 1:
        words.append(f"attempt {attempt[0]} of {attempt[1]}" + (", the one that counts" if attempt[0] == attempt[1] else ", retried"))
    if span.name == "tool-call":
        words += [_text(given[key]) for key in ("name", "toolCallId") if key in given]
        if "contentLength" in given:
            words.append(f"result of {_text(given['contentLength'])} characters")
    if span.name == "prompt":
        words += [f"{_text(given[key])} {word}" for key, word in (("messageCount", "messages"), ("toolCount", "tools")) if key in given]
    if span.name == "provider.request" and "status" in given and given["status"] != 0:
        words.append(f"HTTP {_text(given['status'])}")
    if span.name in ("provider.request", "turn") and "model" in given:
        words.append(_text(given["model"]))
    if span.name == "reconcile.repair":
        words += [text.format(_text(given[key])) for key, text in _LOAD_REPORT if given.get(key) is not None]
    if step and len(step.requests) > 1:
        words.append(f"{len(step.requests)} requests, the last counts")
    return (*words, *outcome(span))


def outcome(span: Span) -> tuple[str, ...]:
    given = span.attributes
    words = [f"finish {_text(given['finishReason'])}"] if "finishReason" in given else []
    usage = {key.removeprefix(_USAGE): value for key, value in given.items() if key.startswith(_USAGE)}
    if usage:
        words.append("tokens " + ", ".join(f"{_USAGE_WORDS.get(key, key)} {_number(value)}" for key, value in usage.items()))
    return tuple(words)


def trouble(span: Span, step: Step | None = None) -> tuple[str, ...]:
    given = span.attributes
    said = [_STATES[span.state]] if span.state in _STATES else []
    if step and step.request is None:
        said.append("no request is recorded, which is not the same as no request")
    if given.get("isError") is True:
        said.append("the result is an error")
    if given.get("orphaned") is True:
        said.append("orphaned: no result came back")
    if span.name == "provider.request" and given.get("status") == 0 and not isinstance(given["status"], bool):
        said.append("no HTTP answer: the network failed")
    if span.closed and span.closed.status == "error":
        said.append("closed as an error")
    said += [f"{key}: {_text(given[key])}" for key in ("error.message", "response.error_body") if given.get(key)]
    if span.name == "step" and _ended_in_error(step):
        said.append("the step ended in an error")
    return tuple(said)


def _ended_in_error(step: Step | None) -> bool:
    return step is not None and observe.finish_reason(step) == "error" and not (step.span.closed and step.span.closed.status == "error")


def attributes(attributes: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((key, _text(value, 4000)) for key, value in attributes.items())


def _text(value: Any, limit: int = 300) -> str:
    try:
        text = value if isinstance(value, str) else jsontext.compact(value)
    except RecursionError:
        return "(nested too deeply to be shown)"
    shown, left_out = clipped(text, limit)
    return f"{shown} … and {left_out:,} more characters" if left_out else shown


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**15 else _text(value, 40)


def count(number: int, word: str) -> str:
    return f"{number:,} {word if number == 1 else word + 's'}"


def clock(at: int) -> str:
    """Epoch milliseconds as the time of day (UTC), to the millisecond."""
    moment = _moment(at)
    return moment.strftime("%H:%M:%S.") + f"{moment.microsecond // 1000:03d}" if moment else "unknown"


def day(at: int) -> str:
    moment = _moment(at)
    return moment.strftime("%Y-%m-%d %H:%M:%S") if moment else "unknown"


def lasted(milliseconds: int) -> str:
    """842 ms, 3.67 s, 5 min 14 s, 2 h 3 min, 4 d 1 h."""
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    if milliseconds < 60_000:
        return f"{milliseconds / 1000:.2f} s"
    seconds = milliseconds // 1000
    for unit, size, smaller, part in (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if seconds >= size:
            return f"{seconds // size:,} {unit} {seconds % size // part} {smaller}"
    raise AssertionError


def _moment(at: int) -> datetime | None:
    try:
        return datetime.fromtimestamp(at / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
