"""One step as it was observed: the client's prompt and what was sent, aligned with the chunks that the store holds."""

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inspector.conversation.model import Chunk, Kind, Message
from inspector.projections.base import Projection, Prompt, PromptPart, WireMessage, without_cache_marks
from inspector.text.js_json import canonical
from inspector.text.jsontext import MAX_DEPTH
from inspector.traces import observe
from inspector.traces.model import Step, Trace

NO_REQUEST = "no request body: retention removed it or the span was never recorded, which is not the same as no request"
NO_PROMPT = "no prompt body: the client's prompt is unknown, so no part of the request is traced back to chunks"
NOTES_KEPT = 20
_PATH_HEAD = 2
"""`messages` and the number, in a path such as `messages.5.content`."""


@dataclass(frozen=True, slots=True)
class ObservedStep:
    """`prompt_messages` contain stored chunks where they match; others have the key `observed:<message>.<index>` and seq 0.

    `prompt` is the request without `system`, the leading system message that the kernel did not have; paths and notes count
    without it. `computed`: no request body is there, and `prompt` is what the converter makes of `prompt_messages`.
    """

    step_id: str
    prompt_messages: tuple[Message, ...]
    prompt: Prompt
    system: dict[str, Any] | None
    model: str
    tool_count: int | None
    finish_reason: str | None
    notes: tuple[str, ...]
    computed: bool = False


def observed(trace: Trace, step: Step, chunks: Sequence[Chunk], projection: Projection) -> ObservedStep | None:
    """None where neither body of the step can be read. Bodies are hostile text: whatever they hold, this does not raise."""
    notes: list[str] = []
    prompt_body, request = observe.prompt_body(trace, step), observe.parsed_request(trace, step)
    if prompt_body is not None and _too_deep(prompt_body):
        notes.append(f"the prompt body is nested more than {MAX_DEPTH} levels deep, which is over what is read here")
        prompt_body = None
    if request is not None and (_too_deep(request) or not isinstance(request.get("messages"), list)):
        notes.append(f"the request body holds no list of messages, or is nested more than {MAX_DEPTH} levels deep")
        request = None
    if prompt_body is None and request is None:
        return None
    prompt_messages = _prompt_messages(prompt_body["messages"], chunks, notes) if prompt_body else ()
    computed_prompt = projection.project(prompt_messages)
    if prompt_body is None:
        notes.append(NO_PROMPT)
    system, sent = (
        (None, computed_prompt.messages)
        if request is None
        else _sent(request["messages"], computed_prompt.messages, prompt_body is not None, notes)
    )
    if request is None:
        notes.append(f"{NO_REQUEST}; what is shown as sent is computed from the prompt")
    elif len(step.requests) > 1:
        notes.append(f"the request was sent {len(step.requests)} times; this is the last")
    tools = observe.tool_count(trace, step)
    if request is not None and tools is not None and tools != (carried := _length(request.get("tools"))):
        notes.append(f"the prompt offered {tools} tools, the request carries {carried}")
    return ObservedStep(
        step.step_id,
        prompt_messages,
        replace(computed_prompt, messages=sent),
        system,
        _model(request, step),
        tools,
        observe.finish_reason(step),
        tuple(notes[:NOTES_KEPT]) + ((f"and {len(notes) - NOTES_KEPT} more notes",) if len(notes) > NOTES_KEPT else ()),
        computed=request is None,
    )


def _prompt_messages(messages: Sequence[Any], chunks: Sequence[Chunk], notes: list[str]) -> tuple[Message, ...]:
    stored = _Stored(chunks)
    prompt_messages: list[Message] = []
    for number, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get("chunks"), list):
            notes.append(f"message {number} of the prompt body is no object with chunks")
            prompt_messages.append(Message("", ()))
            continue
        role = message["role"] if isinstance(message.get("role"), str) else ""
        message_chunks = [
            stored.take(payload) or _unstored(f"{number}.{index}", role, payload) for index, payload in enumerate(message["chunks"])
        ]
        prompt_messages.append(Message(role, tuple(message_chunks)))
    unmatched = [
        chunk.key.removeprefix("observed:") for message in prompt_messages for chunk in message.chunks if chunk.key.startswith("observed:")
    ]
    if unmatched:
        one = len(unmatched) == 1
        shown = ", ".join(unmatched[:5]) + (" and more" if len(unmatched) > 5 else "")
        notes.append(
            f"{len(unmatched)} {'chunk' if one else 'chunks'} of the prompt ({shown}) {'is' if one else 'are'} not in the store as {'it was' if one else 'they were'} sent"
        )
    return tuple(prompt_messages)


class _Stored:
    """Stored chunks by their JSON value; each is given out once, the next one in order before one from further up."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._chunks = chunks
        self._next = 0
        self._places: dict[str, list[int]] = {}
        for place, chunk in enumerate(chunks):
            if chunk.payload:
                self._places.setdefault(canonical(chunk.payload), []).append(place)

    def take(self, payload: Any) -> Chunk | None:
        places = self._places.get(canonical(payload)) if isinstance(payload, dict) else None
        if not places:
            return None
        next_place = bisect_left(places, self._next)
        place = places.pop(next_place if next_place < len(places) else 0)
        self._next = place + 1
        return self._chunks[place]


def _unstored(where: str, role: str, payload: Any) -> Chunk:
    members: Mapping[str, Any] = payload if isinstance(payload, dict) else {}
    name = members.get("type")
    if isinstance(name, str) and name in set(Kind) - {Kind.UNREADABLE}:
        return Chunk(f"observed:{where}", 0, role, Kind(name), members)
    return Chunk(
        f"observed:{where}", 0, role, Kind.UNREADABLE, members, damage="unknown-type", reason="the prompt body has no such chunk type"
    )


def _sent(
    wire: Sequence[Any], computed: Sequence[WireMessage], is_traced: bool, notes: list[str]
) -> tuple[dict[str, Any] | None, tuple[WireMessage, ...]]:
    values = [message if isinstance(message, dict) else {} for message in wire]
    extra = _leading_systems(values) > _leading_systems(message.value for message in computed)
    system, values = (values[0], values[1:]) if extra else (None, values)
    for number, message in enumerate(wire[1 if extra else 0 :]):
        if not isinstance(message, dict):
            notes.append(f"message {number} of the request is no object")
    if not is_traced:
        return system, tuple(WireMessage(value, (), None) for value in values)
    pairs = _aligned(values, computed)
    sent = tuple(_placed(number, value, pairs.get(number)) for number, value in enumerate(values))
    notes += [
        f"message {number} differs from what the converter makes of the prompt" for number in range(len(values)) if number not in pairs
    ]
    if len(computed) > len(values):
        notes.append(f"the converter makes {len(computed)} messages of the prompt, the request has {len(values)}")
    return system, sent


def _leading_systems(values: Iterable[dict[str, Any]]) -> int:
    count = 0
    for value in values:
        if value.get("role") != "system":
            break
        count += 1
    return count


def _aligned(values: Sequence[dict[str, Any]], computed: Sequence[WireMessage]) -> dict[int, WireMessage]:
    """Number of a sent message -> the equal computed one: from the front, from the back, then the next equal one between."""
    ours = [canonical(without_cache_marks(message.value)) for message in computed]
    theirs = [canonical(without_cache_marks(value)) for value in values]
    shorter = min(len(ours), len(theirs))
    front = next((place for place in range(shorter) if ours[place] != theirs[place]), shorter)
    back = next((place for place in range(shorter - front) if ours[-1 - place] != theirs[-1 - place]), shorter - front)
    pairs = {place: computed[place] for place in range(front)}
    pairs |= {len(values) - 1 - place: computed[-1 - place] for place in range(back)}
    between: dict[str, deque[int]] = {}
    for place in range(front, len(computed) - back):
        between.setdefault(ours[place], deque()).append(place)
    last = front - 1
    for number in range(front, len(values) - back):
        waiting = between.get(theirs[number], deque())
        while waiting and waiting[0] <= last:
            waiting.popleft()
        if waiting:
            last = waiting.popleft()
            pairs[number] = computed[last]
    return pairs


def _placed(number: int, value: dict[str, Any], computed: WireMessage | None) -> WireMessage:
    """The sent message with the parts of the computed one, whose paths count from its own place."""
    if computed is None:
        return WireMessage(value, (), None)
    parts = [
        PromptPart(".".join(["messages", str(number), *part.path.split(".")[_PATH_HEAD:]]), part.chunk, part.text)
        for part in computed.parts
    ]
    return WireMessage(value, tuple(parts), computed.source)


def _model(request: Mapping[str, Any] | None, step: Step) -> str:
    noted = step.request.attributes.get("model") if step.request else None
    model = (request or {}).get("model", noted)
    return model if isinstance(model, str) else ""


def _length(value: Any) -> int:
    return len(value) if isinstance(value, list) else 0


def _too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            inner for outer in level for inner in (outer.values() if isinstance(outer, dict) else outer if isinstance(outer, list) else ())
        ]
        if not level:
            return False
    return True
