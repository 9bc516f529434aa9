"""Removes thinking that can be rejected as modified, and no other: the hollow blocks in the middle of the latest turn, or all of that turn."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit, Remove, Safety
from inspector.programs.claude_code.thinking import THINKING, inner_hollow, latest_turn
from inspector.rules.base import Case
from inspector.strategies.base import Strategy


def _of_latest_turn(case: Case) -> Iterator[Edit]:
    return (Remove(chunk) for message in latest_turn(case) for chunk in message.chunks if chunk.kind in THINKING)


STRATEGY = (
    Strategy(
        name="drop-hollow-thinking",
        safety=frozenset({Safety.LOSSY}),
        summary="removes thinking without words after the first call of the latest turn; the block that leads the turn stays, and so does all thinking of earlier turns",
        cost="The signatures of these blocks leave the history. Words are not lost: the lines have none.",
        user_visible_effect="Nothing: there is nothing in them to show.",
        pros="The cure that reports name, and only for the blocks that can be rejected. The first block stays, which a turn of calls has to start with.",
        cons="Where the provider gave no words either, the session was not damaged, and the model loses what the signatures carry.",
        write_kind="W2",
        propose=lambda case: (Remove(chunk) for chunk in inner_hollow(case)),
        order=452,
    ),
    Strategy(
        name="drop-latest-thinking",
        safety=frozenset({Safety.LOSSY}),
        summary="removes the thinking of the latest turn; that of earlier turns stays",
        cost="What the model thought in that turn leaves the history.",
        user_visible_effect="The last answers are shown without their thinking.",
        pros="Where a block is missing or was signed for another model, no change of single blocks can be proven; thinking that is not sent cannot be rejected.",
        cons="With thinking switched on, a turn of calls that still runs has to start with thinking (AN-15): end it first, by a message of your own.",
        write_kind="W2",
        propose=_of_latest_turn,
        manual_only=True,
        order=475,
    ),
)
