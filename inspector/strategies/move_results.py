"""Moves every result that is elsewhere directly after the message of its call."""

from collections.abc import Iterator
from dataclasses import replace

from inspector.conversation.edits import Edit
from inspector.rules.base import Case
from inspector.rules.displaced_result import displaced
from inspector.strategies.arrangement import placed
from inspector.strategies.base import Strategy


def propose(case: Case) -> Iterator[Edit]:
    moving = displaced(case)
    if moving:
        yield from placed(
            case,
            [(after, replace(result, key=f"moved:{result.key}")) for after, result in moving],
            {result.key: result for _, result in moving},
        )


STRATEGY = Strategy(
    name="move-results",
    safety=frozenset(),
    summary="moves each tool result that came late, early or in between directly after the message of its call",
    cost="No content changes: only where the result is.",
    user_visible_effect="The output of a tool is shown where it was called instead of where it arrived.",
    pros="The real output is kept. Synthetic results, which programs put in such a place, throw it away or leave it as a second answer that providers refuse.",
    cons="What the model said between the call and the late result was said without knowing it; afterwards it reads as if it had known.",
    write_kind="W3",
    propose=propose,
    order=250,
)
