"""Leads lines past lines of hooks that a resume does not read, or whose uuid is used again."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit
from inspector.programs.claude_code.chain import split_tree
from inspector.programs.claude_code.detours import detours, led_past
from inspector.programs.claude_code.relinking import path_edits
from inspector.rules.base import Case
from inspector.strategies.base import Strategy


def propose(case: Case) -> Iterator[Edit]:
    lines = detours(case)
    if case.tree is not None and lines:
        tree = split_tree(case)
        yield from path_edits(case, tree, led_past(tree, lines))


STRATEGY = Strategy(
    name="relink-past-unread-line",
    safety=frozenset(),
    summary="leads a line below a hook's line that a resume does not read, or whose uuid several lines have, to the parent of the last such line before it",
    cost="No content changes: one parent in each of these lines. The lines of the hooks stay in the file, and nothing hangs below them.",
    user_visible_effect="The history before each of these lines is back, and the model knows it.",
    pros="The parent is the one that the hook's line names, which was written directly before: nothing is inferred from words or times.",
    cons="Where two processes wrote at once, the last such line may be the other one's: compare how many messages a resume reaches before and after.",
    write_kind="W3",
    propose=propose,
    order=74,
)
