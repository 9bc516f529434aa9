"""Removes thinking from all turns but the latest."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit, Safety
from inspector.detectors.base import Case
from inspector.repairs.base import Strategy
from inspector.repairs.stripped_thinking import latest_turn, stripped


def propose(case: Case) -> Iterator[Edit]:
    kept = latest_turn(case)
    return stripped(case, lambda chunk: chunk.key not in kept)


STRATEGY = Strategy(
    name="strip-old-thinking",
    safety=frozenset({Safety.LOSSY}),
    summary="removes thinking from every turn but the latest",
    cost="What the model thought in earlier turns leaves the history (undo and the audit page keep it).",
    noticed_by_user="Earlier answers are shown without what was thought before them.",
    argued_for="Anthropic asks for thinking of the latest turn only and ignores older blocks; the report on rollouts' refused session proposed it as its third part, and rollouts had it for a day.",
    argued_against=(
        "It did not mend that session: there the blocks of the latest message were the trouble, and rollouts took it back the same day. "
        "Gemini 3 and DeepSeek want older reasoning back; and removing blocks before a signed one may unsettle it."
    ),
    write_kind="W2",
    propose=propose,
    by_choice=True,
)
