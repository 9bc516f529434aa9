"""The ModelMessage of the AI SDK: which parts a message of each role may hold, and what each part must have."""

from collections.abc import Callable
from typing import Any

from inspector.profiles.bodies import entries, entry, word

_OPTIONAL: dict[str, tuple[str, type]] = {
    "image": ("mediaType", str),
    "file": ("filename", str),
    "file-data": ("filename", str),
    "file-url": ("mediaType", str),
    "tool-call": ("providerExecuted", bool),
    "execution-denied": ("reason", str),
    "tool-approval-request": ("signature", str),
    "tool-approval-response": ("reason", str),
}
"""By kind, the member that may be left out and must not be null, with its type."""
_WITHOUT_OPTIONS = ("content", "media", "tool-approval-request", "tool-approval-response")


def _strings(*names: str) -> Callable[[dict[str, Any]], bool]:
    return lambda part: all(isinstance(part.get(name), str) for name in names)


def _file_id(part: dict[str, Any]) -> bool:
    file_id = part.get("fileId")
    return isinstance(file_id, str) or (isinstance(file_id, dict) and all(isinstance(name, str) for name in file_id.values()))


_CONTENT: dict[str, Callable[[dict[str, Any]], bool]] = {
    "text": _strings("text"),
    "media": _strings("data", "mediaType"),
    "file-data": _strings("data", "mediaType"),
    "file-url": _strings("url"),
    "file-id": _file_id,
    "image-data": _strings("data", "mediaType"),
    "image-url": _strings("url"),
    "image-file-id": _file_id,
    "custom": lambda part: True,
}


def _is_output(value: Any) -> bool:
    """The output of a result: the value of text and of errors is text, of content a list of known parts; any JSON is JSON."""
    output = entry(value)
    kind = word(output.get("type"))
    if kind in ("text", "error-text"):
        return isinstance(output.get("value"), str) and _has_valid_extras(output)
    if kind == "content":
        return isinstance(output.get("value"), list) and all(_is_one_of(_CONTENT, part) for part in entries(output["value"]))
    return (kind == "execution-denied" or (kind in ("json", "error-json") and "value" in output)) and _has_valid_extras(output)


def _is_one_of(kinds: dict[str, Callable[[dict[str, Any]], bool]], part: dict[str, Any]) -> bool:
    check = kinds.get(word(part.get("type")))
    return check is not None and check(part) and _has_valid_extras(part)


def _has_valid_extras(part: dict[str, Any]) -> bool:
    """The members that may be left out, where they are there."""
    kind = word(part.get("type"))
    name, type_of_member = _OPTIONAL.get(kind, ("", str))
    return (kind in _WITHOUT_OPTIONS or _has_options(part)) and isinstance(part.get(name, type_of_member()), type_of_member)


def _has_options(part: dict[str, Any]) -> bool:
    """Options are an object of objects, by provider."""
    options = part.get("providerOptions", {})
    return isinstance(options, dict) and all(isinstance(option, dict) for option in options.values())


def _is_result(part: dict[str, Any]) -> bool:
    return _strings("toolCallId", "toolName")(part) and _is_output(part.get("output"))


_PART: dict[str, Callable[[dict[str, Any]], bool]] = {
    "text": _strings("text"),
    "reasoning": _strings("text"),
    "image": _strings("image"),
    "file": _strings("data", "mediaType"),
    "tool-call": lambda part: _strings("toolCallId", "toolName")(part) and "input" in part,
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
    if not _has_options(message):
        return False
    if isinstance(content, str):
        return role in ("system", "user", "assistant")
    if role not in PARTS_OF_ROLE or role == "system" or not isinstance(content, list):
        return False
    kinds = {kind: _PART[kind] for kind in PARTS_OF_ROLE[role]}
    return all(_is_one_of(kinds, part) for part in entries(content))
