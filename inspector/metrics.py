"""/metrics for Prometheus: from counts that are stored, by a fixed number of small queries, with a bounded number of series; and how long requests take.

What a process cannot know of the others (requests, memory) is of this process; everything else is the same from each server of one database.
"""

import secrets
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta

from django.conf import settings
from django.db import connection
from django.db.models import Count, Min, Sum
from django.http import HttpRequest, HttpResponse
from django.urls import Resolver404, resolve
from django.utils import timezone
from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, disable_created_metrics, generate_latest
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric

from inspector import __version__
from inspector.delivering import is_alive
from inspector.models import BackgroundTask, ConversationCount, Delivery, Problem, Repair, Source
from inspector.models.problem import ProblemState, in_states
from inspector.notifying.events import quoted
from inspector.sources.problems import THE_FILE

PATH = "/metrics"
READER = "metrics"
"""The name of who shows the token."""
SCHEME = "Bearer "
MOST_SOURCES = 200
"""With series of their own: those that were read last. The others are one source together, `other`."""
MOST_PROBLEMS = 5_000
OTHER = "other"
NAME = 80
BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

disable_created_metrics()  # type: ignore[no-untyped-call]
_of_this_process = CollectorRegistry()
ProcessCollector(registry=_of_this_process)
_seconds = Histogram(
    "inspector_request_seconds", "Seconds until the answer to a request began, by the pattern of its address.", ("route",), buckets=BUCKETS,
    registry=_of_this_process,
)  # fmt: skip
_responses = Counter("inspector_responses", "Answers by the first digit of their status.", ("status",), registry=_of_this_process)


def time_requests(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """By the pattern of the address, of which there are as many as there are pages: what people type is no label."""

    def middleware(request: HttpRequest) -> HttpResponse:
        begun = time.perf_counter()
        response = get_response(request)
        match = getattr(request, "resolver_match", None)
        observe(f"/{match.route}" if match else OTHER, response.status_code, time.perf_counter() - begun)
        return response

    return middleware


def observe(route: str, status: int, seconds: float) -> None:
    _seconds.labels(route).observe(seconds)
    _responses.labels(f"{status // 100}xx").inc()


def route_of(path: str) -> str:
    """The pattern of an address of a page that another process makes; its own counts end with it."""
    try:
        return f"/{resolve(path).route}"
    except Resolver404:
        return OTHER


def has_token(request: HttpRequest) -> bool:
    """Whether the request is for the metrics, and shows the token that reads them and nothing else."""
    expected, header = settings.INSPECTOR_METRICS_TOKEN, request.headers.get("Authorization", "")
    if request.path != PATH or not expected or not header.startswith(SCHEME):
        return False
    return secrets.compare_digest(header.removeprefix(SCHEME).encode("utf-8", "surrogatepass"), expected.encode())


def text() -> bytes:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Stored())
    return generate_latest(_of_this_process) + generate_latest(registry)


class _Stored:
    """What is counted in our database."""

    def collect(self) -> Iterable[Metric]:
        yield InfoMetricFamily("inspector", "The version that runs.", value={"version": __version__})
        sources = list(
            Source.objects.counted()
            .order_by("-read_at", "pk")
            .select_related("watch")
            .only("pk", "oid", "path", "format", "read_at", "problems", "is_demo", "watch__problem")[:MOST_SOURCES]
        )
        label = {source.pk: source.oid for source in sources}
        yield from _of_sources(sources)
        yield from _conversations(label)
        yield _problems(label)
        yield _grouped(
            "inspector_repairs",
            "Repairs by state.",
            "state",
            Repair.objects.counted().order_by().values_list("state").annotate(Count("pk")),
        )
        yield from _jobs()
        yield from _deliveries()


def _of_sources(sources: list[Source]) -> Iterator[Metric]:
    info = InfoMetricFamily("inspector_source", "The name and format of each source.", labels=("source",))
    read = GaugeMetricFamily("inspector_source_read_timestamp_seconds", "When the source was last read.", labels=("source",))
    failed = GaugeMetricFamily(
        "inspector_source_problems", "Problems when the source was last read; at most 50 are kept.", labels=("source",)
    )
    damaged = GaugeMetricFamily(
        "inspector_source_file_damaged", "1 where the file itself was damaged when it was last read.", labels=("source",)
    )
    lost = GaugeMetricFamily(
        "inspector_source_watch_failed", "1 where a watched source could not be read at the last look.", labels=("source",)
    )
    for source in sources:
        info.add_metric((source.oid,), {"name": quoted(source.name, NAME), "format": source.format, "demo": str(source.is_demo).lower()})
        read.add_metric((source.oid,), source.read_at.timestamp())
        failed.add_metric((source.oid,), len(source.problems))
        damaged.add_metric((source.oid,), int(any(problem["where"] == THE_FILE for problem in source.problems)))
        if watch := getattr(source, "watch", None):
            lost.add_metric((source.oid,), int(bool(watch.problem)))
    yield from (info, read, failed, damaged, lost)


def _conversations(label: dict[int, str]) -> Iterator[Metric]:
    rows = (
        ConversationCount.objects.counted()
        .filter(is_gone=False)
        .order_by()
        .values_list("source", "is_damaged")
        .annotate(Sum("conversations"), Sum("chunks"))
    )
    numbers: dict[tuple[str, str], int] = defaultdict(int)
    chunks: dict[str, int] = defaultdict(int)
    for source, is_damaged, conversations, size in rows:
        numbers[label.get(source, OTHER), str(is_damaged).lower()] += conversations
        chunks[label.get(source, OTHER)] += size
    family = GaugeMetricFamily(
        "inspector_conversations", "Conversations that are in their store, damaged or rejected, or not.", labels=("source", "damaged")
    )
    for key, number in numbers.items():
        family.add_metric(key, number)
    yield family
    sizes = GaugeMetricFamily("inspector_chunks", "Chunks of these conversations.", labels=("source",))
    for source, number in chunks.items():
        sizes.add_metric((source,), number)
    yield sizes


def _problems(label: dict[int, str]) -> Metric:
    """One problem is one rule in one source, so that there are as many rows as series."""
    family = GaugeMetricFamily(
        "inspector_open_problem_conversations",
        "Conversations or captured streams in which a rule occurs, of problems that are not ignored.",
        labels=("source", "rule", "severity"),
    )
    rows = Problem.objects.counted().filter(in_states()[ProblemState.OPEN]).order_by("rank", "-conversations", "id")
    numbers: dict[tuple[str, str, str], int] = defaultdict(int)
    for problem in rows.only("source_id", "code", "rank", "conversations")[:MOST_PROBLEMS]:
        numbers[label.get(problem.source_id, OTHER), problem.code, problem.severity] += problem.conversations
    for key, number in numbers.items():
        family.add_metric(key, number)
    return family


def _jobs() -> Iterator[Metric]:
    """Of the queue (PostgreSQL), and what pages asked for and do not wait for."""
    running = BackgroundTask.objects.filter(ended_at=None).aggregate(number=Count("pk"), oldest=Min("started_at"))
    yield GaugeMetricFamily("inspector_background_tasks", "Work that pages asked for and that has not ended.", value=running["number"])
    yield _age("inspector_background_task_oldest_seconds", "Age of the oldest of them.", running["oldest"])
    if connection.vendor != "postgresql":
        return
    from inspector.management import jobs

    yield _grouped("inspector_jobs", "Jobs of the queue by state; those that ended are kept for a week.", "state", jobs.counts().items())
    seconds = jobs.oldest_waiting()
    yield GaugeMetricFamily("inspector_job_oldest_seconds", "Age of the oldest job that waits, 0 where none does.", value=seconds)
    yield GaugeMetricFamily("inspector_workers", "Workers that said lately that they are alive.", value=jobs.workers())


def _deliveries() -> Iterator[Metric]:
    rows = Delivery.objects.order_by().values_list("state").annotate(Count("pk"))
    yield _grouped("inspector_deliveries", "Messages by state; those that ended are kept for two weeks.", "state", rows)
    oldest = Delivery.objects.filter(state=Delivery.State.WAITING, due_at__lte=timezone.now()).aggregate(oldest=Min("added_at"))["oldest"]
    yield _age("inspector_delivery_oldest_seconds", "Age of the oldest message that is due, 0 where none is.", oldest)
    if (alive := is_alive()) is not None:
        yield GaugeMetricFamily("inspector_delivery_alive", "1 where the deliveries of this process go on.", value=int(alive))


def _grouped(name: str, about: str, by: str, rows: Iterable[tuple[str, int]]) -> Metric:
    family = GaugeMetricFamily(name, about, labels=(by,))
    for value, number in rows:
        family.add_metric((str(value),), number)
    return family


def _age(name: str, about: str, since: object) -> Metric:
    age = max(timedelta(), timezone.now() - since).total_seconds() if since is not None else 0.0  # type: ignore[operator]
    return GaugeMetricFamily(name, about, value=age)
