"""Removes results that repeat another result of the same call byte for byte."""

from inspector.conversation.edits import Remove, Safety
from inspector.rules.repeated_output import superfluous
from inspector.strategies.base import Strategy

STRATEGY = Strategy(
    name="deduplicate-results",
    safety=frozenset({Safety.LOSSY}),
    summary="keeps one of the results of a call that are equal byte for byte, and removes the others",
    cost="Nothing that was said is lost, only how often it was stored.",
    user_visible_effect="A tool output that was shown several times is shown once after a reload.",
    pros="A provider takes one result for a call and refuses more, or the model pays for each copy again on every request.",
    cons="The copies are evidence of what went wrong in the run. Results that differ, and ids that several calls share, are left as they are.",
    write_kind="W2",
    propose=lambda case: (Remove(result) for group in superfluous(case) for result in group),
    order=270,
)
