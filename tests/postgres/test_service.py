"""A service for a team, with its real parts: PostgreSQL, the pages behind a proxy that ends TLS, two workers, a program that writes its store, a receiver of
webhooks, and two people in browsers. From the damage to its repair and undo, and to a backup that is restored."""

import hashlib
import hmac
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.actions.building import Store, merged, pairs
from tests.browser.conftest import CHROMIUM, QUIET
from tests.postgres.server import Server
from tests.programs.dispatch.appended_stores import A, U
from tests.sources.stores import make

NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
HOST, PASSWORD, KEY = "inspector.test", "correct horse battery staple", "0123456789abcdef0123456789abcdef"
AT_MOST = 10.0
"""Seconds from the damage to the inbox, of a machine whose `import_source` takes at most 2; of a busier one five times what it takes."""
WRITER = """
import json, sqlite3, sys, time
path, rows = sys.argv[1], json.load(sys.stdin)
with sqlite3.connect(path, timeout=30) as connection:
    connection.execute("PRAGMA journal_mode=WAL")
    for key, value in rows:
        connection.execute("INSERT OR REPLACE INTO kv VALUES ('conversation-store', CAST(? AS TEXT), CAST(? AS TEXT))", (key.encode(), value.encode()))
        connection.commit()
        time.sleep(0.05)
print("written", flush=True)
"""

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine; on Debian: apt-get install chromium"),
    pytest.mark.skipif(NGINX is None, reason="no nginx on this machine; on Debian: apt-get install nginx-light"),
    pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl on this machine"),
]


class Service:
    """The processes of one installation; `run` is a command of it."""

    def __init__(self, folder: Path, database: str, programs: Path | None, stack: ExitStack) -> None:
        self.folder, self._stack = folder, stack
        self.port, self.web_port = _free_port(), _free_port()
        self.url = f"https://{HOST}:{self.port}"
        ours = {name: value for name, value in os.environ.items() if not name.startswith(("INSPECTOR_", "DJANGO_", "PG"))}
        self.environ = ours | {
            "INSPECTOR_DATABASE_URL": database,
            "INSPECTOR_AUDIT_KEY_FILE": str(folder / "audit" / "audit-key"),
            "INSPECTOR_BASE_URL": self.url,
            "INSPECTOR_SOURCES": str(folder / "agents"),
            "INSPECTOR_NOTIFY_PRIVATE": "127.0.0.1",
            "INSPECTOR_WRITE_BACK": "true",
            "INSPECTOR_REQUIRE_SECOND_APPROVER": "true",
            "DJANGO_ALLOWED_HOSTS": HOST,
            "DJANGO_SECRET_KEY": "for one test, and long enough that nobody guesses it 0123456789",
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}" if programs else os.environ["PATH"],
        }

    def run(self, *arguments: object, **more: str) -> str:
        done = subprocess.run(self._command(*arguments), env=self.environ | more, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done.stdout

    def start(self, *arguments: object) -> None:
        self._begin(self._command(*arguments), str(arguments[0]))

    def start_proxy(self) -> None:
        folder = self.folder / "proxy"
        folder.mkdir()
        subject = ["-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}"]
        new = [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-keyout",
            folder / "key.pem",
            "-out",
            folder / "cert.pem",
            "-days",
            "1",
        ]
        subprocess.run([*map(str, new), *subject], check=True, capture_output=True)
        # The part below `location` is that of the guide on deploying.
        guide = (Path(settings.BASE_DIR) / "docs/how-to/deploy.md").read_text()
        location = (
            guide[guide.index("    location / {") :].partition("    }")[0].replace("127.0.0.1:8000", f"127.0.0.1:{self.web_port}") + "}"
        )
        (folder / "nginx.conf").write_text(
            f"daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1; events {{}}\n"
            f"http {{ access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxied; fastcgi_temp_path {folder}/f; "
            f"uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;\n"
            f"server {{ listen 127.0.0.1:{self.port} ssl; server_name {HOST}; ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;\n"
            f"{location} }} }}\n"
        )
        self._begin([str(NGINX), "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")], "nginx")

    def _command(self, *arguments: object) -> list[str]:
        return [sys.executable, str(settings.BASE_DIR / "manage.py"), *map(str, arguments)]

    def _begin(self, command: list[str], name: str) -> None:
        log = self._stack.enter_context((self.folder / f"{name}-{time.monotonic_ns()}.log").open("wb"))
        process = subprocess.Popen(command, env=self.environ, stdout=log, stderr=log)
        self._stack.callback(process.wait, 30)
        self._stack.callback(process.terminate)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture
def service(empty: str, server: Server, tmp_path: Path) -> Iterator[Service]:
    (tmp_path / "agents").mkdir()
    with ExitStack() as stack:
        service = Service(tmp_path, empty, server.programs, stack)
        service.run("migrate", "--verbosity", "0")
        for name in ("ana", "bo"):
            service.run(
                "createsuperuser", "--noinput", "--username", name, "--email", f"{name}@example.org", DJANGO_SUPERUSER_PASSWORD=PASSWORD
            )
        service.start("serve", "--host", "127.0.0.1", "--port", service.web_port)
        for _ in range(2):
            service.start("worker")
        service.start_proxy()
        yield service


@contextmanager
def receiver() -> Iterator[tuple[str, list[tuple[dict[str, str], bytes]]]]:
    """The address of a server, and the messages that it got."""
    messages: list[tuple[dict[str, str], bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            messages.append((dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{http.server_address[1]}/hook", messages
        http.shutdown()


@pytest.fixture
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        rules = f"--host-resolver-rules=MAP {HOST} 127.0.0.1"
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=[*QUIET, rules])
        yield found
        found.close()


def person(browser: Browser, service: Service, name: str) -> Page:
    page = browser.new_context(ignore_https_errors=True, viewport={"width": 1440, "height": 900}).new_page()
    page.set_default_timeout(30_000)
    until(lambda: _opens(page, f"{service.url}/login/"), 60)
    page.fill("input[name=username]", name)
    page.fill("input[name=password]", PASSWORD)
    page.locator("main form button, form button").last.click()
    expect(page.locator(".account summary")).to_contain_text(name)
    return page


def _opens(page: Page, address: str) -> bool:
    try:
        answer = page.goto(address)
    except Exception:  # the proxy or the server has not begun yet
        return False
    return answer is not None and answer.status == 200


def until(holds: Callable[[], Any], seconds: float) -> float:
    """How long it took. Fails when it takes longer."""
    begin = time.monotonic()
    while not holds():
        assert time.monotonic() - begin < seconds, f"not within {seconds} s"
        time.sleep(0.1)
    return time.monotonic() - begin


def events(messages: list[tuple[dict[str, str], bytes]]) -> list[str]:
    return [json.loads(body)["event"] for _, body in messages]


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name).first.click()
    page.wait_for_load_state()


def test_from_the_damage_to_its_undo_and_to_a_restored_backup(service: Service, other_empty: str, browser: Browser, tmp_path: Path) -> None:
    store = Store()
    store.append(U("what is the weather"), A("sunny"), to="c0")
    path = make(tmp_path / "agents" / "dispatch.db", clean := dict(store.values))
    merged(store, "c1")
    begun = time.monotonic()
    service.run("import_source", path)
    at_most = max(AT_MOST, 5 * (time.monotonic() - begun))
    with receiver() as (address, messages):
        ana, bo = (person(browser, service, name) for name in ("ana", "bo"))
        # Ana, who looks after it: a notifier, the watch, and writes to the store.
        ana.goto(f"{service.url}/notifications/?kind=webhook")
        ana.fill("input[name=name]", "on call")
        ana.fill("input[name=address]", address)
        ana.fill("input[name=secret]", KEY)
        press(ana, "Add")
        ana.goto(f"{service.url}/sources/")
        ana.locator(".row-link", has_text="dispatch.db").click()
        press(ana, "Watch")
        ana.get_by_label("I answer for writes").check()
        press(ana, "Switch writes on")
        bo.goto(f"{service.url}/")
        # A program begins to write what its readers take for one message.
        rows = [row for row in store.values.items() if row not in clean.items()]
        writer = subprocess.run(
            [sys.executable, "-c", WRITER, str(path)], input=json.dumps(rows), capture_output=True, text=True, timeout=60, check=True
        )
        assert writer.stdout == "written\n"
        before = pairs(path)

        def is_listed() -> bool:
            bo.reload()
            return bo.locator(".row-link", has_text="merged-messages").count() > 0

        until(is_listed, at_most)
        until(lambda: "new-problem" in events(messages), 30)
        headers, body = messages[events(messages).index("new-problem")]
        stamp = headers["X-Inspector-Timestamp"]
        assert (
            headers["X-Inspector-Signature"] == f"sha256={hmac.new(KEY.encode(), f'{stamp}.'.encode() + body, hashlib.sha256).hexdigest()}"
        )
        assert json.loads(body)["link"].startswith(service.url)
        # Bo proposes, Ana approves and applies, Bo takes it back.
        bo.locator(".row-link", has_text="merged-messages").click()
        bo.locator(".row-link", has_text="hello").click()
        bo.locator("a[data-key=R]").first.click()
        press(bo, "Propose this repair")
        repair = bo.url
        expect(bo.get_by_role("button", name="Approve")).to_be_disabled()
        ana.goto(repair)
        ana.get_by_label("is fixed: it does not").check()
        press(ana, "Approve")
        press(ana, "Apply")
        expect(ana.locator(".badge", has_text="verified").first).to_be_visible(timeout=60_000)
        assert pairs(path) != before
        bo.goto(repair)
        press(bo, "Undo")
        expect(bo.locator(".badge", has_text="undone").first).to_be_visible(timeout=60_000)
        assert pairs(path) == before
        until(lambda: {"proposal", "approval", "apply", "undo"} <= set(events(messages)), 60)
    # A backup while it serves, and the same service again in another database.
    service.run("backup", tmp_path / "backup")
    other = {"INSPECTOR_DATABASE_URL": other_empty, "INSPECTOR_AUDIT_KEY_FILE": str(tmp_path / "restored" / "audit-key")}
    service.run("restore", tmp_path / "backup", **other)
    service.run("migrate", "--verbosity", "0", **other)
    assert "intact" in service.run("audit", "--verify", **other)
    assert service.run("purge", "--older-than", "1", "--json", **other) == service.run("purge", "--older-than", "1", "--json")
    assert not [log.name for log in tmp_path.glob("*.log") if b"Traceback" in log.read_bytes()]
