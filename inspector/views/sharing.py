"""Links without a login: where they are made, and the one list of them, in which they are revoked."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib import messages
from django.db.models import F, Q
from django.db.models.functions import Coalesce
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone

from inspector.access.context import NotPermitted
from inspector.access.permits import may, permit, why_nowhere
from inspector.actions.problems import Refused
from inspector.actions.share import DAYS, LOCAL, MODELS, Shared, label_of, make_link, revoke
from inspector.cache_headers import exact
from inspector.environment import is_local
from inspector.middleware import OperatorRequest, accepts
from inspector.models import ShareLink, Source
from inspector.presentation.json_text import json_fields
from inspector.presentation.typed import NOTHING, Typed, refused
from inspector.views.pages import absolute, as_json, page
from inspector.views.paging import ListWindow, in_memory

PER_PAGE = 50
SORTS: Mapping[str, Any] = {
    "what": F("label"),
    "made": F("id"),
    "ends": Coalesce("revoked_at", "expires_at"),
    "opened": F("opened"),
}
"""What the address may ask for; ids are in the order in which links were made. Those of a tab are sorted: admins make them one by one."""
TABS = ("open", "ended")


@dataclass(frozen=True, slots=True)
class SharePage:
    kind: str
    about: Shared
    href: str
    may_be_exact: bool
    local: str
    days: tuple[int, ...] = DAYS
    link: ShareLink | None = None
    typed: Typed = NOTHING
    address: str = ""
    """Of the link that was made just now; it is shown once."""

    @property
    def is_loopback(self) -> bool:
        """Whether nobody on another machine can open the address."""
        return is_local([urlsplit(self.address).hostname or ""])

    @property
    def label(self) -> str:
        return label_of(self.about)

    @property
    def day_choices(self) -> tuple[tuple[str, str], ...]:
        return tuple((str(days), f"{days} day{'s' if days > 1 else ''}") for days in self.days)


@accepts("GET", "HEAD", "POST")
def share(request: OperatorRequest, kind: str, oid: str) -> HttpResponse:
    """POST with `days`, `exact`, `note` makes a link, and shows it once."""
    if kind not in MODELS:
        raise Http404
    model, path = MODELS[kind]
    about: Shared = get_object_or_404(model._default_manager.select_related(path), oid=oid)  # type: ignore[assignment]
    permit("share", about)
    content = SharePage(kind, about, f"/{kind}s/{oid}/", may("reveal", about), LOCAL if settings.INSPECTOR_LOCAL else "")
    if request.method != "POST":
        return page(request, "share.html", content)
    days = request.POST.get("days", "")
    try:
        link, token = make_link(
            about,
            request.operator,
            int(days) if days in map(str, DAYS) else 0,
            request.POST.get("exact") == "1",
            request.POST.get("note", ""),
        )
    except Refused as problem:
        return page(request, "share.html", replace(content, typed=refused("share", request.POST.dict(), problem)), status=409)
    created = SharePage(kind, about, content.href, content.may_be_exact, "", link=link, address=absolute(request, f"/share/{token}/"))
    return exact(page(request, "share.html", created))


@dataclass(frozen=True, slots=True)
class LinkRow:
    link: ShareLink
    state: str
    """`open`, `expired` or `revoked`."""


class LinkTab(NamedTuple):
    name: str
    total: int
    is_current: bool


@dataclass(frozen=True, slots=True)
class LinksPage:
    """`tab` is "" where all are listed; `total` is of all tabs."""

    rows: tuple[LinkRow, ...]
    here: ListWindow[int]
    tabs: tuple[LinkTab, ...]
    tab: str
    total: int
    local: str


def _links(request: OperatorRequest, otherwise: str = "") -> LinksPage:
    """Those of a tab, of `otherwise` where the address names none."""
    if sentence := why_nowhere("share"):
        raise NotPermitted(sentence)
    own = [source.pk for source in Source.objects.only("pk") if may("share", source)]
    rows = ShareLink.objects.filter(source__in=own) if not may("users") else ShareLink.objects.all()
    is_open = Q(revoked_at=None, expires_at__gt=timezone.now()) & ~Q(source=None)
    of_tab = {"open": rows.filter(is_open), "ended": rows.exclude(is_open)}
    counts = {tab: links.count() for tab, links in of_tab.items()}
    tab = request.GET.get("tab", "")
    tab = tab if tab in TABS else otherwise
    listed: Any = of_tab.get(tab, rows)
    here: ListWindow[int] = in_memory(listed.order_by(_sort(request), "-id").values_list("pk", flat=True), request.GET, PER_PAGE)
    links = ShareLink.objects.select_related("source").in_bulk(here.rows)
    return LinksPage(
        rows=tuple(LinkRow(links[pk], _state(links[pk])) for pk in here.rows),
        here=here,
        tabs=tuple(LinkTab(name, count, name == tab) for name, count in counts.items()),
        tab=tab,
        total=sum(counts.values()),
        local=LOCAL if settings.INSPECTOR_LOCAL else "",
    )


def _sort(request: OperatorRequest) -> Any:
    """The newest first unless the address says else."""
    sort = request.GET.get("sort", "")
    column = SORTS.get(sort.removeprefix("-"))
    return F("id").desc() if column is None else column.desc() if sort.startswith("-") else column.asc()


def _state(link: ShareLink) -> str:
    if link.revoked_at is not None:
        return "revoked"
    return "open" if link.expires_at > timezone.now() and link.source_id is not None else "expired" if link.source_id else "gone"


def link_list(request: OperatorRequest) -> HttpResponse:
    return page(request, "links.html", _links(request, "open"), twins=("json",))


def link_list_json(request: OperatorRequest) -> HttpResponse:
    content = _links(request)
    names = "id=link.oid kind=link.kind about=link.about label=link.label created_by=link.created_by created_at=link.created_at expires_at=link.expires_at"
    more = "exact=link.is_exact note=link.note opened=link.opened first_at=link.first_at last_at=link.last_at revoked_at=link.revoked_at revoked_by=link.revoked_by"
    following = content.here.older.query(request.GET) if content.here.older else ""
    return as_json({"links": [json_fields(row, f"{names} {more} state") for row in content.rows], "next": following})


@accepts("POST")
def revoke_link(request: OperatorRequest, oid: str) -> HttpResponse:
    revoke(get_object_or_404(ShareLink.objects.select_related("source"), oid=oid), request.operator)
    messages.success(request, "The link is revoked: whoever opens it reads that, and nothing else.")
    return redirect("links")
