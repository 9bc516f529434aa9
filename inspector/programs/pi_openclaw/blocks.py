"""A message of a session as blocks: every form that pi stores, and those that OpenClaw reads as well."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from inspector.conversation.model import Kind
from inspector.programs.pi_openclaw.readers.rows import in_template, word
from inspector.wires.shapes.base import WireBlock, empty, extra, text_in, unknown, wrong

WIRE = "pi"
_CALLS = ("toolCall", "toolUse", "functionCall", "tool_call", "tool_use", "function_call")
_RESULT_IDS = ("toolCallId", "toolUseId", "tool_call_id", "tool_use_id", "callId", "call_id")
_SIGNATURES = ("thinkingSignature", "signature", "thought_signature")
_CALL_SIGNATURES = ("thoughtSignature", "thought_signature")
_ROLES = {"toolResult": "tool", "tool": "tool", "assistant": "assistant", "user": "user", "system": "system"}
_SENT_AS_USER = ("custom", "hookMessage", "bashExecution", "branchSummary", "compactionSummary")
"""Roles that pi turns into user messages; hookMessage is version 2's name of custom."""
_SUMMARY = {
    "compactionSummary": "The conversation history before this point was compacted into the following summary:\n\n<summary>\n{}\n</summary>",
    "branchSummary": "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n{}</summary>",
}


def message_blocks(message: Mapping[str, Any]) -> Iterator[WireBlock]:
    """The blocks of a message; never none. `damage` is set where one is of a wrong type."""
    stored = message.get("role")
    role = _ROLES.get(stored, "user" if stored in _SENT_AS_USER else "") if isinstance(stored, str) else ""
    if role == "tool":
        yield _result(message)
    elif stored == "bashExecution":
        yield WireBlock(role, Kind.TEXT, {"type": "text", "text": bash_text(message)} | _extra(message, "role", "timestamp"))
    elif stored in ("branchSummary", "compactionSummary"):
        # No entry but a message: what the model gets of it is in no other place, as with a command.
        words = _SUMMARY[stored].format(in_template(message, "summary"))
        yield WireBlock(role, Kind.TEXT, {"type": "text", "text": words} | _extra(message, "role", "timestamp"))
    else:
        blocks = list(_content(role, message.get("content"))) or [empty(role, message.get("content"), (), "content" in message)]
        if not isinstance(stored, str) or stored not in _ROLES:
            about = _extra(message, "content", "timestamp").get("extra", {})
            first = blocks[0]
            payload = {**first.payload, "extra": {**first.payload.get("extra", {}), "message": about}, "wire": WIRE}
            blocks[0] = WireBlock(first.role, first.kind, payload, first.at, first.whole, first.damage, first.reason)
        yield from blocks


def bash_text(message: Mapping[str, Any]) -> str:
    """What pi says to the model of a command that the user ran."""
    output, code = message.get("output"), message.get("exitCode")
    text = f"```\n{output}\n```" if isinstance(output, str) and output else "(no output)"
    if message.get("cancelled") is True:
        text += "\n\n(command cancelled)"
    elif isinstance(code, int) and code:
        text += f"\n\nCommand exited with code {code}"
    if message.get("truncated") is True and isinstance(message.get("fullOutputPath"), str):
        text += f"\n\n[Output truncated. Full output: {message['fullOutputPath']}]"
    return f"Ran `{message.get('command')}`\n{text}"


def plain_text(content: Any) -> str:
    """The words of a string or of the text blocks of a list, joined by LF as the adapters do."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(block["text"] for block in blocks if isinstance(block, dict) and text_in(block, "text"))


def _extra(value: Mapping[str, Any], *known_names: str) -> dict[str, Any]:
    return extra(value, WIRE, *known_names)


def _content(role: str, content: Any) -> Iterator[WireBlock]:
    if isinstance(content, str):
        if content:
            yield _text(role, {"text": content}, {"extra": {"string": True}, "wire": WIRE}, ("content",))
    elif isinstance(content, list):
        for index, item in enumerate(content):
            at = ("content", index)
            yield _block(role, item, at) if isinstance(item, dict) else wrong(role, item, WIRE, at, "the block is no object")
    elif content is not None:
        payload = {"type": "control", "block": content, "whole": True, "wire": WIRE}
        yield WireBlock(role, Kind.UNREADABLE, payload, ("content",), True, "wrong-type", "content is neither text nor a list of blocks")


def _text(role: str, value: Mapping[str, Any], more: Mapping[str, Any], at: tuple[str | int, ...]) -> WireBlock:
    kind = Kind.SYSTEM if role == "system" else Kind.TEXT
    return WireBlock(role, kind, {"type": kind.value, "text": value["text"], **more}, at)


def _block(role: str, value: dict[str, Any], at: tuple[str | int, ...]) -> WireBlock:
    kind = value.get("type")
    if kind == "text" and text_in(value, "text"):
        return _text(role, value, _extra(value, "type", "text"), at)
    if kind == "thinking" and text_in(value, "thinking"):
        return _thinking(role, value, at)
    if kind == "redacted_thinking" and text_in(value, "data"):
        return WireBlock(
            role, Kind.REDACTED_THINKING, {"type": "redacted-thinking", "data": value["data"]} | _extra(value, "type", "data"), at
        )
    if kind == "image" and text_in(value, "data", "mimeType"):
        url = f"data:{value['mimeType']};base64,{value['data']}"
        return WireBlock(role, Kind.IMAGE, {"type": "image", "url": url} | _extra(value, "type", "data", "mimeType"), at)
    if isinstance(kind, str) and kind in _CALLS:
        return _call(role, value, at)
    if kind in ("text", "thinking", "redacted_thinking", "image"):
        return wrong(role, value, WIRE, at, f"the {kind} block lacks a member, or has one of a wrong type")
    return unknown(role, value, WIRE, at)


def _thinking(role: str, value: Mapping[str, Any], at: tuple[str | int, ...]) -> WireBlock:
    name = _first(value, _SIGNATURES)
    if value.get("redacted") is True and name:
        # Pi keeps what is redacted where others have the signature.
        return WireBlock(role, Kind.REDACTED_THINKING, {"type": "redacted-thinking", "data": value[name]} | _extra(value, "type", name), at)
    signed = {"signature": value[name]} if name else {}
    members = _extra(value, "type", "thinking", name)
    return WireBlock(
        role, Kind.THINKING, {"type": "thinking", "text": value["thinking"], **signed, **members, **_stored_name(name, _SIGNATURES)}, at
    )


def _call(role: str, value: Mapping[str, Any], at: tuple[str | int, ...]) -> WireBlock:
    """A call; where its arguments are no object and no text, `noInput` says what they are and input is {}: half-written calls look so."""
    name = "arguments" if "arguments" in value else "input"
    arguments = value.get(name)
    payload: dict[str, Any] = {"type": "tool-call", "toolCallId": word(value.get("id")), "toolName": word(value.get("name"))}
    is_input = isinstance(arguments, dict | str)
    payload["input"] = arguments if is_input else {}
    if not is_input:
        payload["noInput"] = "missing" if name not in value else "null" if arguments is None else "wrong-type"
    signature = _first(value, _CALL_SIGNATURES)
    if signature:
        payload["signature"] = value[signature]
    text_members = [member for member in ("id", "name") if isinstance(value.get(member), str)]
    return WireBlock(
        role,
        Kind.TOOL_CALL,
        payload | _extra(value, "type", signature, *text_members, name if is_input else "") | _stored_name(str(value.get("type")), _CALLS),
        at,
    )


def _result(message: Mapping[str, Any]) -> WireBlock:
    """`blocks` where the content is anything but one text block without further members; a plain string has `extra.string`."""
    content, name = message.get("content"), _first(message, _RESULT_IDS)
    payload: dict[str, Any] = {
        "type": "tool-result",
        "toolCallId": message[name] if name else "",
        "toolName": word(message.get("toolName")),
        "content": plain_text(content),
        "isError": message.get("isError") is True,
    } | _stored_name(name, _RESULT_IDS)
    if isinstance(content, str):
        payload |= {"extra": {"string": True}, "wire": WIRE}
    elif isinstance(content, list):
        plain = (
            len(content) == 1 and isinstance(content[0], dict) and content[0].keys() == {"type", "text"} and content[0]["type"] == "text"
        )
        payload |= {} if plain and text_in(content[0], "text") else {"blocks": content, "wire": WIRE}
    elif content is None:
        payload |= {"blocks": [], "empty": "null" if "content" in message else "missing", "wire": WIRE}
    else:
        payload |= {"blocks": [content], "wire": WIRE}
        return WireBlock("tool", Kind.TOOL_RESULT, payload, (), False, "wrong-type", "content is neither text nor a list of blocks")
    return WireBlock("tool", Kind.TOOL_RESULT, payload)


def _first(value: Mapping[str, Any], names: Sequence[str]) -> str:
    for name in names:
        if isinstance(value.get(name), str):
            return name
    return ""


def _stored_name(name: str, names: Sequence[str]) -> dict[str, str]:
    """Pi knows only the first of the names; OpenClaw reads them all."""
    return {"spelling": name} if name and name != names[0] else {}
