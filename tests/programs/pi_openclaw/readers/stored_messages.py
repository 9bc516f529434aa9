"""Messages as OpenClaw stores them, the history that its passes get, and what comes out of it in words."""

from collections.abc import Sequence
from typing import Any

from inspector.conversation.model import Conversation, Kind, Message
from inspector.programs.pi_openclaw.readers.context import Rules, context_of
from inspector.programs.pi_openclaw.readers.openclaw_passes import Passed
from inspector.programs.pi_openclaw.readers.paths import pi_path
from inspector.programs.pi_openclaw.readers.rows import rows
from tests.programs.pi_openclaw.shapes import entry, stored


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(id_: Any = "c1", name: Any = "run", **own: Any) -> dict[str, Any]:
    """A call block; arguments ... = the key is absent."""
    block = {"type": "toolCall", "id": id_, "name": name, "arguments": {}} | own
    return {key: value for key, value in block.items() if value is not ...}


def thought(signature: str | None = None) -> dict[str, Any]:
    return {"type": "thinking", "thinking": "hm"} | ({} if signature is None else {"thinkingSignature": signature})


def user(*words: str, at: int = 1) -> dict[str, Any]:
    return {"role": "user", "content": [text(each) for each in words or ("go on",)], "timestamp": at}


def answer(*content: Any, **about: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(content), "stopReason": "toolUse", "timestamp": 2} | about


def result(id_: str, words: str = "ok", **about: Any) -> dict[str, Any]:
    return {"role": "toolResult", "toolCallId": id_, "toolName": "run", "content": [text(words)], "isError": False, "timestamp": 3} | about


def file_of(*values: dict[str, Any]) -> Conversation:
    return stored(entry(f"e{at}", f"e{at - 1}" if at else None, message=value) for at, value in enumerate(values))


def history(*values: dict[str, Any]) -> list[Message]:
    return context_of(rows(pi_path(file_of(*values))), Rules()).sent


def told(messages: Sequence[Message]) -> list[str]:
    """`assistant: thought sig | call c1 run | words`; content that is none is `[]`."""
    return [f"{message.role}: {' | '.join(map(_told, message.chunks))}" for message in messages]


def _told(chunk: Any) -> str:
    if chunk.kind is Kind.TOOL_CALL:
        return f"call {chunk.call_id} {chunk.tool_name}"
    if chunk.kind is Kind.THINKING:
        return f"thought {chunk.payload.get('signature', '')}".strip()
    if chunk.kind is Kind.TOOL_RESULT:
        return f"{chunk.call_id} {chunk.text}"
    return "[]" if chunk.kind is Kind.CONTROL else str(chunk.text)


def nothing_vanishes(before: Sequence[Message], passed: Passed) -> None:
    """Whatever is not in the request any more is named with a reason."""
    stood = {chunk.key for message in before for chunk in message.chunks}
    stands = {chunk.key for message in passed.messages if not message.synthetic for chunk in message.chunks}
    assert stands <= stood <= stands | {chunk.key for each in passed.dropped for chunk in each.chunks}
    assert all(each.why for each in passed.dropped)
