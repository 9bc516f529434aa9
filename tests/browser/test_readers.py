"""Many readers while imports, repairs and undos run: no error of the server, no lock, and no page of two states. Real processes, on SQLite and PostgreSQL."""

import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.request
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import Browser

from inspector.access_token import bearer, link
from inspector.demo.creation import write_dispatch_store
from tests.postgres.fixtures import _postgres, empty  # noqa: F401
from tests.reliability import TRIES
from tests.shell.test_serve import serving
from tests.views.imported import rows

CLIENTS, CONTEXTS = 20, 2
AT_LEAST, AT_MOST = 20, 150
"""Seconds; it ends after AT_LEAST as soon as each command has run ROUNDS times."""
ROUNDS = 2
CONVERSATION = "live"
STATE = re.compile(r"state-(\d+)-of-the-store")

pytestmark = pytest.mark.slow


def write_state(path: Path, number: int) -> None:
    """Every text and the title of the conversation name the state; all messages have one number, which a repair gives each its own."""
    chunks = [
        {"chunk": {"type": "text", "text": f"state-{number}-of-the-store"}, "role": role, "msgIdx": 0, "chunkIdx": 0}
        for role in ("user", "assistant") * 6
    ]
    new = path.with_suffix(f".{number}")
    write_dispatch_store(new, rows(CONVERSATION, chunks, f"state-{number}-of-the-store"))
    new.replace(path)


@dataclass
class Readers:
    """What the clients read: `of_revision` is every content that was shown for a revision, of which there may be one."""

    url: str
    oid: str
    stop: threading.Event = field(default_factory=threading.Event)
    problems: list[str] = field(default_factory=list)
    of_revision: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    read: int = 0

    @property
    def addresses(self) -> list[str]:
        own = f"conversations/{self.oid}"
        return [f"{own}.json", f"{own}/", "", f"{own}/chunks/1/", "conversations/", f"{own}.json", "repairs/", "audit/"]

    def go_on(self, number: int) -> None:
        while not self.stop.is_set():
            address = self.addresses[number % len(self.addresses)]
            number += 1
            try:
                asked = urllib.request.Request(self.url + address, headers=bearer())
                with urllib.request.urlopen(asked, timeout=60) as answer:
                    self.see(address, answer.read().decode())
            except Exception as problem:
                said = problem.read().decode()[:500] if hasattr(problem, "read") else ""
                self.problems.append(f"{address}: {problem} {said}")
            time.sleep(0.05)

    def see(self, address: str, text: str) -> None:
        self.read += 1
        if address.startswith(f"conversations/{self.oid}") and len(states := set(STATE.findall(text))) != 1:
            self.problems.append(f"{address} shows the states {sorted(states)}")
        if address.endswith(f"{self.oid}.json"):
            report = json.loads(text)
            content = {name: report[name] for name in ("messages", "findings")}
            self.of_revision[report["revision"]].add(json.dumps(content, sort_keys=True))


@dataclass
class Commands:
    environ: dict[str, str]
    ran: int = 0

    def run(self, *words: str) -> Any:
        command = [sys.executable, str(settings.BASE_DIR / "manage.py"), *words]
        ran = subprocess.run(command, env=self.environ, capture_output=True, text=True, timeout=120)
        assert ran.returncode == 0, f"{words}: {ran.stdout} {ran.stderr}"
        self.ran += 1
        with suppress(ValueError):
            return json.loads(ran.stdout)
        return None

    def round(self, path: Path, number: int) -> None:
        """Another state of the store, imported, repaired, and the repair undone."""
        write_state(path, number)
        self.run("import_source", str(path))
        repair = self.run("repair", str(path), "--strategy", "renumber-messages", "--mode", "in-place", "--apply", "--json")
        self.run("undo", repair["repair"])


def read_while_writing(browser: Browser, folder: Path, database: str, count: Callable[[str, object], None]) -> None:
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("INSPECTOR_", "DJANGO_"))}
    environ = {
        **ours,
        "INSPECTOR_DATABASE_URL": database,
        "INSPECTOR_AUDIT_KEY_FILE": str(folder / "audit-key"),
        "DJANGO_SECRET_KEY": "for one test",
    }
    commands, path = Commands(environ), folder / "dispatch.db"
    commands.run("migrate", "--verbosity", "0")
    write_state(path, 0)
    commands.run("import_source", str(path))
    with serving(environ, "--port", "0") as (process, served), ThreadPoolExecutor(CLIENTS + 1) as pool:
        url = str(served["url"])
        with urllib.request.urlopen(urllib.request.Request(f"{url}conversations.json", headers=bearer()), timeout=60) as answer:
            oid = json.loads(answer.read())["conversations"][0]["id"]
        readers = Readers(url, oid)
        begun = time.monotonic()

        def write() -> int:
            number = 0
            while number < ROUNDS or time.monotonic() < begun + AT_LEAST:
                number += 1
                commands.round(path, number)
            return number

        reading = [pool.submit(readers.go_on, number) for number in range(CLIENTS)]
        writing = pool.submit(write)
        try:
            contexts = [browser.new_context() for _ in range(CONTEXTS)]
            pages = []
            for context in contexts:
                assert context.request.get(link(f"{url}login/"), max_redirects=0).status == 302
                pages.append(context.new_page())
                pages[-1].set_default_timeout(60_000)
                pages[-1].on("pageerror", lambda error: readers.problems.append(str(error)))
            shown = 0
            while not writing.done() and time.monotonic() < begun + AT_MOST:
                for page in pages:
                    address = f"conversations/{oid}/" if shown % 3 else ""
                    answer = page.goto(url + address)
                    assert answer is not None and answer.status == 200, page.content()
                    readers.see(address, page.content())
                    shown += 1
        finally:
            readers.stop.set()
            for context in contexts:
                context.close()
        rounds = writing.result(AT_MOST)
        wait(reading)
        process.terminate()
        assert process.wait(60) == 0
        assert process.stderr is not None and "Traceback" not in process.stderr.read()
    count(TRIES, readers.read)
    assert not readers.problems, f"{len(readers.problems)} of {readers.read}: {readers.problems[:3]}"
    assert [number for number, contents in readers.of_revision.items() if len(contents) > 1] == []
    assert rounds >= ROUNDS and len(readers.of_revision) > 2 and shown > CONTEXTS and readers.read > CLIENTS
    assert commands.run("audit", "--verify") is None


def test_readers_while_a_store_is_written_on_sqlite(
    browser: Browser, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    (tmp_path / "own").mkdir(mode=0o700)
    read_while_writing(browser, tmp_path, f"sqlite:///{tmp_path}/own/inspector.sqlite3", record_property)


def test_readers_while_a_store_is_written_on_postgresql(
    browser: Browser,
    tmp_path: Path,
    empty: str,  # noqa: F811
    record_property: Callable[[str, object], None],
) -> None:
    read_while_writing(browser, tmp_path, empty, record_property)
