"""Gives an answer that is labeled as the user's its own label again."""

from collections.abc import Iterator
from dataclasses import replace

from inspector.conversation.edits import Edit, Replace, Safety
from inspector.programs.claude_code.rules.mislabeled_line import check
from inspector.rules.base import Case
from inspector.strategies.base import Strategy


def propose(case: Case) -> Iterator[Edit]:
    for match in check(case):
        for chunk in match.chunks:
            yield Replace(chunk, replace(chunk, role="assistant"))


STRATEGY = Strategy(
    name="relabel-answer",
    safety=frozenset[Safety](),
    summary="labels a line that holds an answer of the model as an answer again",
    cost="No words change: only whose they are.",
    user_visible_effect="The answer appears as the model's.",
    pros="The line itself has the id and the model of the answer, which no line of the user's has.",
    cons="Where a person pasted such a line on purpose, it was meant as the user's.",
    write_kind="content",
    propose=propose,
    order=60,
)
