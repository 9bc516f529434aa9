"""The sources: what was read from where, with which reader it is judged, and whether the pages may write to it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.db.models import Count, Max, OuterRef, Q, QuerySet, Subquery, Sum
from django.http import HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone

from inspector import background
from inspector.access.permits import may
from inspector.actions import watching
from inspector.actions.import_source import import_targets
from inspector.actions.planning import web_may_write
from inspector.actions.problems import Refused
from inspector.actions.set_deployed_reader import set_deployed_reader
from inspector.actions.set_write_back import set_write_back
from inspector.middleware import OperatorRequest, accepts
from inspector.models import Conversation, ConversationCount, Payload, Record, Source, TraceRecord, Watch, Watcher
from inspector.models.background import judged_since
from inspector.models.overlapping import Overlap, overlapping
from inspector.presentation.json_text import json_fields
from inspector.presentation.sparkline import Sparkline
from inspector.presentation.visible import visible
from inspector.programs.catalogue import UnknownFormat, format_named
from inspector.programs.formats import InFiles
from inspector.readers.base import Reader
from inspector.readers.catalogue import UnknownReader, names, reader
from inspector.sources import reach
from inspector.sources.own_program import read_only
from inspector.sources.places import is_dsn, place
from inspector.sources.problems import SourceProblem
from inspector.views import problem_list
from inspector.views.conversation_list import ConversationRow, missing, newest_first, rows_of
from inspector.views.live import live
from inspector.views.pages import as_json, page
from inspector.views.problem_list import ProblemRow

SHOWN = 10
_WORST_FIRST: tuple[dict[str, bool], ...] = (
    {"is_damaged": True, "refused": True},
    {"is_damaged": True, "refused": False, "has_silent": True},
    {"is_damaged": True, "refused": False, "has_silent": False},
    {"is_damaged": False},
)
"""Columns of a conversation; each conversation is in one of them."""
RULES = 5


@dataclass(frozen=True, slots=True)
class SourceRow:
    source: Source
    conversations: int
    damaged: int
    chunks: int
    trace_records: int
    may_write: bool
    is_sealed: bool
    """Nothing is ever written to its format, so no plan can be carried to it."""
    streams: int
    streams_damaged: int
    is_watched: bool
    problem: str
    """Why the watcher cannot read it now."""
    interval: str
    """Between two looks of the watcher, in words."""
    may_be_watched: bool
    days: Sparkline | None = None
    """What began in it on each day; in the list alone."""
    last_active: int | None = None
    """When its newest conversation was, in epoch milliseconds; in the list alone."""

    @property
    def count(self) -> int:
        """Of what is judged: conversations or streams."""
        return self.source.stream_count if self.source.is_capture else self.conversations

    @property
    def damaged_count(self) -> int:
        return self.damaged + self.streams_damaged

    @property
    def may_import(self) -> bool:
        return may("import", self.source)

    @property
    def may_watch(self) -> bool:
        return settings.INSPECTOR_WATCH and self.may_be_watched and may("watch", self.source)


SORTS: Mapping[str, Callable[[SourceRow], Any]] = {
    "source": lambda row: row.source.name,
    "contains": lambda row: row.conversations + row.streams + row.trace_records,
    "damaged": lambda row: row.damaged_count,
    "active": lambda row: row.last_active or 0,
    "read": lambda row: row.source.read_at,
}
"""What the list can be sorted by; by its path unless the address says one of them."""
STATES: Mapping[str, tuple[str, Callable[[SourceRow], Any]]] = {
    "": ("All", lambda row: True),
    "damaged": ("Damaged or rejected", lambda row: row.damaged_count),
    "unreadable": ("Cannot be read", lambda row: row.problem),
    "problems": ("Read with problems", lambda row: row.source.problems),
    "unwatched": ("Not watched", lambda row: row.may_be_watched and not row.is_watched),
}
"""The tabs of the list, each with its words and what is on it."""


@dataclass(frozen=True, slots=True)
class StateTab:
    name: str
    words: str
    total: int
    is_current: bool


@dataclass(frozen=True, slots=True)
class SourceListPage:
    rows: tuple[SourceRow, ...]
    """Those with `q` in their path, format or reader."""
    all_rows: tuple[SourceRow, ...]
    may_add: bool
    may_switch_demo: bool
    q: str
    watcher_is_alive: bool
    tabs: tuple[StateTab, ...]

    @property
    def has_demo(self) -> bool:
        return any(row.source.is_demo for row in self.all_rows)

    @property
    def unwatched(self) -> int:
        """How many could be watched by who asks, and are not."""
        return sum(row.may_watch and not row.is_watched for row in self.all_rows)

    @property
    def is_any_watched(self) -> bool:
        return any(row.is_watched for row in self.all_rows)

    @property
    def has_both(self) -> bool:
        return self.has_demo and not all(row.source.is_demo for row in self.all_rows)


def _listed() -> tuple[SourceRow, ...]:
    """All of them, with what they have of each day."""
    newest = Conversation.objects.filter(source=OuterRef("pk"), is_gone=False).order_by("place", "id").values("last_activity")[:1]
    sources = list(Source.objects.select_related("watch").annotate(last_active=Subquery(newest)))
    days = problem_list.days_by_source(sources, problem_list.last_day_of_all())
    rows = zip(sources, _rows(sources), strict=True)
    return tuple(replace(row, days=days[source.pk], last_active=source.last_active) for source, row in rows)


def _rows(sources: Sequence[Source]) -> tuple[SourceRow, ...]:
    """One query for all of them together: what they hold is counted when it is imported."""
    counts: dict[int, list[ConversationCount]] = {source.pk: [] for source in sources}
    for count in ConversationCount.objects.filter(source__in=sources, is_gone=False):
        counts[count.source_id].append(count)
    return tuple(
        SourceRow(
            source,
            conversations=sum(count.conversations for count in counts[source.pk]),
            damaged=sum(count.conversations for count in counts[source.pk] if count.is_damaged),
            chunks=sum(count.chunks for count in counts[source.pk]),
            trace_records=source.trace_record_count,
            may_write=not source.is_trace and web_may_write(source),
            is_sealed=bool(read_only(source.format)),
            streams=source.stream_count,
            streams_damaged=source.damaged_stream_count,
            is_watched=watching.is_on(source, watching.watch_of(source)),
            problem=getattr(watching.watch_of(source), "problem", ""),
            interval=_interval(source, watching.watch_of(source)),
            may_be_watched=watching.may_be_watched(source),
        )
        for source in sources
    )


def why_writable(source: Source) -> str:
    """What is allowed now, and which switch says so."""
    master = bool(settings.INSPECTOR_WRITE_BACK)
    if source.is_capture:
        return "Nothing is ever written to a capture: what is corrected of it is a new one."
    if source.is_trace:
        return "Nothing is ever written to a trace."
    if sealed := read_only(source.format):
        return sealed
    if not settings.INSPECTOR_LOCAL:
        if not master:
            return "The pages write to no store: INSPECTOR_WRITE_BACK is off for this server, whatever the switch below says."
        return (
            "An approved repair may be written: INSPECTOR_WRITE_BACK is on, and so is this source's switch."
            if source.write_enabled
            else "The pages may not write here: INSPECTOR_WRITE_BACK is on, but this source's own switch is off."
        )
    if source.is_demo:
        return "An approved repair may be written: this is the demo's own store, made to be tried on."
    if master:
        return "An approved repair may be written: INSPECTOR_WRITE_BACK is on, which in local mode opens every store."
    if source.write_enabled:
        return "An approved repair may be written: this source's switch is on."
    return "The pages may not write here: the switch is off. The command repair --apply still can, as the person at the keyboard."


def switch_is_needed(source: Source) -> bool:
    """Whether this source's own switch decides: not for traces, and not where something else has opened the store already."""
    return (
        not source.is_trace
        and not read_only(source.format)
        and (not settings.INSPECTOR_LOCAL or not (source.is_demo or settings.INSPECTOR_WRITE_BACK))
    )


def source_list(request: OperatorRequest) -> HttpResponse:
    rows, sort = _listed(), request.GET.get("sort", "")
    if key := SORTS.get(sort.removeprefix("-")):
        rows = tuple(sorted(rows, key=key, reverse=sort.startswith("-")))
    q, state = visible(request.GET.get("q", "").strip()), request.GET.get("state", "")
    state = state if state in STATES else ""
    matching = [row for row in rows if q.casefold() in f"{row.source.path} {row.source.format} {row.source.reader}".casefold()]
    totals = {name: sum(bool(is_of(row)) for row in matching) for name, (_, is_of) in STATES.items()}
    tabs = tuple(
        StateTab(name, words, totals[name], name == state) for name, (words, _) in STATES.items() if totals[name] or name in ("", state)
    )
    shown = tuple(row for row in matching if STATES[state][1](row))
    content = SourceListPage(shown, rows, may("add source"), may("demo"), q, _is_alive(Watcher.now()), tabs)
    return page(request, "sources.html", content, twins=("json",), live=live())


def source_list_json(request: OperatorRequest) -> HttpResponse:
    return as_json({"sources": [json_fields(row, f"{_ROW} last_active new=days.total") for row in _listed()]})


_ROW = (
    "id=source.oid path=source.path format=source.format trace=source.is_trace demo=source.is_demo reader=source.reader "
    "projection=source.projection profile=source.profile read_at=source.read_at written_at=source.written_at came_from=source.came_from "
    "provenance=source.provenance conversations damaged chunks trace_records streams streams_damaged web_may_write=may_write "
    "watched=is_watched watch_problem=problem "
    "problems=source.problems removed_by=source.removed_by"
)


@dataclass(frozen=True, slots=True)
class TracedConversation:
    """A conversation that trace records name; `rows` are those of the stores that the trace belongs to, mostly one."""

    native_id: str
    records: int
    turns: int
    last: int
    """When the newest of the records was, in epoch milliseconds."""
    rows: tuple[Conversation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePage:
    row: SourceRow
    bytes_kept: int
    """Bytes of record values and trace bodies in our database, each content once."""
    gone: int
    last_activity: int | None
    traces: tuple[Source, ...]
    stores: tuple[Source, ...]
    traced: tuple[TracedConversation, ...]
    """Of a trace: the conversations that its newest records name, and how many there are in all."""
    traced_count: int
    recent: tuple[ConversationRow, ...]
    rules: tuple[ProblemRow, ...]
    """What is open in it, the worst first."""
    problem_count: int
    days: Sparkline
    readers: tuple[str, ...]
    deployed: Reader | None
    why_writable: str
    has_switch: bool
    is_in_files: bool
    """Whether it is files, which are copied as such, and no database."""
    is_on_a_server: bool
    """Whether it is named by an address, and its repairs can be had as a script."""
    unreadable: str
    """Why the web interface may not read it; empty where it may."""
    may_remove: bool
    watch: "WatchPanel"
    overlaps: tuple[Overlap, ...]

    @property
    def worst(self) -> ProblemRow | None:
        """What to look at first; no note, and nothing that somebody ignores."""
        return next((row for row in self.rules if row.severity != "note" and not row.problem.is_ignored), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchPanel:
    """Whether and how often the source is looked at, and how that goes. `choices` and `every` are for the select."""

    is_possible: bool
    may_change: bool
    is_on: bool
    sentence: str
    problem: str
    failed_at: datetime | None
    looked_at: datetime | None
    brought_at: datetime | None
    choices: tuple[tuple[str, str], ...]
    every: str


def _page(source: Source) -> SourcePage:
    conversations = source.conversations.all()
    # The first in the order of lists was active last; NULLs, of which nothing is known, are the last there.
    newest = [
        Subquery(conversations.filter(is_gone=is_gone).order_by("place", "id").values("last_activity")[:1]) for is_gone in (False, True)
    ]
    moments = Source.objects.filter(pk=source.pk).values_list(*newest).get()
    last_activity = max((moment for moment in moments if moment is not None), default=None)
    if source.is_trace:
        payloads = Payload.objects.filter(pk__in=TraceRecord.objects.filter(source=source).exclude(body=None).values("body"))
    else:
        payloads = Payload.objects.filter(pk__in=Record.objects.filter(conversation__source=source).values("payload_id"))
    stores = tuple(source.stores.all())
    last = problem_list.last_day_for(source)
    # At most as many as there are rules.
    problems = list(source.rule_problems.filter(conversations__gt=0).select_related("source").order_by(*problem_list.SORTS[""]))
    return SourcePage(
        row=_rows([source])[0],
        bytes_kept=payloads.aggregate(n=Sum("size"))["n"] or 0,
        gone=missing(source.conversation_counts.filter(is_gone=True).aggregate(n=Sum("conversations", default=0))["n"], conversations),
        last_activity=last_activity,
        traces=tuple(source.traces.all()),
        stores=stores,
        traced=_traced(source, stores),
        traced_count=_named(source).aggregate(n=Count("conversation_id", distinct=True))["n"] if source.trace_record_count else 0,
        recent=rows_of(_worst_first(conversations.filter(is_gone=False))),
        rules=problem_list.rows_of(problems[:RULES], last),
        problem_count=len(problems),
        days=problem_list.days_by_source([source], last)[source.pk],
        readers=tuple(names(source.format)),
        deployed=_deployed(source),
        why_writable=why_writable(source),
        has_switch=switch_is_needed(source),
        is_in_files=not source.is_trace and isinstance(format_named(source.format), InFiles),
        is_on_a_server=is_dsn(source.path),
        unreadable=_unreadable(source),
        watch=_watch(source),
        may_remove=may("remove", source),
        overlaps=overlapping(source),
    )


def _named(source: Source) -> QuerySet[TraceRecord]:
    return TraceRecord.objects.filter(source=source).exclude(conversation_id="")


def _traced(source: Source, stores: Sequence[Source]) -> tuple[TracedConversation, ...]:
    if not source.trace_record_count:
        return ()
    turns = Count("turn_id", distinct=True, filter=~Q(turn_id=""))
    grouped = _named(source).order_by().values("conversation_id").annotate(n=Count("pk"), turns=turns, last=Max("timestamp"))
    newest = grouped.order_by("-last", "conversation_id").values_list("conversation_id", "n", "turns", "last")[:SHOWN]
    # Looked for by our own ids, which are in an index.
    oids = {native_id: [Conversation.oid_of(store, native_id) for store in stores] for native_id, *_ in newest}
    rows = Conversation.objects.in_bulk([oid for copies in oids.values() for oid in copies], field_name="oid")
    return tuple(
        TracedConversation(native_id, records, turns, last, tuple(rows[oid] for oid in oids[native_id] if oid in rows))
        for native_id, records, turns, last in newest
    )


def _worst_first(conversations: QuerySet[Conversation]) -> list[Conversation]:
    """The first of a list: those that are rejected, then silent, then damaged otherwise, then the others; of each those last active."""
    rows: list[Conversation] = []
    for columns in _WORST_FIRST:
        if len(rows) < SHOWN:
            rows += newest_first(conversations.filter(**columns))[: SHOWN - len(rows)]
    return rows


def _watch(source: Source) -> WatchPanel:
    watch, watcher = watching.watch_of(source), Watcher.now()
    is_on = watching.is_on(source, watch)
    return WatchPanel(
        is_possible=watching.may_be_watched(source),
        may_change=settings.INSPECTOR_WATCH,
        is_on=is_on,
        sentence=_how_watched(source, watch, watcher, is_on),
        problem=watch.problem if watch is not None and is_on else "",
        failed_at=watch.failed_at if watch else None,
        looked_at=watching.heard_of(watch, watcher) if is_on else None,
        brought_at=watch.brought_at if watch else None,
        choices=tuple((str(seconds), words) for seconds, words in watching.CHOICES.items()),
        every=str(watch.every if watch else 0),
    )


def _how_watched(source: Source, watch: Watch | None, watcher: Watcher | None, is_on: bool) -> str:
    if not settings.INSPECTOR_WATCH:
        return "Nothing is watched: INSPECTOR_WATCH is off for this installation."
    if not is_on:
        return "What is written to it shows here when somebody imports it again."
    if not _is_alive(watcher):
        return "Nobody looks at it now: the command serve does, and so does a worker."
    compared = "it is asked whether anything changed" if is_dsn(source.path) else "names, sizes and times of its files are compared"
    return f"What is written to it is imported by itself. Every {_interval(source, watch)} {compared}, and only after a change it is read."


def _is_alive(watcher: Watcher | None) -> bool:
    return watcher is not None and watcher.is_alive


def _interval(source: Source, watch: Watch | None) -> str:
    usual = watching.OF_SERVERS if is_dsn(source.path) else watching.OF_FILES
    return _duration((max(watch.every, watch.pace) if watch else 0) or usual)


def _duration(seconds: int) -> str:
    return f"{seconds} seconds" if seconds < 120 else f"{seconds // 60} minutes"


def _unreadable(source: Source) -> str:
    """Links are resolved for it, and nothing is opened."""
    try:
        reach.refuse(place(source.path))
    except SourceProblem as problem:
        return visible(problem.sentence)
    return ""


def _deployed(source: Source) -> Reader | None:
    """None for a trace, and for a reader that an older Inspector knew."""
    try:
        return reader(source.reader)
    except UnknownReader:
        return None


@accepts("GET", "HEAD", "POST")
def source(request: OperatorRequest, oid: str) -> HttpResponse:
    """GET shows it; POST with `reader` says which reader is deployed on it."""
    if request.method == "POST":
        return _set_reader(request, oid)
    return page(
        request,
        "source.html",
        _page(get_object_or_404(Source.objects.select_related("watch"), oid=oid)),
        twins=("json",),
        live=live("source", oid),
    )


def source_json(request: OperatorRequest, oid: str) -> HttpResponse:
    content = _page(get_object_or_404(Source.objects.select_related("watch"), oid=oid))
    more = {
        **json_fields(content, "gone last_activity bytes_kept"),
        "traces": [trace.oid for trace in content.traces],
        "overlaps": [json_fields(overlap, "part=inner.oid whole=outer.oid conversations") for overlap in content.overlaps],
        "stores": [store.oid for store in content.stores],
        "readers": list(content.readers),
        "why_writable": content.why_writable,
        "web_may_read": not content.unreadable,
        "watch": json_fields(content.watch, "on=is_on problem failed_at looked_at brought_at every"),
    }
    return as_json({**json_fields(content.row, _ROW), **more})


def _set_reader(request: OperatorRequest, oid: str) -> HttpResponse:
    source = get_object_or_404(Source, oid=oid)
    name = request.POST.get("reader", "")
    try:
        count = set_deployed_reader(source, request.operator, name)
        messages.success(request, f"{source.reader} is the deployed reader now; {_many(count, 'conversation')} judged again with it.")
    except Refused as problem:
        messages.error(request, visible(str(problem)))
    return redirect("source", oid=oid)


@accepts("POST")
def reimport(request: OperatorRequest, oid: str) -> HttpResponse:
    """Every source here was imported by a command, or added by who may; no other path can be asked for."""
    source = get_object_or_404(Source, oid=oid)
    try:
        begun = timezone.now()
        done = import_targets([source.path], request.operator)[0]
        background.prepare_ahead(judged_since(begun, [done.source]), waits=False)
        messages.success(request, _brought(source, done.conversations, done.unchanged, done.gone, done.records))
    except (SourceProblem, UnknownFormat) as problem:
        messages.error(request, visible(str(problem)))
    row = source.conversations.filter(oid=request.POST.get("conversation", "")).first()
    return _back(request, oid) if row is None else redirect("conversation", oid=row.oid)


def _back(request: OperatorRequest, oid: str) -> HttpResponse:
    """To the list as it was filtered where it was asked there, which `back` says: its query from the question mark on."""
    back = request.POST.get("back", "")
    query = QueryDict(back[1:]).urlencode()
    return HttpResponseRedirect(f"{reverse('sources')}{query and '?'}{query}") if back.startswith("?") else redirect("source", oid=oid)


@accepts("POST")
def watch(request: OperatorRequest, oid: str) -> HttpResponse:
    """Switches looks at the source on or off, with `every` seconds between two of them."""
    source = get_object_or_404(Source, oid=oid)
    on, every = request.POST.get("on") == "1", request.POST.get("every", "0")
    try:
        watching.set_watching(source, request.operator, on, int(every) if every in map(str, watching.CHOICES) else -1)
        name = visible(source.name)
        messages.success(request, f"{name} is watched now." if on else f"{name} is no longer watched: import it again to see what is new.")
    except Refused as problem:
        messages.error(request, visible(str(problem)))
    return _back(request, oid)


@accepts("POST")
def watch_all(request: OperatorRequest) -> HttpResponse:
    """Switches on the looks at each source that is not watched; one that was watched before is looked at as often as then."""
    rows = [row for row in _rows(list(Source.objects.select_related("watch"))) if row.may_watch and not row.is_watched]
    for row in rows:
        watching.set_watching(row.source, request.operator, True, getattr(watching.watch_of(row.source), "every", 0))
    messages.success(request, f"{_many(len(rows), 'more source')} {'is' if len(rows) == 1 else 'are'} watched now.")
    return redirect("sources")


def _brought(source: Source, conversations: int, unchanged: int, gone: int, records: int) -> str:
    if source.is_trace:
        return f"Read again: {_many(records, 'trace record')}."
    gone_words = f", {gone} gone from the store" if gone else ""
    return f"Read again: {_many(conversations, 'conversation')}, {conversations - unchanged} of them new or changed{gone_words}."


def _many(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"


@accepts("POST")
def write_back(request: OperatorRequest, oid: str) -> HttpResponse:
    source = get_object_or_404(Source, oid=oid)
    on = request.POST.get("on") == "1"
    try:
        set_write_back(source, request.operator, on, request.POST.get("answers") == "1")
        messages.success(request, f"The switch of this store is {'on' if on else 'off'}. {why_writable(source)}")
    except Refused as problem:
        messages.error(request, visible(str(problem)))
    return redirect("source", oid=oid)
