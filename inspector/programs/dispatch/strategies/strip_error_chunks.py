"""Removes the error chunks of assistant messages, as the newest loader does on every read."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit, Remove, Safety
from inspector.conversation.model import Kind
from inspector.rules.base import Case
from inspector.strategies.base import Strategy


def propose(case: Case) -> Iterator[Edit]:
    for message in case.messages:
        if message.role == "assistant":
            yield from (Remove(chunk) for chunk in message.chunks if chunk.kind is Kind.ERROR)


STRATEGY = Strategy(
    name="strip-error-chunks",
    safety=frozenset({Safety.LOSSY}),
    summary="removes the error chunks of assistant messages",
    cost="The text of each error leaves the history.",
    user_visible_effect="The error bubbles are gone after a reload.",
    pros="The newest loader strips them on every read; removing the rows gives older loaders and other readers the same history.",
    cons="The error is evidence of what went wrong; with a loader that strips it, nothing needs to be written.",
    write_kind="W2",
    propose=propose,
    order=340,
)
