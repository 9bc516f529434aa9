"""Servers that deliver, as processes of their own on one database: each message once, and again after a kill."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import settings

from tests.notifying.receiving import Received, web_server
from tests.shell.test_serve import SECONDS, environ, fetch, manage, serving

__all__ = ["environ"]

ADD = """
import django
django.setup()
from django.utils import timezone
from inspector.actions import notifiers
from inspector.models import Delivery
for number in range(3):
    row = notifiers.add("webhook", {"name": f"n{number}", "address": ADDRESS, "secret": "k" * 20}, ["undo"], None, "tester")
    for message in range(MESSAGES):
        now = timezone.now()
        Delivery.objects.create(key=f"{number}-{message}", notifier=row, event="undo", added_at=now, due_at=now, items=[])
"""


def prepared(environ: dict[str, str], address: str, messages: int) -> None:
    environ |= {
        "INSPECTOR_NOTIFY_PRIVATE": "127.0.0.1",
        "DJANGO_SETTINGS_MODULE": "inspector.settings",
        "PYTHONPATH": str(settings.BASE_DIR),
    }
    subprocess.run(manage("migrate", "--verbosity", "0"), env=environ, check=True, timeout=SECONDS)
    code = ADD.replace("ADDRESS", repr(address)).replace("MESSAGES", str(messages))
    subprocess.run([sys.executable, "-c", code], env=environ, check=True, timeout=SECONDS)


def wait_until(is_so: Callable[[], bool], seconds: float = SECONDS) -> None:
    until = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.slow
def test_two_servers_send_each_message_once_and_say_that_they_work(environ: dict[str, str], tmp_path: Path) -> None:
    with web_server() as receiver:
        prepared(environ, receiver.url, 5)
        receiver.answer = lambda _: time.sleep(0.05) or b""
        with serving(environ, "--port", "0") as (_, one), serving(environ, "--port", "0"):
            wait_until(lambda: len(receiver.requests) >= 15)
            time.sleep(3)
            status, text = fetch(f"{one['url']}healthz")
            assert status == 200 and '"deliveries": "ok"' in text
    keys = [got.headers["Idempotency-Key"] for got in receiver.requests]
    assert sorted(keys) == sorted({f"{number}-{message}" for number in range(3) for message in range(5)})


@pytest.mark.slow
def test_what_a_killed_server_was_sending_is_sent_again_with_its_key(environ: dict[str, str], tmp_path: Path) -> None:
    def slowly(_: Received) -> bytes:
        time.sleep(5 if len(receiver.requests) <= 3 else 0)
        return b""

    with web_server() as receiver:
        receiver.answer = slowly
        prepared(environ, receiver.url, 1)
        with serving(environ, "--port", "0") as (process, _):
            wait_until(lambda: len(receiver.requests) == 3)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        with serving(environ, "--port", "0"):
            # Its process is known to have ended, so that nobody waits for the end of its claims.
            wait_until(lambda: len(receiver.requests) == 6, 30)
            time.sleep(2)
    keys = [got.headers["Idempotency-Key"] for got in receiver.requests]
    assert sorted(keys[:3]) == sorted(keys[3:]) == ["0-0", "1-0", "2-0"]
