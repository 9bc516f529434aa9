"""Takes the content out of reasoning that another provider gave."""

from collections.abc import Iterator
from dataclasses import replace

from inspector.conversation.edits import Edit, Replace, Safety
from inspector.programs.codex.lone_reasoning import extra_of, with_content
from inspector.rules.base import Case
from inspector.strategies.base import Strategy


def propose(case: Case) -> Iterator[Edit]:
    """Where it has no encrypted content either, what stays is an item that says nothing, which OpenAI takes."""
    for chunk in with_content(case):
        # The words are those of the summary, and without one of the content that goes.
        summary = extra_of(chunk).get("summary")
        text = chunk.payload.get("text") if summary else ""
        yield Replace(chunk, replace(chunk, payload={**chunk.payload, "text": text, "extra": {**extra_of(chunk), "content": None}}))


STRATEGY = Strategy(
    name="drop-reasoning-content",
    safety=frozenset({Safety.LOSSY}),
    summary="takes the content out of reasoning, as OpenAI wants it",
    cost="What the other provider's model thought leaves the history.",
    user_visible_effect="Answers are shown without this reasoning.",
    pros="OpenAI takes no content of reasoning, in no request; the item itself stays, with its summary.",
    cons="Going on with the provider that gave it, the model loses the thread of it.",
    write_kind="content",
    propose=propose,
    order=465,
)
