"""The list of repairs: tabs by state, filters in the address, and what can be decided on several at once."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from django.conf import settings
from django.contrib import messages
from django.db.models import Q, QuerySet
from django.http import HttpResponse, HttpResponseRedirect, QueryDict

from inspector.access.context import NotPermitted
from inspector.actions import reviewing
from inspector.actions.decide_repair import reject_repair
from inspector.actions.problems import Refused
from inspector.middleware import OperatorRequest, accepts
from inspector.models import Repair, Source
from inspector.presentation.visible import clipped, visible
from inspector.sources.problems import SourceProblem
from inspector.views.conversation_list import is_without_demo
from inspector.views.pages import as_json, page
from inspector.views.paging import ListWindow, window
from inspector.views.repair_rows import RepairRow, rows_of, with_comments, with_together
from inspector.views.repairs import facts_of

LISTED = 500
"""Repairs of the `.json` list; `total` counts all."""
CHOSEN = 50
"""Repairs at most that are decided on at once: a page of the list."""
OFFERED = 200
"""People at most who can be chosen from."""
TABS = {
    "waiting": (Repair.State.PROPOSED,),
    "approved": (Repair.State.APPROVED,),
    "applied": (Repair.State.APPLIED, Repair.State.VERIFIED),
    "closed": (Repair.State.REJECTED, Repair.State.UNDONE, Repair.State.OVERWRITTEN, Repair.State.STALE, Repair.State.FAILED),
}
SORTS = {
    "": ("-id",),
    "when": ("id",),
    "-when": ("-id",),
    "who": ("proposed_by", "id"),
    "-who": ("-proposed_by", "-id"),
}
"""What the address may ask for -> the columns; ids are in the order in which repairs were proposed. Those of a tab are sorted: people propose them one by one."""


class Tab(NamedTuple):
    name: str
    total: int
    is_current: bool


class RepairFilters(NamedTuple):
    """`mine`: only those that ask the person who looks to review them, or to change what they proposed."""

    q: str
    source: str
    proposer: str
    mine: bool

    @property
    def any(self) -> bool:
        return any(self)


@dataclass(frozen=True, slots=True)
class RepairList:
    here: ListWindow[Repair]
    rows: tuple[RepairRow, ...]
    tabs: tuple[Tab, ...]
    tab: str
    total: int
    """In all tabs."""
    filters: RepairFilters
    sort: str
    query: str
    """Of this list, to come back to it after a decision."""
    sources: tuple[tuple[str, str], ...]
    """Which have repairs, to choose one of them."""
    proposers: tuple[tuple[str, str], ...]
    second_approver: bool

    @property
    def is_waiting(self) -> bool:
        """Whether those of the tab can still be rejected."""
        return self.tab in ("waiting", "approved")

    @property
    def without_demo(self) -> bool:
        return is_without_demo(Source.objects.only("is_demo"), "")


def _filters(request: OperatorRequest) -> RepairFilters:
    params = request.GET
    q, proposer = (visible(params.get(name, "").strip())[:200] for name in ("q", "proposer"))
    return RepairFilters(q, visible(params.get("source", ""))[:12], proposer, bool(params.get("mine")))


def _sort(request: OperatorRequest) -> tuple[str, ...]:
    return SORTS.get(request.GET.get("sort", ""), SORTS[""])


def _chosen(rows: QuerySet[Repair], filters: RepairFilters, operator: str) -> QuerySet[Repair]:
    if q := filters.q:
        about = Q(conversation__title__icontains=q) | Q(conversation__native_id__startswith=q) | Q(oid__startswith=q)
        written = Q(reason__icontains=q) | Q(incident__icontains=q)
        # The codes are the keys of a JSON object.
        rows = rows.filter(about | written | Q(strategies__icontains=q) | Q(counts__icontains=f'"{q}'))
    if filters.proposer:
        rows = rows.filter(proposed_by=filters.proposer)
    to_review = Q(reviewers__contains=json.dumps(operator), changes_by="")
    return rows.filter(to_review | Q(proposed_by=operator) & ~Q(changes_by="")) if filters.mine else rows


def _repairs_of_tab(tab: str, filters: RepairFilters, operator: str) -> QuerySet[Repair]:
    rows = Repair.listed(TABS[tab], filters.source) if tab in TABS else Repair.objects.counted(filters.source)
    return _chosen(rows.select_related("conversation__source", "group"), filters, operator)


def repair_list(request: OperatorRequest) -> HttpResponse:
    """Without a tab: the first that has a repair, in the order in which they ask for somebody."""
    filters = _filters(request)
    of_tabs = {tab: _repairs_of_tab(tab, filters, request.operator) for tab in TABS}
    counts = {tab: rows.count() for tab, rows in of_tabs.items()}
    chosen = request.GET.get("tab", "")
    tab = chosen if chosen in TABS else next((name for name, count in counts.items() if count), "waiting")
    here = window(with_comments(with_together(of_tabs[tab], TABS[tab])), _sort(request), counts[tab], request.GET)
    people = Repair.objects.order_by("proposed_by").values_list("proposed_by", flat=True).distinct()[:OFFERED]
    sources = Source.objects.filter(pk__in=Repair.objects.values("conversation__source"))
    return page(
        request,
        "repairs.html",
        RepairList(
            here,
            rows_of(here.rows),
            tuple(Tab(name, count, name == tab) for name, count in counts.items()),
            tab,
            sum(counts.values()),
            filters,
            request.GET.get("sort", "") if request.GET.get("sort", "") in SORTS else "",
            request.GET.urlencode(),
            tuple((source.oid, clipped(visible(source.name), 60)[0]) for source in sources),
            tuple((name, clipped(visible(name), 60)[0]) for name in people),
            settings.INSPECTOR_REQUIRE_SECOND_APPROVER,
        ),
        twins=("json",),
    )


def repair_list_json(request: OperatorRequest) -> HttpResponse:
    repairs = _repairs_of_tab(request.GET.get("tab", ""), _filters(request), request.operator).order_by(*_sort(request))
    listed = repairs[:LISTED]
    return as_json(
        {
            "repairs": [
                {**facts_of(repair), "conversation": repair.conversation.oid, "mode": repair.mode, "plan_digest": repair.plan_digest}
                for repair in listed
            ],
            "total": repairs.count(),
        }
    )


@accepts("POST")
def decide(request: OperatorRequest) -> HttpResponse:
    """Rejects each chosen repair, or asks people to review it. Nothing is approved here: who approves has seen the diff."""
    form, operator = request.POST, request.operator
    text, names = form.get("comment", ""), form.get("reviewers", "")
    repairs = list(Repair.objects.select_related("conversation__source", "group").filter(oid__in=form.getlist("repair")[:CHOSEN]))
    if not repairs:
        messages.error(request, "No repair is chosen: tick those that are meant.")
    elif form.get("action") == "reject":
        _one_by_one(request, repairs, partial(reject_repair, operator=operator, comment=text), "rejected. Nothing was written.")
    elif form.get("action") == "ask" and names.strip():
        _one_by_one(request, repairs, partial(reviewing.request_reviewers, operator=operator, names=names), "asked about.")
    else:
        messages.error(request, "Nothing was decided: name who is to review the chosen repairs, or reject them.")
    known = QueryDict(form.get("query", "")[:2000]).dict()
    kept = QueryDict(mutable=True)
    kept.update({name: value for name, value in known.items() if name in ("tab", "sort", *RepairFilters._fields)})
    return HttpResponseRedirect(f"/repairs/?{kept.urlencode()}" if kept else "/repairs/")


def _one_by_one(request: OperatorRequest, repairs: Iterable[Repair], act: Callable[[Repair], object], done_words: str) -> None:
    """One that is refused does not stop the others."""
    done = 0
    for repair in repairs:
        try:
            act(repair)
            done += 1
        except (Refused, SourceProblem, NotPermitted) as problem:
            sentence = problem.sentence if isinstance(problem, SourceProblem) else str(problem)
            title = clipped(repair.conversation.title or repair.conversation.short_native_id, 60)[0]
            messages.error(request, visible(f"{title}: {sentence}"))
    if done:
        messages.success(request, f"{done} repair{'' if done == 1 else 's'} {done_words}")
