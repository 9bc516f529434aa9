"""What rollouts' own loader says of a stored session: the first exception that it raises, by the shape of the bytes.

Verdicts were seen by running upstream's loader of 2026-01-04 (0779491) with dacite; a bad record is an exception for the whole session.
"""

import json
from collections.abc import Mapping
from typing import Any

ENDPOINT = (
    *("provider", "model", "api_base", "max_tokens", "temperature", "tool_choice", "parallel_tool_calls", "reasoning_effort"),
    *("max_completion_tokens", "thinking", "max_retries", "timeout", "extra_params", "api_key", "oauth_token"),
)
STATUSES = ("pending", "completed", "truncated", "aborted")
MESSAGE = ("role", "content", "provider", "api", "model", "tool_call_id", "details", "timestamp")
_TEXT, _MAYBE = (str,), (str, type(None))
# Per block type: field -> the types that the loader takes.
BLOCKS: dict[str, dict[str, tuple[type, ...]]] = {
    "text": {"type": _TEXT, "text": _TEXT, "text_signature": _MAYBE},
    "thinking": {"type": _TEXT, "thinking": _TEXT, "thinking_signature": _MAYBE},
    "toolCall": {
        "type": _TEXT,
        "id": _TEXT,
        "name": _TEXT,
        "arguments": (dict,),
        **dict.fromkeys(("thought_signature", "parse_error", "raw_arguments"), _MAYBE),
    },
    "image": {"type": _TEXT, "image_url": _TEXT, "detail": _MAYBE},
}


def session_problem(data: bytes | None) -> str:
    """Why loading stops at session.json; "" where it does not. None = there is no such file."""
    if data is None:
        return "FileNotFoundError: there is no session.json, so the session is not listed and not found"
    try:
        session = json.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        return f"UnicodeDecodeError: session.json is no UTF-8 at byte {error.start}"
    except (ValueError, RecursionError) as error:
        return f"JSONDecodeError: session.json is no JSON ({error})"
    if not isinstance(session, dict):
        return "TypeError: session.json holds no object"
    for name in ("endpoint", "environment"):
        if name not in session:
            return f"KeyError: session.json has no {name}"
    endpoint, environment = session["endpoint"], session["environment"]
    if not isinstance(endpoint, dict) or not isinstance(environment, dict):
        return "TypeError: endpoint or environment of session.json is no object"
    unknown = [name for name in endpoint if name not in ENDPOINT]
    if unknown:
        return f"TypeError: the endpoint has the unknown key {unknown[0]}"
    if "type" not in environment:
        return "KeyError: the environment has no type"
    if session.get("status") not in STATUSES:
        return f"ValueError: {str(session.get('status'))[:60]!r} is no status that this version knows"
    return ""


def line_problem(raw: bytes) -> str:
    """Why loading stops at this line of messages.jsonl; "" where it does not."""
    try:
        message = json.loads(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        return f"UnicodeDecodeError: no UTF-8 at byte {error.start} of the line"
    except (ValueError, RecursionError) as error:
        return f"JSONDecodeError: {error}"
    if not isinstance(message, dict):
        return "WrongTypeError: the line holds no object"
    if "role" not in message:
        return "MissingValueError: the message has no role"
    if not isinstance(message["role"], str):
        return "WrongTypeError: role is no text"
    content = message.get("content")
    if not isinstance(content, str | list | None):
        return "UnionMatchError: content is neither text nor a list of blocks"
    for block in content if isinstance(content, list) else ():
        if problem := _block_problem(block):
            return f"UnionMatchError: {problem}"
    for name in ("provider", "api", "model", "tool_call_id", "timestamp"):
        if not isinstance(message.get(name), str | None):
            return f"WrongTypeError: {name} is no text"
    if not isinstance(message.get("details"), dict | None):
        return "WrongTypeError: details is no object"
    return ""


def _block_problem(block: Any) -> str:
    if not isinstance(block, dict):
        return "a block is no object"
    kind = block.get("type", "text")
    fields = BLOCKS.get(kind) if isinstance(kind, str) else None
    if fields is None:
        return f"block type {str(kind)[:60]!r} is none of {', '.join(BLOCKS)}"
    for name, types in fields.items():
        if name in block and not isinstance(block[name], types):
            return f"{name} of the {kind} block has the wrong type"
    return ""


def unknown_keys(message: Mapping[str, Any]) -> set[str]:
    """Keys that the loader drops without an error; rollouts' next rewrite loses them."""
    names = {name for name in message if name not in MESSAGE}
    content = message.get("content")
    for block in content if isinstance(content, list) else ():
        kind = block.get("type", "text") if isinstance(block, dict) else None
        if isinstance(kind, str) and kind in BLOCKS:
            names |= {f"{kind}.{name}" for name in block if name not in BLOCKS[kind]}
    return names
