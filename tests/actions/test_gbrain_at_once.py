"""A worker takes the job up, or our process dies, at every step of a write to PostgreSQL: nobody's rows are taken from under them, and what stands is said."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings

from inspector.actions import writing
from inspector.actions.apply_repair import apply_repair
from inspector.actions.undo_repair import undo_repair, verify_repair
from inspector.models import Repair
from inspector.sources import stores
from tests.actions.test_gbrain_repair import LEDGER, SEVEN, everything, indexes, put, repair
from tests.commands.running import run, run_in_process
from tests.postgres.fixtures import _postgres, database, server  # noqa: F401
from tests.postgres.making import asked
from tests.postgres.making import run as sql
from tests.postgres.server import Server
from tests.programs.gbrain.strategies.repaired_jobs import DAMAGED

pytestmark = [pytest.mark.django_db]
TAKES = "UPDATE minion_jobs SET status = 'active', lock_token = 'w', lock_until = now() + interval '1 minute' WHERE id = 7"
GOES_ON = (
    "INSERT INTO subagent_messages (job_id, message_idx, role, content_blocks) "
    """SELECT 7, max(message_idx) + 1, 'assistant', '[{"type": "text", "text": "on"}]' FROM subagent_messages WHERE job_id = 7"""
)
ENDS = "UPDATE minion_jobs SET status = 'completed', lock_token = NULL, lock_until = NULL WHERE id = 7"
WORK = {"has only taken it": (TAKES,), "is at work": (TAKES, GOES_ON), "has ended already": (TAKES, GOES_ON, ENDS)}


class Killed(BaseException):
    """Stands for the end of the process: no `except` of ours may see it."""


@pytest.fixture
def store(database: str) -> str:  # noqa: F811
    put(database, DAMAGED["a job from before #2820"], status="waiting")
    return database


def after_the_commit(monkeypatch: pytest.MonkeyPatch, dsn: str, statements: tuple[str, ...], dies: bool = False) -> None:
    def commit(*given: Any, **named: Any) -> float:
        monkeypatch.undo()
        held = stores.commit(*given, **named)
        sql(dsn, *statements)
        if dies:
            raise Killed
        return held

    monkeypatch.setattr(writing.stores, "commit", commit)


@pytest.mark.parametrize("what", WORK)
def test_a_worker_that_takes_the_job_right_after_the_write_keeps_the_rows_that_it_read(
    store: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    after_the_commit(monkeypatch, store, WORK[what])
    ran = repair(store, *LEDGER, "--apply", "--json")
    assert ran.status == 0 and ran.json["state"] == "applied", ran.err
    assert indexes(store) == [0, 1, 2, 3, 4, 5, 6, 7][: 7 + (len(WORK[what]) > 1)]
    found = Repair.objects.get()
    assert "went on with it before it was read back" in found.outcome
    before = everything(store)
    undone = run("undo", found.oid)
    assert undone.status == 2 and undone.err.count("\n") == 1 and everything(store) == before


@pytest.mark.parametrize("what", WORK)
def test_a_process_that_died_after_the_write_and_a_worker_since_are_told_apart_from_nothing_written(
    store: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    after_the_commit(monkeypatch, store, WORK[what], dies=True)
    with pytest.raises(Killed):
        repair(store, *LEDGER, "--apply")
    found = Repair.objects.get()
    assert found.state == Repair.State.APPROVED
    before = everything(store)
    apply_repair(found, "someone", interactive=True)
    found.refresh_from_db()
    assert found.state in (Repair.State.APPLIED, Repair.State.VERIFIED) and everything(store) == before
    assert verify_repair(found)[0] == (len(WORK[what]) == 1)


def test_a_process_that_died_after_the_write_carries_on_and_takes_back(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = everything(store)
    after_the_commit(monkeypatch, store, (), dies=True)
    with pytest.raises(Killed):
        repair(store, *LEDGER, "--apply")
    found = Repair.objects.get()
    apply_repair(found, "someone", interactive=True)
    found.refresh_from_db()
    assert found.state == Repair.State.VERIFIED
    undo_repair(found, "someone", interactive=True)
    assert everything(store) == before


def own(tmp_path: Path) -> Path:
    path = tmp_path / "own.sqlite3"
    assert run_in_process(path, "migrate").status == 0
    return path


def command(dsn: str, path: Path) -> "subprocess.Popen[bytes]":
    arguments = [sys.executable, str(settings.BASE_DIR / "manage.py"), "repair", dsn, "--conversation", "7", *LEDGER, "--apply", "--json"]
    return subprocess.Popen(
        arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "INSPECTOR_DATABASE_URL": f"sqlite:///{path}"},
    )


def test_of_two_processes_that_apply_at_once_one_writes(store: str, tmp_path: Path) -> None:
    path = own(tmp_path)
    both = [command(store, path) for _ in range(2)]
    ended = [(process.communicate(timeout=60), process.returncode) for process in both]
    assert sorted(status for _, status in ended) in ([0, 2], [0, 1], [0, 0]), ended
    for (_, err), status in ended:
        said = err.decode()
        assert said.count("\n") == (1 if status else 0), said
    assert indexes(store) == [0, 1, 2, 3, 4, 5, 6]


def test_a_worker_that_comes_at_any_moment_loses_no_row_and_gets_none_from_under_it(store: str, tmp_path: Path) -> None:
    path = own(tmp_path)
    before = everything(store)
    for number in range(6):
        process = command(store, path)
        time.sleep(0.3 * number + 0.2)
        with closing(psycopg.connect(store)) as worker:
            # As gbrain does: the row is locked, then the history is read, then it goes on from there.
            worker.execute(TAKES)
            is_there = worker.execute("SELECT count(*) FROM subagent_messages WHERE job_id = 7 AND message_idx = 2").fetchone() == (1,)
            worker.execute(GOES_ON)
            worker.commit()
        _, err = process.communicate(timeout=60)
        assert (process.returncode == 0) == is_there and b"Traceback" not in err, err.decode()
        assert (2 in indexes(store)) == is_there
        last = asked(store, "SELECT content_blocks->0->>'text' FROM subagent_messages WHERE job_id = 7 ORDER BY message_idx DESC LIMIT 1")
        assert last == [("on",)]
        sql(store, "DELETE FROM minion_jobs WHERE id = 7")
        put(store, DAMAGED["a job from before #2820"], status="waiting")
    assert len(everything(store)["subagent_messages"]) == len(before["subagent_messages"])


def test_killed_while_it_waits_for_the_row_nothing_is_written_and_it_can_be_done_anew(store: str, tmp_path: Path) -> None:
    path = own(tmp_path)
    before = everything(store)
    with closing(psycopg.connect(store)) as worker:
        worker.execute("SELECT 1 FROM minion_jobs WHERE id = 7 FOR UPDATE")
        process = command(store, path)
        for _ in range(400):
            waiting = asked(
                store, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'inspector' AND wait_event_type = 'Lock'"
            )
            if waiting == [(1,)]:
                break
            time.sleep(0.05)
        assert waiting == [(1,)]
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
    assert everything(store) == before
    again = command(store, path)
    assert again.communicate(timeout=60) and again.returncode == 0 and indexes(store) == [0, 1, 2, 3, 4, 5, 6]


def test_a_server_that_was_started_anew_between_plan_and_apply_is_the_same_store(store: str, server: Server, tmp_path: Path) -> None:  # noqa: F811
    plan = tmp_path / "plan.json"
    plan.write_text(repair(store, *LEDGER, "--plan", "--json").out)
    server.stop()
    gone = run("repair", store, "--apply-plan", plan)
    server.start()
    assert gone.status == 2 and gone.err.count("\n") == 1 and "Traceback" not in gone.err, gone.err
    assert run("repair", store, "--apply-plan", plan).status == 0 and indexes(store) == [0, 1, 2, 3, 4, 5, 6]


def test_a_row_that_its_program_holds_for_too_long_is_said_in_one_sentence(store: str) -> None:
    before = everything(store)
    with closing(psycopg.connect(store)) as worker:
        worker.execute("SELECT 1 FROM minion_jobs WHERE id = %s FOR UPDATE", (SEVEN,))
        ran = repair(store, *LEDGER, "--apply")
    assert ran.status == 2 and ran.err.count("\n") == 1, ran.err
    assert everything(store) == before and threading.active_count() >= 1
