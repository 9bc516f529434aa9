"""Removes thinking without a signature."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit, Safety
from inspector.conversation.model import Kind
from inspector.rules.base import Case
from inspector.strategies.base import Strategy
from inspector.strategies.stripped_thinking import stripped


def propose(case: Case) -> Iterator[Edit]:
    return stripped(case, lambda chunk: chunk.kind is Kind.THINKING and not chunk.payload.get("signature"))


STRATEGY = Strategy(
    name="drop-unsigned-thinking",
    safety=frozenset({Safety.LOSSY}),
    summary="removes thinking that has no signature",
    cost="What the model thought there leaves the history (undo and the audit page keep it).",
    user_visible_effect="These answers are shown without what was thought before them.",
    pros="A stream that ended early leaves thinking without its signature, which Anthropic refuses; a signature cannot be made up.",
    cons="With thinking switched on, a turn of tool calls must start with thinking (AN-15): where the unsigned block was its first, turning it into text is refused as well.",
    write_kind="W2",
    propose=propose,
    manual_only=True,
    order=450,
)
