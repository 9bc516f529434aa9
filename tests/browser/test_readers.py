"""Many readers while imports, repairs and undos run: no error of the server, no lock, and no page of two states. Real processes, on SQLite and PostgreSQL."""

import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
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
REPAIRED, *_ = CONVERSATIONS = ("live", "next", "last")
TEXTS, FIRST = 12, 2
"""Chunks of every state, and the number of the first one: fewer calls do not make all findings."""
STATE = re.compile(r"state-(\d+)-of-the-store")
MERGED, GLUED = "MSG101", "MSG104"
"""The rules that a repair of one conversation takes away from it: one finding, and one for each call."""

pytestmark = pytest.mark.slow


def write_state(path: Path, number: int) -> None:
    """Three conversations, of which each title and text names the state, each with as many calls without a result. All messages have one number, and a repair
    gives each its own: so the chunks, and the findings of every rule, are of this state and of no other."""
    name = f"state-{number}-of-the-store"
    content = [{"type": "text", "text": name}] * TEXTS
    new = path.with_suffix(f".{number}")
    records = []
    for conversation in CONVERSATIONS:
        calls = [
            {"type": "tool-call", "toolCallId": f"{conversation}-{call}", "toolName": "ls", "input": {"path": name}}
            for call in range(number)
        ]
        roles = [*("user", "assistant") * (TEXTS // 2), *["assistant"] * number]
        chunks = [{"chunk": chunk, "role": role, "msgIdx": 0, "chunkIdx": 0} for chunk, role in zip([*content, *calls], roles, strict=True)]
        records += rows(conversation, chunks, name)
    write_dispatch_store(new, records)
    new.replace(path)


# What a page shows, each as the number of the state that has it so


Shown = Iterator[tuple[str, float]]


def same(what: str, *values: object) -> None:
    """Two places of one page count the same."""
    assert all(value == values[0] for value in values), f"{what}: {values}"


def of_conversation(chunks: int, findings: int, is_repaired: bool) -> Shown:
    """Merged and repaired, a conversation has one finding and one for each call, and one for each call."""
    yield "chunks", chunks - TEXTS
    yield "findings", findings if is_repaired else (findings - 1) / 2


def of_texts(text: str) -> Shown:
    return (("text", int(number)) for number in STATE.findall(text))


def of_rows(rows: Sequence[Mapping[str, Any]]) -> Shown:
    """Of a twin that lists conversations."""
    for row in rows:
        findings = sum(badge["count"] for badge in row["findings"])
        yield from of_conversation(row["chunks"], findings, row["messages_read"] > 1)


def report(answer: Any) -> Shown:
    yield from of_conversation(answer["chunks"], len(answer["findings"]), answer["messages_read"] > 1)
    yield "rows", len(answer["chunk_lines"]) - TEXTS


def listed(answer: Any) -> Shown:
    same("conversations", len(CONVERSATIONS), answer["total"], len(answer["conversations"]))
    return of_rows(answer["conversations"])


def counted(answer: Any) -> Shown:
    """The inbox: what it counts of all conversations, of rules and of problems."""
    merged = sum(row["messages_read"] == 1 for row in answer["recent"])
    same("conversations", len(CONVERSATIONS), answer["conversations"], len(answer["recent"]))
    same("damaged", answer["damaged"], sum(bool(row["findings"]) for row in answer["recent"]))
    same("open problems", answer["tabs"]["open"], len(answer["problems"]))
    yield from of_rows(answer["recent"])
    yield "all chunks", answer["chunks"] / len(CONVERSATIONS) - TEXTS
    badges: Counter[str] = Counter()
    for row in answer["recent"]:
        badges.update({badge["code"]: badge["count"] for badge in row["findings"]})
    for place in ("rules", "problems"):
        same(place, badges, {each["code"]: each["findings"] for each in answer[place]})
        same(f"{place} of the merged", {merged}, {each["conversations"] for each in answer[place] if each["code"] in (MERGED, GLUED)})


def problem(answer: Any) -> Shown:
    """One of the rule of which each call is a finding."""
    occurrences = answer["occurrences"]
    open_ones = [each["findings"] for each in occurrences if each["state"] == "open"]
    same("conversations", answer["conversations"], len(open_ones))
    same("findings", answer["findings"], sum(open_ones))
    yield from (("findings", findings) for findings in open_ones)


def source(answer: Any) -> Shown:
    same("conversations", len(CONVERSATIONS), answer["conversations"], answer["damaged"])
    yield "all chunks", answer["chunks"] / len(CONVERSATIONS) - TEXTS


def repaired(answer: Any) -> Shown:
    same("repairs", answer["total"], len(answer["repairs"]))
    return iter(())


def audited(answer: Any) -> Shown:
    same("lines", answer["total"], answer["entries"][0]["number"])
    same("problems of the log", [], answer["problems"])
    return iter(())


def cells(text: str, label: str) -> list[str]:
    return re.findall(rf'data-label="{label}">\s*(?:<span>)?([^<]*?)\s*<', text)


def report_page(text: str) -> Shown:
    chunks, read = re.search(r"<b>(\d+)</b> chunks", text), re.search(r"<b>(\d+)</b>\s*read by", text)
    steps = re.search(r'class="step">.*?(\d+)/(\d+)', text, re.DOTALL)
    assert chunks and read and steps
    yield from of_conversation(int(chunks[1]), int(steps[2]), int(read[1]) > 1)
    yield "rows", len(re.findall(r'id="seq-\d+"', text)) - TEXTS


def list_page(text: str) -> Shown:
    lines = re.findall(r"<tr>(.*?)</tr>", text.partition("<tbody")[2], re.DOTALL)
    same("conversations", len(CONVERSATIONS), len(lines))
    for line in lines:
        findings = sum(map(int, re.findall(r"(\d+) times?\"", line)))
        yield from of_conversation(int(cells(line, "chunks")[0]), findings, not cells(line, "messages stored → read")[0].endswith(" 1"))


def inbox_page(text: str) -> Shown:
    lines = re.findall(r"<tr>(.*?)</tr>", text.partition("<tbody")[2], re.DOTALL)
    tab = re.search(r'aria-current="page">Open\s*<span class="count">(\d+)<', text)
    assert tab
    same("open problems", int(tab[1]), len(lines))
    merged = [cells(line, "occurs in")[0] for line in lines if MERGED in line or GLUED in line]
    same("merged conversations", *merged)
    return iter(())


def problem_page(text: str) -> Shown:
    lines = re.findall(r"<tr>(.*?)</tr>", text.partition("<tbody")[2], re.DOTALL)
    counted = [re.search(r"×(\d+)", line) for line in lines if cells(line, "state")[0] == "open"]
    findings = [int(number[1]) if number else 1 for number in counted]
    total = re.search(r"open in</dt>\s*<dd>\s*(\d+)", text)
    same("conversations", int(total[1]) if total else 0, len(findings))
    yield from (("findings", number) for number in findings)


@dataclass
class Readers:
    """What the clients read: `of_revision` is every content that was shown for a revision of a conversation, of which there may be one."""

    url: str
    oids: Mapping[str, str]
    problem: str
    source: str
    stop: threading.Event = field(default_factory=threading.Event)
    problems: list[str] = field(default_factory=list)
    of_revision: dict[tuple[str, int], set[str]] = field(default_factory=lambda: defaultdict(set))
    read: int = 0

    @property
    def pages(self) -> dict[str, Callable[[Any], Shown]]:
        """How what an address shows is looked at: a page, or a twin (`.json`)."""
        reports = {f"conversations/{oid}.json": report for oid in self.oids.values()}
        return {
            **{"index.json": counted, "": inbox_page, "conversations.json": listed, "conversations/": list_page},
            **{f"problems/{self.problem}.json": problem, f"problems/{self.problem}/": problem_page, f"sources/{self.source}.json": source},
            **reports,
            **{f"conversations/{oid}/": report_page for oid in self.oids.values()},
            **{"repairs.json": repaired, "audit.json": audited},
        }

    def go_on(self, number: int) -> None:
        addresses = list(self.pages)
        while not self.stop.is_set():
            address = addresses[number % len(addresses)]
            number += 1
            try:
                request = urllib.request.Request(self.url + address, headers=bearer())
                with urllib.request.urlopen(request, timeout=60) as answer:
                    self.see(address, answer.read().decode())
            except Exception as problem:
                sentence = problem.read().decode()[:500] if hasattr(problem, "read") else ""
                self.problems.append(f"{address}: {problem} {sentence}")
            time.sleep(0.05)

    def see(self, address: str, text: str) -> None:
        """Whatever a page shows is of one state of the store."""
        self.read += 1
        answer = json.loads(text) if address.endswith(".json") else text
        try:
            shown = [*of_texts(text), *self.pages[address](answer)]
        except AssertionError as problem:
            self.problems.append(f"{address} does not agree with itself: {problem}")
            return
        if len({number for _, number in shown}) > 1:
            self.problems.append(f"{address} shows several states: {Counter(shown)}")
        if address.endswith(".json") and "revision" in answer:
            content = {name: answer[name] for name in ("messages", "findings")}
            self.of_revision[address, answer["revision"]].add(json.dumps(content, sort_keys=True))


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
        chosen = ("--conversation", REPAIRED, "--strategy", "renumber-messages", "--mode", "in-place")
        repair = self.run("repair", str(path), *chosen, "--apply", "--json")
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
    write_state(path, FIRST)
    commands.run("import_source", str(path))
    with serving(environ, "--port", "0") as (process, served), ThreadPoolExecutor(CLIENTS + 1) as pool:
        url = str(served["url"])
        with urllib.request.urlopen(urllib.request.Request(f"{url}index.json", headers=bearer()), timeout=60) as answer:
            inbox = json.loads(answer.read())
        oids = {row["native_id"]: row["id"] for row in inbox["recent"]}
        (glued,) = (each["id"] for each in inbox["problems"] if each["code"] == GLUED)
        readers = Readers(url, oids, glued, inbox["recent"][0]["source"])
        begun = time.monotonic()

        def write() -> int:
            number = FIRST
            while number < FIRST + ROUNDS or time.monotonic() < begun + AT_LEAST:
                number += 1
                commands.round(path, number)
            return number - FIRST

        reading = [pool.submit(readers.go_on, number) for number in range(CLIENTS)]
        writing = pool.submit(write)
        try:
            contexts = [browser.new_context() for _ in range(CONTEXTS)]
            pages = []
            for context in contexts:
                assert context.request.get(link(f"{url}login/"), max_redirects=0).status == 302
                pages.append(context.new_page())
                pages[-1].set_default_timeout(120_000)
                pages[-1].on("pageerror", lambda error: readers.problems.append(str(error)))
            shown = 0
            while not writing.done() and time.monotonic() < begun + AT_MOST:
                for page in pages:
                    address = f"conversations/{oids[REPAIRED]}/" if shown % 3 else ""
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
