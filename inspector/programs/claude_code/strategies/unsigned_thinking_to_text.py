"""Turns the thinking that Anthropic rejects for its signature into text, and no other."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit, Replace, Safety
from inspector.conversation.model import Kind
from inspector.rules.base import Case
from inspector.strategies.base import Strategy
from inspector.strategies.thinking_to_text import as_text


def propose(case: Case) -> Iterator[Edit]:
    """Thinking with words in it: without words there is nothing that a text could say."""
    for message in case.messages:
        for chunk in message.chunks:
            signature = chunk.payload.get("signature")
            is_signed = isinstance(signature, str) and bool(signature.strip())
            if chunk.kind is Kind.THINKING and chunk.text.strip() and not is_signed:
                yield Replace(chunk, as_text(chunk))


STRATEGY = Strategy(
    name="unsigned-thinking-to-text",
    safety=frozenset({Safety.LOSSY}),
    summary="turns thinking that has words and no signature into a text between <thinking> tags; signed thinking stays as it is",
    cost="No words are lost. They are text of the answer from then on.",
    user_visible_effect="What the model thought there is shown as part of its answer.",
    pros="Only the blocks that are rejected change: thinking-to-text and strip-thinking take the signed thinking of the latest turn along, which the model still needs.",
    cons="The model may go on to put its thoughts into answers. Thinking without words stays; drop-unsigned-thinking removes it.",
    write_kind="content",
    propose=propose,
    manual_only=True,
    order=455,
)
