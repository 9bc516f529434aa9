"""What people decide about problems: acknowledged, ignored with a reason and an end, assigned, opened again, fixed in code. Each is a line of the audit log and of the problem."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.utils import timezone

from inspector.access.context import NotPermitted, current, everything
from inspector.access.permits import permit, permit_now, why_nowhere
from inspector.actions import audit
from inspector.actions.problems import Refused
from inspector.models import Problem, ProblemEvent, SavedView
from inspector.models.problem import ProblemState, today
from inspector.models.transactions import one_writer
from inspector.presentation.masking import masked
from inspector.presentation.visible import visible
from inspector.text.versions import is_version

ACKNOWLEDGE, IGNORE, ASSIGN, REOPEN, FIX, UNFIX = "acknowledge", "ignore", "assign", "reopen", "fix", "unfix"
DONE = {
    **{ACKNOWLEDGE: "acknowledged", IGNORE: "ignored", ASSIGN: "assigned", REOPEN: "reopened"},
    **{FIX: "marked as fixed", UNFIX: "marked as not fixed"},
}
FOREVER, UNTIL_OCCURS = "", "occurs"
"""Ends of an ignored problem; any other is a day, YYYY-MM-DD."""
REASON, PERSON, NAME, QUERY, VIEWS = 500, 150, 60, 1000, 20
"""Characters that are kept, and views of one person."""

_OID = re.compile(r"[0-9a-f]{12}")
"""What else a form brings is looked for nowhere: PostgreSQL refuses a NUL."""


@dataclass(frozen=True, slots=True)
class Decision:
    """`reason` and `end` of what is ignored; `to` of what is assigned: "" for nobody; `version` of the client in which it is fixed: "" where none is known."""

    action: str
    reason: str = ""
    end: str = FOREVER
    to: str = ""
    version: str = ""


def decide(oids: Iterable[str], decision: Decision, operator: str) -> int:
    """How many problems it changed; those that are so already, or are repaired, stay as they are. Raises Refused; then nothing is changed."""
    if why := why_nowhere("decide"):
        raise NotPermitted(why)
    if decision.action not in DONE:
        raise Refused("This is no action on problems: load the page again, and press one of its buttons.")
    reason = _line(decision.reason, REASON)
    if decision.action == IGNORE and not reason:
        raise Refused("Say why the problem is ignored: whoever looks at it later reads that.")
    until = _day(decision.end) if decision.action == IGNORE else None
    if decision.action == FIX and decision.version and not is_version(decision.version):
        raise Refused("This is no version: write numbers with dots, such as 2.1.108, or nothing where none is known.")
    with one_writer():
        ids = [oid for oid in oids if _OID.fullmatch(oid)]
        problems = list(Problem.objects.filter(oid__in=ids).select_related("source").order_by("pk"))
        if not problems:
            raise Refused("Choose at least one problem by its checkbox, then press the button again.")
        access = current()
        for problem in problems:
            permit("decide", problem)
        if access is not None:
            permit_now(access.name, "decide", *problems)
        with everything():
            return sum(_decide(problem, decision, reason, until, operator) for problem in problems)


def _decide(problem: Problem, decision: Decision, reason: str, until: date | None, operator: str) -> bool:
    detail: dict[str, Any] = {}
    if decision.action == ASSIGN:
        to = _line(decision.to, PERSON)
        if problem.assigned_to == to:
            return False
        problem.assigned_to = to
        detail["to"] = to
    elif decision.action == FIX:
        if problem.fixed_at is not None and problem.fixed_in == decision.version:
            return False
        problem.fixed_in, problem.fixed_at, problem.fixed_by = decision.version, timezone.now(), visible(operator)
        problem.regressed_at = None
        detail["version"] = decision.version
    elif decision.action == UNFIX:
        if problem.fixed_at is None:
            return False
        problem.fixed_in, problem.fixed_at, problem.fixed_by = "", None, ""
    else:
        state = {ACKNOWLEDGE: ProblemState.ACKNOWLEDGED, IGNORE: ProblemState.IGNORED}.get(decision.action, "")
        until_occurs = decision.action == IGNORE and decision.end == UNTIL_OCCURS
        after = (str(state), reason if state == ProblemState.IGNORED else "", until, until_occurs)
        before = (problem.decision, problem.reason, problem.ignored_until, problem.until_occurs)
        if problem.state == ProblemState.REPAIRED or after == before:
            return False
        problem.decision, problem.reason, problem.ignored_until, problem.until_occurs = after
        problem.decided_by, problem.decided_at = visible(operator), timezone.now()
        if state == ProblemState.IGNORED:
            detail |= {"reason": reason, "until": until.isoformat() if until else "it occurs again" if until_occurs else ""}
    problem.save()
    ProblemEvent.objects.create(problem=problem, at=timezone.now(), who=visible(operator), verb=DONE[decision.action], detail=detail)
    audit.record(operator, f"{decision.action} problem", source_path=problem.source.path, problem=problem.oid, rule=problem.code, **detail)
    return True


def _line(text: str, limit: int) -> str:
    """Without secrets: masked before it is cut, since the first half of one is one too."""
    return masked(visible(" ".join(text.split())))[:limit]


def _day(end: str) -> date | None:
    if end in (FOREVER, UNTIL_OCCURS):
        return None
    try:
        day = date.fromisoformat(end)
    except ValueError:
        raise Refused("This is no day: write the end of ignoring as YYYY-MM-DD, or choose another end.") from None
    if day <= (now := today()):
        # Where a person is, it may be the day before, or after.
        raise Refused(
            f"This day is not in the future (in UTC it is {now} now): choose a later one, from whose beginning in UTC the problem is open again."
        )
    return day


def save_view(operator: str, name: str, query: str) -> SavedView:
    """A view with this name is replaced. Raises Refused."""
    name = _line(name, NAME)
    if not name:
        raise Refused("Give the view a name, then save it again.")
    if len(query) > QUERY:
        raise Refused("This choice is too long to be saved: search for less.")
    with one_writer():
        views = SavedView.objects.filter(who=operator)
        if views.exclude(name=name).count() >= VIEWS:
            raise Refused(f"There are {VIEWS} saved views: remove one, then save this one.")
        view, _ = SavedView.objects.update_or_create(who=operator, name=name, defaults={"query": query})
    return view


def remove_view(operator: str, name: str) -> None:
    with one_writer():
        SavedView.objects.filter(who=operator, name=_line(name, NAME)).delete()
