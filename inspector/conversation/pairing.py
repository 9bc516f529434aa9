"""Which result answers which call, where ids repeat, results are displaced, or several claim one call."""

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from inspector.conversation import queries
from inspector.conversation.model import Chunk, Kind, Message
from inspector.text.light import light_dataclass


@light_dataclass(frozen=True, slots=True)
class Answered:
    """A call with its results in stored order: the first is the one that answers it. `batch_end` is the key after which results of its message belong."""

    call: Chunk
    message: int
    results: tuple[Chunk, ...]
    batch_end: str
    batch: frozenset[str]
    """Keys of the results directly after the message of the call."""


@dataclass(slots=True)
class _Called:
    """The calls of one id, each with its message: `passed` of them are before the place that was looked at last, and `waiting` of these have no result,
    by message; of those after it `early` were looked at for results that come before their call. A provider may use an id again in every turn, so that
    nothing is looked through twice."""

    calls: list[tuple[int, Chunk]] = field(default_factory=list)
    passed: int = 0
    early: int = 0
    waiting: list[tuple[int, deque[Chunk]]] = field(default_factory=list)

    def answered_at(self, index: int, results_of: Mapping[str, Sequence[Chunk]]) -> Chunk | None:
        """The call before the message at `index` that a result in it answers; None where each of them has one. Places must not go back."""
        while self.passed < len(self.calls) and self.calls[self.passed][0] < index:
            at, call = self.calls[self.passed]
            self.passed += 1
            if not results_of[call.key]:
                if not self.waiting or self.waiting[-1][0] != at:
                    self.waiting.append((at, deque()))
                self.waiting[-1][1].append(call)
        if self.waiting:
            # Of two calls of one message the first has the first result.
            answered_call = self.waiting[-1][1].popleft()
            if not self.waiting[-1][1]:
                self.waiting.pop()
            return answered_call
        return None

    def answered_early(self, index: int, results_of: Mapping[str, Sequence[Chunk]]) -> Chunk | None:
        """The call that such a result answers: the next one after it that has none, else the last one before it, which has two then."""
        while self.early < len(self.calls) and (self.calls[self.early][0] < index or results_of[self.calls[self.early][1].key]):
            self.early += 1
        if self.early < len(self.calls):
            return self.calls[self.early][1]
        before = bisect_left(self.calls, index, key=itemgetter(0))
        return self.calls[before - 1][1] if before else None


def answered(messages: Sequence[Message], is_hidden: Callable[[str], bool] = lambda call_id: False) -> tuple[Answered, ...]:
    """Every call of an assistant message, in order. A result goes to the last call of its id before it that has none, else to the next one after it that
    has none.

    `is_hidden`: whether a call of that id may be in a row that nobody can read. A result before every call of its id answers that one then: given to a
    later call, it would say of that one what its tool never returned.
    """
    calls = [(index, call) for index, message in enumerate(messages) if message.role == "assistant" for call in queries.calls(message)]
    by_id: dict[str, _Called] = {}
    for index, call in calls:
        by_id.setdefault(call.call_id, _Called()).calls.append((index, call))
    results_of: dict[str, list[Chunk]] = {call.key: [] for _, call in calls}
    others: list[tuple[int, Chunk, _Called]] = []
    for index, result in _results(messages):
        if called := by_id.get(result.call_id):
            if (own := called.answered_at(index, results_of)) is not None:
                results_of[own.key].append(result)
            else:
                others.append((index, result, called))
    for index, result, called in others:
        if called.calls[0][0] >= index and is_hidden(result.call_id):
            continue
        if (own := called.answered_early(index, results_of)) is not None:
            results_of[own.key].append(result)
    ends = {index: batch_of(messages, index) for index in {index for index, _ in calls}}
    return tuple(Answered(call, index, tuple(results_of[call.key]), *ends[index]) for index, call in calls)


def _results(messages: Sequence[Message]) -> Iterator[tuple[int, Chunk]]:
    for index, message in enumerate(messages):
        for chunk in message.chunks:
            if chunk.kind is Kind.TOOL_RESULT:
                yield index, chunk


def batch_of(messages: Sequence[Message], index: int) -> tuple[str, frozenset[str]]:
    """The key after which results of the message at `index` belong, and the keys of those that are there already."""
    end = messages[index].chunks[-1].key
    batch: set[str] = set()
    for at in range(index + 1, len(messages)):
        message = messages[at]
        # An AI SDK tool message holds answers to approvals too, which say nothing between a call and its result.
        if message.role != "tool" or not all(chunk.kind in (Kind.TOOL_RESULT, Kind.CONTROL) for chunk in message.chunks):
            break
        batch |= {chunk.key for chunk in message.chunks if chunk.kind is Kind.TOOL_RESULT}
        end = message.chunks[-1].key
    return end, frozenset(batch)
