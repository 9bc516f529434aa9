"""Sources that come and go from the browser: adding by path, upload or text, removing with what was derived, and the switch of the demo."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect

from inspector import background
from inspector.access.permits import permit
from inspector.actions.add_source import addresses, brought, limit_of_adding, named, roots
from inspector.actions.problems import Refused
from inspector.actions.remove_source import Removed, begin_removal, what_goes
from inspector.middleware import OperatorRequest, accepts, web_limit
from inspector.models import Source
from inspector.presentation.visible import visible
from inspector.sources.browsing import Entry, entries
from inspector.sources.problems import SourceProblem
from inspector.sources.reach import limited
from inspector.sources.uploads import LARGEST
from inspector.views.pages import as_json, page


@dataclass(frozen=True, slots=True)
class AddPage:
    """`folder` is the one that is looked at, "" for the list of roots; `above` the one that leads to it."""

    roots: tuple[str, ...]
    addresses: tuple[str, ...]
    folder: str
    above: str
    entries: tuple[Entry, ...]
    more: bool
    problem: str
    largest: int
    """Megabytes of an upload."""
    is_listed: bool
    """INSPECTOR_SOURCES says what may be added."""


def _add_page(request: OperatorRequest) -> AddPage:
    permit("add source")
    listing: list[Entry] = []
    folder, more, problem = request.GET.get("folder", ""), False, ""
    with limited(limit_of_adding(web_limit())):
        if folder:
            try:
                listing, more = entries(named(folder))
            except (SourceProblem, Refused) as refused:
                folder, problem = "", visible(str(refused))
    tops = tuple(map(str, roots()))
    above = "" if folder in ("", *tops) else folder.rstrip("/").rpartition("/")[0]
    return AddPage(tops, addresses(), folder, above, tuple(listing), more, problem, LARGEST >> 20, bool(settings.INSPECTOR_SOURCES))


@accepts("GET", "HEAD", "POST")
def add(request: OperatorRequest) -> HttpResponse:
    """POST adds the `path`, the `file`, or the `text` under a `name`."""
    if request.method != "POST":
        content = _add_page(request)
        return page(request, "source_add.html", content, twins=("json",), status=400 if content.problem else 200)
    try:
        work = background.add(_wanted(request), request.operator)
    except (SourceProblem, Refused) as problem:
        messages.error(request, visible(str(problem)))
        return redirect("add-source")
    return redirect("task", key=work.task.key)


def add_json(request: OperatorRequest) -> HttpResponse:
    content = _add_page(request)
    answer = {
        **{name: getattr(content, name) for name in ("roots", "addresses", "folder", "more")},
        "entries": [{"name": visible(entry.name), "path": entry.path, "size": entry.size} for entry in content.entries],
    }
    return as_json(answer | {"error": content.problem} if content.problem else answer, status=400 if content.problem else 200)


def _wanted(request: OperatorRequest) -> str:
    """The path or address that is to be imported. Raises SourceProblem, Refused."""
    upload = request.FILES.get("file")
    if isinstance(upload, UploadedFile):
        return brought(upload.name or "", upload.chunks())
    if text := request.POST.get("text", ""):
        return brought(request.POST.get("name", ""), _pieces(text))
    with limited(limit_of_adding(web_limit())):
        return named(request.POST.get("path", ""))


def _pieces(text: str) -> Iterator[bytes]:
    # A form sends every line end as CR LF.
    yield text.replace("\r\n", "\n").encode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True)
class RemovePage:
    source: Source
    goes: Removed


@accepts("GET", "HEAD", "POST")
def remove(request: OperatorRequest, oid: str) -> HttpResponse:
    """GET says what goes; POST with the name of the source as `confirm` removes it."""
    source = get_object_or_404(Source, oid=oid)
    permit("remove", source)
    if request.method != "POST":
        return page(request, "source_remove.html", RemovePage(source, what_goes(source)), twins=("json",))
    if request.POST.get("confirm", "").strip() != visible(source.name):
        messages.error(request, f"Nothing was removed: type {visible(source.name)}, the name of the source, to say that it is this one.")
        return redirect("remove-source", oid=oid)
    try:
        begin_removal(source, request.operator, request.POST.get("reason", ""), request.POST.get("undo") == "lost")
    except (SourceProblem, Refused) as problem:
        messages.error(request, visible(str(problem)))
        return redirect("remove-source", oid=oid)
    return redirect("task", key=background.remove(source, request.operator).task.key)


def remove_json(request: OperatorRequest, oid: str) -> HttpResponse:
    source = get_object_or_404(Source, oid=oid)
    permit("remove", source)
    return as_json(report_of(what_goes(source)))


def report_of(goes: Removed) -> dict[str, Any]:
    return {field.name: getattr(goes, field.name) for field in fields(goes)}


@accepts("POST")
def demo(request: OperatorRequest) -> HttpResponse:
    return redirect("task", key=background.switch_demo(request.POST.get("on") == "1", request.operator).task.key)
