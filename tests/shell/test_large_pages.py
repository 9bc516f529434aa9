"""Pages of a whole large conversation: another process makes them, and the server that everybody shares stays small."""

import json
import os
import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.test import Client, RequestFactory
from django.utils import timezone
from pytest_django import Settings

from inspector import large_pages
from inspector.access_token import bearer, token
from inspector.large_pages import LARGE, LargePages, is_let_in, reads_whole
from inspector.models import AuditEntry, Conversation, StoredAnalysis, analyses
from tests.accounts import account
from tests.actions.building import imported, merged
from tests.shell.test_serve import SECONDS, environ, fetch, manage, serving

__all__ = ["environ"]


def session(path: Path, entries: int) -> Path:
    """A session of user messages, one after the other."""
    with path.open("w") as file:
        file.write(json.dumps({"type": "session", "version": 3, "id": "long", "timestamp": "2026-07-01T10:00:00.000Z", "cwd": "/w"}) + "\n")
        for number in range(entries):
            message = {"role": "user", "content": [{"type": "text", "text": f"words {number}"}], "timestamp": 1782900000000}
            entry = {"type": "message", "id": f"{number:08x}", "parentId": f"{number - 1:08x}" if number else None, "message": message}
            file.write(json.dumps(entry | {"timestamp": "2026-07-01T10:00:00.000Z"}) + "\n")
    return path


def resident(pid: int) -> int:
    """Megabytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) // 1024


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
def test_the_server_stays_small_after_every_page_of_a_large_conversation(environ: dict[str, str], tmp_path: Path) -> None:
    path = session(tmp_path / "long.jsonl", 20_000)
    for arguments in (("migrate", "--verbosity", "0"), ("import_source", str(path))):
        subprocess.run(manage(*arguments), env=environ, check=True, timeout=5 * SECONDS, stdout=subprocess.DEVNULL)
    own = sqlite3.connect(tmp_path / "own.sqlite3")
    (oid,) = own.execute("SELECT oid FROM inspector_conversation").fetchone()
    with serving(environ, "--port", "0") as (process, told):
        url = f"{told['url']}conversations/{oid}"
        assert "words 15000" in fetch(f"{url}/?at=15001")[1]
        usual = resident(process.pid)
        for page, words in (("/?tree=1", "words 0"), ("/prompt/", "words 0"), (".json", "words 19999"), ("/repairs/new/", "strategy")):
            status, text = fetch(url + page)
            assert status == 200 and words in text, page
            assert resident(process.pid) < usual + 20, page
        # What was computed for a page is kept, and the next view reads it.
        assert "words 0" in fetch(f"{url}/?reader=pi-0.87")[1]
        while descendants(process.pid):
            time.sleep(0.01)
        assert len(own.execute("SELECT 1 FROM inspector_storedanalysis").fetchall()) == 3
        assert "words 15000" in fetch(f"{url}/prompt/?at=15001")[1] and not descendants(process.pid)
        # What another version kept in another shape is made again, once, and not by the server.
        own.execute("UPDATE inspector_storedanalysis SET key = 'of another shape', basis = '', headline = x'00' WHERE is_own")
        own.commit()
        assert "words 0" in fetch(f"{url}/")[1] and resident(process.pid) < usual + 20
        while descendants(process.pid):
            time.sleep(0.01)
        assert not own.execute("SELECT 1 FROM inspector_storedanalysis WHERE key = 'of another shape'").fetchall()
        # A browser that waits is told so, and has the page when it asks again.
        answer = fetch(f"{url}/?reader=pi-1.5", Accept="text/html")
        while answer[0] == 202:
            assert "are being read" in answer[1] and resident(process.pid) < usual + 20
            answer = fetch(f"{url}/?reader=pi-1.5", Accept="text/html")
        assert answer[0] == 200 and "words 0" in answer[1]
        error = quote("messages.3: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01")
        for page, words in ((f"/explain/?target={oid}&error={error}", "AN-1"), ("/whatif/?program=pi", "runs now")):
            status, text = fetch(told["url"] + page.removeprefix("/"))
            assert status == 200 and words in text and resident(process.pid) < usual + 20, page
        # Refusals and answers without a body come through as well.
        assert fetch(f"{url}/prompt/?profile=nobody")[0] == 404


@pytest.mark.slow
def test_a_page_whose_process_is_lost_says_so(environ: dict[str, str], tmp_path: Path) -> None:
    path = session(tmp_path / "long.jsonl", LARGE)
    for arguments in (("migrate", "--verbosity", "0"), ("import_source", str(path))):
        subprocess.run(manage(*arguments), env=environ, check=True, timeout=5 * SECONDS, stdout=subprocess.DEVNULL)
    (oid,) = sqlite3.connect(tmp_path / "own.sqlite3").execute("SELECT oid FROM inspector_conversation").fetchone()
    with serving(environ, "--port", "0") as (process, told):
        fetch(f"{told['url']}conversations/{oid}/prompt/")
        while descendants(process.pid):
            time.sleep(0.01)
        asking = subprocess.Popen(
            ["curl", "-s", "-w", "%{http_code}", "--oauth2-bearer", token(), f"{told['url']}conversations/{oid}.json"],
            stdout=subprocess.PIPE,
            text=True,
        )
        killed = False
        while asking.poll() is None and not killed:
            for child in descendants(process.pid):
                os.kill(child, signal.SIGKILL)
                killed = True
            time.sleep(0.01)
        text, _ = asking.communicate(timeout=SECONDS)
        assert killed and "was not made" in text and text.endswith("503")
        assert fetch(f"{told['url']}conversations/{oid}/prompt/")[0] == 200


@pytest.mark.slow
def test_a_preview_whose_process_is_killed_says_so_and_is_computed_again(environ: dict[str, str], tmp_path: Path) -> None:
    path = session(tmp_path / "long.jsonl", LARGE)
    for arguments in (("migrate", "--verbosity", "0"), ("import_source", str(path))):
        subprocess.run(manage(*arguments), env=environ, check=True, timeout=5 * SECONDS, stdout=subprocess.DEVNULL)
    (oid,) = sqlite3.connect(tmp_path / "own.sqlite3").execute("SELECT oid FROM inspector_conversation").fetchone()
    with serving(environ, "--port", "0") as (process, told):
        address = f"{told['url']}conversations/{oid}/repairs/new/?strategy=drop-empty-blocks"
        assert f"is being computed ({LARGE:,} chunks)" in fetch(address)[1]
        while not (children := descendants(process.pid)):
            time.sleep(0.01)
        for child in children:
            os.kill(child, signal.SIGKILL)
        while "is being computed" in (text := fetch(address)[1]):
            time.sleep(0.1)
        assert "was ended in the middle" in text
        assert "is being computed" in fetch(f"{address}&again=1")[1]
        while "is being computed" in (text := fetch(address)[1]):
            time.sleep(0.1)
        assert "Nothing to do" in text


def descendants(pid: int) -> list[int]:
    """Processes that the fork server of the server made."""
    return [grandchild for child in _children(pid) for grandchild in _children(child)]


def _children(pid: int) -> list[int]:
    pids: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        # A thread may have ended since it was listed.
        with suppress(OSError):
            pids += map(int, task.read_text().split())
    return pids


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("rest", "elsewhere"),
    [
        ("/", False), ("/?at=5", False), ("/?kind=text&q=words", False), ("/chunks/7/", False), ("/chunks/7/raw/", False),
        ("/?rev=1", False), ("/?tree=300", True), ("/?reader=exact", True), ("/?profiles=all", True), ("/?step=s", True),
        ("/prompt/", True), (".json", True), (".md", True), ("/repairs/new/", False), ("/repairs/new/?strategy=drop-empty-blocks", False), ("/repairs/new/?strategy=drop-empty-blocks&leaf=a", True), ("/repairs/new.json?strategy=drop-empty-blocks", True), ("/trace.json", True),
    ],
)  # fmt: skip
def test_what_reads_windows_is_made_here(tmp_path: Path, rest: str, elsewhere: bool) -> None:
    conversation = large(tmp_path)
    assert reads_whole(RequestFactory().get(f"/conversations/{conversation.oid}{rest}").environ) is elsewhere


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("path", "elsewhere"),
    [
        ("/explain/?error=e&target={}", True),
        ("/explain.json?error=e&target={}", True),
        ("/explain/?target={}", False),
        ("/explain/?error=e", False),
    ],
)
def test_an_error_is_explained_elsewhere_where_a_large_conversation_is_named(tmp_path: Path, path: str, elsewhere: bool) -> None:
    oid = large(tmp_path).oid
    assert reads_whole(RequestFactory().get(path.format(oid)).environ) is elsewhere
    posted = RequestFactory().post("/explain/", f"error=e&target={oid}", content_type="application/x-www-form-urlencoded").environ
    assert reads_whole(posted) and posted["wsgi.input"].read() == f"error=e&target={oid}".encode(), "the form is read once more"


@pytest.mark.django_db
def test_nothing_else_has_a_process_of_its_own(tmp_path: Path) -> None:
    conversation = large(tmp_path)
    for path in ("/", "/conversations/", f"/sources/{conversation.source.oid}/", "/conversations/000000000000/prompt/"):
        assert not reads_whole(RequestFactory().get(path).environ)
    Conversation.objects.update(chunk_count=LARGE - 1)
    assert not reads_whole(RequestFactory().get(f"/conversations/{conversation.oid}/prompt/").environ)


@pytest.mark.django_db(transaction=True)
def test_who_is_not_let_in_gets_no_process(tmp_path: Path, settings: Settings) -> None:
    path = f"/conversations/{large(tmp_path).oid}/prompt/"
    stranger, program = RequestFactory().get(path).environ, RequestFactory().get(path, headers=bearer()).environ
    assert (is_let_in(stranger), is_let_in(program)) == (False, True)
    statuses: list[str] = []
    answer = LargePages(WSGIHandler())(stranger, lambda status, headers, problem=None: statuses.append(status))
    assert statuses == ["403 Forbidden"] and b"the link that it prints" in b"".join(answer)
    linked = RequestFactory().get(path, {"token": token()}).environ
    answer = LargePages(WSGIHandler())(linked, lambda status, headers, problem=None: statuses.append(status))
    assert statuses[1:] == ["302 Found"] and AuditEntry.objects.filter(verb="sign in").count() == 1
    settings.INSPECTOR_LOCAL = False
    assert not is_let_in(program)
    client = Client()
    user = account("ada", "viewer")
    client.force_login(user)
    cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())
    assert is_let_in(RequestFactory().get(path, headers={"cookie": cookies}).environ)
    user.grants.all().delete()
    assert not is_let_in(RequestFactory().get(path, headers={"cookie": cookies}).environ), (
        "what a person may not see takes no longer than what is not there"
    )


@pytest.mark.django_db
def test_a_page_of_which_nothing_is_kept_reads_everything(tmp_path: Path) -> None:
    conversation = large(tmp_path)
    StoredAnalysis.objects.all().delete()
    assert reads_whole(RequestFactory().get(f"/conversations/{conversation.oid}/").environ)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("query", "is_written"), [("profiles=all", False), ("tree=300", False), ("reader=dispatch-role-split", True)])
def test_only_what_is_not_kept_yet_is_kept_after_its_page(tmp_path: Path, query: str, is_written: bool) -> None:
    conversation = large(tmp_path)
    before = set(StoredAnalysis.objects.values_list("pk", flat=True))
    large_pages._keep(RequestFactory().get(f"/conversations/{conversation.oid}/?{query}").environ)
    after = set(StoredAnalysis.objects.values_list("pk", flat=True))
    assert before <= after and len(after) == 1 + is_written


Answer = tuple[str, dict[str, str], str]


class Slow(LargePages):
    """Its process is replaced by what the test says: it is done when `go` is set, and the answer says which one it was."""

    def __init__(self) -> None:
        super().__init__(WSGIHandler())
        self.go, self.begun = threading.Event(), 0

    def _answer(self, environ: dict[str, Any], body: bytes, made: Any, look: Any) -> None:
        self.begun = number = self.begun + 1
        assert self.go.wait(SECONDS)
        made.body.write(f"page {number}".encode())
        made.status, made.headers = "200 OK", [("Content-Type", "text/html")]
        self._end(look)

    def ask(self, path: str, **headers: str) -> Answer:
        return asked(self, path, **headers)


def asked(pages: LargePages, path: str, **headers: str) -> Answer:
    told: list[tuple[str, dict[str, str]]] = []
    names = {"accept": "text/html,*/*;q=0.8", **bearer(), **{name.replace("_", "-"): value for name, value in headers.items()}}
    body = pages(
        RequestFactory().get(path, headers=names).environ, lambda status, headers, problem=None: told.append((status, dict(headers)))
    )
    text = b"".join(body).decode()
    return (*told[0], text)


POLLED = {"hx_request": "true", "hx_trigger": "being-read", "hx_target": "being-read"}
REFRESH = {"HX-Refresh": "true"}


@pytest.mark.django_db(transaction=True)
def test_a_page_that_takes_long_says_so_and_begins_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its thread is free meanwhile: four readers of a large conversation had all threads of the server."""
    monkeypatch.setattr(large_pages, "PATIENCE", 0.05)
    path, pages = f"/conversations/{large(tmp_path).oid}/", Slow()
    choice = f"{path}?reader=exact"
    status, _, text = pages.ask(choice)
    assert status == "202 Accepted" and f"All {LARGE:,} chunks are being read" in text and 'http-equiv="refresh"' in text
    # Another tab, another person, another window of the same, a cookie that changes with each answer, and what htmx puts in place of the page.
    for address, headers in (
        (choice, {}),
        (f"{choice}&at=30", {}),
        (choice, {"cookie": "AWSALB=1"}),
        (choice, {"hx_request": "true", "hx_target": "main"}),
    ):
        assert pages.ask(address, **headers)[0] == "202 Accepted" and pages.begun == 1
    assert pages.ask(choice, **POLLED)[:2] == ("204 No Content", {})
    assert pages.ask(f"{path}?reader=dispatch-role-split")[0] == "202 Accepted" and pages.begun == 2, "another reader is another page"
    pages.go.set()
    assert until(lambda: pages.ask(choice, **POLLED)[1] == REFRESH)


@pytest.mark.django_db(transaction=True)
def test_an_answer_is_given_to_nobody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the name, the forms and the cookies of whoever asked, and may be of before a change."""
    monkeypatch.setattr(large_pages, "PATIENCE", 0.05)
    path, pages = f"/conversations/{large(tmp_path).oid}/?reader=exact", Slow()
    assert pages.ask(path)[0] == "202 Accepted"
    pages.go.set()
    assert until(lambda: pages.ask(path, **POLLED)[1] == REFRESH)
    # Nothing could be kept, as of a turn that runs: this page is waited for, and nobody is led in a circle.
    assert pages.ask(path)[::2] == ("200 OK", "page 2")
    monkeypatch.setattr(large_pages, "LATELY", 0)
    pages.go.clear()
    assert pages.ask(path)[0] == "202 Accepted"
    pages.go.set()


@pytest.mark.django_db(transaction=True)
def test_programs_parts_of_a_page_and_what_is_not_kept_wait_until_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_pages, "PATIENCE", 0.0)
    base, pages = f"/conversations/{large(tmp_path).oid}", Slow()
    threading.Timer(0.3, pages.go.set).start()
    for path, headers in (
        (f"{base}/?reader=exact", {"accept": "*/*"}),
        (f"{base}.json", {}),
        (f"{base}/?reader=exact", {"hx_request": "true", "hx_target": "rows"}),
        (f"{base}/?reader=exact", {"hx_request": "true"}),
        (f"{base}/prompt/", {}),
        (f"{base}/?profiles=all", {}),
    ):
        assert pages.ask(path, **headers)[0] == "200 OK", (path, headers)


@pytest.mark.django_db(transaction=True)
def test_a_page_that_is_not_made_says_so_and_nobody_waits_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, pages = f"/conversations/{large(tmp_path).oid}/?reader=exact", LargePages(WSGIHandler())

    def no_more() -> tuple[Any, Any]:
        raise OSError("no more files")

    monkeypatch.setattr(pages._context, "Pipe", no_more)
    for _ in range(2):
        status, _, text = asked(pages, path)
        assert status == "503 Service Unavailable" and "was not made" in text
    assert asked(pages, path, **POLLED)[1] == REFRESH and not pages._making


@pytest.mark.django_db(transaction=True)
def test_where_many_are_being_made_the_next_one_begins_when_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_pages, "PATIENCE", 0.05)
    monkeypatch.setattr(large_pages, "MOST", 1)
    path, pages = f"/conversations/{large(tmp_path).oid}/", Slow()
    first, second = f"{path}?reader=exact", f"{path}?reader=dispatch-role-split"
    assert [pages.ask(one)[0] for one in (first, second)] == ["202 Accepted"] * 2 and pages.begun == 1
    assert pages.ask(second, **POLLED)[1] == {}
    pages.go.set()
    assert until(lambda: pages.ask(second, **POLLED)[1] == REFRESH)
    assert pages.ask(second)[::2] == ("200 OK", "page 2")


def until(is_so: Callable[[], bool]) -> bool:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        if is_so():
            return True
        time.sleep(0.01)
    return False


def large(tmp_path: Path) -> Conversation:
    """As if it had LARGE chunks, of which its page is kept."""
    conversation = imported(tmp_path / "a.db", merged())
    conversation.chunk_count = LARGE
    conversation.save()
    key = analyses.own_ways(conversation).key
    StoredAnalysis.objects.create(
        conversation=conversation,
        key=key,
        basis=analyses.basis(conversation, False),
        is_timed=False,
        is_own=True,
        headline=b"",
        written_at=timezone.now(),
    )
    return conversation
