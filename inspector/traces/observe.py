"""Questions to a trace: what a step was given, what was sent, how it ended. None always means unknown, not absent."""

from typing import Any

from inspector.text.js_json import parse
from inspector.traces.model import Span, Step, Trace, Turn


def prompt_body(trace: Trace, step: Step) -> dict[str, Any] | None:
    """The client's prompt: `{"messages": [...], "tools": [...]}` before conversion, without the system prompt.

    Both are lists (of anything: their items are not checked). None where the body is missing or of another form.
    """
    parsed = _parsed(_content(trace, step.prompt))
    if not isinstance(parsed, dict) or not isinstance(parsed.get("messages"), list):
        return None
    return {**parsed, "tools": _list(parsed.get("tools"))}


def request_body(trace: Trace, step: Step) -> bytes | None:
    """The exact bytes of the request that counted (the last, where it was retried)."""
    return _content(trace, step.request)


def parsed_request(trace: Trace, step: Step) -> dict[str, Any] | None:
    """The request as an object; None where its body is missing or is not a JSON object."""
    parsed = _parsed(request_body(trace, step))
    return parsed if isinstance(parsed, dict) else None


def tool_count(trace: Trace, step: Step) -> int | None:
    """How many tools the model was offered: as the prompt span says, else as the request or the prompt body lists them."""
    noted = step.prompt.attributes.get("toolCount") if step.prompt else None
    if isinstance(noted, int) and not isinstance(noted, bool) and noted >= 0:
        return noted
    request = parsed_request(trace, step)
    if request is not None:
        return len(_list(request.get("tools")))
    prompt = prompt_body(trace, step)
    return len(prompt["tools"]) if prompt is not None else None


def finish_reason(step: Step) -> str | None:
    """Why the step ended: the provider's word, `error`, `aborted` or `max-steps`; None where its close is not recorded."""
    closed = step.span.closed
    if closed is None:
        return None
    noted = closed.attributes.get("finishReason")
    if isinstance(noted, str) and noted:
        return noted
    return "error" if closed.status == "error" else None


def open_turns(trace: Trace) -> list[Turn]:
    """Turns that may still be running: opened, never closed, and no turn after them. At most the last one."""
    return [turn for turn in trace.turns[-1:] if _never_closed(turn)]


def _never_closed(turn: Turn) -> bool:
    return turn.span is not None and turn.span.state == "never closed"


def _content(trace: Trace, span: Span | None) -> bytes | None:
    return trace.bodies(span.body) if span and span.body is not None else None


def _parsed(data: bytes | None) -> Any:
    try:
        return parse(data.decode("utf-8", "surrogateescape")) if data is not None else None
    except ValueError:
        return None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
