"""serve: a real process on real ports."""

import json
import os
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError

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
    """The running process and what it printed, within SECONDS."""
    process = subprocess.Popen(
        manage("serve", "--json", *arguments), env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    limit = threading.Timer(SECONDS, process.kill)
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
    try:
        with urllib.request.urlopen(urllib.request.Request(str(url), headers=headers), timeout=SECONDS) as answer:
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
            assert told == {"url": url, "local": True, "operator": os_user()}
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


def test_an_unmigrated_database_is_refused(environ: dict[str, str]) -> None:
    ran = subprocess.run(manage("serve", "--port", "0"), env=environ, capture_output=True, text=True, timeout=SECONDS)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == f"The database is not up to date with this version: run `{program()} migrate` first.\n"


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
    with listen("localhost", 0) as listening:
        port = listening.getsockname()[1]
        assert address_of("localhost", listening) == f"http://localhost:{port}/"
        assert address_of("::1", listening) == f"http://[::1]:{port}/"


def test_the_mode_is_told() -> None:
    assert "acts as ada" in who_may_use_it("ada")
    assert "sign in" in who_may_use_it(None)
