"""The page of a background task: what is being done, until it is done; then it leads on to what came of it."""

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django_htmx.http import HttpResponseClientRedirect, HttpResponseClientRefresh

from inspector import background
from inspector.middleware import OperatorRequest
from inspector.models import BackgroundTask
from inspector.presentation.visible import visible
from inspector.views.pages import page


def task(request: OperatorRequest, key: str) -> HttpResponse:
    """htmx asks for its part every few seconds, and gets the address to go to when the task ended."""
    work = background.state_of(get_object_or_404(BackgroundTask.objects.select_related("conversation__source"), key=key))
    if work.is_running:
        return page(request, "task.html", work, part="progress")
    if work.task.kind in background.ACTS:
        if work.problem:
            messages.error(request, visible(work.problem))
        elif work.task.answer:
            messages.success(request, visible(work.task.answer))
    if request.htmx and not request.htmx.boosted:
        # The page of a preview shows it when it is loaded again.
        return HttpResponseClientRedirect(work.task.back) if work.task.kind in background.ACTS else HttpResponseClientRefresh()
    return HttpResponseRedirect(work.task.back)
