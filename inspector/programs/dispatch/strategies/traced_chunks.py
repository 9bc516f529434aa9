"""A chunk that the store lost, found in a traced prompt between the chunks that it was between."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inspector.text.js_json import canonical
from inspector.traces import observe
from inspector.traces.model import Trace


@dataclass(frozen=True, slots=True)
class TracedChunk:
    """A chunk of a prompt. `starts` is the role of the message that it is the first of, "" where it is not the first: there the loader may have merged."""

    payload: Mapping[str, Any]
    name: str
    starts: str


_BARRIER = TracedChunk({}, "", "")
_LONGEST_RUN = 50


def prompts(trace: Trace | None) -> list[list[TracedChunk]]:
    """The chunks of each prompt body that can be read, in order, without those that were sent twice."""
    by_names: dict[tuple[tuple[str, str], ...], list[TracedChunk]] = {}
    for step in trace.steps() if trace is not None else ():
        body = observe.prompt_body(trace, step) if trace is not None else None
        if body is not None:
            chunks = list(_chunks(body["messages"]))
            by_names.setdefault(tuple((chunk.starts, chunk.name) for chunk in chunks), chunks)
    return list(by_names.values())


def _chunks(messages: Sequence[Any]) -> Iterator[TracedChunk]:
    """What cannot be read stays as a barrier: chunks on both sides of it are no neighbors."""
    for message in messages:
        chunks = message.get("chunks") if isinstance(message, dict) else None
        if not isinstance(message, dict) or not isinstance(chunks, list):
            yield _BARRIER
            continue
        for index, payload in enumerate(chunks):
            role = message.get("role") if index == 0 else ""
            yield TracedChunk(payload, name_of(payload), role if isinstance(role, str) else "") if isinstance(payload, dict) else _BARRIER


def chunk_between(names: Sequence[str], place: int, traced: Sequence[Sequence[TracedChunk]]) -> TracedChunk | None:
    """What all prompts agree on for the row at `place`; `names` are those of the stored rows, "" for one that cannot be read.

    None where no prompt holds the rows around with as many between them, where two prompts differ, or where whole rows are between
    such neighbors elsewhere: the prompt may show those.
    """
    first = last = place
    while first > 0 and not names[first - 1] and last - first < _LONGEST_RUN:
        first -= 1
    while last + 1 < len(names) and not names[last + 1] and last - first < _LONGEST_RUN:
        last += 1
    if not traced or first == 0 or last + 1 == len(names) or not names[first - 1] or not names[last + 1]:
        return None
    ends, width = (names[first - 1], names[last + 1]), last - first + 2
    if any((names[at], names[at + width]) == ends and all(names[at + 1 : at + width]) for at in range(len(names) - width)):
        return None
    fitting = {
        tuple(chunk.name for chunk in prompt[at + 1 : at + width]): prompt[at + 1 + place - first]
        for prompt in traced
        for at in range(len(prompt) - width)
        if (prompt[at].name, prompt[at + width].name) == ends
    }
    (names_between, candidate), *others = fitting.items() if fitting else [((), _BARRIER)]
    return candidate if names_between and all(names_between) and not others else None


def name_of(payload: Mapping[str, Any]) -> str:
    """Equal for equal chunks; "" for one that is nested too deeply to be compared."""
    try:
        return canonical(payload) if payload else ""
    except ValueError:
        return ""
