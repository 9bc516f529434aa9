"""What the programs' repairs of calls and results share; the versions are in the modules named pairing_*.

Read off the published packages: pi-ai 0.68.1, 0.69.0, 0.87.1 and 1.5.2 (transformMessages), openclaw 2026.1.30, 2026.7.1 and 2026.9.6
(repairToolUseResultPairing). All of them work message by message; ours are linear where theirs search the rest of the list for each call.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from inspector.conversation import queries
from inspector.conversation.model import Chunk, Dropped, Kind, Message
from inspector.programs.pi_openclaw.readers.rows import mapping, stored_name, word

NO_RESULT = "No result provided"
MISSING = "[openclaw] missing tool result in session history; inserted synthetic error result for transcript repair."
ABORTED = "aborted"
"""Its words for OpenAI Responses."""
FAILED = ("error", ABORTED)
DETAIL = "openclawSyntheticMissingToolResult"


@dataclass(slots=True)
class Paired:
    """What the repair hands on, what it leaves out and why, and its report as the program has it."""

    messages: list[Message] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    report: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


Pairing = Callable[[Sequence[Message]], Paired]


def single(messages: Sequence[Message]) -> list[Message]:
    """Each result a message of its own, as both programs store them; a strategy may have put several into one."""
    singles: list[Message] = []
    for message in messages:
        if message.role == "tool" and len(message.chunks) > 1:
            singles += [Message(message.role, (chunk,), message.synthetic) for chunk in message.chunks]
        else:
            singles.append(message)
    return singles


def stop_reason(message: Message) -> str:
    return word(mapping(message.chunks[0].payload.get("entry")).get("stopReason"))


def calls_of(message: Message, types: tuple[str, ...], blank: bool = False) -> list[Chunk]:
    """The calls whose blocks the program takes for calls; those without an id only where `blank`."""
    if message.role != "assistant":
        return []
    return [call for call in queries.calls(message) if stored_name(call, "toolCall") in types and (blank or call.call_id)]


def given_id(result: Chunk, keys: tuple[str, ...]) -> str:
    return result.call_id if stored_name(result, "toolCallId") in keys else ""


def synthetic_result(call: Chunk, text: str, name: str, details: Mapping[str, Any] | None = None) -> Message:
    payload: dict[str, Any] = {"type": "tool-result", "toolCallId": call.call_id, "toolName": name, "content": text, "isError": True}
    if details:
        payload["extra"] = {"details": details}
    chunk = Chunk(f"synthesized:{call.key}", call.seq, "tool", Kind.TOOL_RESULT, payload, 0, 0, at=call.at)
    return Message("tool", (chunk,), synthetic=True)


def is_openclaw_placeholder(result: Chunk) -> bool:
    """Whether OpenClaw takes it for one of its own: an error that says so in its details, or in a block with exactly its words."""
    if not result.is_error:
        return False
    details = mapping(mapping(result.payload.get("entry")).get("details")) or mapping(mapping(result.payload.get("extra")).get("details"))
    if details.get(DETAIL) is True:
        return True
    blocks = result.payload.get("blocks")
    texts = [mapping(block).get("text") for block in blocks] if isinstance(blocks, list) else [result.text]
    return MISSING in texts


def counts_of(added: int, duplicates: int, orphans: int, moved: bool) -> Mapping[str, Any]:
    return MappingProxyType({"added": added, "droppedDuplicateCount": duplicates, "droppedOrphanCount": orphans, "moved": moved})


def duplicate_of(message: Message) -> Dropped:
    return Dropped(message.chunks, f"a further result for {message.chunks[0].call_id[:60]!r}: dropped as a duplicate")


def orphan_of(message: Message) -> Dropped:
    return Dropped(message.chunks, f"the result for {message.chunks[0].call_id[:60]!r} answers no call of its span: dropped as an orphan")


TYPES_OF_CALL = ("toolCall", "toolUse", "functionCall")
KEYS_OF_2026_1 = ("toolCallId", "toolUseId")
KEYS = (*KEYS_OF_2026_1, "tool_call_id", "tool_use_id", "callId", "call_id")


def named(message: Message, name: str) -> Message:
    """With the tool's name trimmed, or that of the call where it has none."""
    chunk = message.chunks[0]
    # Only a name that is stored and blank becomes this word.
    blank = isinstance(mapping(chunk.payload.get("entry")).get("toolName"), str)
    own = chunk.tool_name.strip() or name.strip() or ("unknown" if blank else "")
    return message if own == chunk.tool_name else replace(message, chunks=(replace(chunk, payload={**chunk.payload, "toolName": own}),))


def adopted(message: Message, calls: Sequence[Chunk]) -> Message:
    """A result without id belongs to the one call of its turn, unless it names another tool; it becomes an error."""
    chunk = message.chunks[0]
    if given_id(chunk, KEYS).strip() or len(calls) != 1:
        return message
    own, called = chunk.tool_name.strip(), calls[0].tool_name.strip()
    if own and called and own != called:
        return message
    payload = {**chunk.payload, "toolCallId": calls[0].call_id, "isError": True}
    return replace(message, chunks=(replace(chunk, payload=payload),))


def id_of(message: Message) -> str:
    return given_id(message.chunks[0], KEYS).strip()


def still_dropped(dropped: Sequence[Dropped], out: Sequence[Message]) -> list[Dropped]:
    """Without those whose very result was pulled to its call: it is passed again in its old place, and counted there."""
    sent = {chunk.key for message in out if not message.synthetic for chunk in message.chunks}
    return [entry for entry in dropped if not all(chunk.key in sent for chunk in entry.chunks)]
