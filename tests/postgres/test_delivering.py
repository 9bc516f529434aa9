"""Messages on PostgreSQL: a worker delivers, a server as soon as no worker is alive, and nobody what another sends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.notifying.receiving import Received, web_server
from tests.postgres.fixtures import _postgres, empty  # noqa: F401
from tests.shell.test_delivering import prepared, wait_until
from tests.shell.test_serve import fetch, manage, serving

pytestmark = [pytest.mark.postgres, pytest.mark.slow]


def test_a_worker_delivers_and_a_server_does_when_it_was_killed(empty: str, tmp_path: Path) -> None:  # noqa: F811
    def slowly(_: Received) -> bytes:
        time.sleep(4 if len(receiver.requests) > 12 else 0.02)
        return b""

    ours = {name: value for name, value in os.environ.items() if not name.startswith(("INSPECTOR_", "DJANGO_"))}
    own = {"INSPECTOR_DATABASE_URL": empty, "INSPECTOR_AUDIT_KEY_FILE": str(tmp_path / "audit-key"), "DJANGO_SECRET_KEY": "for one test"}
    environ = ours | own
    with web_server() as receiver:
        receiver.answer = slowly
        prepared(environ, receiver.url, 5)
        worker = subprocess.Popen(manage("worker"), env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_until(lambda: len(receiver.requests) >= 1)
            with serving(environ, "--port", "0") as (_, served):
                wait_until(lambda: len(receiver.requests) == 15)
                # What is on its way now comes again: one message to each of the three, or fewer.
                os.kill(worker.pid, signal.SIGKILL)
                worker.wait()
                wait_until(lambda: len(receiver.requests) > 15, 90)
                wait_until(lambda: 'inspector_deliveries{state="sent"} 15.0' in fetch(f"{served['url']}metrics")[1])
                assert "inspector_workers 0.0" in fetch(f"{served['url']}metrics")[1]
        finally:
            worker.kill()
    keys = [got.headers["Idempotency-Key"] for got in receiver.requests]
    again = keys[15:]
    assert len(set(keys[:15])) == 15 and len(again) == len(set(again)) <= 3 and set(again) <= set(keys[12:15])


def test_of_threads_that_claim_at_once_each_gets_another_message(empty: str, tmp_path: Path) -> None:  # noqa: F811
    """Two processes, each with four threads, at the rows that are locked."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("INSPECTOR_", "DJANGO_"))}
    environ = ours | {"INSPECTOR_DATABASE_URL": empty, "INSPECTOR_AUDIT_KEY_FILE": str(tmp_path / "audit-key"), "DJANGO_SECRET_KEY": "t"}
    prepared(environ, "http://127.0.0.1:9/", 40)
    code = """
import threading
import django
django.setup()
from django.db import connection
from inspector.delivering import claim
from inspector.models import Delivery
keys = []
def work():
    for key in Delivery.objects.order_by("pk").values_list("key", flat=True):
        if delivery := claim(key):
            keys.append(delivery.key)
    connection.close()
threads = [threading.Thread(target=work) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(*keys)
"""
    processes = [subprocess.Popen([sys.executable, "-c", code], env=environ, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    keys = " ".join(process.communicate(timeout=120)[0] for process in processes).split()
    assert len(keys) == len(set(keys)) == 120
