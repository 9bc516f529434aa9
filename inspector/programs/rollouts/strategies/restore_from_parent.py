"""Brings back from the parent session what rollouts' doctor took out of a child, or what its save() emptied."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from inspector.conversation import queries
from inspector.conversation.edits import Edit
from inspector.conversation.model import Chunk, Kind, Message
from inspector.programs.rollouts.format import NAME as ROLLOUTS
from inspector.programs.rollouts.rules.empty_trajectory import emptied
from inspector.programs.rollouts.rules.modified_child import is_modified
from inspector.rules.base import Case
from inspector.strategies.base import Strategy
from inspector.strategies.insertion import Placed, inserted


def propose(case: Case) -> Iterator[Edit]:
    if case.conversation.format != ROLLOUTS or case.archive is None:
        return
    parent = queries.true_messages(case.archive.chunks)
    if emptied(case):
        yield from inserted(case, _all(case, parent))
    elif is_modified(case):
        yield from inserted(case, _results(case, parent))


def _all(case: Case, parent: Sequence[Message]) -> list[Placed]:
    """The messages up to the branch point, where that is one of the parent's; else all of them."""
    point = case.conversation.fact("branchPoint") or ""
    count = int(point) if point.isdecimal() and 0 < int(point) <= len(parent) else len(parent)
    return [(None, _restored(message)) for message in parent[:count]]


def _results(case: Case, parent: Sequence[Message]) -> Iterator[Placed]:
    """The first result of each call that the child holds, after what it follows in the parent."""
    own = list(case.messages)
    unanswered = {chunk.call_id for chunk in case.conversation.chunks if chunk.kind is Kind.TOOL_CALL}
    at = 0
    after: str | None = None
    called: set[str] = set()
    for message in parent:
        if message.role != "tool":
            if at < len(own) and _content(message) == _content(own[at]):
                after = own[at].chunks[-1].key
                called |= {call.call_id for call in queries.calls(own[at])}
                at += 1
            continue
        results = [chunk for chunk in queries.results(message) if chunk.call_id in called & unanswered]
        if results:
            unanswered -= {chunk.call_id for chunk in results}
            yield after, _restored(Message(message.role, tuple(results)))


def _restored(message: Message) -> tuple[Chunk, ...]:
    return tuple(replace(chunk, key=f"restored:{chunk.key}") for chunk in message.chunks)


def _content(message: Message) -> object:
    return message.role, [(chunk.kind, chunk.text, chunk.call_id, chunk.tool_name) for chunk in message.chunks]


STRATEGY = Strategy(
    name="restore-from-parent",
    safety=frozenset(),
    summary="brings back from the parent session the results that the doctor took out, or the messages of a session that was emptied",
    cost="Nothing is lost. Of an emptied session only what it had in common with its parent comes back: what was said in it since is gone.",
    user_visible_effect="Outputs of tools are there again; an emptied session shows the history that it began with.",
    pros="The parent is never changed by rollouts, so it still has every line as it was written.",
    cons="What was said in the child after the doctor had been there was said without the results. A summary that an emptied child held is not in the parent.",
    write_kind="W3",
    propose=propose,
    order=170,
)
