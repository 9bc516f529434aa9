"""Settings for several people, as the guide on deploying sets them: quiet then, and a warning for whatever is left out."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings as configured
from django.test import Client
from pytest_django import Settings

GUIDE = Path(configured.BASE_DIR) / "docs" / "how-to" / "deploy.md"
KEY = "r9Jx_documented-by-the-guide-0123456789-abcdefghijklmnopqrstuvw"


def documented() -> dict[str, str]:
    """What the guide writes before it chooses the database, with a folder and a key of ours."""
    exported = dict(re.findall(r"^    ([A-Z_]+)=(\S+)", GUIDE.read_text().partition("### Choose the database")[0], re.MULTILINE))
    return exported | {"DJANGO_SECRET_KEY": KEY, "INSPECTOR_SOURCES": str(configured.BASE_DIR)}


def checked(tmp_path: Path, variables: dict[str, str], *code: str) -> subprocess.CompletedProcess[str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("INSPECTOR_", "DJANGO_"))}
    environ = {**ours, "INSPECTOR_DATABASE_URL": f"sqlite:///{tmp_path}/own.sqlite3", **variables}
    arguments = code or ("check_settings", "--deploy", "--fail-level", "WARNING")
    manage = [sys.executable, str(configured.BASE_DIR / "manage.py"), *arguments]
    return subprocess.run(manage, env=environ, capture_output=True, text=True, timeout=120)


@pytest.mark.slow
def test_what_the_guide_sets_leaves_nothing_to_say(tmp_path: Path) -> None:
    ran = checked(tmp_path, documented())
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stderr
    assert ran.stdout.startswith("System check identified no issues")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "warnings"),
    [
        ({"DJANGO_ALLOWED_HOSTS": "", "INSPECTOR_BASE_URL": ""}, {"inspector.W101"}),
        ({"INSPECTOR_BASE_URL": ""}, {"inspector.W102", "security.W004", "security.W008", "security.W012", "security.W016"}),
        ({"INSPECTOR_BASE_URL": "http://inspector.example.org"}, {"inspector.W102", "security.W004"}),
        ({"INSPECTOR_BASE_URL": "https://other.example.org"}, {"inspector.W003"}),
        ({"DJANGO_ALLOWED_HOSTS": "*"}, {"inspector.W103"}),
        ({"DJANGO_DEBUG": "true"}, {"inspector.W004", "security.W018"}),
        ({"DJANGO_SECRET_KEY": "short"}, {"security.W009"}),
        ({"INSPECTOR_SOURCES": "/no/such/folder"}, {"inspector.W002"}),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_each_that_is_left_out_is_named(tmp_path: Path, change: dict[str, str], warnings: set[str]) -> None:
    ran = checked(tmp_path, documented() | change)
    assert warnings <= set(re.findall(r"\((\w+\.W\d+)\)", ran.stdout + ran.stderr)), ran.stderr
    assert ran.returncode != 0


ASK = """
from django.test import Client
client = Client(headers={"host": "inspector.example.org"})
def show(name, answer):
    kept = ("Location", "Strict-Transport-Security", "Set-Cookie")
    print(name, answer.status_code, {key: answer[key] for key in kept if key in answer}, [str(m["secure"]) for m in answer.cookies.values()])
show("https", client.get("/login/", headers={"x-forwarded-proto": "https"}))
show("http", client.get("/login/?next=/a", headers={"x-forwarded-proto": "http"}))
direct = client.get("/login/")
show("direct", direct)
print(direct.content.decode())
show("health", Client(headers={"host": "10.1.1.1"}).get("/healthz"))
"""


@pytest.mark.slow
def test_behind_https_cookies_are_secure_and_http_leads_there(tmp_path: Path) -> None:
    checked(tmp_path, documented(), "migrate", "--verbosity", "0")
    ran = checked(tmp_path, documented(), "shell", "-v", "0", "-c", ASK)
    lines = ran.stdout.splitlines()
    hsts = "{'Strict-Transport-Security': 'max-age=31536000'}"
    assert lines[:3] == [
        f"https 200 {hsts} ['True']",
        "http 301 {'Location': 'https://inspector.example.org/login/?next=/a'} []",
        "direct 400 {} []",
    ], ran.stderr
    assert "X-Forwarded-Proto" in lines[3] and lines[3].endswith("https://inspector.example.org")
    assert lines[-1].startswith("health 200")


@pytest.mark.django_db
def test_local_mode_sends_nobody_to_https(client: Client, settings: Settings) -> None:
    answer = client.get("/rules/")
    assert answer.status_code == 200 and "Strict-Transport-Security" not in answer.headers
    assert not settings.SECURE_SSL_REDIRECT and settings.SECURE_PROXY_SSL_HEADER is None


DEPLOY = Path(configured.BASE_DIR) / "deploy"
POSTGRESQL_OF = {"bookworm": 15, "trixie": 17}
"""A release of Debian -> the version of its client programs."""


def test_containers_back_up_the_database_that_they_run() -> None:
    # pg_dump refuses a server that is newer than itself.
    releases = set(re.findall(r"^FROM .*-slim-(\w+)", (DEPLOY / "Containerfile").read_text(), re.MULTILINE))
    server = re.findall(r"postgres:(\d+)", (DEPLOY / "compose.yaml").read_text())
    assert len(releases) == 1 and [int(version) <= POSTGRESQL_OF[releases.pop()] for version in server] == [True]


def test_the_command_of_root_hands_over_variables_and_words_as_they_are(tmp_path: Path) -> None:
    settings = tmp_path / "inspector.env"
    settings.write_text("""INSPECTOR_GROUP_ROLES='{"a b":"admin"}'\nDJANGO_SECRET_KEY='x$y #z'\n""")
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\nprintf "%s|" "$INSPECTOR_GROUP_ROLES" "$DJANGO_SECRET_KEY" "$HOME" "$@"\n')
    program.chmod(0o755)
    runuser = tmp_path / "runuser"
    runuser.write_text('#!/bin/sh\nshift 3\nexec "$@"\n')
    runuser.chmod(0o755)
    text = (DEPLOY / "systemd" / "inspector").read_text()
    places = {
        "/etc/inspector/inspector.env": settings,
        "/opt/inspector/bin/inspector": program,
        "/var/lib/inspector": tmp_path,
        "/usr/sbin": tmp_path,
    }
    for place, ours in places.items():
        assert place in text
        text = text.replace(place, str(ours))
    command = ["/bin/sh", "-c", text, "inspector", "user", "add", "a b", "$x"]
    # As cron, whose PATH does not lead to runuser.
    (tmp_path / "cron").mkdir()
    (tmp_path / "cron" / "sh").symlink_to("/bin/sh")
    ran = subprocess.run(command, env={"PATH": str(tmp_path / "cron")}, capture_output=True, text=True, timeout=20)
    assert (ran.stdout, ran.stderr) == (f'{{"a b":"admin"}}|x$y #z|{tmp_path}|user|add|a b|$x|', "")
