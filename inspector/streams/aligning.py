"""The answer that a stream brought beside the same answer as it was stored or traced: what the one has that the other has not."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from inspector.conversation.js_json import canonical
from inspector.conversation.model import Chunk, Conversation, Kind
from inspector.streams.assembling import shown
from inspector.streams.model import Assembled
from inspector.streams.text_compare import differences
from inspector.streams.to_conversation import conversation

Payload = Mapping[str, Any]
SAID = frozenset({Kind.TEXT, Kind.THINKING, Kind.REDACTED_THINKING, Kind.TOOL_CALL})


class Differs(StrEnum):
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
class Difference:
    """`what` is text, thinking or tool-call; `text` a sentence for people."""

    how: Differs
    what: str
    text: str


def answer_of(answers: Sequence[Assembled]) -> list[Payload]:
    """What a stream brought, as a store would hold it."""
    return [chunk.payload for chunk in conversation(answers, "").chunks if chunk.kind in SAID]


def last_answer(stored: Conversation) -> list[Payload]:
    """The last message of the assistant: the chunks of its last step where the store knows steps, else those since another role spoke. Results do not count."""
    found: list[Chunk] = []
    for chunk in reversed(stored.chunks):
        if chunk.kind is Kind.TOOL_RESULT and (not found or found[0].step_id is not None):
            continue
        if chunk.role != "assistant" or (found and chunk.step_id != found[0].step_id):
            break
        if chunk.kind in SAID:
            found.append(chunk)
    return [chunk.payload for chunk in reversed(found)]


def traced_answer(messages: Sequence[Any]) -> list[Payload]:
    """The last message of the assistant in a traced prompt: the answer to the request before it."""
    for message in reversed(messages):
        if isinstance(message, dict) and message.get("role") == "assistant" and isinstance(message.get("chunks"), list):
            return [each for each in message["chunks"] if isinstance(each, dict) and each.get("type") in SAID]
    return []


def aligned(came: Sequence[Payload], stored: Sequence[Payload]) -> tuple[Difference, ...]:
    """Nothing where both are the same. Texts are compared as a whole, since stores split and join blocks; calls by id, then by what they mean, then by name."""
    return (*_texts(came, stored, "text"), *_texts(came, stored, "thinking"), *_signatures(came, stored), *_calls(came, stored))


def _texts(came: Sequence[Payload], stored: Sequence[Payload], kind: str) -> Iterator[Difference]:
    ours, theirs = _joined(came, kind), _joined(stored, kind)
    if ours == theirs:
        return
    if not theirs:
        yield Difference(Differs.DROPPED, kind, f"The stream brought {len(ours):,} characters of {kind}, and none are stored.")
    elif not ours:
        yield Difference(Differs.ADDED, kind, f"{len(theirs):,} characters of {kind} are stored, and the stream brought none.")
    elif ours.startswith(theirs):
        rest = ours[len(theirs) :]
        yield Difference(Differs.ENDS_EARLY, kind, f"The stored {kind} ends {len(rest):,} characters early, before {shown(rest)}")
    elif theirs.startswith(ours):
        rest = theirs[len(ours) :]
        yield Difference(
            Differs.GOES_ON, kind, f"The stored {kind} goes on for {len(rest):,} characters that the stream did not bring: {shown(rest)}"
        )
    else:
        yield _other(kind, ours, theirs)


def _other(kind: str, ours: str, theirs: str) -> Difference:
    found = differences(ours, theirs)
    lost, added = sum(end - start for start, end in found.lost), sum(end - start for start, end in (*found.added, *found.replayed))
    if found.moved is not None and not lost and not added:
        return Difference(
            Differs.OTHERWISE, kind, f"The stored {kind} is that of the stream in another order, from character {found.moved:,} on."
        )
    first = f", first {shown(ours[slice(*found.lost[0])])}" if found.lost else ""
    return Difference(
        Differs.OTHERWISE,
        kind,
        f"{lost:,} characters of the stream's {kind} are not stored{first}; {added:,} are stored that it did not bring.",
    )


def _joined(payloads: Sequence[Payload], kind: str) -> str:
    return "".join(each["text"] for each in payloads if each.get("type") == kind and isinstance(each.get("text"), str))


def _signatures(came: Sequence[Payload], stored: Sequence[Payload]) -> Iterator[Difference]:
    ours, theirs = (
        [
            each["signature"]
            for each in side
            if each.get("type") == "thinking" and isinstance(each.get("signature"), str) and each["signature"]
        ]
        for side in (came, stored)
    )
    if ours and not theirs and _joined(stored, "thinking"):
        yield Difference(Differs.UNSIGNED, "thinking", "The thinking is stored without the signature that came with it.")
    for number, (one, other) in enumerate(zip(ours, theirs, strict=False), 1):
        if one != other:
            yield Difference(
                Differs.SIGNATURE, "thinking", f"The signature of thinking number {number} is stored as another one than came."
            )


def _calls(came: Sequence[Payload], stored: Sequence[Payload]) -> Iterator[Difference]:
    left = [each for each in stored if each.get("type") == "tool-call"]
    pairs: list[tuple[Payload, Payload]] = []
    waiting = [each for each in came if each.get("type") == "tool-call"]
    for key in (_by_id, _by_meaning, _by_name):
        places: dict[str, deque[Payload]] = {}
        for each in left:
            places.setdefault(key(each), deque()).append(each)
        unmatched: list[Payload] = []
        for call in waiting:
            found = places.get(key(call)) if key(call) else None
            if found:
                pairs.append((call, found.popleft()))
            else:
                unmatched.append(call)
        waiting, left = unmatched, [each for queue in places.values() for each in queue]
    for call, other in pairs:
        yield from _pair(call, other)
    for call in waiting:
        yield Difference(
            Differs.DROPPED,
            "tool-call",
            f"The call of {shown(call.get('toolName'))} ({shown(call.get('toolCallId'))}) came, and is not stored.",
        )
    for call in left:
        yield Difference(
            Differs.ADDED,
            "tool-call",
            f"The call of {shown(call.get('toolName'))} ({shown(call.get('toolCallId'))}) is stored, and never came.",
        )


def _pair(call: Payload, other: Payload) -> Iterator[Difference]:
    name = shown(call.get("toolName"))
    if _by_meaning(call) != _by_meaning(other):
        text = f"The call of {name} came with {shown(call.get('input'))}, and is stored with {shown(other.get('input'))}."
        yield Difference(Differs.ARGUMENTS, "tool-call", text)
    if _by_id(call) and _by_id(call) != _by_id(other):
        text = f"The call of {name} came as {shown(call['toolCallId'])}, and is stored as {shown(other.get('toolCallId'))}."
        yield Difference(Differs.ID, "tool-call", text)


def _by_id(call: Payload) -> str:
    return call["toolCallId"] if isinstance(call.get("toolCallId"), str) else ""


def _by_meaning(call: Payload) -> str:
    return canonical([call.get("toolName"), call.get("input")])


def _by_name(call: Payload) -> str:
    return call["toolName"] if isinstance(call.get("toolName"), str) else ""
