"""Removes thinking from all turns but that of the last assistant message."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit, Safety
from inspector.rules.base import Case
from inspector.strategies.base import Strategy
from inspector.strategies.stripped_thinking import latest_turn, stripped


def propose(case: Case) -> Iterator[Edit]:
    kept = latest_turn(case)
    return stripped(case, lambda chunk: chunk.key not in kept)


STRATEGY = Strategy(
    name="strip-old-thinking",
    safety=frozenset({Safety.LOSSY}),
    summary="removes thinking from every turn before that of the last assistant message",
    cost="What the model thought in earlier turns leaves the history (undo and the audit page keep it).",
    user_visible_effect="Earlier answers are shown without what was thought before them.",
    pros=(
        "Anthropic asks for the thinking of the latest turn only and ignores older blocks. The third part of the proposal in the report on rollouts' rejected session goes further: "
        "it strips every assistant message but the last one, as rollouts did for a day. Here the whole turn of that message stays, because each step of a turn of tool calls must keep its thinking."
    ),
    cons=(
        "It does not repair that session: the rejected blocks are those of the latest message, and rollouts took the change back the same day. "
        "Gemini 3 and DeepSeek want older reasoning back; and removing blocks before a signed one may unsettle it."
    ),
    write_kind="W2",
    propose=propose,
    manual_only=True,
    order=470,
)
