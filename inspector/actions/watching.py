"""Sources that are watched: which they are, the import that a change leads to, and the switch."""

import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import Aggregate, Count, Max, Q, QuerySet, Subquery
from django.utils import timezone

from inspector.access.permits import acts
from inspector.actions import audit
from inspector.actions.import_source import AnotherFormat, import_targets
from inspector.actions.problems import Refused
from inspector.environment import os_user
from inspector.models import Source, Watch, Watcher
from inspector.models.news import Scope
from inspector.models.prepared import prepared, totals
from inspector.models.transactions import one_writer
from inspector.models.watch import SELDOM
from inspector.presentation.visible import visible
from inspector.programs.catalogue import UnknownFormat
from inspector.programs.registry import programs
from inspector.programs.sealed import is_sealed
from inspector.sources import growing, unchanged, watched
from inspector.sources.dsn import Dsn, Place
from inspector.sources.places import is_dsn, place
from inspector.sources.problems import SourceProblem
from inspector.sources.reading import NotRecognized

CHOICES = {0: "automatically", 60: "every minute", 600: "every ten minutes", 3600: "every hour"}
"""Seconds between two looks that a person can choose, in words."""
OF_FILES, OF_SERVERS = 2, 5
"""Seconds between two looks that are cheap: a change is read within a second or two of its look, so that it is in the inbox within ten. A look at a
server is a login there."""


def may_be_watched(source: Source) -> bool:
    """Not what is sealed: it never changes."""
    return not is_sealed(source.format)


def by_default(source: Source) -> bool:
    """In local mode, what a person imported by its path: their own file, on their own machine. Not an address, since each look is a login to somebody's
    server, nor what is in our own data folder, such as the demo and uploads."""
    if not settings.INSPECTOR_LOCAL or source.is_demo or is_dsn(source.path):
        return False
    return not Path(source.path).is_relative_to(settings.VAR_DIR.resolve())


def is_on(source: Source, watch: Watch | None) -> bool:
    if not settings.INSPECTOR_WATCH or not may_be_watched(source):
        return False
    return by_default(source) if watch is None or watch.is_on is None else watch.is_on


def watch_of(source: Source) -> Watch | None:
    watch: Watch | None = getattr(source, "watch", None)
    return watch


@acts("watch")
def set_watching(source: Source, operator: str, on: bool, every: int = 0) -> None:
    """Raises Refused."""
    if not may_be_watched(source):
        raise Refused("A bundle of evidence never changes, so there is nothing to watch.")
    if every not in CHOICES:
        raise Refused("Choose how often from the list.")
    with one_writer():
        watch, _ = Watch.objects.get_or_create(source=source)
        watch.is_on, watch.every, watch.pace = on, every, 0
        if not on:
            watch.problem, watch.failed_at = "", None
        watch.save()
        audit.record(operator, "watch" if on else "stop watching", source_path=source.path, every=every)


def read_change(source: Source) -> tuple[str, str]:
    """Imports what is there now; the mark of what was read, and "" or the mark again: "" where more may have come meanwhile, or a line had no end yet.

    Raises SourceProblem, UnknownFormat, Refused.
    """
    before = watched.look(place(source.path), source.format)
    # A write within the grain of the times of files would not show: then the next look reads once more.
    is_sure = not before.is_written(time.time_ns())
    with growing.whole_lines() as left_out:
        _import(source)
    if left_out:
        # The next import reads it whole, whoever starts it.
        Source.objects.filter(pk=source.pk).update(stamp="")
    return before.mark, before.mark if is_sure and not left_out else ""


def import_changed(source_pk: int) -> None:
    """Imports what changed, and writes down how that ended: where it failed, `Watch.problem` says why."""
    source = Source.objects.filter(pk=source_pk).first()
    if source is None:
        return
    try:
        _, mark = read_change(source)
    except (SourceProblem, UnknownFormat, Refused) as problem:
        record_problem(source_pk, str(problem), _mark_now(source))
        return
    done = {"mark": mark, "problem": "", "failed_at": None}
    is_new = Source.objects.filter(pk=source_pk).exclude(changes=source.changes).exists()
    Watch.objects.update_or_create(source_id=source_pk, defaults=done | ({"brought_at": timezone.now()} if is_new else {}))


def _mark_now(source: Source) -> str:
    try:
        return watched.look(place(source.path), source.format).mark
    except SourceProblem:
        return ""


def _import(source: Source) -> None:
    try:
        import_targets([source.path], os_user(), processes=0, is_watched=True)
    except (AnotherFormat, NotRecognized):
        if source.is_trace:
            raise
        # It was imported as a format that was named.
        import_targets([source.path], os_user(), source.format, processes=0, is_watched=True)


def record_problem(source_pk: int, sentence: str, mark: str | None = None) -> None:
    """`mark`: of what an import failed on."""
    if not Source.objects.filter(pk=source_pk).exists():
        return
    watch, _ = Watch.objects.get_or_create(source_id=source_pk)
    changed = {"problem": visible(sentence), "failed_at": watch.failed_at or timezone.now()} | ({"mark": mark} if mark is not None else {})
    if any(getattr(watch, name) != value for name, value in changed.items()):
        Watch.objects.filter(pk=watch.pk).update(**changed)


def is_as_imported(source: Source, where: Place, look: watched.Look) -> bool:
    """Whether the last import, by whomever, read what is there now."""
    if isinstance(where, Dsn):
        return False
    if source.is_trace:
        return 0 < look.written_ns < (source.read_at.timestamp() - 1) * 1e9
    packages = ("inspector", *(program.package for program in programs()))
    return bool(source.stamp) and source.stamp in (unchanged.stamp(where, name, packages) for name in (None, source.format))


def heard_of(watch: Watch | None, watcher: Watcher | None) -> datetime | None:
    """When the watcher last looked at a source that is on and has no problem; None where it did not, or does not run."""
    if watcher is None or not watcher.is_alive or (watch is not None and watch.problem):
        return None
    return watch.looked_at if watch is not None and watch.pace >= SELDOM else watcher.alive_at


def as_of(scope: Scope) -> datetime | None:
    """How old the data of a page is: when its sources were last read, or when a look last found that nothing changed; None where there is nothing."""
    if scope.oid:
        for row in _source_of(scope.oid, kind=scope.kind):
            source, of_watch, (by, alive_at) = Source(**dict(zip(_SOURCE, row, strict=False))), row[len(_SOURCE) : -2], row[-2:]
            watch = Watch(**dict(zip(_WATCH, of_watch, strict=True))) if of_watch[0] else None
            heard = heard_of(watch, Watcher(by=by, alive_at=alive_at) if by else None) if is_on(source, watch) else None
            return max(source.read_at, heard or source.read_at)
        return None
    known = _read_and_watched()
    read_at: datetime | None = known["read_at"]
    heard = heard_of(None, Watcher.now()) if known["looked"] else None
    return read_at if read_at is None or heard is None else max(read_at, heard)


_SOURCE, _WATCH = ("path", "format", "is_demo", "read_at"), ("id", "is_on", "pace", "problem", "looked_at")


@prepared
def _source_of(oid: str, *, kind: str) -> QuerySet[Source, Any]:
    """_SOURCE, _WATCH (None where there is none), and what is known of the watcher."""
    watcher = Watcher.objects.filter(pk=1)
    columns: tuple[Any, ...] = (
        *_SOURCE,
        *(f"watch__{name}" for name in _WATCH),
        Subquery(watcher.values("by")),
        Subquery(watcher.values("alive_at")),
    )
    return Source.objects.filter(_OF[kind](oid)).order_by().values_list(*columns)


@totals
def _read_and_watched() -> tuple[QuerySet[Source], dict[str, Aggregate]]:
    """When a source was last read, and how many are watched so often that the watcher is heard of."""
    often = Q(watch__problem="", watch__pace__lt=SELDOM) & ~Q(watch__mark="") & ~Q(watch__is_on=False)
    return Source.objects.counted(), {"read_at": Max("read_at"), "looked": Count("pk", filter=often)}


_OF: dict[str, Callable[[str], Q]] = {
    "source": lambda oid: Q(oid=oid),
    "conversation": lambda oid: Q(conversations__oid=oid),
    "problem": lambda oid: Q(rule_problems__oid=oid),
}
