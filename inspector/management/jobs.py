"""Commands as jobs of Procrastinate, which keeps them in our own PostgreSQL: any number of `worker` processes, on any number of machines, run them.

A job is a command of ours with its options. The engine runs each at least once, so each may be run again: an import writes only what differs, a conversation
with its findings or not at all; the other commands only read. The job of a worker that ended in the middle is given to another when its heartbeat is missing.
Nothing here is imported with SQLite, where the same commands do their work at once.
"""

import asyncio
import hashlib
import io
import json
import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

from asgiref.sync import sync_to_async
from django.core.management import load_command_class
from django.core.management.base import BaseCommand, OutputWrapper
from django.db import OperationalError, connection
from django.db.models import Count
from django.utils import timezone
from procrastinate import JobContext, RetryStrategy
from procrastinate.contrib.django import app
from procrastinate.contrib.django.models import ProcrastinateJob, ProcrastinateWorker
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException
from procrastinate.jobs import Job, Status

from inspector import background, watcher
from inspector.actions import renewing, verification
from inspector.command_line import expected, printable, unexpected
from inspector.delivering import delivering
from inspector.environment import os_user
from inspector.management.answering import refusals
from inspector.models import Conversation, JobResult, Source
from inspector.sources import reading, stores
from inspector.sources.places import place
from inspector.sources.reading import Server
from inspector.sources.streaming import OpenStore

ATTEMPTS = 5
"""Of one job, where the database cannot be reached or the worker is lost."""
PART = 500
"""Conversations of a store that are worth a job of their own."""
MOST_PARTS = 64
"""Each part lists the store once."""
HEARTBEAT = 10.0
"""Seconds; a worker that is silent for three of them is lost."""
DAYS_KEPT = 7
MOST_LISTED = 1_000
STATES = {"todo": "waiting", "doing": "running", "succeeded": "done", "failed": "failed"}
VERIFIED_AT_ONCE = 200
"""Applied repairs that one look compares with their stores."""
_WAIT_FOR_PARTS = 2
LOST = (
    f"Workers tried it {ATTEMPTS} times, and the last one was ended in the middle, most often because memory ran out: "
    "see what its machine says, give it more memory, and queue the command again."
)
_RETRY = RetryStrategy(max_attempts=ATTEMPTS, wait=5, retry_exceptions={OperationalError})


def queue(name: str, options: Mapping[str, Any]) -> int | None:
    """The number of the new job; None where the same command with the same options waits already."""
    lock = _lock(name, options)
    # Two imports of one store would read it twice; its parts may run at once.
    running = lock if "part" in options else _lock(name, options.get("target"))
    try:
        return command.configure(lock=running, queueing_lock=lock).defer(name=name, options=dict(options))
    except AlreadyEnqueued:
        return None


def _lock(*parts: object) -> str:
    """Short, since it is in an index; a path may be 4,096 bytes."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@app.task(name="command", pass_context=True, retry=_RETRY)
def command(context: JobContext, name: str, options: dict[str, Any]) -> None:
    """Runs a command and keeps what it answers. An import of many conversations becomes several jobs, and one that waits for them and does what is left."""
    with _kept_result(context):
        if name == "import_source" and "part" not in options:
            if not options.get("is_split") and _split(options):
                return
            if options.get("is_split") and _part_jobs(options).exists():
                _defer_rest(options)
                return
        answer = _answer(name, options)
        if "part" not in options:
            JobResult.objects.create(job=_number(context), ended_at=timezone.now(), answer=answer)


@app.task(name="renew", pass_context=True, retry=_RETRY)
def renew(context: JobContext, conversation: int) -> None:
    """Judges again what older rules judged of one conversation."""
    with _kept_result(context):
        row = Conversation.objects.select_related("source").filter(pk=conversation, is_gone=False).first()
        if row is not None and renewing.renew(row) and background.is_large(row):
            background.prepare_ahead([row], waits=False)


@app.task(name="background", pass_context=True, retry=_RETRY)
def background_task(context: JobContext, task: int) -> None:
    """Computes what a page asked for and shows later."""
    with _kept_result(context):
        background.run(task, retries=True)


def queue_background(task: int) -> int:
    """The number of the new job. Before others: a person waits for it."""
    number: int = background_task.configure(priority=1).defer(task=task)
    return number


@app.task(name="watched", pass_context=True, retry=_RETRY)
def watched(context: JobContext, source: int) -> None:
    """Imports what changed in a watched source."""
    with _kept_result(context):
        watcher.import_now(source)


def queue_watched(source: int) -> int | None:
    """The number of the new job; None where one waits already. It does not run next to another import of the source."""
    path = Source.objects.values_list("path", flat=True).get(pk=source)
    try:
        number: int = watched.configure(lock=_lock("import_source", [path]), queueing_lock=f"watched {source}", priority=1).defer(
            source=source
        )
    except AlreadyEnqueued:
        return None
    return number


def has_worker() -> bool:
    """Whether a worker said lately that it is alive."""
    return ProcrastinateWorker.objects.filter(last_heartbeat__gte=timezone.now() - timedelta(seconds=3 * HEARTBEAT)).exists()


def queue_renewals(rows: Iterable[Conversation]) -> int:
    """A job for each conversation, and their number; those that wait already are counted too."""
    count = 0
    for row in rows:
        count += 1
        with suppress(AlreadyEnqueued):
            renew.configure(lock=f"renew {row.pk}", queueing_lock=f"renew {row.pk}").defer(conversation=row.pk)
    return count


def counts() -> dict[str, int]:
    """How many jobs wait, run, are done, and failed."""
    own = dict(ProcrastinateJob.objects.order_by().values_list("status").annotate(Count("pk")))
    return {state: own.get(status, 0) for status, state in STATES.items()}


def workers() -> int:
    """Those that said lately that they are alive."""
    return ProcrastinateWorker.objects.filter(last_heartbeat__gte=timezone.now() - timedelta(seconds=3 * HEARTBEAT)).count()


def oldest_waiting() -> float:
    """Seconds since the oldest job that waits was queued, and is due; 0 where none is."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT extract(epoch FROM now() - min(event.at)) FROM procrastinate_jobs job JOIN procrastinate_events event ON event.job_id = job.id "
            "WHERE job.status = 'todo' AND event.type = 'deferred' AND (job.scheduled_at IS NULL OR job.scheduled_at <= now())"
        )
        return float(cursor.fetchone()[0] or 0.0)


def listed() -> list[dict[str, Any]]:
    """What failed, what runs, and what waits, in this order and in the order of the queue; at most MOST_LISTED."""
    rows: list[ProcrastinateJob] = []
    for status in ("failed", "doing", "todo"):
        rows += ProcrastinateJob.objects.filter(status=status).order_by("-priority", "pk")[: MOST_LISTED - len(rows)]
    return _with_results(rows)


def described(number: int) -> dict[str, Any] | None:
    """One job, whatever its state; None where there is none."""
    return next(iter(_with_results(ProcrastinateJob.objects.filter(pk=number))), None)


def _with_results(rows: Iterable[ProcrastinateJob]) -> list[dict[str, Any]]:
    rows = list(rows)
    results = JobResult.objects.in_bulk([row.pk for row in rows])
    return [
        {
            "number": row.pk,
            "state": STATES.get(row.status, row.status),
            "command": _command_of(row),
            "attempts": row.attempts,
            "error": results[row.pk].error if row.pk in results else "",
            "answer": results[row.pk].answer if row.pk in results else "",
        }
        for row in rows
    ]


def _command_of(row: ProcrastinateJob) -> str:
    if row.task_name == "background":
        return f"background {row.args['task']}"
    if row.task_name == "watched":
        return f"watched {row.args['source']}"
    if row.task_name == "renew":
        return f"renew {row.args['conversation']}"
    options = row.args["options"]
    targets = options.get("target") or []
    words = [row.args["name"], *([targets] if isinstance(targets, str) else targets)]
    part = options.get("part")
    return " ".join(words) + (f" (part {part[0] + 1} of {part[1]})" if part else "")


def work(until_empty: bool = False, heartbeat: float = HEARTBEAT) -> None:
    """Runs jobs one after the other, until it is told to stop (SIGINT, SIGTERM: the job that runs is finished) or, `until_empty`, no job waits or runs."""
    # Its own log has tracebacks; what a person is told of a job is kept with it.
    logging.getLogger("procrastinate").setLevel(logging.CRITICAL)

    async def run() -> None:
        async with app.open_async():
            worker = asyncio.create_task(
                app.run_worker_async(
                    update_heartbeat_interval=heartbeat, stalled_worker_timeout=3 * heartbeat, fetch_job_polling_interval=1.0
                )
            )
            watches = [asyncio.create_task(_retry_stalled(heartbeat))]
            if until_empty:
                watches.append(asyncio.create_task(_stop_when_empty(worker)))
            with suppress(asyncio.CancelledError):
                await worker
            for watch in watches:
                watch.cancel()

    with delivering(), app.replace_connector(app.connector.get_worker_connector()):  # type: ignore[attr-defined]
        asyncio.run(run())


async def _stop_when_empty(worker: asyncio.Task[None]) -> None:
    """The queue's own way to stop overlooks a job that is due later, such as the one that waits for the parts of an import."""
    with suppress(ConnectorException):
        while await ProcrastinateJob.objects.filter(status__in=("todo", "doing")).aexists():
            await asyncio.sleep(0.5)
    worker.cancel()


async def _retry_stalled(heartbeat: float) -> None:
    """Gives the jobs of lost workers to others, while this one works."""
    tidied = 0.0
    while True:
        with suppress(ConnectorException):
            for job in await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=3 * heartbeat):
                # Another worker that watches may have been faster.
                with suppress(ConnectorException):
                    await _retry_one(job)
            if time.monotonic() - tidied > 3600:
                tidied = time.monotonic()
                await app.job_manager.delete_old_jobs(nb_hours=24 * DAYS_KEPT, include_failed=True, include_cancelled=True)
                await sync_to_async(verification.verify_due)(os_user(), VERIFIED_AT_ONCE)
                await JobResult.objects.filter(ended_at__lt=timezone.now() - timedelta(days=DAYS_KEPT)).adelete()
        await asyncio.sleep(heartbeat)


async def _retry_one(job: Job) -> None:
    assert job.id is not None
    if job.attempts + 1 < ATTEMPTS:
        await app.job_manager.retry_job(job)
        return
    await app.job_manager.finish_job(job, Status.FAILED, delete_job=False)
    await JobResult.objects.aupdate_or_create(job=job.id, defaults={"ended_at": timezone.now(), "error": LOST})


@contextmanager
def _kept_result(context: JobContext) -> Iterator[None]:
    """Of a job that fails, keeps the sentence that its command would have printed."""
    number = _number(context)
    JobResult.objects.filter(job=number).delete()
    try:
        with refusals():
            yield
    except Exception as error:
        # It may be the connection that is lost.
        connection.close()
        sentence = printable(expected(error) or unexpected(error, ["", context.job.task_name]))
        JobResult.objects.update_or_create(job=number, defaults={"ended_at": timezone.now(), "error": sentence})
        raise


def _number(context: JobContext) -> int:
    assert context.job.id is not None
    return context.job.id


def _answer(name: str, options: Mapping[str, Any]) -> str:
    """What the command prints as JSON. Raises CommandError and what else it raises; findings (exit status 1) are an answer."""
    own: BaseCommand = load_command_class("inspector", name)
    text = io.StringIO()
    own.stdout = OutputWrapper(text)
    try:
        own.handle(**{**options, "json": True})
    except SystemExit as end:
        if end.code not in (0, 1, None):
            raise
    return text.getvalue()


def _split(options: dict[str, Any]) -> bool:
    """Whether the import was queued in parts, each with the conversations that a number made of their ids gives to it."""
    targets: Sequence[str] = options["target"]
    count = _conversations(targets[0], options["format"]) if len(targets) == 1 and not options["traces"] else 0
    parts = min(-(-count // PART), MOST_PARTS)
    if parts < 2:
        return False
    for number in range(parts):
        queue("import_source", {**options, "part": [number, parts]})
    _defer_rest(options)
    return True


def _defer_rest(options: dict[str, Any]) -> None:
    with suppress(AlreadyEnqueued):
        # Without the lock of the target, which this very job still has.
        command.configure(queueing_lock=_lock("rest", options["target"]), schedule_in={"seconds": _WAIT_FOR_PARTS}, priority=-1).defer(
            name="import_source", options={**options, "is_split": True}
        )


def _part_jobs(options: dict[str, Any]) -> Any:
    return ProcrastinateJob.objects.filter(
        status__in=("todo", "doing"), args__options__target=options["target"], args__options__has_key="part"
    )


def _conversations(target: str, format_name: str | None) -> int:
    with reading.opened(place(target), format_name) as content:
        if isinstance(content, Server):
            return len(stores.native_ids(content.path, content.format))
        return len(content.listed) if isinstance(content, OpenStore) else 0
