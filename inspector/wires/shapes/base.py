"""What every wire shape says of a message: its blocks, each with its place in the message."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from inspector.conversation.model import Kind
from inspector.projections.base import AI_SDK, ANTHROPIC, OPENAI_RESPONSES
from inspector.text import jsontext
from inspector.text.light import light_dataclass

At = tuple[str | int, ...]
"""Where a block is inside its message; () = it is the message."""


@light_dataclass(frozen=True, slots=True)
class WireBlock:
    """`whole`: the bytes of the block are those of the message, since the value at `at` is a plain string."""

    role: str
    kind: Kind
    payload: Mapping[str, Any]
    at: At = ()
    whole: bool = False
    damage: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class WireShape:
    """`lists` are the names under which a body may hold its messages, `owned` the members of a message that its blocks are made of.

    `system` are the names that the member with the system prompt may have; () where that is a message as others.
    """

    wire: str
    lists: tuple[str, ...]
    owned: frozenset[str]
    read: Callable[[Mapping[str, Any]], Iterator[WireBlock]]
    thinking: Callable[[Mapping[str, Any]], Any] = lambda body: None
    system: tuple[str, ...] = ()
    system_blocks: Callable[[Any], Iterator[WireBlock]] = field(default=lambda value: iter(()))
    says: Mapping[str, str] = field(default_factory=dict)
    """The role that a message of this shape has for one of ours, where it is another one. A message that says otherwise keeps its own."""
    may_omit_ids: bool = False
    """Whether a call and its result may go without an id. Elsewhere one that is missing or empty is what the provider judges."""


# Wire shapes in which content is a list of blocks unless said otherwise: a plain string is noted, so that it comes back as one.
_LISTS = (ANTHROPIC, OPENAI_RESPONSES, AI_SDK)


def text_in(value: Mapping[str, Any], *names: str) -> bool:
    for name in names:  # noqa: SIM110 (a generator takes three times as long, and every block is asked)
        if not isinstance(value.get(name), str):
            return False
    return True


def extra(value: Mapping[str, Any], wire: str, *read_names: str) -> dict[str, Any]:
    """What a block has in addition to the members that are read, to be put back as it is."""
    rest = {name: item for name, item in value.items() if name not in read_names}
    return {"extra": rest, "wire": wire} if rest else {}


def added(block: WireBlock, wire: str, **more: Any) -> WireBlock:
    """The block with more under `extra`."""
    return replace(block, payload={**block.payload, "extra": {**block.payload.get("extra", {}), **more}, "wire": wire})


def with_message_fields(message: Mapping[str, Any], blocks: Sequence[WireBlock], shape: "WireShape") -> list[WireBlock]:
    """`blocks` of a message, the first of which carries what the message has next to them."""
    result_blocks = list(blocks)
    if not result_blocks or (result_blocks[0].at == () and result_blocks[0].kind is not Kind.CONTROL):
        return result_blocks
    # An empty list of calls makes no block, and is refused by some.
    fields = {name: value for name, value in message.items() if name not in shape.owned or (name == "tool_calls" and value == [])}
    role = message.get("role")
    if isinstance(role, str) and role != shape.says.get(result_blocks[0].role, result_blocks[0].role):
        fields["role"] = role
    return [added(result_blocks[0], shape.wire, message=fields), *result_blocks[1:]] if fields else result_blocks


def unknown(role: str, value: Any, wire: str, at: At) -> WireBlock:
    return WireBlock(role, Kind.CONTROL, {"type": "control", "block": value, "wire": wire}, at)


def wrong(role: str, value: Any, wire: str, at: At, reason: str) -> WireBlock:
    """A block that is not of the types that its kind has; it goes to the provider as it is, so that rules can judge it."""
    payload = {"type": "control", "block": value, "wire": wire}
    if isinstance(value, dict):
        return WireBlock(role, Kind.CONTROL, payload, at, reason=reason)
    return WireBlock(role, Kind.UNREADABLE, payload, at, damage="wrong-type", reason=reason)


def role_of(message: Mapping[str, Any], roles: Mapping[str, str]) -> str:
    """Ours for the message's role; one that is not known stays as it is, and one that is no text is none."""
    role = message.get("role")
    return roles.get(role, role) if isinstance(role, str) else ""


def empty(role: str, content: Any, at: At, has: bool) -> WireBlock:
    """A message without any block; `has`: it has the member at all."""
    word = "missing" if not has else "null" if content is None else "[]" if isinstance(content, list) else ""
    return WireBlock(role, Kind.CONTROL, {"type": "control", "empty": word}, at, whole=True)


def content_of(
    message: Mapping[str, Any],
    role: str,
    wire: str,
    block: Callable[[str, Any, At], WireBlock],
    name: str = "content",
    plain: Kind = Kind.TEXT,
) -> list[WireBlock]:
    """The blocks of a member that is a string or a list of blocks. An empty one gives none."""
    content = message.get(name)
    if content is None or content == "":
        return []
    if isinstance(content, str):
        as_string = {"extra": {"string": True}, "wire": wire} if wire in _LISTS else {}
        return [WireBlock(role, plain, {"type": plain.value, "text": content} | as_string, (name,), whole=True)]
    if isinstance(content, list):
        return [
            block(role, item, (name, index))
            if isinstance(item, dict)
            else wrong(role, item, wire, (name, index), f"the block is {_named(item)}, no object")
            for index, item in enumerate(content)
        ]
    reason = f"{name} is {_named(content)}, neither text nor a list of blocks"
    return [WireBlock(role, Kind.UNREADABLE, {"type": "control", "block": content, "wire": wire}, (name,), True, "wrong-type", reason)]


def or_empty(blocks: list[WireBlock], message: Mapping[str, Any], role: str, name: str = "content") -> Iterator[WireBlock]:
    """`blocks`, or the one that says that there is none."""
    return iter(blocks or [empty(role, message.get(name), (), name in message)])


def _named(value: Any) -> str:
    if value is None:
        return "null"
    return {bool: "true or false", int: "a number", float: "a number", str: "a text", list: "a list", dict: "an object"}[type(value)]


def joined(blocks: Sequence[Any]) -> str:
    """The words of a list of blocks, one below the other."""
    return "\n".join(block["text"] for block in blocks if isinstance(block, dict) and isinstance(block.get("text"), str))


def result(
    call_id: str, name: str, content: Any, is_error: bool, wire: str, rest: Mapping[str, Any], at: At, whole: bool = False
) -> WireBlock:
    """A tool result whose content is text, or a list of blocks that is kept next to the words in it, or nothing."""
    payload: dict[str, Any] = {"type": "tool-result", "toolCallId": call_id, "toolName": name}
    if isinstance(content, str) or content is None:
        payload["content"] = content or ""
    else:
        payload["content"] = joined(content) if isinstance(content, list) else jsontext.compact(content)
        payload["blocks"] = content if isinstance(content, list) else [content]
        payload["wire"] = wire
    payload["isError"] = is_error
    return WireBlock("tool", Kind.TOOL_RESULT, {**payload, **rest}, at, whole)


def arguments(value: Any) -> Any:
    """The object that argument text means; the text itself where it means none. Of a call without arguments some clients send ""."""
    if value == "":
        return {}
    if not isinstance(value, str):
        return value
    return jsontext.object_or_text(value)


def switch(value: Any) -> str | None:
    """A member such as Anthropic's `thinking`: its type."""
    kind = value.get("type") if isinstance(value, dict) else None
    return kind if isinstance(kind, str) else None
