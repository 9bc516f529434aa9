"""Which calls OpenClaw 2026.9.6 replays: `sanitizeToolCallInputs`, without the list of tools that a run allows, which no store holds."""

import json
import re
from collections.abc import Sequence

from inspector.conversation import queries
from inspector.conversation.model import Chunk, Message
from inspector.programs.pi_openclaw.readers.openclaw_passes import THINKING, Passed, with_chunks, with_members
from inspector.programs.pi_openclaw.readers.result_pairing import TYPES_OF_CALL, adopted, calls_of, id_of, stop_reason
from inspector.programs.pi_openclaw.readers.rows import mapping, stored_name, word

_NAME = re.compile(r"[A-Za-z0-9_:.-]{1,64}")
_IDS = ("call_id", "tool_call_id", "toolCallId", "tool_use_id", "toolUseId")
PARTIAL = "partialJson"


def sound_calls(messages: Sequence[Message], own_thinking: bool = False) -> Passed:
    """Without the calls that no provider takes. `own_thinking`: one of them costs the whole answer where it thinks too."""
    passed = Passed()
    replayed_ids: set[str] = set()
    earlier: set[str] = set()
    displaced = _displaced(messages) if own_thinking else frozenset()
    for at, message in enumerate(messages):
        calls = _checked(message)
        ids = [call.call_id for call in calls_of(message, TYPES_OF_CALL)]
        if own_thinking and calls and any(chunk.kind in THINKING for chunk in message.chunks):
            whole = all(_why_not(call, message) == "" and not _has_partial(call) and trimmed(call) is call for call in calls)
            repeated = not replayed_ids.isdisjoint(ids) or (at in displaced and not earlier.isdisjoint(ids))
            if not whole or repeated or len({call.call_id.strip() for call in calls}) < len(calls):
                passed.count("droppedToolCalls", len(calls))
                passed.count("droppedAssistantMessages")
                passed.left_out(
                    message.chunks, "a call of this answer cannot be replayed, and its thinking may not be changed: left out whole"
                )
                continue
            replayed_ids.update(ids)
        else:
            repaired = _with_sound_calls(message, calls, passed)
            if repaired is None:
                passed.count("droppedAssistantMessages")
                continue
            message = repaired
        earlier.update(call.call_id for call in calls_of(message, TYPES_OF_CALL))
        passed.messages.append(message)
    return passed


def _with_sound_calls(message: Message, calls: Sequence[Chunk], passed: Passed) -> Message | None:
    """The message with its sound calls; None where nothing is left of it."""
    checked = {call.key: _why_not(call, message) for call in calls}
    for call in calls:
        if why := checked[call.key]:
            passed.count("droppedToolCalls")
            passed.left_out((call,), f"a call that is not replayed: {why}")
    remaining = [trimmed(_finished(chunk)) if chunk.key in checked else chunk for chunk in message.chunks if not checked.get(chunk.key)]
    if not remaining:
        return None
    same = len(remaining) == len(message.chunks) and all(new is old for new, old in zip(remaining, message.chunks, strict=True))
    return message if same else with_chunks(message, remaining)


def _checked(message: Message) -> list[Chunk]:
    return queries.calls(message) if message.role == "assistant" else []


def _why_not(call: Chunk, message: Message) -> str:
    if _has_partial(call) and not _is_final(call, message):
        return "its arguments were still being written"
    return why_not_replayed(call)


def why_not_replayed(call: Chunk) -> str:
    """What of a stored call no provider takes; "" where nothing is wrong."""
    extra, name = mapping(call.payload.get("extra")), call.tool_name.strip()
    if call.payload.get("noInput") in ("missing", "null"):
        return "it has no arguments"
    if not call.call_id.strip() and not any(word(extra.get(key)).strip() for key in _IDS):
        return "it has no id"
    if not _NAME.fullmatch(name):
        return f"its name {name[:60]!r} is none that a provider takes" if name else "it has no name"
    return ""


def _has_partial(call: Chunk) -> bool:
    return isinstance(mapping(call.payload.get("extra")).get(PARTIAL), str)


def _is_final(call: Chunk, message: Message) -> bool:
    """A call of OpenAI Responses whose arguments were whole when the turn ended."""
    arguments, partial = call.payload.get("input"), word(mapping(call.payload.get("extra")).get(PARTIAL))
    first, mark, second = call.call_id.partition("|")
    if stop_reason(message) != "toolUse" or not (first and mark and second):
        return False
    if not isinstance(arguments, dict) or call.payload.get("noInput") or stored_name(call, "toolCall") in ("toolUse", "tool_use"):
        return False
    return _is_object(partial) or not (partial.strip() or arguments)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _finished(call: Chunk) -> Chunk:
    if not _has_partial(call):
        return call
    return with_members(call, {"extra": {name: value for name, value in call.payload["extra"].items() if name != PARTIAL}})


def trimmed(call: Chunk) -> Chunk:
    name = call.tool_name.strip()
    return call if name == call.tool_name else with_members(call, {"toolName": name})


def _displaced(messages: Sequence[Message]) -> frozenset[int]:
    """The answers with calls of which a result follows something that is none."""
    places: set[int] = set()
    at: int | None = None
    calls: list[Chunk] = []
    is_interrupted = False
    for index, message in enumerate(messages):
        if own := calls_of(message, TYPES_OF_CALL):
            at, calls, is_interrupted = index, own, False
        elif message.role != "tool":
            is_interrupted = True
        elif at is not None and is_interrupted and any(id_of(adopted(Message("tool", (chunk,)), calls)) for chunk in message.chunks):
            places.add(at)
    return frozenset(places)
