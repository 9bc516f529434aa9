"""The ModelMessage of the AI SDK: which parts a message of each role may hold, and what each part must have."""

from collections.abc import Callable
from typing import Any

from inspector.profiles.bodies import entries, entry, word


def _strings(*names: str) -> Callable[[dict[str, Any]], bool]:
    return lambda part: all(isinstance(part.get(name), str) for name in names)


def _is_output(value: Any) -> bool:
    """The output of a result: what stands there of text and of errors is text, of content a list; any JSON is JSON."""
    output = entry(value)
    kind = word(output.get("type"))
    if kind in ("text", "error-text"):
        return isinstance(output.get("value"), str)
    if kind == "content":
        return isinstance(output.get("value"), list)
    return kind == "execution-denied" or (kind in ("json", "error-json") and "value" in output)


def _is_result(part: dict[str, Any]) -> bool:
    return _strings("toolCallId", "toolName")(part) and _is_output(part.get("output"))


_PART: dict[str, Callable[[dict[str, Any]], bool]] = {
    "text": _strings("text"),
    "reasoning": _strings("text"),
    "image": _strings("image"),
    "file": _strings("data", "mediaType"),
    "tool-call": _strings("toolCallId", "toolName"),
    "tool-result": _is_result,
    "tool-approval-request": _strings("approvalId", "toolCallId"),
    "tool-approval-response": lambda part: isinstance(part.get("approvalId"), str) and isinstance(part.get("approved"), bool),
}
PARTS_OF_ROLE = {
    "system": frozenset[str](),
    "user": frozenset({"text", "image", "file"}),
    "assistant": frozenset({"text", "file", "reasoning", "tool-call", "tool-result", "tool-approval-request"}),
    "tool": frozenset({"tool-result", "tool-approval-response"}),
}


def is_model_message(role: str, message: dict[str, Any]) -> bool:
    content = message.get("content")
    if isinstance(content, str):
        return role in ("system", "user", "assistant")
    if role not in PARTS_OF_ROLE or role == "system" or not isinstance(content, list):
        return False
    return all(word(part.get("type")) in PARTS_OF_ROLE[role] and _PART[part["type"]](part) for part in entries(content))
