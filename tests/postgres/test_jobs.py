"""Jobs of worker processes on one PostgreSQL: a killed worker loses nothing and doubles nothing."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.db.models import Count
from django.test import Client

from inspector import background
from inspector.actions import audit
from inspector.management.commands.renew import NOTHING
from inspector.models import (
    BackgroundTask,
    ChunkRow,
    Conversation,
    ConversationCount,
    Finding,
    JobResult,
    Payload,
    Record,
    Revision,
    RuleCount,
    SearchText,
    StoredAnalysis,
)
from inspector.models import background as background_models
from inspector.models.transactions import one_writer
from inspector.presentation.conversation.whole import LARGE
from tests.actions.building import A, Store, T, U, er, make, tc, tr
from tests.commands.running import run, run_in_process
from tests.views.test_large_conversation import damaged

if connection.vendor == "postgresql":
    from procrastinate.contrib.django.models import ProcrastinateJob

COUNT = 10_000
GATE = 20_001
"""The key of a lock that only these tests take."""
Start = Callable[..., "subprocess.Popen[bytes]"]

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def on_a_server() -> Iterator[None]:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no queue: run `make test-postgres`")
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE procrastinate_jobs, procrastinate_workers CASCADE")
    yield


@pytest.fixture
def start_worker() -> Iterator[Start]:
    """Starts worker processes on the database of this test; they are killed at its end."""
    own = connection.settings_dict
    address = f"postgresql://{own['USER']}:{own['PASSWORD']}@{own['HOST']}:{own['PORT']}/{own['NAME']}"
    # Without the watcher: it would read again what a test wrote a second ago, and what was worked out of that before is another then.
    own_settings = {
        "INSPECTOR_DATABASE_URL": address,
        "INSPECTOR_AUDIT_KEY_FILE": str(settings.INSPECTOR_AUDIT_KEY_FILE),
        "INSPECTOR_WATCH": "0",
    }
    workers: list[subprocess.Popen[bytes]] = []

    def start(*options: str) -> "subprocess.Popen[bytes]":
        command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "worker", "--heartbeat", "1", *options]
        workers.append(subprocess.Popen(command, env={**os.environ, **own_settings}))
        return workers[-1]

    yield start
    for worker in workers:
        worker.kill()
        worker.wait()


def wait_until(condition: Callable[[], object], seconds: float = 180) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds} s; jobs: {jobs()}"
        time.sleep(0.05)


def jobs() -> Any:
    return run("jobs", "--json").json


def are_done() -> bool:
    counts = jobs()["counts"]
    return not counts["waiting"] and not counts["running"]


def write_store(path: Path, name: str, count: int) -> Path:
    """Every third conversation has merged messages, every third a rejected request, the others are sound."""
    store = Store()
    for number in range(count):
        own, to = Store(), f"{name}-{number:05}"
        for messages in APPENDS[number % 3]:
            own.append(*messages, to=to, now=1000 + number)
        store.values.update(own.values)
    store.values["conv-index"] = json.dumps([f"{name}-{number:05}" for number in range(count)])
    return make(path, store.values)


APPENDS = (
    ((U("hello"), A("hi there")), (U("more"), A("done"))),
    ((U("go"),), (A("calling", tc("x"), tc("y")), T(tr("x"))), (U("and?"),), (A("sorry", er()),)),
    ((U("hello"),), (A("hi there"),)),
)


def state() -> dict[str, Any]:
    """What an import leaves, without numbers of rows and times."""
    last = Revision.objects.order_by("conversation__native_id", "number").values_list("conversation__native_id", "number", "digest")
    findings = Finding.objects.order_by("conversation__native_id", "oid").values_list(
        "conversation__native_id", "oid", "code", "severity", "seqs", "is_open"
    )
    shown = ("native_id", "chunk_count", "message_count", "read_count", "verdict", "worst", "refused", "is_gone", "is_damaged", "revision")
    values: dict[str, Any] = {
        "conversations": Conversation.objects.order_by("oid").values_list("oid", *shown),
        "revisions": last,
        "findings": findings,
        "counts": ConversationCount.objects.filter(conversations__gt=0)
        .order_by("source__path", "is_damaged", "has_silent", "refused")
        .values_list("source__path", "is_gone", "is_damaged", "has_silent", "refused", "is_crash", "conversations", "chunks"),
        "rules": RuleCount.objects.filter(findings__gt=0)
        .order_by("source__path", "code", "severity")
        .values_list("source__path", "code", "severity", "conversations", "findings"),
        "payloads": Payload.objects.order_by("digest").values_list("digest", "size"),
        "records": Record.objects.order_by("conversation__oid", "position", "pk").values_list(
            "conversation__oid", "key", "payload", "since", "until"
        ),
        "chunks": ChunkRow.objects.values("conversation__oid")
        .order_by("conversation__oid")
        .annotate(rows=Count("pk"))
        .values_list("conversation__oid", "rows"),
        "texts": SearchText.objects.order_by("conversation__oid", "position").values_list("conversation__oid", "text", "since", "until"),
    }
    state: dict[str, Any] = json.loads(json.dumps({name: list(rows) for name, rows in values.items()}))
    return state


def state_of_sqlite(folder: Path, *stores: Path) -> dict[str, Any]:
    """After a plain import into SQLite, by a process of its own."""
    database = folder / "plain.sqlite3"
    run_in_process(database, "migrate")
    assert run_in_process(database, "import_source", *stores).status == 0
    ask = "import json; from tests.postgres.test_jobs import state; print(json.dumps(state()))"
    return run_in_process(database, "shell", "--no-imports", "-c", ask).json


@pytest.mark.slow
def test_three_workers_import_what_one_plain_import_does_though_one_is_killed(tmp_path: Path, start_worker: Start) -> None:
    stores = [write_store(tmp_path / f"{name}.db", name, COUNT // 4) for name in "abcd"]
    expected = state_of_sqlite(tmp_path, *stores)
    assert len(expected["conversations"]) == COUNT and expected["findings"]
    numbers = run("import_source", "--queue", *stores, "--json").json["jobs"]
    assert run("import_source", "--queue", *stores, "--json").json["jobs"] == [None] * 4
    workers = [start_worker() for _ in range(3)]
    wait_until(lambda: Conversation.objects.count() > COUNT // 10 and jobs()["counts"]["running"] == 3)
    workers[0].kill()
    workers[0].wait()
    assert Conversation.objects.count() < COUNT
    wait_until(are_done, 300)
    assert jobs()["counts"]["failed"] == 0
    assert max(row.attempts for row in ProcrastinateJob.objects.all()) == 2
    given = state()
    for name, rows in expected.items():
        assert given[name] == rows, name
    assert audit.broken_at() is None and len(numbers) == 4
    before = Revision.objects.count()
    run("import_source", "--queue", *stores)
    wait_until(are_done)
    assert Revision.objects.count() == before and state() == expected


@contextmanager
def stopped_at(native_id: str) -> Iterator[Callable[[], bool]]:
    """A writer waits in its transaction where it inserts this conversation; says whether one waits."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", (GATE,))
        cursor.execute(
            f"CREATE FUNCTION wait_at_the_gate() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN PERFORM pg_advisory_xact_lock({GATE}); RETURN NEW; END $$"
        )
        cursor.execute(
            f"CREATE TRIGGER gate BEFORE INSERT ON {Conversation._meta.db_table} "
            f"FOR EACH ROW WHEN (NEW.native_id = '{native_id}') EXECUTE FUNCTION wait_at_the_gate()"
        )

    def is_waiting() -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = %s AND NOT granted", (GATE,))
            return cursor.fetchone() == (1,)

    try:
        yield is_waiting
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", (GATE,))
            cursor.execute("DROP FUNCTION wait_at_the_gate CASCADE")


def test_a_worker_that_is_killed_while_it_has_the_write_lock_leaves_it_to_others(tmp_path: Path, start_worker: Start) -> None:
    store = write_store(tmp_path / "a.db", "a", 480)
    run("import_source", "--queue", store)
    with stopped_at("a-00400") as is_waiting:
        worker = start_worker()
        wait_until(is_waiting)
        worker.kill()
        worker.wait()
    with one_writer():
        assert 0 < Conversation.objects.count() < 480
    start_worker()
    wait_until(are_done)
    assert state() == state_of_sqlite(tmp_path, store) and JobResult.objects.get().error == ""


def test_an_import_of_many_conversations_is_several_jobs_and_one_more(tmp_path: Path, start_worker: Start) -> None:
    store = write_store(tmp_path / "a.db", "a", 1200)
    run("import_source", "--queue", store)
    start_worker("--until-empty").wait()
    assert [row.args["options"].get("part") for row in ProcrastinateJob.objects.order_by("pk")] == [None, [0, 3], [1, 3], [2, 3], None]
    # A job that is due later, as the last one is, waits too.
    assert are_done()
    assert state() == state_of_sqlite(tmp_path, store)


def test_scan_and_whatif_are_jobs_whose_answers_are_those_of_the_commands(tmp_path: Path, start_worker: Start) -> None:
    store = write_store(tmp_path / "a.db", "a", 9)
    run("import_source", store)
    scan, whatif = ("scan", store), ("whatif", "--reader", "dispatch-legacy", "--reader", "dispatch-role-split")
    numbers = [run(*command, "--queue", "--json").json["jobs"][0] for command in (scan, whatif)]
    start_worker()
    wait_until(are_done)
    for number, command in zip(numbers, (scan, whatif), strict=True):
        assert run("jobs", str(number), "--json").json["answer"] == run(*command, "--json").json


def test_a_job_that_fails_says_why_in_one_sentence(tmp_path: Path, start_worker: Start) -> None:
    store = write_store(tmp_path / "a.db", "a", 1)
    number = run("import_source", "--queue", store, "--json").json["jobs"][0]
    store.unlink()
    start_worker()
    wait_until(are_done)
    assert run("jobs").out.startswith("0 waiting, 0 running, 0 done, 1 failed.")
    sentence = f"{store} does not exist; check the path and try again."
    assert jobs()["jobs"][0]["error"] == sentence and run("jobs", str(number)).out == sentence + "\n"


def test_an_older_judgement_is_renewed_by_a_job_for_each_conversation(tmp_path: Path, start_worker: Start) -> None:
    from inspector.management.jobs import queue_renewals

    run("import_source", write_store(tmp_path / "a.db", "a", 3))
    expected = state()
    Conversation.objects.update(judged_by="0.0.1", verdict="as an older version saw it")
    assert queue_renewals(Conversation.objects.all()) == queue_renewals(Conversation.objects.all()) == 3
    assert ProcrastinateJob.objects.count() == 3
    start_worker()
    wait_until(are_done)
    assert state() == expected and not Conversation.objects.filter(judged_by="0.0.1").exists()


def test_renew_queues_a_job_for_each_large_conversation_of_an_older_version(tmp_path: Path, start_worker: Start) -> None:
    assert run("renew", "--queue").out == NOTHING + "\n"
    large = [damaged(tmp_path / name, LARGE + 500) for name in ("a.db", "b.db")]
    damaged(tmp_path / "small.db", 10)
    current = set(StoredAnalysis.objects.values_list("conversation", "basis"))
    StoredAnalysis.objects.update(basis="of another version")
    assert run("renew", "--queue", "--json").json == {"jobs": 2}
    assert [job["command"] for job in jobs()["jobs"]] == [f"renew {row.pk}" for row in large]
    start_worker()
    wait_until(are_done)
    assert set(StoredAnalysis.objects.values_list("conversation", "basis")) == current


def test_a_job_that_ends_worker_after_worker_fails_and_says_so(tmp_path: Path, start_worker: Start) -> None:
    run("import_source", "--queue", write_store(tmp_path / "a.db", "a", 480))
    worker = start_worker()
    wait_until(lambda: jobs()["counts"]["running"])
    os.kill(worker.pid, signal.SIGSTOP)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE procrastinate_jobs SET attempts = 4")
    worker.kill()
    worker.wait()
    start_worker()
    wait_until(are_done)
    assert jobs()["counts"]["failed"] == 1 and "Workers tried it 5 times" in run("jobs").out


@pytest.mark.parametrize("name", ["-", "postgresql://somebody:secret@localhost/db"])
def test_what_a_worker_could_not_read_or_may_not_know_is_not_queued(name: str) -> None:
    answer = run("scan", "--queue", name)
    assert answer.status == 2 and "somebody" not in answer.err and not ProcrastinateJob.objects.exists()


def test_a_worker_computes_the_preview_that_a_page_asks_for(
    client: Client, tmp_path: Path, start_worker: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = damaged(tmp_path / "a.db", LARGE + 500)
    for module in (background, background_models):
        monkeypatch.setattr(module, "LARGE", LARGE)
    worker = start_worker()
    wait_until(background.queue_of_workers().has_worker)  # type: ignore[union-attr]
    address = f"/conversations/{conversation.oid}/repairs/new/?strategy=insert-interrupted-result"
    assert "is being computed" in client.get(address).content.decode()
    task = BackgroundTask.objects.get()
    assert task.by.startswith("job ")
    wait_until(lambda: "is being computed" not in client.get(address).content.decode())
    task.refresh_from_db()
    assert (task.error, task.answer) == ("", "") and "Propose this repair" in client.get(address).content.decode()
    worker.send_signal(signal.SIGTERM)
    worker.wait()


def test_a_preview_whose_worker_is_gone_is_not_waited_for(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    conversation = damaged(tmp_path / "a.db", LARGE + 500)
    for module in (background, background_models):
        monkeypatch.setattr(module, "LARGE", LARGE)
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now())")
    address = f"/conversations/{conversation.oid}/repairs/new/?strategy=insert-interrupted-result"
    assert "is being computed" in client.get(address).content.decode()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE procrastinate_workers SET last_heartbeat = now() - interval '1 hour'")
    assert "no worker answers" in client.get(address).content.decode()
