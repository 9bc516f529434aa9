"""The watcher: looks at every watched source, as often as a look is cheap, and has imported what changed. `serve` and `worker` run it, in a thread.

One process of an installation looks (`models.watch.take_watch`); the others wait until it ends. A look opens no file. An import is done by a process of its
own, or by a worker of the queue where there is one, and is the import that a person would start.
"""

import logging
import multiprocessing
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.utils import timezone

from inspector.actions import watching
from inspector.background import LOST, queue_of_workers
from inspector.background_process import run_watched
from inspector.command_line import expected, printable, unexpected
from inspector.middleware import web_limit
from inspector.models import Source, Watch
from inspector.models.transactions import is_in_memory
from inspector.models.watch import SELDOM, leave_watch, take_watch
from inspector.sources import watched
from inspector.sources.dsn import Dsn
from inspector.sources.growing import QUIET
from inspector.sources.places import place
from inspector.sources.problems import SourceProblem
from inspector.sources.processes import this_process
from inspector.sources.reach import limited
from inspector.text.at_hand import at_work

TURN = 1.0
"""Seconds between two questions which sources are watched."""
BETWEEN = 5.0
"""Seconds between two questions whether another process looks."""
SHARE = 100
"""A look is at most this part of the time: of a source that takes a second, there is one every 100 seconds."""
LONGEST_PACE = 300.0
SETTLES = 3.0
"""Seconds for which a change waits until nothing more is written; then what is there is imported, and the rest with the next look."""
AFTER_IMPORT, START = 3, 2.0
"""So many times as long as an import took, but for the seconds that the start of a process takes, is waited until the next one of the same source."""
AGAIN, LONGEST_AGAIN = 6.0, 300.0
"""Seconds until what is as it was is imported once more: it failed, or a line had no end yet. Each time twice as long."""
AT_ONCE = 2
_CONTEXT = multiprocessing.get_context("forkserver")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Import:
    """One that runs. `is_running` and `problem` may ask the process or the queue; `problem` is "" of one that wrote down itself how it ended."""

    began: float
    mark: str
    is_running: Callable[[], bool]
    problem: Callable[[], str]


@dataclass(slots=True)
class Turn:
    """Where the watcher is with a source; times are of the monotonic clock."""

    next_at: float = 0.0
    changed_at: float | None = None
    """Since when it is another than what was imported."""
    not_before: float = 0.0
    """No import before: one that takes long is not the only one."""
    mark: str = ""
    """Of what the last import of this process began with, which was tried so many times, and is not tried again before `again_at`."""
    tries: int = 0
    again_at: float = 0.0
    running: Import | None = None


class Watching:
    """The looks of one process, one after the other."""

    def __init__(self, imports: Callable[[int, str], Import] | None = None) -> None:
        self.by = this_process()
        self._turns: dict[int, Turn] = {}
        self._imports = imports or started_import

    def turn(self) -> float:
        """Looks at what is due; seconds until the next turn."""
        if not settings.INSPECTOR_WATCH or not take_watch(self.by):
            return BETWEEN
        sources = self._watched()
        for pk in self._turns.keys() - {source.pk for source, _ in sources}:
            if self._turns[pk].running is None:
                del self._turns[pk]
        for source, watch in sources:
            turn = self._turns.setdefault(source.pk, Turn())
            if turn.running is not None:
                self._follow(source, turn)
            elif turn.next_at <= time.monotonic():
                self._look(source, watch, turn)
        soonest = min((turn.next_at for turn in self._turns.values()), default=time.monotonic() + TURN)
        return min(max(soonest - time.monotonic(), 0.1), TURN)

    def _watched(self) -> list[tuple[Source, Watch]]:
        rows = Source.objects.select_related("watch").defer("problems", "sealed", "came_from")
        if not settings.INSPECTOR_LOCAL:
            rows = rows.filter(watch__is_on=True)
        both = ((source, getattr(source, "watch", None)) for source in rows.exclude(watch__is_on=False))
        return [(source, watch or Watch(source=source)) for source, watch in both if watching.is_on(source, watch)]

    def _look(self, source: Source, watch: Watch, turn: Turn) -> None:
        began = time.monotonic()
        try:
            with limited(web_limit()):
                where = place(source.path)
                look = watched.look(where, source.format)
                is_other = look.mark != watch.mark
                is_sure = not look.is_written(time.time_ns())
                is_imported = is_other and is_sure and not watch.problem and watching.is_as_imported(source, where, look)
        except SourceProblem as problem:
            watching.record_problem(source.pk, problem.sentence)
            turn.changed_at = None
            turn.next_at = began + max(_pace(source, watch, time.monotonic() - began), float(watching.OF_SERVERS))
            return
        now = time.monotonic()
        pace = _pace(source, watch, now - began)
        self._record_pace(source, watch, pace)
        turn.next_at = began + pace
        if is_imported:
            # By a person, or before there was a watcher.
            Watch.objects.update_or_create(source=source, defaults={"mark": look.mark})
        if (is_other and not is_imported) or watch.problem:
            self._change(source, turn, look, now)
        else:
            turn.changed_at, turn.tries = None, 0

    def _change(self, source: Source, turn: Turn, look: watched.Look, now: float) -> None:
        """Imports what changed when it is quiet, or was waited for long enough."""
        turn.changed_at = now if turn.changed_at is None else turn.changed_at
        turn.tries = turn.tries if turn.mark == look.mark else 0
        quiet = QUIET if source.is_capture else watched.SETTLED_NS / 1e9
        is_ready = not look.is_written(time.time_ns(), int(quiet * 1e9)) or now - turn.changed_at >= max(SETTLES, quiet)
        is_place = sum(other.running is not None for other in self._turns.values()) < AT_ONCE
        not_before = max(turn.not_before, turn.again_at if turn.mark == look.mark else 0.0)
        if not is_ready or now < not_before or not is_place:
            turn.next_at = min(turn.next_at, max(now + 0.5, not_before))
            return
        turn.mark, turn.changed_at = look.mark, None
        turn.tries += 1
        turn.running = self._imports(source.pk, look.mark)
        self._follow(source, turn)

    def _follow(self, source: Source, turn: Turn) -> None:
        running = turn.running
        assert running is not None
        now = time.monotonic()
        if running.is_running():
            turn.next_at = now + 0.3
            return
        turn.running = None
        if sentence := running.problem():
            watching.record_problem(source.pk, sentence, running.mark)
        turn.not_before = now + min(AFTER_IMPORT * max(0.0, now - running.began - START), LONGEST_AGAIN)
        turn.again_at = now + min(AGAIN * 2 ** (turn.tries - 1), LONGEST_AGAIN)
        turn.next_at = now + watching.OF_FILES

    def _record_pace(self, source: Source, watch: Watch, pace: float) -> None:
        """Of seldom looks each; of others only that they are another time apart."""
        rounded = round(pace)
        if rounded >= SELDOM:
            Watch.objects.update_or_create(source=source, defaults={"pace": rounded, "looked_at": timezone.now()})
        elif watch.pk and not watch.pace / 2 <= rounded <= watch.pace * 2:
            Watch.objects.filter(pk=watch.pk).update(pace=rounded)


def _pace(source: Source, watch: Watch, seconds: float) -> float:
    """Between two looks, of which one took so many seconds."""
    usual = watching.OF_SERVERS if isinstance(_place(source), Dsn) else watching.OF_FILES
    return max(float(watch.every or usual), min(seconds * SHARE, LONGEST_PACE))


def _place(source: Source) -> object:
    with suppress(SourceProblem):
        return place(source.path)
    return None


def import_now(source_pk: int) -> None:
    """The import of a change, in whatever process: what a page may read, and no more. What goes wrong is a sentence on the source."""
    try:
        with limited(web_limit()), at_work():
            watching.import_changed(source_pk)
    except (DatabaseError, InterfaceError):
        raise
    except Exception as problem:
        watching.record_problem(source_pk, printable(expected(problem) or unexpected(problem, ["", "import_source"])))


def started_import(source_pk: int, mark: str) -> Import:
    """By a worker of the queue; where none answers, by a process of its own."""
    began = time.monotonic()
    if is_in_memory():
        # No other process sees this database.
        import_now(source_pk)
        return Import(began, mark, lambda: False, lambda: "")
    queue = queue_of_workers()
    if queue is not None and queue.has_worker():
        number = queue.queue_watched(source_pk)
        return Import(began, mark, partial(_is_waiting, queue, number), partial(_problem_of_job, queue, number))
    # As the pages of the whole: the process is a copy of one that has everything imported and nothing open.
    _CONTEXT.set_forkserver_preload(["inspector.wsgi"])
    process = _CONTEXT.Process(target=run_watched, args=(source_pk, str(connection.settings_dict["NAME"])), daemon=True)
    process.start()
    return Import(began, mark, process.is_alive, lambda: LOST if process.exitcode else "")


def _is_waiting(queue: object, number: int | None) -> bool:
    row = None if number is None else queue.described(number)  # type: ignore[attr-defined]
    return row is not None and row["state"] in ("waiting", "running") and bool(queue.has_worker())  # type: ignore[attr-defined]


def _problem_of_job(queue: object, number: int | None) -> str:
    row = None if number is None else queue.described(number)  # type: ignore[attr-defined]
    return str(row["error"]) if row is not None and row["state"] == "failed" else ""


def run(stop: threading.Event) -> None:
    """Looks until `stop` is set. A database that is busy or away is asked again."""
    looks = Watching()
    pause = TURN
    try:
        while not stop.wait(pause):
            try:
                pause = looks.turn()
            except (DatabaseError, InterfaceError) as problem:
                pause = BETWEEN
                _log.info("The watcher waits for the database: %s", problem)
            except Exception:
                pause = LONGEST_PACE
                _log.exception("The watcher stumbled, and looks again in %s seconds", LONGEST_PACE)
            finally:
                if connection.vendor != "sqlite":
                    # Back to the pool: between two turns others need it.
                    connection.close()
        with suppress(DatabaseError, InterfaceError):
            leave_watch(looks.by)
    finally:
        connection.close()


@contextmanager
def watching_sources() -> Iterator[None]:
    """Next to a server or a worker, until that ends."""
    if not settings.INSPECTOR_WATCH:
        yield
        return
    stop = threading.Event()
    thread = threading.Thread(target=run, args=(stop,), name="watcher", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(5)
