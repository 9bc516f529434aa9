"""The page of a background task: what is being done and how far it is. Who waits for it is led on to what came of it; later it says how it ended, and why."""

from dataclasses import dataclass
from datetime import timedelta

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django_htmx.http import HttpResponseClientRedirect, HttpResponseClientRefresh

from inspector import background
from inspector.middleware import OperatorRequest
from inspector.models import BackgroundTask
from inspector.presentation.visible import visible
from inspector.views.pages import page

WAITED = timedelta(minutes=1)
"""After its end: who opens a task later did not wait for it."""


LISTED = 50
STATES = ("running", "failed", "done")


@dataclass(frozen=True, slots=True)
class StateTab:
    """`state` is "" for all."""

    state: str
    count: int
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class TasksPage:
    """Those that began last, of the state that is chosen; what they did is kept for some days."""

    works: tuple[background.Work, ...]
    tabs: tuple[StateTab, ...]
    """Of all; () where there is no task."""


def tasks(request: OperatorRequest) -> HttpResponse:
    """What runs in the background, and what did."""
    rows = BackgroundTask.objects.select_related("conversation__source", "source").order_by("-started_at", "-pk")
    works = tuple(background.state_of(row) for row in rows[:LISTED])
    chosen = request.GET.get("state", "")
    chosen = chosen if chosen in STATES else ""
    tabs = tuple(StateTab(state, sum(state in ("", work.state) for work in works), state == chosen) for state in ("", *STATES))
    return page(request, "tasks.html", TasksPage(tuple(work for work in works if chosen in ("", work.state)), tabs if works else ()))


def task(request: OperatorRequest, key: str) -> HttpResponse:
    """htmx asks for its part every few seconds, and gets the address to go to when the task ended."""
    work = background.state_of(get_object_or_404(BackgroundTask.objects.select_related("conversation__source", "source"), key=key))
    if work.is_running:
        return page(request, "task.html", work, part="progress")
    is_part = request.htmx and not request.htmx.boosted
    has_failed = bool(work.problem) and work.task.kind in background.ACTS
    is_old = work.task.ended_at is not None and work.task.ended_at < timezone.now() - WAITED
    if (has_failed or is_old) and not is_part:
        return page(request, "task.html", work)
    if is_part:
        # The page of a preview shows it when it is loaded again, and this one why it failed.
        leads_on = work.task.kind in background.ACTS and not has_failed
        if leads_on:
            _tell(request, work)
        return HttpResponseClientRedirect(work.task.back) if leads_on else HttpResponseClientRefresh()
    if work.task.kind in background.ACTS:
        _tell(request, work)
    return HttpResponseRedirect(work.task.back)


def _tell(request: OperatorRequest, work: background.Work) -> None:
    if work.task.answer:
        messages.success(request, visible(work.task.answer))
