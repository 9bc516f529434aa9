"""The plans of the conversations of a problem, before they are proposed together."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import QuerySet

from inspector.access.context import unlimited
from inspector.actions.kept_previews import kept_preview
from inspector.actions.planning import mode_named, reader_named, shown_digest
from inspector.actions.problems import Refused
from inspector.actions.repair_groups import MOST
from inspector.actions.shown_previews import first_ticked, offered, request_of_choice
from inspector.models import Conversation, Occurrence, Problem, Repair, loading
from inspector.models.problem import WORST_FIRST
from inspector.planning.preview import Preview
from inspector.presentation.repair.group_sum import plan_facts
from inspector.presentation.repair.plan import left_less
from inspector.readers.catalogue import UnknownReader
from inspector.strategies.catalogue import STRATEGIES

NONE = "No conversation has this problem now."


@unlimited
def occurrences_of(problem: Problem) -> list[Conversation]:
    """The conversations in which it occurs now, the worst first, as many as one group may have."""
    rows = _writable(problem).order_by(*WORST_FIRST)
    return [row.conversation for row in rows.select_related("conversation__source")[:MOST] if row.conversation]


@unlimited
def number_left(problem: Problem) -> int:
    """Conversations that are more than one group may have."""
    return max(0, _writable(problem).count() - MOST) if problem.conversations > MOST else 0


def why_none(problem: Problem) -> str:
    """Why no conversation of it can be repaired; "" where one can."""
    if _writable(problem).exists():
        return ""
    return (
        "Only crash files have this problem. They are evidence of what was refused, and are never written."
        if problem.conversations
        else NONE
    )


def _writable(problem: Problem) -> QuerySet[Occurrence]:
    """A crash file is evidence, and never written."""
    return Occurrence.objects.filter(problem=problem, state=Occurrence.State.OPEN, conversation__is_crash=False)


@unlimited
def planned_all(rows: Iterable[Conversation], code: str, strategies: Sequence[str], mode: str) -> list[dict[str, Any]]:
    """As `planned`, of conversations for which no repair waits; the others say which does."""
    rows = list(rows)
    waiting = dict(Repair.objects.filter(conversation__in=rows, state__in=Repair.WAITING).values_list("conversation_id", "oid"))
    return [
        _member(row, mode, problem=f"Repair {waiting[row.pk]} of it waits for a decision already.") | {"repair": waiting[row.pk]}
        if row.pk in waiting
        else planned(row, code, strategies, mode)
        for row in rows
    ]


@unlimited
def planned(row: Conversation, code: str, strategies: Sequence[str], mode: str) -> dict[str, Any]:
    """JSON: the plan of one conversation, or as `problem` why there is none. Without `strategies`, those that its own page suggests.

    `at` is the time (epoch ms) of the entry of a new conversation in a list, and `seen` the digest of what was previewed.
    """
    member = _member(row, mode)
    try:
        format_ = loading.format_of(row.source)
        member |= {"mode": mode_named(format_, mode), "reader": reader_named(format_, row.source.reader)}
        chosen = strategies or first_ticked(offered(row, ""))
        chosen = [strategy.name for strategy in STRATEGIES if strategy.name in chosen]
        if not chosen:
            raise Refused("No one repair is suggested for what was found in it: choose one on its page.")
        request = request_of_choice(row, tuple(chosen), member["mode"], member["reader"], "")
        preview = kept_preview(row, row.revision, request)
        facts = plan_facts(preview)
        if why := _why_no_repair(preview, facts, code):
            raise Refused(f"{', then '.join(chosen)}: {why}")
    except (Refused, UnknownReader) as problem:
        return member | {"problem": str(problem)}
    at = preview.plan.options.get("listed_at")
    return member | {"strategies": chosen, "at": int(at) if at else None, "seen": shown_digest(preview), "plan": facts}


def _member(row: Conversation, mode: str, problem: str = "") -> dict[str, Any]:
    return {
        "conversation": row.oid,
        "strategies": [],
        "mode": mode,
        "reader": row.source.reader,
        "at": None,
        "seen": "",
        "plan": {},
        "problem": problem,
    }


def _why_no_repair(preview: Preview, facts: dict[str, Any], code: str) -> str:
    if code not in left_less(facts["counts"]):
        return f"{code} would still be found in it."
    if preview.before.judgement.sendable and not preview.after.judgement.sendable:
        return f"a provider accepts it now and would reject the result: {preview.after.judgement.verdict}."
    return ""
