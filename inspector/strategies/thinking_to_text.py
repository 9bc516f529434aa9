"""Turns thinking into text between tags, as clients do when the provider changes."""

from collections.abc import Iterator
from dataclasses import replace

from inspector.conversation.edits import Edit, Replace, Safety
from inspector.conversation.masks import mask
from inspector.conversation.model import Chunk, Kind
from inspector.rules.base import Case
from inspector.strategies.arrangement import entry_of
from inspector.strategies.base import Strategy


def as_text(chunk: Chunk) -> Chunk:
    """The step that a row of Dispatch belongs to stays; a signature has nothing to cover any more."""
    step = {"stepId": chunk.step_id} if chunk.step_id is not None else {}
    return replace(
        chunk, kind=Kind.TEXT, payload={"type": "text", "text": f"<thinking>\n{chunk.text}\n</thinking>", **step, **entry_of(chunk)}
    )


def propose(case: Case) -> Iterator[Edit]:
    """Thinking with words in it; redacted thinking has none that could be shown, and a mask of telemetry is none of the model's."""
    for chunk in case.conversation.chunks:
        if chunk.kind is Kind.THINKING and chunk.text.strip() and not mask(chunk.text):
            yield Replace(chunk, as_text(chunk))


STRATEGY = Strategy(
    name="thinking-to-text",
    safety=frozenset({Safety.LOSSY}),
    summary="turns every thinking block into a text between <thinking> tags",
    cost="The signatures leave the history; the words stay, as something the assistant said.",
    user_visible_effect="What the model thought is shown as part of its answers.",
    pros="Some clients do the same when the provider changes: no signature is checked any more, and no thought is lost.",
    cons=(
        "The model reads its thoughts as part of its answers, and may go on to put its thoughts into answers. "
        "With thinking switched on, a turn of tool calls must start with thinking (AN-15)."
    ),
    write_kind="content",
    propose=propose,
    manual_only=True,
    order=460,
)
