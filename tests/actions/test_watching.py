"""Watched sources: what a program writes is imported by itself, whatever it does to its files, and only then."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from inspector import watcher
from inspector.actions import watching
from inspector.actions.import_source import import_targets
from inspector.actions.problems import Refused
from inspector.demo.branch_incident import pi_files
from inspector.models import AuditEntry, Conversation, Finding, Source, Watch, Watcher
from inspector.models.watch import LOST, leave_watch, take_watch
from inspector.sources import growing, unchanged, watched
from inspector.sources.processes import this_process
from inspector.watcher import Watching
from tests.actions.building import WHO, imported, merged, put, row
from tests.actions.test_live_writer import writer
from tests.views.reaching import watched as opened_files
from tests.views.reaching import write_files

pytestmark = pytest.mark.django_db(transaction=True)

SAYS = '{{"type":"message","id":"{0}","parentId":"{1}","timestamp":"2026-02-05T10:23:14.672Z","message":{{"role":"user","content":[{{"type":"text","text":"{0}"}}],"timestamp":1770286994666}}}}\n'
APPENDS = """
import sys, time
file = open(sys.argv[1], "a")
for line in sys.stdin:
    file.write(line if line != "half\\n" else '{"type":"message","id":"h')
    file.flush()
    print("written", flush=True)
"""


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """As ever, a few times as fast."""
    monkeypatch.setattr(watched, "SETTLED_NS", 50_000_000)
    monkeypatch.setattr(unchanged, "SETTLED_NS", 50_000_000)
    monkeypatch.setattr(watching, "OF_FILES", 0.05)
    for module, name, value in (
        *((watcher, "TURN", 0.05), (watcher, "SETTLES", 0.3), (watcher, "AGAIN", 0.3), (watcher, "AFTER_IMPORT", 0)),
        *((growing, "QUIET", 0.6), (watching, "OF_SERVERS", 0.1)),
    ):
        monkeypatch.setattr(module, name, value)


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    folder = write_files(tmp_path / "sessions", pi_files())
    import_targets([str(folder)], WHO)
    return folder


def until(looks: Watching, is_so: Callable[[], object], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, list(Watch.objects.values())
        time.sleep(min(looks.turn(), 0.05))


def while_nothing(looks: Watching, seconds: float = 0.5) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(min(looks.turn(), 0.05))


def chunks() -> int:
    return sum(Conversation.objects.filter(is_gone=False).values_list("chunk_count", flat=True))


def problem() -> str:
    return Watch.objects.values_list("problem", flat=True).first() or ""


@pytest.mark.slow
def test_whatever_a_program_does_to_its_files_is_imported(sessions: Path) -> None:
    looks, session = Watching(), max(sessions.rglob("*.jsonl"))
    last = json.loads(session.read_text().splitlines()[-1])["id"]
    while_nothing(looks)
    first = chunks()
    lines = AuditEntry.objects.count()

    # Another process appends, and is in the middle of a line for a while.
    program = subprocess.Popen([sys.executable, "-c", APPENDS, str(session)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def is_torn() -> bool:
        return Finding.objects.filter(code="STORE501", is_open=True, conversation__native_id__contains=session.stem[-12:]).exists()

    def write(line: str) -> None:
        assert program.stdin is not None and program.stdout is not None
        program.stdin.write(line)
        program.stdin.flush()
        program.stdout.readline()

    write(SAYS.format("one", last))
    until(looks, lambda: chunks() == first + 1)
    write(SAYS.format("two", "one"))
    write("half\n")
    until(looks, lambda: chunks() == first + 2)
    while_nothing(looks, 1.5)
    assert not is_torn()
    # It ends in the middle: then the line is damage.
    program.kill()
    program.wait()
    until(looks, is_torn)

    # Replaced by another file, as editors and programs do it.
    whole = session.read_text().rpartition("\n")[0] + "\n"
    aside = session.with_suffix(".new")
    aside.write_text(whole + SAYS.format("three", "two"))
    aside.replace(session)
    until(looks, lambda: chunks() == first + 3 and not is_torn())

    # A new file, in a new folder; and it is taken away.
    new = sessions / "--home-other--" / session.name.replace("7f02", "7f03")
    new.parent.mkdir()
    new.write_text(whole.replace("7f02", "7f03"))
    until(looks, lambda: Conversation.objects.filter(is_gone=False).count() == 3)
    new.unlink()
    until(looks, lambda: Conversation.objects.filter(is_gone=True).count() == 1)

    # All of it goes away and comes back.
    shutil.move(sessions, sessions.with_name("away"))
    until(looks, lambda: "does not exist" in problem())
    assert chunks() == first + 3, "what was read stays"
    shutil.move(sessions.with_name("away"), sessions)
    until(looks, lambda: not problem())

    # Cut off in the middle of its second line.
    os.truncate(session, len(whole.splitlines()[0]) + 20)
    until(looks, Conversation.objects.filter(native_id__contains=session.stem[-12:], is_gone=False, chunk_count__lte=2).exists)
    assert AuditEntry.objects.count() == lines and Watch.objects.get().brought_at


def test_nothing_is_opened_and_nothing_written_while_nothing_changes(sessions: Path) -> None:
    looks = Watching()
    until(looks, Watch.objects.exclude(mark="").exists)
    row, read_at = Watch.objects.get(), Source.objects.get().read_at
    with opened_files() as names:
        while_nothing(looks)
    assert not [name for name in names if name.endswith(".jsonl")]
    with CaptureQueriesContext(connection) as queries:
        looks.turn()
    # Whether it is this process that looks, at which sources; and now and then that it is alive.
    assert len(queries) <= 3 and not any("INSERT" in query["sql"] for query in queries), queries.captured_queries
    row.refresh_from_db()
    assert Source.objects.get().read_at == read_at and row.brought_at is None


def test_a_store_that_a_program_writes_to_is_read_and_its_writer_never_waits(tmp_path: Path) -> None:
    path = tmp_path / "dispatch.db"
    imported(path, merged())
    looks = Watching()
    with writer(path) as program:
        until(looks, Conversation.objects.filter(native_id="live", chunk_count__gt=2).exists)
        before = Conversation.objects.get(native_id="live").chunk_count
        until(looks, Conversation.objects.filter(native_id="live", chunk_count__gt=before).exists)
        report = program.stop()
    until(looks, Conversation.objects.filter(native_id="live", chunk_count=len(report["written"])).exists)
    assert report["failures"] == []


def test_what_a_person_imported_meanwhile_is_not_imported_again(sessions: Path) -> None:
    imports: list[int] = []
    looks = Watching(lambda pk, mark: imports.append(pk) or watcher.started_import(pk, mark))  # type: ignore[func-returns-value]
    until(looks, Watch.objects.exclude(mark="").exists)
    imports.clear()
    session = max(sessions.rglob("*.jsonl"))
    with session.open("a") as file:
        file.write(SAYS.format("one", "x"))
    time.sleep(0.2)
    import_targets([str(sessions)], WHO)
    while_nothing(looks)
    assert imports == []


def test_an_import_that_fails_is_tried_again_and_says_why(tmp_path: Path) -> None:
    path = tmp_path / "dispatch.db"
    imported(path, merged())
    looks, whole = Watching(), path.read_bytes()
    while_nothing(looks)
    path.write_bytes(b"no database")
    until(looks, problem)
    since = Watch.objects.get().failed_at
    path.write_bytes(b"")
    until(looks, lambda: "is empty" in problem())
    assert Watch.objects.get().failed_at == since and chunks() == 4
    path.write_bytes(whole)
    put(path, "conv:c1:chunk:0000000009", row("new"))
    until(looks, lambda: not problem() and chunks() == 5)


def test_exactly_one_process_looks_and_a_dead_one_is_followed() -> None:
    taken: list[bool] = []
    assert take_watch(this_process()) and not take_watch("another 1 1")

    def third() -> None:
        taken.append(take_watch("third 1 1"))
        connection.close()

    threads = [threading.Thread(target=third) for _ in range(2)]
    for thread in threads:
        thread.start()
        thread.join()
    assert taken == [False, False]
    leave_watch("nobody")
    assert not take_watch("another 1 1")
    Watcher.objects.update(alive_at=timezone.now() - LOST - timedelta(seconds=1))
    assert take_watch("another 1 1") and not take_watch(this_process())
    host, _, _ = this_process().rsplit(" ", 2)
    Watcher.objects.update(by=f"{host} 999999999 1", alive_at=timezone.now())
    assert take_watch(this_process()), "its process is known to have ended"
    leave_watch(this_process())
    assert take_watch("another 1 1")


def test_what_is_watched_when_nobody_decided(tmp_path: Path, settings: Settings) -> None:
    source = imported(tmp_path / "a.db", merged()).source
    address = Source(path="postgresql://gbrain@localhost/brain", format="gbrain", read_at=timezone.now())
    own = Source(path=str(settings.VAR_DIR.resolve() / "uploads/a.db"), format="dispatch", read_at=timezone.now())
    demo = Source(path="/tmp/a.db", format="dispatch", is_demo=True)
    sealed = Source(path="/tmp/a.zip", format="dispatch-bundle")
    assert [watching.is_on(one, None) for one in (source, address, own, demo)] == [True, False, False, False]
    assert watching.is_on(address, Watch(is_on=True)) and not watching.is_on(source, Watch(is_on=False))
    if not watching.may_be_watched(sealed):
        assert not watching.is_on(sealed, Watch(is_on=True))
    settings.INSPECTOR_LOCAL = False
    assert not watching.is_on(source, None) and watching.is_on(source, Watch(is_on=True))
    settings.INSPECTOR_WATCH = False
    assert not watching.is_on(source, Watch(is_on=True))
    assert Watching().turn() == watcher.BETWEEN and Watcher.now() is None


def test_the_switch_is_a_line_of_the_audit_log(client: Client, tmp_path: Path, settings: Settings) -> None:
    source = imported(tmp_path / "a.db", merged()).source
    address = f"/sources/{source.oid}/"
    client.post(address + "watch/", {"on": "1", "every": "600"})
    watch = Watch.objects.get()
    assert (watch.is_on, watch.every) == (True, 600)
    client.post(address + "watch/", {"on": "0"})
    watch.refresh_from_db()
    assert watch.is_on is False
    client.post(address + "watch/", {"on": "1", "every": "1"})
    assert [(line.verb, line.detail["every"]) for line in AuditEntry.objects.order_by("pk")[1:]] == [("watch", 600), ("stop watching", 0)]
    report = client.get(f"/sources/{source.oid}.json").json()["watch"]
    assert report["on"] is False and report["problem"] == ""
    looks = Watching()
    put(tmp_path / "a.db", "conv:c1:chunk:0000000009", row("new"))
    while_nothing(looks)
    assert chunks() == 4
    with pytest.raises(Refused):
        watching.set_watching(source, WHO, True, 7)


def test_only_what_the_pages_may_read_is_looked_at(tmp_path: Path, settings: Settings) -> None:
    imported(tmp_path / "a.db", merged())
    settings.INSPECTOR_SOURCES = [tmp_path / "other"]
    with opened_files() as names:
        until(Watching(), lambda: "INSPECTOR_SOURCES" in problem())
    assert not [name for name in names if name.endswith("a.db")]
