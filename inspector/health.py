"""Whether this server can work, at /healthz: for a proxy or a monitor, without signing in and without a secret."""

import tempfile
from collections.abc import Callable
from functools import cache

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed

from inspector import delivering
from inspector.cache_headers import NOTHING
from inspector.models.watch import Watch, Watcher
from inspector.presentation.json_text import json_text

PATH = "/healthz"
WAITS_FOR_WORKERS = 300
"""Seconds that a job may wait while no worker is alive."""
_SPOOLED = b"\0" * 65_536
"""More than is kept in memory of an answer: a full disk is noticed."""


def answer_health(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """200 where everything works, else 503; before host names, sessions and tokens are looked at."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if request.path != PATH:
            return get_response(request)
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(("GET", "HEAD"))
        works = {name: check() for name, check in CHECKS.items()}
        report = {name: "ok" if ok else "failed" for name, ok in works.items()}
        headers = {"Cache-Control": NOTHING}
        return HttpResponse(json_text(report), status=200 if all(works.values()) else 503, content_type="application/json", headers=headers)

    return middleware


def _database_answers() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            return bool(cursor.fetchone())
    except (DatabaseError, InterfaceError):
        return False


def _is_migrated() -> bool:
    try:
        return _migrations() <= set(MigrationRecorder(connection).applied_migrations())
    except (DatabaseError, InterfaceError):
        return False


@cache
def _migrations() -> frozenset[tuple[str, str]]:
    """Those of this version: read once, as a server runs the code that it was started with."""
    return frozenset(MigrationLoader(None).disk_migrations)


def _spool_is_writable() -> bool:
    """Where long requests and answers wait for slow clients."""
    try:
        with tempfile.TemporaryFile() as file:
            file.write(_SPOOLED)
            file.flush()
    except OSError:
        return False
    return True


def _workers_work() -> bool:
    """Failed where jobs wait and no worker says that it is alive. Without a queue (SQLite), and without jobs, there is nothing for them to do."""
    if connection.vendor != "postgresql":
        return True
    from inspector.management import jobs

    try:
        return jobs.has_worker() or jobs.oldest_waiting() < WAITS_FOR_WORKERS
    except (DatabaseError, InterfaceError):
        return False


def _deliveries_go_on() -> bool:
    """Failed where this server began to deliver messages, and goes on no more."""
    return delivering.is_alive() is not False


def _watcher_looks() -> bool:
    """Failed where sources are watched and no process looks at them."""
    try:
        watcher = Watcher.now() if settings.INSPECTOR_WATCH and Watch.objects.filter(is_on=True).exists() else None
        return watcher is None or watcher.is_alive
    except (DatabaseError, InterfaceError):
        return False


CHECKS: dict[str, Callable[[], bool]] = {
    "database": _database_answers,
    "migrations": _is_migrated,
    "spool": _spool_is_writable,
    "workers": _workers_work,
    "deliveries": _deliveries_go_on,
    "watcher": _watcher_looks,
}
