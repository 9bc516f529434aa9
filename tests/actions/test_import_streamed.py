"""An import of a large store: no more than a few conversations in memory, and what a killed one wrote is neither lost nor written twice."""

import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from inspector.actions import import_source
from inspector.actions.import_source import import_targets
from inspector.actions.import_store import Progress
from inspector.conversation.model import Fact
from inspector.demo.branch_incident import pi_files
from inspector.demo.creation import write_dispatch_store
from inspector.demo.dispatch_incident import store_rows
from inspector.models import Conversation, Finding, Record, Revision, Source
from inspector.presentation.conversation import work
from inspector.programs.formats import Listed, Stored
from inspector.programs.formats import Record as StoredRecord
from inspector.programs.pi_openclaw.pi import PI
from inspector.sources import workers
from inspector.sources.workers import Workers
from tests.actions.waiting import LAST, wait_or_write
from tests.views.reaching import write_files

ROOT = Path(__file__).resolve().parents[2]
SESSIONS = 40
STOPPED = 60
"""Sessions of an import that is stopped."""


def session(number: int, turns: int) -> bytes:
    lines = [f'{{"type":"session","version":3,"id":"s{number:04}","timestamp":"2026-09-21T14:13:20.000Z","cwd":"/w"}}']
    parent = "null"
    for turn in range(turns):
        for place, role in enumerate(("user", "assistant")):
            id_ = f"{turn * 2 + place:08x}"
            words = f"{role} {turn} " * 20
            lines.append(
                f'{{"type":"message","id":"{id_}","parentId":{parent},"timestamp":"2026-09-21T14:13:21.000Z","message":{{"role":"{role}",'
                f'"content":[{{"type":"text","text":"{words}"}}],"timestamp":1790000001000}}}}'
            )
            parent = f'"{id_}"'
    return "".join(f"{line}\n" for line in lines).encode()


def write_sessions(folder: Path, count: int = SESSIONS, turns: int = 20) -> Path:
    folder.mkdir()
    for number in range(count):
        (folder / f"2026-09-21T14-13-20-000Z_s{number:04}.jsonl").write_bytes(session(number, turns))
    return folder


@pytest.fixture
def processes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(import_source, "LEAST_FOR_WORKERS", 0)
    monkeypatch.setattr(workers, "processors", lambda: request.param)
    return int(request.param)


def written() -> list[tuple[Any, ...]]:
    return [
        *Conversation.objects.order_by("oid").values_list("oid", "native_id", "title", "chunk_count", "verdict", "worst", "revision"),
        *Finding.objects.order_by("oid").values_list("oid", "code", "message", "seqs"),
        *Record.objects.order_by("payload_id", "key").values_list("key", "payload_id", "since", "until"),
    ]


@pytest.mark.django_db
@pytest.mark.parametrize("processes", [0, 2], indirect=True)
@pytest.mark.parametrize("kind", ["sessions", "database"])
def test_workers_write_what_one_process_writes(tmp_path: Path, kind: str, processes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / "store"
    if kind == "database":
        write_dispatch_store(store, store_rows())
    else:
        write_files(store, pi_files())
    import_targets([str(store)], "tester")
    results = written()
    assert results and Source.objects.get().problems == []
    Source.objects.all().delete()
    monkeypatch.setattr(workers, "processors", lambda: 0)
    import_targets([str(store)], "tester")
    assert written() == results


class Mark(Fact):
    """A fact that weak references can count; conversations have slots."""


@pytest.mark.django_db
def test_no_more_than_two_conversations_are_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alive: weakref.WeakSet[Mark] = weakref.WeakSet()
    counts: list[int] = []
    group = type(PI).read_group

    def read_group(self: Any, listed: Listed, records: Sequence[StoredRecord]) -> Stored:
        mark = Mark(listed.native_id, None)
        alive.add(mark)
        counts.append(len(alive))
        return group(self, replace(listed, facts={**listed.facts, "mark": mark}), records)

    monkeypatch.setattr(type(PI), "read_group", read_group)
    import_targets([str(write_sessions(tmp_path / "sessions"))], "tester")
    assert len(counts) == SESSIONS and max(counts) <= 2


def test_pieces_are_taken_only_as_far_ahead_as_workers_are_busy() -> None:
    taken: list[int] = []

    def pieces() -> Iterator[int]:
        for number in range(200):
            taken.append(number)
            yield number

    with Workers(abs, 2) as pool:
        results = []
        for done, number in enumerate(pool.mapped(pieces(), lambda piece: 0)):
            results.append(number)
            assert len(taken) - done <= workers.AHEAD * 2 + 2
        assert sorted(results) == list(range(200))
    taken.clear()
    with Workers(abs, 2) as pool:
        for done, _ in enumerate(pool.mapped(pieces(), lambda piece: workers.AHEAD_BYTES)):
            assert len(taken) - done <= 3


def test_a_long_piece_does_not_keep_the_other_workers_waiting(tmp_path: Path) -> None:
    with Workers(wait_or_write, 2) as pool:
        results = dict(pool.mapped([(number, tmp_path / "sign") for number in range(LAST + 1)], lambda piece: 0))
    assert results.keys() == set(range(LAST + 1)) and results[0]


def test_what_the_work_raises_is_raised_here_and_a_lost_worker_is_named() -> None:
    with Workers(len, 2) as pool:
        with pytest.raises(TypeError):
            pool.submit(1).result()
        assert pool.submit("abc").result() == 3
    with Workers(os._exit, 2) as pool, pytest.raises(workers.WorkerLost) as lost:
        pool.submit(7).result()
    assert lost.value.code == 7


@pytest.mark.django_db
@pytest.mark.parametrize("processes", [0, 2], indirect=True)
def test_an_import_that_ends_early_goes_on_where_it_was(tmp_path: Path, processes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_sessions(tmp_path / "sessions")
    monkeypatch.setattr("inspector.actions.import_store.BATCH_CONVERSATIONS", 5)
    # On a busy machine, that much time would write a batch before it is full.
    monkeypatch.setattr("inspector.actions.import_store.BATCH_SECONDS", float("inf"))

    def stop(progress: Progress) -> None:
        assert progress.total == SESSIONS
        if progress.conversations == 23:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_targets([str(folder)], "tester", report=stop)
    # Workers answer as they are ready: which twenty those are, the order of the files does not say.
    present = set(Conversation.objects.values_list("native_id", flat=True))
    assert len(present) == 20
    assert not Conversation.objects.filter(verdict="").exists() and Source.objects.get().stamp == ""
    read: list[str] = []
    group = type(PI).read_group
    monkeypatch.setattr(
        type(PI), "read_group", lambda self, listed, records: (read.append(listed.native_id), group(self, listed, records))[1]
    )
    monkeypatch.setattr(workers, "processors", lambda: 0)
    (imported,) = import_targets([str(folder)], "tester")
    assert (imported.conversations, imported.unchanged, imported.gone) == (SESSIONS, 20, 0)
    assert read == [name for number in range(SESSIONS) if (name := f"s{number:04}") not in present]
    assert Revision.objects.count() == Record.objects.filter(until=None).count() == SESSIONS


@pytest.mark.django_db
def test_only_a_complete_import_says_what_is_gone(tmp_path: Path) -> None:
    folder = write_sessions(tmp_path / "sessions", 6)
    import_targets([str(folder)], "tester")
    next(iter(folder.glob("*s0000*"))).unlink()
    (folder / "z.jsonl").write_bytes(session(99, 2))

    def stop(progress: Progress) -> None:
        if progress.conversations == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_targets([str(folder)], "tester", report=stop)
    assert not Conversation.objects.filter(is_gone=True).exists()
    (imported,) = import_targets([str(folder)], "tester")
    assert imported.gone == 1 and Conversation.objects.get(is_gone=True).native_id == "s0000"


def command(database: Path, *arguments: str) -> "subprocess.Popen[bytes]":
    environment = {**os.environ, "INSPECTOR_DATABASE_URL": f"sqlite:///{database}", "DJANGO_SECRET_KEY": "x"}
    return subprocess.Popen(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A shell that runs the tests in the background has its children ignore Ctrl-C.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )


def count(database: Path, what: str) -> int:
    with closing(sqlite3.connect(database)) as connection:
        return int(connection.execute(f"SELECT count(*) FROM inspector_{what}").fetchone()[0])


def children(pid: int) -> set[int]:
    return {int(text) for text in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists() or workers.processors() < 2, reason="needs Linux and two processors")
@pytest.mark.parametrize(("sign", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)])
def test_a_stopped_import_loses_and_doubles_nothing(tmp_path: Path, sign: signal.Signals, code: int) -> None:
    folder, database = write_sessions(tmp_path / "sessions", STOPPED, 400), tmp_path / "inspector.sqlite3"
    assert command(database, "migrate", "-v0").wait() == 0
    process = command(database, "import_source", str(folder))
    while not count(database, "revision"):
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    own_workers = children(process.pid)
    assert own_workers
    process.send_signal(sign)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == code and b"Traceback" not in errors, errors
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{pid}").exists() for pid in own_workers):
        assert time.monotonic() < deadline, "workers outlive the import"
        time.sleep(0.05)
    before = count(database, "revision")
    assert 0 < before < STOPPED
    assert f"{STOPPED} conversations".encode() in command(database, "import_source", str(folder)).communicate()[0]
    assert count(database, "conversation") == count(database, "revision") == STOPPED


@pytest.mark.slow
def test_the_work_of_a_worker_needs_no_django() -> None:
    code = f"import sys, {work.__name__}; sys.exit('django' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_a_process_that_ends_with_its_server_starts_none() -> None:
    """As a page of a large conversation, and the import after a write that it asked for."""
    process = multiprocessing.get_context("fork").Process(target=lambda: os._exit(workers.processors()), daemon=True)
    process.start()
    process.join()
    assert process.exitcode == 1
