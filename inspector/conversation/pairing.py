"""Which result answers which call, where ids repeat, results are displaced, or several claim one call."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from inspector.conversation import queries
from inspector.conversation.model import Chunk, Kind, Message


@dataclass(frozen=True, slots=True)
class Answered:
    """A call with its results in stored order: the first is the one that answers it. `batch_end` is the key behind which results of its message belong."""

    call: Chunk
    message: int
    results: tuple[Chunk, ...]
    batch_end: str
    batch: frozenset[str]
    """Keys of the results that stand directly behind the message of the call."""


def answered(messages: Sequence[Message]) -> tuple[Answered, ...]:
    """Every call of an assistant message, in order. A result goes to the last call of its id before it that has none, else to the next one after it."""
    calls = [(index, call) for index, message in enumerate(messages) if message.role == "assistant" for call in queries.calls(message)]
    by_id: dict[str, list[tuple[int, Chunk]]] = {}
    for index, call in calls:
        by_id.setdefault(call.call_id, []).append((index, call))
    given: dict[str, list[Chunk]] = {call.key: [] for _, call in calls}
    for index, result in _results(messages):
        called = by_id.get(result.call_id, [])
        before = [call for at, call in called if at < index]
        after = [call for at, call in called if at >= index]
        choice = [call for call in reversed(before) if not given[call.key]] or [call for call in after if not given[call.key]]
        if called:
            given[(choice or before[-1:] or after[:1])[0].key].append(result)
    ends = {index: batch_of(messages, index) for index in {index for index, _ in calls}}
    return tuple(Answered(call, index, tuple(given[call.key]), *ends[index]) for index, call in calls)


def _results(messages: Sequence[Message]) -> Iterator[tuple[int, Chunk]]:
    for index, message in enumerate(messages):
        for chunk in message.chunks:
            if chunk.kind is Kind.TOOL_RESULT:
                yield index, chunk


def batch_of(messages: Sequence[Message], index: int) -> tuple[str, frozenset[str]]:
    """The key behind which results of the message at `index` belong, and the keys of those that stand there already."""
    end = messages[index].chunks[-1].key
    batch: set[str] = set()
    for message in messages[index + 1 :]:
        # An AI SDK tool message holds answers to approvals too, which say nothing between a call and its result.
        if message.role != "tool" or not all(chunk.kind in (Kind.TOOL_RESULT, Kind.CONTROL) for chunk in message.chunks):
            break
        batch |= {chunk.key for chunk in message.chunks if chunk.kind is Kind.TOOL_RESULT}
        end = message.chunks[-1].key
    return end, frozenset(batch)
