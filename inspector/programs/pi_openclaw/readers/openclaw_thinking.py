"""What OpenClaw 2026.9.6 does with thinking before a request: signatures that went stale, blocks without one, and thinking of turns that are over."""

from collections.abc import Callable, Sequence

from inspector.conversation import queries
from inspector.conversation.model import Chunk, Kind, Message
from inspector.programs.pi_openclaw.readers.openclaw_passes import THINKING, Passed, as_text, with_chunks, with_members
from inspector.programs.pi_openclaw.readers.result_pairing import stop_reason
from inspector.programs.pi_openclaw.readers.rows import mapping, stored_name, word

OMITTED = "[assistant reasoning omitted]"
_CALLS = ("toolCall", "tool_use", "function_call")
"""What this part of the program takes for a call; others know other spellings."""


def without_stale_signatures(messages: Sequence[Message]) -> Passed:
    """Answers from before the latest compaction lose their signatures, which were made over what its summary replaces now."""
    at = max((message.chunks[0].at or 0 for message in messages if _type(message) == "compaction"), default=0)
    passed = Passed()
    for message in messages:
        # An answer without a time is taken for a new one.
        if message.role == "assistant" and (message.chunks[0].at or at) < at:
            chunks = [_unsigned(chunk) for chunk in message.chunks]
            if stale := sum(new is not old for new, old in zip(chunks, message.chunks, strict=True)):
                passed.count("staleSignatures", stale)
                message = with_chunks(message, chunks)
        passed.messages.append(message)
    return passed


def without_unsigned(messages: Sequence[Message], keep_latest: bool = True) -> Passed:
    """Blocks whose signature is missing or blank go, but for those of the latest answer where `keep_latest`."""
    latest = _latest(messages) if keep_latest else None
    why = "thinking without a signature, or from before a compaction: not sent"
    return _filtered(messages, why, lambda at, chunk: at == latest or chunk.kind not in THINKING or _is_signed(chunk))


def without_old_thinking(messages: Sequence[Message]) -> Passed:
    """All thinking but that of the latest answer goes."""
    latest = _latest(messages)
    return _filtered(
        messages, "thinking of an answer before the latest: not sent", lambda at, chunk: at == latest or chunk.kind not in THINKING
    )


def without_reasoning(messages: Sequence[Message]) -> Passed:
    """All thinking goes, but that of a call whose turn is not over."""
    current = _current(messages)
    return _filtered(messages, "reasoning of a turn that is over: not sent", lambda at, chunk: at == current or chunk.kind not in THINKING)


def keeps_latest(messages: Sequence[Message]) -> bool:
    """Whether the latest answer must stay as it was received: it is the last message, or its calls are being answered."""
    latest = _latest(messages)
    return latest is not None and latest in (len(messages) - 1, _current(messages))


def only_reasoned(message: Message) -> bool:
    """An answer that reached its limit while it thought: it is sent to nobody."""
    return stop_reason(message) == "length" and all(chunk.kind in THINKING for chunk in message.chunks)


def _filtered(messages: Sequence[Message], why: str, keeps: Callable[[int, Chunk], bool]) -> Passed:
    passed = Passed()
    for at, message in enumerate(messages):
        removed = [chunk for chunk in message.chunks if not keeps(at, chunk)] if message.role == "assistant" else []
        if removed:
            passed.count("thinkingBlocksDropped", len(removed))
            passed.left_out(removed, why)
            message = with_chunks(message, [chunk for chunk in message.chunks if keeps(at, chunk)] or [as_text(removed[0], OMITTED)])
        passed.messages.append(message)
    return passed


def _latest(messages: Sequence[Message]) -> int | None:
    return next((at for at in range(len(messages) - 1, -1, -1) if messages[at].role == "assistant"), None)


def _current(messages: Sequence[Message]) -> int | None:
    """The first answer after the last user message, where it has calls and a result follows it."""
    user = next((at for at in range(len(messages) - 1, -1, -1) if messages[at].role == "user"), -1)
    first = next((at for at in range(user + 1, len(messages)) if messages[at].role == "assistant"), None)
    if first is None or not any(stored_name(call, "toolCall") in _CALLS for call in queries.calls(messages[first])):
        return None
    return first if any(message.role == "tool" for message in messages[first + 1 :]) else None


def _is_signed(chunk: Chunk) -> bool:
    return any(word(chunk.payload.get(name)).strip() for name in ("signature", "data"))


def _unsigned(chunk: Chunk) -> Chunk:
    if chunk.kind is Kind.REDACTED_THINKING:
        return with_members(chunk, {"data": ""}) if chunk.payload.get("data") else chunk
    return with_members(chunk, {"signature": ""}) if chunk.kind is Kind.THINKING and chunk.payload.get("signature") else chunk


def _type(message: Message) -> str:
    return word(mapping(message.chunks[0].payload.get("entry")).get("type"))
