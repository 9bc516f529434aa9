"""Captured streams: the list, one stream as lanes, one event's bytes, and the stream as it should have been."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.db.models import Q, Sum
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404

from inspector.access.context import unlimited
from inspector.cache_headers import exact
from inspector.middleware import OperatorRequest
from inspector.models import Source, Stream, StreamFinding, loading
from inspector.presentation import markdown
from inspector.presentation.masking import is_revealing, masked
from inspector.presentation.stream import event as stream_event
from inspector.presentation.stream import report as stream_report
from inspector.presentation.stream import view as stream_view
from inspector.presentation.stream import words as stream_words
from inspector.presentation.stream.event import EventView
from inspector.presentation.stream.marks import Place, StreamMark, place_of
from inspector.presentation.stream.report import StreamAnalysis, analysed
from inspector.presentation.stream.view import LaneWindow, Overview, RequestView, Steps, StreamView
from inspector.presentation.visible import visible
from inspector.sources.problems import SourceProblem
from inspector.streams.captures import own
from inspector.streams.correcting import CannotCorrect, Correction, correct
from inspector.streams.corrections import STREAM_STRATEGIES, StreamStrategy
from inspector.streams.model import Side
from inspector.streams.violations import StreamRule
from inspector.views import facts
from inspector.views.conversation_list import StateTab, is_without_demo, options_of
from inspector.views.live import live
from inspector.views.pages import absolute, as_json, as_markdown, page, refusal, unless_unchanged
from inspector.views.paging import ListWindow, window

MOST_ALIKE = 1_000
RECENT = 12
LINES_SHOWN = 60
"""Rows of the lanes that a text for an issue holds."""
KEYS = ("rank", "-seen_at", "source_id", "position", "id")
"""The order of lists: the worst first, then as they were read."""
SORTS: dict[str, tuple[str, ...]] = {
    "": KEYS,
    "-severity": KEYS,
    "severity": tuple(key[1:] if key.startswith("-") else f"-{key}" for key in KEYS),
    "events": ("events", "id"),
    "-events": ("-events", "-id"),
    "captured": ("file_time", "id"),
    "-captured": ("-file_time", "-id"),
}
"""What the address may ask for -> the columns; an index begins with each."""
DAMAGED = Q(rank__lt=2)
STATES: dict[str, tuple[str, Q]] = {
    "": ("All", Q()),
    "damaged": ("Errors or warnings", DAMAGED),
    "healthy": ("No error or warning", ~DAMAGED),
}
"""What the address may ask for -> its tab, and the streams."""


@dataclass(frozen=True, slots=True)
class ListPage:
    rows: tuple[Stream, ...]
    here: ListWindow[Stream]
    total: int
    gone: int
    tabs: tuple[StateTab, ...]
    sources: tuple[tuple[str, str], ...]
    q: str
    state: str
    rule: str
    source: str
    is_gone: bool
    is_two_sided: bool
    """Only streams of which both sides were captured."""
    sort: str = ""
    without_demo: bool = False
    """Whether streams of the demo are left out."""

    @property
    def is_filtered(self) -> bool:
        return bool(self.q or self.state or self.rule or self.source or self.is_gone or self.is_two_sided)


@dataclass(frozen=True, slots=True)
class StreamFilters:
    lane: str
    kind: str
    only: bool
    side: str
    at: int | None
    start: int | None
    raw: bool
    """Whether each row has the bytes of its events."""

    @property
    def selected(self) -> tuple[Side, int] | None:
        return (Side(self.side), self.at) if self.side and self.at is not None else None


@dataclass(frozen=True, slots=True)
class StreamPage:
    row: Stream
    view: StreamView
    headline: str
    filters: StreamFilters
    window: LaneWindow
    overview: Overview
    evidence: tuple[tuple[StreamMark, ...], ...]
    event: EventView | None
    request_view: RequestView
    same_request: tuple[Stream, ...]
    """Those of its folder with an equal request, itself too; () where there are no others."""
    not_shown: tuple[StreamRule, ...]
    lacking: tuple[str, ...]
    repairing: tuple[StreamStrategy, ...]
    steps: Steps
    kinds: tuple[str, ...]

    @property
    def remarks(self) -> tuple[str, ...]:
        """Without the sentence on the missing side, of which the page has a panel."""
        return tuple(remark for remark in self.view.analysis.remarks if not (self.not_shown and remark in stream_report.ONE_SIDED.values()))

    @property
    def worst_beyond_headline(self) -> str:
        """What the worst finding says that the headline does not."""
        return self.worst.text.removeprefix(self.headline).strip() if self.worst else ""

    @property
    def worst(self) -> StreamMark | None:
        return self.view.marks[0] if self.view.marks else None

    @property
    def place(self) -> Place | None:
        """Where the worst arose."""
        on_sides = [mark.side.value for mark in self.view.marks if self.worst and mark.code == self.worst.code]
        return place_of(self.worst.name, on_sides, self.row.side_names) if self.worst else None


@dataclass(frozen=True, slots=True)
class Corrected:
    """`correction` is None where the stream cannot be written again, `why_not` then says why. `after` is what the rules say of the new capture."""

    correction: Correction | None
    why_not: str = ""
    after: StreamAnalysis | None = None


@dataclass(frozen=True, slots=True)
class CorrectedPage:
    row: Stream
    headline: str
    corrected: Corrected
    strategies: tuple[StreamStrategy, ...]
    picked: tuple[str, ...]
    invented: bool
    query: str


def _row(oid: str) -> Stream:
    return get_object_or_404(Stream.objects.select_related("source"), oid=oid)


def _same_request(row: Stream) -> tuple[Stream, ...]:
    """Streams of one folder with an equal request body, in the order of their files; () where the client asked this once."""
    if not row.request_digest:
        return ()
    alike = Stream.objects.filter(request_digest=row.request_digest, is_gone=False).select_related("source")
    folder = _folder(row)
    streams = [stream for stream in alike.order_by("source__path", "position")[:MOST_ALIKE] if _folder(stream) == folder]
    return tuple(streams) if len(streams) > 1 else ()


def _folder(row: Stream) -> str:
    return row.source.path.rpartition("/")[0]


def _view(row: Stream) -> StreamView:
    """Raises SourceProblem."""
    loading.refuse_another_file(row)
    return _viewed(row.pk, row.digest, row.file_time, is_revealing())


@lru_cache(maxsize=4)
@unlimited
def _viewed(stream_id: int, digest: str, file_time: int, reveals: bool) -> StreamView:
    """Of one that `reveals`, the events have all of their text. What is in the database under a digest never changes, nor does a file that is still the same."""
    return stream_view.viewed(loading.analysis(Stream.objects.select_related("source").get(pk=stream_id)))


def _filters(request: OperatorRequest) -> StreamFilters:
    sides = tuple(side.value for side in Side)
    lane, side = request.GET.get("lane", ""), request.GET.get("side", "")
    kind = request.GET.get("kind", "")
    return StreamFilters(
        lane if lane in sides else "",
        kind if kind in stream_words.KINDS else "",
        request.GET.get("only") == "findings",
        side if side in sides else "",
        _number(request.GET.get("at", "")),
        _number(request.GET.get("from", "")),
        request.GET.get("raw") == "1",
    )


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else None


@dataclass(frozen=True, slots=True)
class Worst:
    """For the inbox: the worst streams, `damaged` of `total` that are loaded."""

    rows: tuple[Stream, ...]
    damaged: int
    total: int


def worst() -> Worst:
    counts = Source.objects.counted().aggregate(total=Sum("stream_count", default=0), damaged=Sum("damaged_stream_count", default=0))
    damaged = Stream.objects.counted().filter(DAMAGED, is_gone=False).select_related("source")
    rows = damaged.order_by(*KEYS)[:RECENT] if counts["damaged"] else ()
    return Worst(tuple(rows), counts["damaged"], counts["total"])


def _listed(request: OperatorRequest) -> ListPage:
    q, state, rule, source = (visible(request.GET.get(name, ""))[:200] for name in ("q", "state", "rule", "source"))
    # As links name it that were made while it was a state.
    is_gone, is_two_sided = request.GET.get("gone") == "1", request.GET.get("sides") == "both" or state == "two-sided"
    state = state if state in STATES else ""
    sort = request.GET.get("sort", "")
    sort = sort if sort in SORTS else ""
    streams = Stream.objects.counted(source).filter(is_gone=is_gone).prefetch_related("source", "findings")
    if q:
        streams = streams.filter(Q(title__icontains=q) | Q(native_id__icontains=q) | Q(verdict__icontains=q) | Q(oid__startswith=q))
        # A search that matched what is under a mask would give it away, letter by letter.
        texts = streams.values_list("pk", "oid", "title", "native_id", "verdict").iterator(chunk_size=500)
        streams = streams.exclude(pk__in=[pk for pk, *texts_of_one in texts if q.lower() not in masked(" \n".join(texts_of_one)).lower()])
    if is_two_sided:
        streams = streams.filter(sides__contains=",")
    if rule:
        streams = streams.filter(pk__in=Stream.objects.filter(findings__code=rule).values("pk"))
    sources = list(Source.objects.only("oid", "path", "is_demo", "stream_count", "gone_stream_count"))
    columns = {"gone": "gone_stream_count", "": "stream_count", "damaged": "damaged_stream_count"}
    counts = Source.objects.counted(source).aggregate(**{name or "all": Sum(column, default=0) for name, column in columns.items()})
    gone = counts["gone"]
    # What sources count is told apart by state only, and only of what is there.
    is_counted = not (q or rule or is_gone or is_two_sided)
    by_state = {"": counts["all"], "damaged": counts["damaged"], "healthy": counts["all"] - counts["damaged"]} if is_counted else {}
    streams = streams.filter(STATES[state][1])
    here = window(streams, SORTS[sort], by_state[state] if is_counted else streams.count(), request.GET)
    return ListPage(
        here.rows,
        here,
        here.total,
        0 if is_gone else gone,
        tuple(StateTab(name, words, by_state.get(name)) for name, (words, _) in STATES.items()),
        options_of(entry for entry in sources if entry.stream_count or entry.gone_stream_count),
        q,
        state,
        rule,
        source,
        is_gone,
        is_two_sided,
        sort,
        is_without_demo(sources, source),
    )


def stream_list(request: OperatorRequest) -> HttpResponse:
    content = _listed(request)
    return page(request, "streams.html", content, part="rows", twins=("json",), live=live("source", content.source))


def stream_list_json(request: OperatorRequest) -> HttpResponse:
    content = _listed(request)
    following = content.here.older.query(request.GET) if content.here.older else ""
    return as_json({"streams": summaries(content.rows), "total": content.total, "gone": content.gone, "next": following})


def summaries(rows: Sequence[Stream]) -> list[dict[str, Any]]:
    """Streams as lists give them: one query for the findings of all."""
    findings: dict[int, list[dict[str, Any]]] = {row.pk: [] for row in rows}
    counted = StreamFinding.objects.filter(stream__in=findings).values_list("stream_id", "code", "rule", "severity").order_by("code")
    for stream_id, code, rule, severity in counted.distinct():
        findings[stream_id].append({"code": code, "rule": rule, "severity": severity})
    return [
        {
            "id": row.oid,
            "native_id": row.native_id,
            "title": row.title,
            "source": row.source.path,
            "protocol": row.protocol,
            "sides": list(row.side_names),
            "events": row.events,
            "verdict": row.verdict,
            "worst": row.worst,
            "captured_at": row.captured_at,
            "gone": row.is_gone,
            "findings": findings[row.pk],
        }
        for row in rows
    ]


@unless_unchanged(facts.of_stream)
def stream(request: OperatorRequest, oid: str) -> HttpResponse:
    row, filters = _row(oid), _filters(request)
    try:
        view = _view(row)
        event = stream_event.event_view(view.exchange, *filters.selected) if filters.selected else None
        shown = stream_view.window(view, filters.start, filters.selected, filters.lane, filters.kind, filters.only)
        shown = stream_event.with_bytes(view.exchange, shown) if filters.raw else shown
    except SourceProblem as problem:
        return refusal(request, problem.sentence)
    content = StreamPage(
        row,
        view,
        stream_view.headline(view),
        filters,
        shown,
        stream_view.overview(view),
        stream_view.evidence(view),
        event,
        stream_view.request_view(view.exchange.request),
        _same_request(row),
        stream_view.not_shown(view),
        stream_view.lacking(view),
        view.corrected.used if view.corrected else stream_view.repairing(view),
        stream_view.steps(view, filters.selected),
        stream_words.KINDS,
    )
    return page(request, "stream.html", content, part="rows", twins=("json", "md"))


@unless_unchanged(facts.of_stream)
def stream_json(request: OperatorRequest, oid: str) -> HttpResponse:
    row = _row(oid)
    try:
        loading.refuse_another_file(row)
        others = [other.oid for other in _same_request(row) if other.pk != row.pk]
        return as_json({**stream_report.stream_report(row.oid, loading.analysis(row)), "same_request": others})
    except SourceProblem as problem:
        return as_json({"error": problem.sentence}, status=409)


@unless_unchanged(facts.of_stream)
def stream_md(request: OperatorRequest, oid: str) -> HttpResponse:
    """The stream as text for an issue: what is wrong, and both sides as they went, around what the page shows."""
    row, filters = _row(oid), _filters(request)
    try:
        view = _view(row)
    except SourceProblem as problem:
        return HttpResponse(problem.sentence + "\n", status=409, content_type="text/plain; charset=utf-8")
    shown = stream_view.window(view, filters.start, filters.selected, filters.lane, filters.kind, filters.only)
    query = request.GET.urlencode()
    links = {"stream": absolute(request, f"/streams/{row.oid}/{f'?{query}' if query else ''}")}
    report = {**stream_report.stream_report(row.oid, view.analysis), "verdict": stream_view.headline(view)}
    return as_markdown(markdown.stream_md(report, stream_view.as_lines(shown.rows[:LINES_SHOWN], shown.matching), links))


def event_raw(request: OperatorRequest, oid: str, side: str, number: int) -> HttpResponse | StreamingHttpResponse:
    """Exactly the bytes of one event, never shown in place: what was captured is hostile content."""
    row = _row(oid)
    if side not in row.side_names:
        raise Http404("This capture has no such side.")
    try:
        data = stream_event.event_bytes(loading.exchange(row), Side(side), number)
    except SourceProblem as problem:
        return refusal(request, problem.sentence)
    if data is None:
        raise Http404("This side has no such event.")
    return _download(data, f"stream-{row.oid}-{side}-{number}.txt", "text/plain; charset=utf-8")


def capture(request: OperatorRequest, oid: str) -> HttpResponse | StreamingHttpResponse:
    """The capture in our own format, whatever it was read from; keys and cookies were dropped when it was read."""
    row = _row(oid)
    try:
        exchange = loading.exchange(row)
    except SourceProblem as problem:
        return refusal(request, problem.sentence)
    return _download(own.written(exchange), f"stream-{row.oid}.capture.jsonl", "application/x-ndjson")


def _download(data: Iterator[bytes], name: str, kind: str) -> StreamingHttpResponse:
    response = StreamingHttpResponse(data, content_type=kind)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["X-Content-Type-Options"] = "nosniff"
    return exact(response)


def _corrected(row: Stream, request: OperatorRequest) -> Corrected:
    strategies = tuple(request.GET.getlist("strategy")[:40]) or None
    try:
        correction = correct(loading.exchange(row), request.GET.get("invented") == "1", strategies)
    except CannotCorrect as problem:
        return Corrected(None, str(problem))
    return Corrected(correction, "", analysed(correction.exchange) if correction.total else None)


@unless_unchanged(facts.of_stream)
def corrected(request: OperatorRequest, oid: str) -> HttpResponse:
    row = _row(oid)
    try:
        corrected_stream, view = _corrected(row, request), _view(row)
    except SourceProblem as problem:
        return refusal(request, problem.sentence)
    query = request.GET.urlencode()
    content = CorrectedPage(
        row,
        stream_view.headline(view),
        corrected_stream,
        STREAM_STRATEGIES,
        tuple(request.GET.getlist("strategy")),
        request.GET.get("invented") == "1",
        f"?{query}" if query else "",
    )
    return page(request, "stream_corrected.html", content)


def corrected_capture(request: OperatorRequest, oid: str) -> HttpResponse | StreamingHttpResponse:
    row = _row(oid)
    try:
        corrected_stream = _corrected(row, request)
    except SourceProblem as problem:
        return refusal(request, problem.sentence)
    if corrected_stream.correction is None:
        return refusal(request, corrected_stream.why_not)
    if not corrected_stream.correction.total:
        return refusal(request, "Nothing of this stream is to be corrected: there is no other capture to download.")
    return _download(own.written(corrected_stream.correction.exchange), f"stream-{row.oid}-corrected.capture.jsonl", "application/x-ndjson")
