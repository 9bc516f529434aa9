"""What opencode 1.18.33 sends of a session: what it keeps after a compaction, and which messages it leaves out.

Ported from `filterCompacted` and `toModelMessages` of its source, and compared with the requests that the program made.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby

from inspector.conversation.model import Chunk, Conversation, Dropped, Kind, Message, Reading
from inspector.programs.opencode.chunks import ABORTED, about
from inspector.readers.base import Reader

NAME = "opencode-1.18"
INTERRUPTED = "[Tool execution was interrupted]"
OPEN = ("pending", "running")
"""States of a tool that has not ended; one that is neither these nor ended is not sent."""
CLEARED = "[Old tool result content cleared]"
_COMPACTED, _SUBTASK = "What did we do so far?", "The following tool was executed by the user"

OF_ANTHROPIC = ("anthropic", "google-vertex-anthropic")
"""Providers for which empty texts and unsigned thinking are left out, as the request of 1.18.33 shows."""

Turn = tuple[Chunk, ...]
"""All chunks of one stored message."""


def turns_of(conversation: Conversation) -> list[Turn]:
    return [tuple(group) for _, group in groupby(conversation.chunks, key=lambda chunk: about(chunk).get("message"))]


def read(conversation: Conversation) -> Reading:
    turns = turns_of(conversation)
    kept = after_compaction(turns)
    kept_ids = {id(turn) for turn in kept}
    compacted = [chunk for turn in turns if id(turn) not in kept_ids for chunk in turn]
    dropped = [Dropped(tuple(compacted), "a compaction took its place", intentional=True, skipped=True)] if compacted else []
    model = next((about(turn[0]).get("model") for turn in reversed(turns) if about(turn[0]).get("role") == "user"), None)
    grouped: list[Message] = []
    messages: list[Message] = []
    for turn in kept:
        grouped += _by_role(turn)
        role = about(turn[0]).get("role")
        if role == "user":
            sent, left_out = _user(turn)
        elif role == "assistant":
            sent, left_out = _assistant(turn, model)
        else:
            sent, left_out = [], [Dropped(turn, "the message has no role that is known")]
        messages += sent
        dropped += left_out
    if stops := stopping(conversation):
        chunk, reason = stops[0]
        failure = f"every run ends in an error at the part at seq {chunk.seq}: {reason}"
        return Reading(NAME, tuple(grouped), (), (*dropped, Dropped(conversation.chunks, failure)), failure=failure)
    closed = sum(message.synthetic for message in messages)
    return Reading(NAME, tuple(grouped), tuple(messages), tuple(dropped), {"interruptedResults": closed})


def stopping(conversation: Conversation) -> list[tuple[Chunk, str]]:
    """Chunks at which every run of the session ends in an error, and why: rows that are no JSON, wherever they are, and parts that are to be sent and cannot be."""
    turns = turns_of(conversation)
    kept = {id(turn) for turn in after_compaction(turns)}
    reasons: list[tuple[Chunk, str]] = []
    for turn in turns:
        is_sent = id(turn) in kept and not _is_left_out(turn)
        for chunk in turn:
            reason = about(chunk).get("stops") or (about(chunk).get("breaks") if is_sent else "")
            if reason:
                reasons.append((chunk, str(reason)))
    return reasons


def after_compaction(turns: Sequence[Turn]) -> list[Turn]:
    """From the last finished compaction on; one that names where its tail begins puts its own messages before that tail."""
    result: list[Turn] = []
    finished: set[object] = set()
    tail: object = None
    for turn in reversed(turns):
        result.append(turn)
        head = about(turn[0])
        if tail is not None:
            if head.get("message") == tail:
                break
            continue
        if head.get("role") == "user" and head.get("message") in finished:
            compaction = _compaction(turn)
            if compaction is None:
                continue
            tail = about(compaction).get("tail")
            if tail is None or head.get("message") == tail:
                break
            continue
        if is_summary(head):
            finished.add(head.get("parent"))
    result.reverse()
    at = _last(result, lambda turn: _tail(turn) is not None)
    if at is None:
        return result
    own, begin = about(result[at][0]).get("message"), _tail(result[at])
    heads = [about(turn[0]) for turn in result]
    summary = next((place for place in range(at + 1, len(result)) if heads[place].get("summary") and heads[place].get("parent") == own), -1)
    start = next((place for place, head in enumerate(heads) if head.get("message") == begin), -1)
    if 0 <= start < at < summary:
        return [*result[at : summary + 1], *result[start:at], *result[summary + 1 :]]
    return result


def is_summary(head: dict[str, object]) -> bool:
    return bool(head.get("role") == "assistant" and head.get("summary") and head.get("finish") and not head.get("error"))


def _compaction(turn: Turn) -> Chunk | None:
    return next((chunk for chunk in turn if about(chunk).get("compaction")), None)


def _tail(turn: Turn) -> object:
    compaction = _compaction(turn)
    return None if compaction is None or about(turn[0]).get("role") != "user" else about(compaction).get("tail")


def _last(turns: Sequence[Turn], test: Callable[[Turn], bool]) -> int | None:
    return next((place for place in range(len(turns) - 1, -1, -1) if test(turns[place])), None)


def _by_role(turn: Turn) -> list[Message]:
    return [Message(role, tuple(group)) for (_, role), group in groupby(turn, key=lambda chunk: (chunk.msg_idx, chunk.role))]


def _user(turn: Turn) -> tuple[list[Message], list[Dropped]]:
    sent: list[Chunk] = []
    dropped: list[Dropped] = []
    for chunk in turn:
        words = _COMPACTED if about(chunk).get("compaction") else _SUBTASK if about(chunk).get("subtask") else ""
        if words:
            sent.append(replace(chunk, kind=Kind.TEXT, payload={"type": "text", "text": words}))
        elif chunk.kind is Kind.TEXT and (about(chunk).get("ignored") or not chunk.text):
            dropped.append(Dropped((chunk,), "opencode ignores the text: it is marked so, or empty", intentional=True))
        elif chunk.kind in (Kind.TEXT, Kind.IMAGE, Kind.FILE):
            sent.append(chunk)
        else:
            dropped.append(_unsent(chunk))
    return ([Message("user", tuple(sent))] if sent else []), dropped


def is_left_out(head: dict[str, object], has_content: bool) -> bool:
    """Whether an answer is not sent at all: it ended with an error, unless it was aborted after it had said something."""
    return bool(head.get("error")) and not (head.get("error") == ABORTED and has_content)


def _is_left_out(turn: Turn) -> bool:
    return is_left_out(about(turn[0]), any(chunk.kind not in (Kind.THINKING, Kind.CONTROL) for chunk in turn))


def _assistant(turn: Turn, model: object) -> tuple[list[Message], list[Dropped]]:
    head = about(turn[0])
    if _is_left_out(turn):
        return [], [
            Dropped(turn, f"the answer ended with {head.get('error')}: opencode leaves it out, and its finished tools too", skipped=True)
        ]
    is_other = model is not None and head.get("model") is not None and head.get("model") != model
    is_for_anthropic = str(model or head.get("model")).partition("/")[0] in OF_ANTHROPIC
    is_signed = any("signature" in chunk.payload for chunk in turn)
    messages: list[Message] = []
    dropped: list[Dropped] = []
    results = {chunk.call_id: chunk for chunk in turn if chunk.kind is Kind.TOOL_RESULT}
    for message in _by_role(turn):
        if message.role != "assistant":
            continue
        spoken: list[Chunk] = []
        given: list[Chunk] = []
        for chunk in message.chunks:
            if chunk.kind is Kind.THINKING and is_other:
                spoken += [replace(chunk, kind=Kind.TEXT, payload={"type": "text", "text": chunk.text})] if chunk.text.strip() else []
            elif chunk.kind is Kind.TEXT and not chunk.text and is_signed:
                spoken.append(replace(chunk, payload={**chunk.payload, "text": " "}))
            elif is_for_anthropic and (
                not chunk.text if chunk.kind is Kind.TEXT else chunk.kind is Kind.THINKING and "signature" not in chunk.payload
            ):
                dropped.append(
                    Dropped((chunk,), "an empty text or unsigned thinking: nothing of it is sent to Anthropic", intentional=True)
                )
            elif chunk.kind is Kind.TOOL_CALL and about(chunk).get("stale", "running") not in OPEN and chunk.call_id not in results:
                dropped.append(Dropped((chunk,), "opencode does not know the state of the tool, and sends nothing of it"))
                continue
            elif chunk.kind in (Kind.TEXT, Kind.THINKING, Kind.TOOL_CALL):
                spoken.append(chunk)
            else:
                dropped.append(_unsent(chunk))
            if chunk.kind is Kind.TOOL_CALL:
                given.append(_sent_result(chunk, results.get(chunk.call_id)))
        messages += [Message("assistant", tuple(spoken))] if spoken else []
        for synthetic, group in groupby(given, key=lambda chunk: chunk.key.startswith("synthesized:")):
            messages.append(Message("tool", tuple(group), synthetic))
    return messages, dropped


def _sent_result(call: Chunk, result: Chunk | None) -> Chunk:
    if result is None:
        payload = {"type": "tool-result", "toolCallId": call.call_id, "toolName": call.tool_name, "content": INTERRUPTED, "isError": True}
        return Chunk(f"synthesized:{call.key}", call.seq, "tool", Kind.TOOL_RESULT, payload, call.msg_idx, 0, at=call.at)
    return replace(result, payload={**result.payload, "content": CLEARED}) if about(result).get("cleared") else result


def _unsent(chunk: Chunk) -> Dropped:
    if chunk.kind is Kind.UNREADABLE:
        return Dropped((chunk,), f"the part cannot be read: {chunk.reason}")
    return Dropped((chunk,), "nothing of it is sent", intentional=True, skipped=True)


_VERSION = "1.18.33"
READER = Reader(
    name=NAME,
    format="opencode",
    title=f"opencode {_VERSION}: the messages of the next request",
    note="Gives calls that never ended a placeholder, leaves out answers that ended with an error, and starts at the last finished compaction.",
    evidence=f"the published program at {_VERSION}: its source, and the request after a kill in a tool",
    read=read,
    shipped=True,
    verified=(_VERSION,),
)
