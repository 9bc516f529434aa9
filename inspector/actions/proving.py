"""Reads a written repair back from the store and judges it again."""

from dataclasses import replace

from inspector.actions.planning import current
from inspector.models import Repair, loading
from inspector.planning.preview import Preview, look
from inspector.programs.formats import Stored
from inspector.rules.base import Case


def surprise(repair: Repair, preview: Preview) -> str:
    """How the store differs from the preview; "" where every chunk and every finding is as previewed. Raises Refused where it cannot be read."""
    target = loading.format_of(repair.conversation.source).target(preview.plan)
    return surprise_in(repair, preview, current(repair.conversation, target))


def reads_as_planned(case: Case, preview: Preview, result: Stored | None) -> bool:
    """Whether every chunk of `result`, as `case` looks at it, is as previewed."""
    expected = [chunk.raw for chunk in preview.after.case.conversation.chunks]
    return result is not None and [chunk.raw for chunk in case.view(result.conversation).chunks] == expected


def surprise_in(repair: Repair, preview: Preview, result: Stored | None) -> str:
    if result is None or not reads_as_planned(preview.after.case, preview, result):
        return "what was written does not read back as previewed"
    conversation = result.conversation
    if loading.format_of(repair.conversation.source).target(preview.plan) != preview.plan.conversation:
        # What a list next to it says of a new conversation, as that it does not hold it, is no record of the plan.
        own = {record.key for record in result.records}
        conversation = replace(
            conversation, facts={name: fact for name, fact in conversation.facts.items() if not fact.key or fact.key in own}
        )
    side = look(preview.before.case.with_conversation(conversation), repair.projection, repair.profile)
    if side.case is preview.after.case:
        # What is read is equal to the preview down to the last byte and fact, and so are the findings.
        return ""
    if [(finding.code, finding.seqs) for finding in side.findings] != [(finding.code, finding.seqs) for finding in preview.after.findings]:
        return "the rules find something else than previewed"
    return ""
