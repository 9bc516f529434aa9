"""The answer that a stream brought, compared with the same answer as it was stored or traced."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from inspector.conversation.model import Chunk, Conversation, Kind
from inspector.streams.assembling import shown
from inspector.streams.model import Assembled
from inspector.streams.text_compare import differences
from inspector.streams.to_conversation import conversation
from inspector.text.js_json import canonical

Payload = Mapping[str, Any]
CONTENT_KINDS = frozenset({Kind.TEXT, Kind.THINKING, Kind.REDACTED_THINKING, Kind.TOOL_CALL})


class DifferenceKind(StrEnum):
    """`ends-early`, `goes-on`: what is stored is the beginning of what came, or the other way. `dropped`: came and is not stored. `added`: stored and never came."""

    ENDS_EARLY = "ends-early"
    GOES_ON = "goes-on"
    OTHERWISE = "differs"
    DROPPED = "dropped"
    ADDED = "added"
    ARGUMENTS = "arguments-differ"
    ID = "id-differs"
    SIGNATURE = "signature-altered"
    UNSIGNED = "signature-dropped"


@dataclass(frozen=True, slots=True)
class AnswerDifference:
    """`what` is text, thinking or tool-call; `text` a sentence for people."""

    how: DifferenceKind
    what: str
    text: str


def answer_of(answers: Sequence[Assembled]) -> list[Payload]:
    """What a stream brought, as a store would hold it."""
    return [chunk.payload for chunk in conversation(answers, "").chunks if chunk.kind in CONTENT_KINDS]


def last_answer(stored: Conversation) -> list[Payload]:
    """The last message of the assistant: the chunks of its last step where the store knows steps, else those since another role spoke. Results do not count."""
    chunks: list[Chunk] = []
    for chunk in reversed(stored.chunks):
        if chunk.kind is Kind.TOOL_RESULT and (not chunks or chunks[0].step_id is not None):
            continue
        if chunk.role != "assistant" or (chunks and chunk.step_id != chunks[0].step_id):
            break
        if chunk.kind in CONTENT_KINDS:
            chunks.append(chunk)
    return [chunk.payload for chunk in reversed(chunks)]


def traced_answer(messages: Sequence[Any]) -> list[Payload]:
    """The last message of the assistant in a traced prompt: the answer to the request before it."""
    for message in reversed(messages):
        if isinstance(message, dict) and message.get("role") == "assistant" and isinstance(message.get("chunks"), list):
            return [chunk for chunk in message["chunks"] if isinstance(chunk, dict) and chunk.get("type") in CONTENT_KINDS]
    return []


def aligned(streamed: Sequence[Payload], stored: Sequence[Payload]) -> tuple[AnswerDifference, ...]:
    """Nothing where both are the same. Texts are compared as a whole, since stores split and join blocks; calls by id, then by what they mean, then by name."""
    return (
        *_texts(streamed, stored, "text"),
        *_texts(streamed, stored, "thinking"),
        *_signatures(streamed, stored),
        *_calls(streamed, stored),
    )


def _texts(streamed: Sequence[Payload], stored: Sequence[Payload], kind: str) -> Iterator[AnswerDifference]:
    ours, theirs = _joined(streamed, kind), _joined(stored, kind)
    if ours == theirs:
        return
    if not theirs:
        yield AnswerDifference(DifferenceKind.DROPPED, kind, f"The stream brought {len(ours):,} characters of {kind}, and none are stored.")
    elif not ours:
        yield AnswerDifference(DifferenceKind.ADDED, kind, f"{len(theirs):,} characters of {kind} are stored, and the stream brought none.")
    elif ours.startswith(theirs):
        remainder = ours[len(theirs) :]
        yield AnswerDifference(
            DifferenceKind.ENDS_EARLY, kind, f"The stored {kind} ends {len(remainder):,} characters early, before {shown(remainder)}"
        )
    elif theirs.startswith(ours):
        remainder = theirs[len(ours) :]
        yield AnswerDifference(
            DifferenceKind.GOES_ON,
            kind,
            f"The stored {kind} goes on for {len(remainder):,} characters that the stream did not bring: {shown(remainder)}",
        )
    else:
        yield _other(kind, ours, theirs)


def _other(kind: str, ours: str, theirs: str) -> AnswerDifference:
    text_differences = differences(ours, theirs)
    lost, added = (
        sum(end - start for start, end in text_differences.lost),
        sum(end - start for start, end in (*text_differences.added, *text_differences.replayed)),
    )
    if text_differences.moved is not None and not lost and not added:
        return AnswerDifference(
            DifferenceKind.OTHERWISE,
            kind,
            f"The stored {kind} is that of the stream in another order, from character {text_differences.moved:,} on.",
        )
    first = f", first {shown(ours[slice(*text_differences.lost[0])])}" if text_differences.lost else ""
    return AnswerDifference(
        DifferenceKind.OTHERWISE,
        kind,
        f"{lost:,} characters of the stream's {kind} are not stored{first}; {added:,} are stored that it did not bring.",
    )


def _joined(payloads: Sequence[Payload], kind: str) -> str:
    return "".join(payload["text"] for payload in payloads if payload.get("type") == kind and isinstance(payload.get("text"), str))


def _signatures(streamed: Sequence[Payload], stored: Sequence[Payload]) -> Iterator[AnswerDifference]:
    ours, theirs = (
        [
            payload["signature"]
            for payload in side
            if payload.get("type") == "thinking" and isinstance(payload.get("signature"), str) and payload["signature"]
        ]
        for side in (streamed, stored)
    )
    if ours and not theirs and _joined(stored, "thinking"):
        yield AnswerDifference(DifferenceKind.UNSIGNED, "thinking", "The thinking is stored without the signature that came with it.")
    for number, (sent, stored_signature) in enumerate(zip(ours, theirs, strict=False), 1):
        if sent != stored_signature:
            yield AnswerDifference(
                DifferenceKind.SIGNATURE, "thinking", f"The signature of thinking number {number} is stored as another one than came."
            )


def _calls(streamed: Sequence[Payload], stored: Sequence[Payload]) -> Iterator[AnswerDifference]:
    remaining = [payload for payload in stored if payload.get("type") == "tool-call"]
    pairs: list[tuple[Payload, Payload]] = []
    waiting = [payload for payload in streamed if payload.get("type") == "tool-call"]
    for key in (_by_id, _by_meaning, _by_name):
        places: dict[str, deque[Payload]] = {}
        for payload in remaining:
            places.setdefault(key(payload), deque()).append(payload)
        unmatched: list[Payload] = []
        for call in waiting:
            candidates = places.get(key(call)) if key(call) else None
            if candidates:
                pairs.append((call, candidates.popleft()))
            else:
                unmatched.append(call)
        waiting, remaining = unmatched, [payload for queue in places.values() for payload in queue]
    for call, stored_call in pairs:
        yield from _pair(call, stored_call)
    for how, calls, words in (
        (DifferenceKind.DROPPED, waiting, "came, and is not stored"),
        (DifferenceKind.ADDED, remaining, "is stored, and never came"),
    ):
        for call in calls:
            name, call_id = shown(call.get("toolName")), shown(call.get("toolCallId"))
            yield AnswerDifference(how, "tool-call", f"The call of {name} ({call_id}) {words}.")


def _pair(call: Payload, stored_call: Payload) -> Iterator[AnswerDifference]:
    name = shown(call.get("toolName"))
    if _by_meaning(call) != _by_meaning(stored_call):
        text = f"The call of {name} came with {shown(call.get('input'))}, and is stored with {shown(stored_call.get('input'))}."
        yield AnswerDifference(DifferenceKind.ARGUMENTS, "tool-call", text)
    if _by_id(call) and _by_id(call) != _by_id(stored_call):
        text = f"The call of {name} came as {shown(call['toolCallId'])}, and is stored as {shown(stored_call.get('toolCallId'))}."
        yield AnswerDifference(DifferenceKind.ID, "tool-call", text)


def _by_id(call: Payload) -> str:
    return call["toolCallId"] if isinstance(call.get("toolCallId"), str) else ""


def _by_meaning(call: Payload) -> str:
    return canonical([call.get("toolName"), call.get("input")])


def _by_name(call: Payload) -> str:
    return call["toolName"] if isinstance(call.get("toolName"), str) else ""
