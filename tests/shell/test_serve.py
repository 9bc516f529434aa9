"""serve: a real process on real ports."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError

from inspector.access_token import bearer, token
from inspector.environment import os_user
from inspector.installation import program
from inspector.management.commands.serve import address_of, is_loopback, listen, refuse_unready, who_may_use_it

SECONDS = 60


def manage(*arguments: str) -> list[str]:
    return [sys.executable, str(settings.BASE_DIR / "manage.py"), *arguments]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("INSPECTOR_", "DJANGO_"))}
    return ours | {"INSPECTOR_DATABASE_URL": f"sqlite:///{tmp_path}/own.sqlite3", "DJANGO_SECRET_KEY": "for one test"}


@contextmanager
def serving(environ: dict[str, str], *arguments: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, object]]]:
    """The running process and what it printed. It is killed after five times SECONDS, so that a test that waits for it ends, on a busy machine too."""
    process = subprocess.Popen(
        manage("serve", "--json", *arguments),
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell that runs the tests in the background has its children ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    limit = threading.Timer(5 * SECONDS, process.kill)
    limit.start()
    try:
        assert process.stdout and process.stderr
        line = process.stdout.readline()
        assert line, process.stderr.read()
        yield process, json.loads(line)
    finally:
        limit.cancel()
        process.kill()
        process.communicate()


def fetch(url: object, **headers: str) -> tuple[int, str]:
    """With the token of local mode."""
    try:
        with urllib.request.urlopen(urllib.request.Request(str(url), headers={**bearer(), **headers}), timeout=SECONDS) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


@pytest.mark.slow
def test_a_taken_port_is_told_and_the_next_one_serves(environ: dict[str, str]) -> None:
    subprocess.run(manage("migrate", "--verbosity", "0"), env=environ, check=True, timeout=SECONDS)
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with serving(environ, "--port", str(port)) as (process, told):
            url = str(told["url"])
            assert told == {"url": url, "token": token(), "local": True, "operator": os_user()}
            assert fetch(url, Authorization="")[0] == 403
            assert int(url.rstrip("/").rpartition(":")[2]) > port
            assert fetch(url + "no-such-page/")[0] == 404
            assert fetch(url + "static/django_htmx/htmx-2.min.js")[0] == 200
            forwarded = {"X-Forwarded-For": "192.0.2.7"}
            status, text = fetch(url, **forwarded)
            assert status == 403 and "DJANGO_ALLOWED_HOSTS" in text
            assert fetch(url, Host="attacker.example")[0] == 400
            process.terminate()
            assert process.wait(SECONDS) == 0
            assert process.stderr and process.stderr.read() == f"Port {port} is taken; serving on {url} instead.\n"


@contextmanager
def connections(url: object, requests: list[bytes]) -> Iterator[None]:
    """One open connection for each of `requests`, which is sent and whose answer is not read."""
    port = int(str(url).rstrip("/").rpartition(":")[2])
    with ExitStack() as stack:
        for request in requests:
            opened = stack.enter_context(socket.socket())
            # So small that the answer has to wait in the server.
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            opened.settimeout(SECONDS)
            opened.connect(("127.0.0.1", port))
            opened.sendall(request)
        yield


def session_with_long_text(path: Path, size: int) -> Path:
    """A session file whose second entry has `size` characters."""
    head = {"type": "session", "version": 3, "id": "long", "timestamp": "2026-07-01T10:00:00.000Z", "cwd": "/w"}
    message = {"role": "user", "content": [{"type": "text", "text": "long words " * (size // 11)}], "timestamp": 1782900000000}
    entry = {"type": "message", "id": "aaaaaaaa", "parentId": None, "timestamp": "2026-07-01T10:00:00.000Z", "message": message}
    path.write_text("".join(json.dumps(line) + "\n" for line in (head, entry)))
    return path


@pytest.mark.slow
def test_clients_that_send_and_read_slowly_keep_nobody_waiting(environ: dict[str, str], tmp_path: Path) -> None:
    """Silent, half a request, half a body: none of them takes a thread. Nor do two answers of 20 MB that nobody reads."""
    subprocess.run(manage("migrate", "--verbosity", "0"), env=environ, check=True, timeout=SECONDS)
    store = session_with_long_text(tmp_path / "2026-07-01T10-00-00-000Z_long.jsonl", 20_000_000)
    subprocess.run(manage("import_source", str(store)), env=environ, check=True, timeout=SECONDS, capture_output=True)
    half_open = [
        *[b""] * 70,
        *[b"GET /rules/ HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half: "] * 70,
        *[b"POST /check/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\nhalf"] * 70,
    ]
    with serving(environ, "--port", "0") as (process, told):
        url = str(told["url"])
        oid = json.loads(fetch(url + "conversations.json")[1])["conversations"][0]["id"]
        download = f"/conversations/{oid}/chunks/0/raw/"
        assert len(fetch(url + download.removeprefix("/"))[1]) > 20_000_000
        shown = f"Authorization: {bearer()['Authorization']}\r\n"
        slow = [f"GET {download} HTTP/1.1\r\nHost: 127.0.0.1\r\n{shown}\r\n".encode() * 2] * 24
        with connections(url, half_open), connections(url, slow):
            assert fetch(url + "explain/")[0] == 200
            process.terminate()
            assert process.wait(SECONDS) == 0


@pytest.mark.slow
def test_a_request_that_runs_when_serve_is_stopped_is_answered(environ: dict[str, str], tmp_path: Path) -> None:
    subprocess.run(manage("migrate", "--verbosity", "0"), env=environ, check=True, timeout=SECONDS)
    store = session_with_long_text(tmp_path / "2026-07-01T10-00-00-000Z_long.jsonl", 20_000_000)
    subprocess.run(manage("import_source", str(store)), env=environ, check=True, timeout=SECONDS, capture_output=True)
    with serving(environ, "--port", "0") as (process, told):
        url = str(told["url"])
        oid = json.loads(fetch(url + "conversations.json")[1])["conversations"][0]["id"]
        with ThreadPoolExecutor() as pool:
            running = pool.submit(fetch, f"{url}conversations/{oid}/chunks/0/")
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            assert running.result(SECONDS)[0] == 200
        assert process.wait(SECONDS) == 0


@pytest.mark.slow
def test_as_many_connections_as_this_process_may_have_files_for() -> None:
    """In a process of its own: the limit is that of the whole process."""
    code = (
        "import resource, django\ndjango.setup()\nfrom inspector.management.commands.serve import connection_limit\n"
        "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (1024, {hard}))\nprint(connection_limit())"
    )
    environ = {**os.environ, "DJANGO_SETTINGS_MODULE": "inspector.settings"}
    for hard, connections in (("hard", 4_000), ("1024", 384)):
        asked = [sys.executable, "-c", code.format(hard=hard)]
        ran = subprocess.run(asked, env=environ, cwd=settings.BASE_DIR, capture_output=True, text=True, timeout=SECONDS, check=True)
        assert int(ran.stdout) == connections


@pytest.mark.slow
def test_an_unmigrated_database_is_refused(environ: dict[str, str]) -> None:
    ran = subprocess.run(manage("serve", "--port", "0"), env=environ, capture_output=True, text=True, timeout=SECONDS)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == f"The database is empty or older than this version: run `{program()} migrate` first.\n"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "inspector.example.org", ""])
def test_local_mode_is_not_served_to_other_machines(host: str) -> None:
    with pytest.raises(CommandError, match="DJANGO_ALLOWED_HOSTS"):
        refuse_unready(host, 8000)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_loopback_is_recognized(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_out_of_range_is_refused(port: int) -> None:
    with pytest.raises(CommandError, match="is not a port"):
        refuse_unready("127.0.0.1", port)


def test_a_host_of_another_machine_is_refused() -> None:
    with pytest.raises(CommandError, match=r"192\.0\.2\.7 is not an address of this machine"):
        listen("192.0.2.7", 0)


def test_when_every_port_is_taken_a_sentence_says_so() -> None:
    with socket.socket() as last:
        last.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        last.bind(("127.0.0.1", 65535))
        last.listen()
        with pytest.raises(CommandError, match="from 65535 up are all taken"):
            listen("127.0.0.1", 65535)


def test_the_address_can_be_opened() -> None:
    assert address_of("localhost", 8000) == "http://localhost:8000/"
    assert address_of("::1", 8000) == "http://[::1]:8000/"


def test_the_mode_is_told() -> None:
    assert "acts as ada" in who_may_use_it("ada")
    assert "sign in" in who_may_use_it(None)
