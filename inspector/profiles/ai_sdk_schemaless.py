"""What ai 7 makes of messages that are no ModelMessage: it has no schema, so that many pass and others break its conversion."""

from collections.abc import Iterator
from typing import Any

from inspector.profiles.ai_sdk_rules import SDK_4, SDK_6, SDK_9
from inspector.profiles.ai_sdk_schema import PARTS_OF_ROLE
from inspector.profiles.base import Violation
from inspector.profiles.bodies import word

_CONVERTED = PARTS_OF_ROLE["assistant"] | {"custom", "reasoning-file"}
_KNOWN_BYTES = ("data:", "iVBORw", "/9j/", "R0lGOD", "UklGR", "Qk", "SUkq", "TU0A", "AAAA")
"""How data begins that names its own type, or whose type the SDK reads off its first bytes."""


def without_schema(index: int, role: str, message: dict[str, Any], ends: dict[str, Any]) -> Iterator[Violation]:
    """`ends` is the last message where it is a tool message, which is searched for approvals before any message is converted."""
    content = message.get("content")
    if role == "system":
        yield Violation("SDK-4", f"messages.{index}", (), SDK_4.text)
    elif role not in PARTS_OF_ROLE:
        yield Violation("SDK-6", f"messages.{index}", (), SDK_6.say(role=role or _null_or_undefined(message, "role")))
    elif not isinstance(content, list) and (role == "tool" or not isinstance(content, str)):
        yield Violation("SDK-7", f"messages.{index}", (), _no_list(role, message, ends))
    elif isinstance(content, list):
        for place, part in enumerate(content):
            if broken := _broken(role, part if isinstance(part, dict) else {}, part is None):
                yield Violation(broken[0], f"messages.{index}.content.{place}", (), broken[1])


def _broken(role: str, part: dict[str, Any], is_null: bool) -> tuple[str, str] | None:
    """Rule and text of what a part ends in."""
    if is_null:
        return "SDK-7", "Cannot read properties of null (reading 'type')"
    kind = word(part.get("type"))
    if role == "user":
        data = word(part.get("data"))
        is_typed = kind in ("text", "image") or part.get("mediaType") is not None or data.startswith(_KNOWN_BYTES)
        return None if is_typed else ("SDK-9", SDK_9.text)
    converted = _CONVERTED if role == "assistant" else PARTS_OF_ROLE["tool"]
    if kind not in converted:
        return "SDK-7", "Cannot read properties of undefined (reading 'type')"
    if kind == "tool-result" and part.get("output") is None:
        return "SDK-7", f"Cannot read properties of {_null_or_undefined(part, 'output')} (reading 'type')"
    return None


def _no_list(role: str, message: dict[str, Any], ends: dict[str, Any]) -> str:
    content = message.get("content")
    method = "map" if role == "user" else "filter"
    if message is ends and isinstance(content, str):
        return "lastMessage.content.filter is not a function"
    if ends and (role == "assistant" or message is ends):
        return "content is not iterable"
    if content is not None:
        return f"message.content.{method} is not a function"
    return f"Cannot read properties of {_null_or_undefined(message, 'content')} (reading '{method}')"


def _null_or_undefined(holder: dict[str, Any], name: str) -> str:
    return "null" if name in holder else "undefined"
