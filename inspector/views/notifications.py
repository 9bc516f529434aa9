"""Notifications: who is told of which events, a test of each, and the log of what was sent. What opens a receiver is never shown again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.conf import settings
from django.contrib import messages
from django.db.models import Max
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.debug import sensitive_post_parameters

from inspector.access.permits import permit
from inspector.actions import notifiers
from inspector.actions.problems import Refused
from inspector.delivering import link_to, notice_of
from inspector.middleware import OperatorRequest, accepts
from inspector.models import Delivery, Notifier, Source, SourceGroup
from inspector.notifying.events import EVENTS, SEVERITIES, TEST, Event
from inspector.presentation.json_text import Json, json_fields
from inspector.presentation.typed import NOTHING, Typed, refused
from inspector.presentation.visible import visible
from inspector.views.pages import as_json, page
from inspector.views.paging import ListWindow, window

SOURCES_LISTED = 500
"""In a form; whoever has more limits a notifier to those that were read last."""
WHAT_IT_SENDS: Mapping[str, str] = {
    Notifier.Kind.WEBHOOK: "JSON to an address of yours, signed with a key",
    Notifier.Kind.SLACK: "a line in a channel, by an incoming webhook",
    Notifier.Kind.GITHUB: "a comment on one issue",
    Notifier.Kind.EMAIL: "a message to one or more addresses",
}
_SHOWN_AGAIN = ("name", "api", "repository", "issue", "recipients")
"""Fields of the form that are no secret."""


@dataclass(frozen=True, slots=True)
class NotifierRow:
    notifier: Notifier
    sources: tuple[Source, ...]
    """Those that it is limited to, with the sources of `groups`."""
    groups: tuple[SourceGroup, ...]
    last: Delivery | None

    @property
    def wants(self) -> str:
        labels = [EVENTS[name].label for name in self.notifier.events if name in EVENTS]
        return "all" if len(labels) == len(EVENTS) else ", ".join(labels)


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """As it is filled in. `values` has no secret; an empty field of one keeps it. `typed` is what was refused."""

    kind: str
    label: str
    is_new: bool
    values: Mapping[str, str] = field(default_factory=dict)
    tail: str = ""
    chosen: frozenset[str] = frozenset(EVENTS)
    least: str = SEVERITIES[1]
    is_limited: bool = False
    limited_to: frozenset[str] = frozenset()
    """Ids of sources, and numbers of groups."""
    groups: tuple[SourceGroup, ...] = ()
    is_on: bool = True
    sources: tuple[Source, ...] = ()
    typed: Typed = NOTHING

    @property
    def severity_choices(self) -> Sequence[tuple[str, str]]:
        words = {SEVERITIES[0]: "errors only", SEVERITIES[1]: "errors and warnings", SEVERITIES[2]: "all, with notes"}
        return tuple((severity, words[severity]) for severity in SEVERITIES)

    @property
    def events(self) -> Sequence[Event]:
        return tuple(EVENTS.values())

    @property
    def has_mail_server(self) -> bool:
        return bool(settings.INSPECTOR_EMAIL)

    @property
    def kept_hint(self) -> str:
        return "" if self.is_new else "Empty: it stays."

    @property
    def key_hint(self) -> str:
        return "At least 16 characters: openssl rand -hex 32 makes one." if self.is_new else f"It ends with {self.tail}. Empty: it stays."

    @property
    def secret_hint(self) -> str:
        return "Whoever knows it can write there: it is not shown again." if self.is_new else f"It ends with {self.tail}. Empty: it stays."

    @property
    def token_hint(self) -> str:
        return (
            "Fine-grained, for this repository, with write access to issues."
            if self.is_new
            else f"It ends with {self.tail}. Empty: it stays."
        )

    @property
    def github(self) -> str:
        return notifiers.GITHUB


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationsPage:
    """`notifier` is None on the page of all of them. `has_links`: whether messages have a link."""

    rows: tuple[NotifierRow, ...]
    notifier: Notifier | None
    form: Form | None
    deliveries: ListWindow[Delivery]
    sentences: tuple[tuple[Delivery, str], ...]
    has_links: bool

    @property
    def lists_messages(self) -> bool:
        """Not next to the form of a new one."""
        return self.notifier is not None or self.form is None

    @property
    def kinds(self) -> Sequence[tuple[str, str, str]]:
        return [(str(value), label, WHAT_IT_SENDS[value]) for value, label in Notifier.Kind.choices]


def _page(request: OperatorRequest, notifier: Notifier | None = None, form: Form | None = None) -> NotificationsPage:
    permit("notify")
    log = Delivery.objects.select_related("notifier")
    log = log.filter(notifier=notifier) if notifier else log
    here = window(log, ("-id",), log.count(), request.GET)
    return NotificationsPage(
        rows=_rows([notifier] if notifier else list(Notifier.objects.all())),
        notifier=notifier,
        form=form,
        deliveries=here,
        sentences=tuple((row, notice_of(row).sentence) for row in here.rows),
        has_links=bool(link_to("/")),
    )


def _rows(rows: Sequence[Notifier]) -> tuple[NotifierRow, ...]:
    sources: dict[int, list[Source]] = {row.pk: [] for row in rows}
    through = Notifier.sources.through.objects.filter(notifier__in=rows).select_related("source").order_by("source__path")
    for link in through:
        sources[link.notifier_id].append(link.source)
    groups: dict[int, list[SourceGroup]] = {row.pk: [] for row in rows}
    for member in Notifier.groups.through.objects.filter(notifier__in=rows).select_related("sourcegroup"):
        groups[member.notifier_id].append(member.sourcegroup)
    newest = Delivery.objects.filter(notifier__in=rows).order_by().values("notifier").annotate(newest=Max("pk")).values("newest")
    last = {row.notifier_id: row for row in Delivery.objects.filter(pk__in=newest)}
    return tuple(NotifierRow(row, tuple(sources[row.pk]), tuple(groups[row.pk]), last.get(row.pk)) for row in rows)


def _empty_form(kind: str) -> Form:
    return Form(kind=kind, label=Notifier.Kind(kind).label, is_new=True, sources=_sources(), groups=_groups())


def _sources(row: Notifier | None = None) -> tuple[Source, ...]:
    """With those that it has, however long ago they were read: what is not in the form would be taken from it."""
    chosen = list(row.sources.all()) if row else []
    newest = Source.objects.filter(is_trace=False).exclude(pk__in=[source.pk for source in chosen]).order_by("-read_at")
    return (*chosen, *newest[:SOURCES_LISTED])


def _groups() -> tuple[SourceGroup, ...]:
    return tuple(SourceGroup.objects.all()[:SOURCES_LISTED])


def _form_of(row: Notifier) -> Form:
    values = {"name": row.name}
    if row.kind == Notifier.Kind.GITHUB:
        issue = row.place.partition(" at ")[0]
        values["repository"], _, values["issue"] = issue.partition("#")
        values["api"] = notifiers.api_of(row)
    if row.kind == Notifier.Kind.EMAIL:
        values["recipients"] = row.place
    return Form(
        kind=row.kind,
        label=row.get_kind_display(),
        is_new=False,
        values=values,
        tail=row.tail,
        chosen=frozenset(row.events),
        least=row.least,
        is_limited=row.is_limited,
        limited_to=frozenset([*row.sources.values_list("oid", flat=True), *(str(pk) for pk in row.groups.values_list("pk", flat=True))]),
        is_on=row.is_on,
        sources=_sources(row),
        groups=_groups(),
    )


def _typed_form(request: OperatorRequest, kind: str, row: Notifier | None, problem: Refused) -> Form:
    """What was typed, without its secrets, and why it was refused."""
    post = request.POST
    return Form(
        kind=kind,
        label=Notifier.Kind(kind).label,
        is_new=row is None,
        values={name: visible(post.get(name, ""))[:2000] for name in _SHOWN_AGAIN},
        tail=row.tail if row else "",
        chosen=frozenset(post.getlist("event")),
        least=post.get("least", ""),
        is_limited=post.get("reach") == "some",
        limited_to=frozenset(post.getlist("source") + post.getlist("group")),
        is_on=post.get("on", "1") == "1",
        sources=_sources(row),
        groups=_groups(),
        typed=refused("n", post.dict(), problem),
    )


def _chosen_reach(request: OperatorRequest) -> notifiers.Reach | None:
    """None for all sources."""
    if request.POST.get("reach") != "some":
        return None
    numbers = [number for number in request.POST.getlist("group") if number.isascii() and number.isdigit() and len(number) < 19]
    return notifiers.Reach(
        tuple(Source.objects.filter(oid__in=request.POST.getlist("source"))), tuple(SourceGroup.objects.filter(pk__in=numbers))
    )


@sensitive_post_parameters()
@accepts("GET", "HEAD", "POST")
def notification_list(request: OperatorRequest) -> HttpResponse:
    """GET shows them, with `kind` the form of a new one; POST adds it."""
    permit("notify")
    kind = (request.POST if request.method == "POST" else request.GET).get("kind", "")
    kind = kind if kind in Notifier.Kind.values else ""
    if request.method != "POST":
        form = _empty_form(kind) if kind else None
        return page(request, "notifications.html", _page(request, form=form), twins=("json",))
    try:
        row = notifiers.add(kind, request.POST, request.POST.getlist("event"), _chosen_reach(request), request.operator)
    except Refused as problem:
        form = _typed_form(request, kind or Notifier.Kind.WEBHOOK, None, problem)
        return page(request, "notifications.html", _page(request, form=form), twins=("json",), status=409)
    messages.success(request, "It is added. Send a test: it shows whether the receiver takes messages.")
    return redirect("notification", oid=row.oid)


@sensitive_post_parameters()
@accepts("GET", "HEAD", "POST")
def notification(request: OperatorRequest, oid: str) -> HttpResponse:
    permit("notify")
    row = get_object_or_404(Notifier, oid=oid)
    if request.method != "POST":
        return page(request, "notifications.html", _page(request, row, _form_of(row)), twins=("json",))
    try:
        notifiers.change(row, request.POST, request.POST.getlist("event"), _chosen_reach(request), request.operator)
    except Refused as problem:
        row.refresh_from_db()
        form = _typed_form(request, row.kind, row, problem)
        return page(request, "notifications.html", _page(request, row, form), twins=("json",), status=409)
    messages.success(request, "It is changed.")
    return redirect("notification", oid=oid)


@accepts("POST")
def try_out(request: OperatorRequest, oid: str) -> HttpResponse:
    permit("notify")
    result = notifiers.test(get_object_or_404(Notifier, oid=oid), request.operator)
    if result.problem:
        messages.error(request, visible(result.problem))
    else:
        messages.success(request, f"The test was sent{f', and the receiver answered {result.status}' if result.status else ''}.")
    return redirect("notification", oid=oid)


@accepts("POST")
def remove(request: OperatorRequest, oid: str) -> HttpResponse:
    permit("notify")
    notifiers.remove(get_object_or_404(Notifier, oid=oid), request.operator)
    messages.success(request, "The notifier is removed, with its log and what waited for it.")
    return redirect("notifications")


_NOTIFIER = "id=oid name kind to=place secret_ends_with=tail events least limited=is_limited on=is_on added_by added_at left_out"
_DELIVERY = "id=key notifier=notifier.oid event total state added_at due_at attempts ended_at status answer error"


def _as_json(content: NotificationsPage, request: OperatorRequest) -> Json:
    return {
        "notifiers": [
            {
                **json_fields(row.notifier, _NOTIFIER),
                "sources": [source.oid for source in row.sources],
                "groups": [group.name for group in row.groups],
            }
            for row in content.rows
        ],
        "deliveries": [{**json_fields(row, _DELIVERY), "sentence": sentence} for row, sentence in content.sentences],
        "total": content.deliveries.total,
        "next": content.deliveries.older.query(request.GET) if content.deliveries.older else "",
        "events": [*EVENTS, TEST.name],
    }


def notification_list_json(request: OperatorRequest) -> HttpResponse:
    return as_json(_as_json(_page(request), request))


def notification_json(request: OperatorRequest, oid: str) -> HttpResponse:
    permit("notify")
    return as_json(_as_json(_page(request, get_object_or_404(Notifier, oid=oid)), request))
