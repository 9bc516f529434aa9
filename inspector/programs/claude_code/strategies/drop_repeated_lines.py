"""Removes the lines of an answer that repeat lines of it."""

from inspector.conversation.edits import Remove, Safety
from inspector.programs.claude_code.repeated_lines import repeated_lines
from inspector.strategies.base import Strategy

STRATEGY = Strategy(
    name="drop-repeated-lines",
    safety=frozenset({Safety.LOSSY}),
    summary="keeps the lines of each answer once, by its `message.id` and their content: the copy that results name as their call's line, else the first",
    cost="Only that the lines were stored twice is lost. Children of a removed line get its parent.",
    user_visible_effect="An answer that was shown twice is shown once.",
    pros="Only lines of one answer with equal content go, and the copy stays that the rest of the session refers to. Ids and results stay as they are.",
    cons="The second copy is evidence of what wrote it, such as a synchronized folder; undo and the audit log keep it.",
    write_kind="W2",
    propose=lambda case: (Remove(chunk) for _, repeated in repeated_lines(case) for chunk in repeated),
    order=225,
)
