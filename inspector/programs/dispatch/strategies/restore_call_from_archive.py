"""Puts back the assistant message that compaction cut off from its results."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from inspector.conversation import queries
from inspector.conversation.edits import Edit
from inspector.conversation.model import Chunk, Kind, Message
from inspector.rules.base import Case
from inspector.strategies.base import Strategy
from inspector.strategies.insertion import Placed, before, inserted

# Errors were stripped before the history was compacted; what cannot be read cannot be checked.
_LEFT_OUT = (Kind.ERROR, Kind.UNREADABLE)


def propose(case: Case) -> Iterator[Edit]:
    """Before the first result that is without its call, with the results of the same message that were cut off too."""
    if case.archive is None:
        return
    present_ids = {chunk.call_id for chunk in case.conversation.chunks if chunk.kind is Kind.TOOL_CALL}
    answered = queries.answered_ids(case.messages)
    archived = queries.true_messages(case.archive.chunks)
    homes = _homes(archived)
    places: list[Placed] = []
    for message in case.messages:
        for result in queries.results(message) if message.role == "tool" else ():
            callers = homes.get(result.call_id, [])
            if result.call_id in present_ids or len(callers) != 1:
                continue
            call_ids = {call.call_id for call in queries.calls(archived[callers[0]])}
            if not call_ids & present_ids:
                present_ids |= call_ids
                after = before(case, message.chunks[0])
                places += [(after, _copied(cut)) for cut in _cut_off(archived, callers[0], answered)]
    yield from inserted(case, places)


def _homes(archived: Sequence[Message]) -> dict[str, list[int]]:
    """Call id -> the assistant messages of the archive that call it, by their place."""
    homes: dict[str, list[int]] = {}
    for index, message in enumerate(archived):
        if message.role == "assistant":
            for call_id in {call.call_id for call in queries.calls(message) if call.call_id}:
                homes.setdefault(call_id, []).append(index)
    return homes


def _cut_off(archived: Sequence[Message], index: int, answered: set[str]) -> Iterator[Message]:
    yield archived[index]
    for message in archived[index + 1 :]:
        if message.role != "tool":
            break
        results = queries.results(message)
        if results and not any(result.call_id in answered for result in results):
            yield message


def _copied(message: Message) -> tuple[Chunk, ...]:
    return tuple(replace(chunk, key=f"new:{chunk.key}") for chunk in message.chunks if chunk.kind not in _LEFT_OUT)


STRATEGY = Strategy(
    name="restore-call-from-archive",
    safety=frozenset(),
    summary="inserts the call that compaction cut off, from the archive, before its result, and renumbers the messages",
    cost="The rows of one assistant message per cut, byte for byte as the archive holds them; the rows after them move up.",
    user_visible_effect="The answer with its tool call appears again above the result. Clients that hold rows by number should reload.",
    pros="The archive holds the very message, so nothing is invented, and the result keeps its meaning.",
    cons="It brings back a little of what compaction was to shorten; dropping the result costs fewer tokens.",
    write_kind="W3",
    propose=propose,
    order=160,
)
