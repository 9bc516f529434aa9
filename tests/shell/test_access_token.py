"""Local mode lets in who has the token of the data folder, and no other user of the machine."""

import json
import logging
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from http.cookies import Morsel
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as configured
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.servers.basehttp import WSGIRequestHandler
from django.test import Client
from pytest_django import Settings

from inspector import access_token
from inspector.environment import os_user
from inspector.installation import program
from inspector.models import AuditEntry, Repair, Source
from tests.actions.building import imported, merged
from tests.views.reaching import Walk, propose_everywhere, sources_of_every_program, whole

pytestmark = pytest.mark.django_db
COMMAND = f"{program()} serve --url --port 80"


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, settings: Settings) -> Path:
    """With no token in it yet."""
    settings.VAR_DIR = tmp_path / "data"
    return tmp_path / "data"


@pytest.fixture
def stranger() -> Client:
    """Another OS user of this machine."""
    return Client()


def enter(client: Client, address: str = "/", **environ: str) -> Any:
    return client.get(f"{address}{'&' if '?' in address else '?'}token={access_token.token()}", **environ)  # type: ignore[arg-type]


def cookie(answer: Any) -> "Morsel[str]":
    (only,) = answer.cookies.values()
    assert isinstance(only, Morsel)
    return only


@pytest.mark.slow
def test_a_stranger_reads_nothing_and_writes_nothing(stranger: Client, tmp_path: Path, settings: Settings) -> None:
    settings.INSPECTOR_SOURCES = [tmp_path]
    sources_of_every_program(tmp_path / "sources")
    repairs = propose_everywhere()
    Source.objects.update(write_enabled=False)
    audited = AuditEntry.objects.count()
    before = {path: path.read_bytes() for path in (tmp_path / "sources").rglob("*") if path.is_file()}
    walk = Walk()
    addresses = walk.addresses()
    assert len(addresses) > 100
    for address in [*addresses, "/logout/", "/no-such-page/"]:
        for answer in (stranger.get(address), stranger.head(address), stranger.post(address, walk.forms(address)), stranger.put(address)):
            assert answer.status_code == 403, (address, answer.status_code)
            assert answer.headers["Cache-Control"] == "no-store" and not answer.cookies
            text = whole(answer).decode()
            assert len(text) < 1200 and (COMMAND in text or not text) and str(tmp_path) not in text
    assert {repair.state for repair in Repair.objects.all()} == {"proposed"} and len(repairs) == Repair.objects.count()
    assert not Source.objects.filter(write_enabled=True).exists() and AuditEntry.objects.count() == audited
    assert before == {path: path.read_bytes() for path in before}


def test_static_files_need_no_token(stranger: Client) -> None:
    (style,) = re.findall(r'href="(/static/inspector\.[^"]+css)"', stranger.get("/").content.decode())
    assert stranger.get(style).status_code == 200


def test_the_link_is_exchanged_for_a_cookie_and_leads_to_the_address_without_the_token(stranger: Client) -> None:
    answer = enter(stranger, "/rules/?q=a+b&tag=%C3%A9%26%3D")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/rules/?q=a+b&tag=%C3%A9%26%3D")
    assert (answer.headers["Cache-Control"], answer.headers["Referrer-Policy"]) == ("no-store", "no-referrer")
    assert AuditEntry.objects.get().verb == "sign in" and AuditEntry.objects.get().who == os_user()
    morsel = cookie(answer)
    assert morsel.key == "inspector_token_80" and morsel["httponly"] and morsel["samesite"] == "Lax" and morsel["path"] == "/"
    assert morsel["max-age"] == 30 * 86_400 and access_token.token() not in morsel.value
    page = stranger.get(answer.headers["Location"])
    assert page.status_code == 200 and f">{os_user()} · local</summary>" in " ".join(page.content.decode().split())


def test_a_link_with_two_slashes_leads_to_no_other_host(stranger: Client) -> None:
    assert enter(stranger, PATH_INFO="//elsewhere.example/").headers["Location"] == "/%2Felsewhere.example/"


@pytest.mark.parametrize("wrong", ["", "x", "é", "\ud800", "token"])
def test_a_wrong_token_opens_nothing(stranger: Client, wrong: str) -> None:
    for shown in (wrong, access_token.token()[:-1], access_token.token() + "x", access_token.token().swapcase()):
        answer = stranger.get("/?token=" + (shown if shown.isascii() else "%C3%A9"))
        assert answer.status_code == 403 and not answer.cookies
    headers = {"authorization": f"Bearer {access_token.token()[1:]}"}
    assert stranger.get("/", headers=headers).status_code == 403
    assert stranger.get("/", headers={"authorization": access_token.token()}).status_code == 403
    assert stranger.get("/", headers={"authorization": "Bearer é"}).status_code == 403


def test_a_form_is_not_let_in_by_an_address_with_the_token(stranger: Client) -> None:
    assert stranger.post(f"/check/?token={access_token.token()}", {"body": "{}"}).status_code == 403


def test_an_old_link_works_where_the_cookie_is_right(stranger: Client) -> None:
    enter(stranger)
    answer = stranger.get("/rules/?token=of-last-week")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/rules/") and not answer.cookies


def test_a_program_sends_the_token_as_a_header(stranger: Client) -> None:
    answer = stranger.get("/index.json", headers=access_token.bearer())
    assert answer.status_code == 200 and not answer.cookies


def test_a_cookie_is_of_its_port_its_key_and_its_token(stranger: Client, settings: Settings, data_folder: Path) -> None:
    value = cookie(enter(stranger)).value
    assert stranger.get("/rules/").status_code == 200
    assert stranger.get("/rules/", SERVER_PORT="8001").status_code == 403
    stranger.cookies["inspector_token_8001"] = value
    assert stranger.get("/rules/", SERVER_PORT="8001").status_code == 403
    with_key = settings.SECRET_KEY
    settings.SECRET_KEY = "another"
    assert stranger.get("/rules/").status_code == 403
    settings.SECRET_KEY = with_key
    assert stranger.get("/rules/").status_code == 200
    (data_folder / "token").unlink()
    assert stranger.get("/rules/").status_code == 403
    stranger.cookies["inspector_token_80"] = value[:-1] + ("A" if value[-1] != "A" else "B")
    assert stranger.get("/rules/").status_code == 403


def test_a_cookie_ends_after_thirty_days(stranger: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    enter(stranger)
    monkeypatch.setattr(access_token, "DAYS", -1)
    assert stranger.get("/rules/").status_code == 403


def test_twins_and_parts_of_pages_say_it_in_their_form(stranger: Client) -> None:
    sentence = f"This page is for the person who started Inspector: run `{COMMAND}` on this machine, and open the link that it prints."
    assert stranger.get("/index.json").json() == {"error": sentence}
    assert stranger.get("/findings/x.md").content.decode() == sentence + "\n"
    part = stranger.get("/conversations/", headers={"hx-request": "true"})
    assert (part.status_code, part.headers["HX-Refresh"]) == (403, "true")


def test_the_page_names_the_port_that_was_asked(stranger: Client) -> None:
    assert "serve --url --port 8123" in stranger.get("/", SERVER_PORT="8123").content.decode()


def test_where_people_sign_in_the_token_opens_nothing(stranger: Client, settings: Settings) -> None:
    settings.INSPECTOR_LOCAL = False
    for answer in (enter(stranger), stranger.get("/", headers=access_token.bearer())):
        assert answer.status_code == 302 and answer.headers["Location"].startswith("/login/") and not answer.cookies


def test_the_token_is_in_no_page_no_log_and_no_audit(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    imported(tmp_path / "a.db", merged())
    caplog.set_level(logging.DEBUG)
    browser = Client(raise_request_exception=False)
    enter(browser)
    shown = [enter(browser, "/conversations/").headers["Location"]]
    shown += [browser.get(address).content.decode() for address in ("/", "/index.json", "/audit/", "/sources/", "/nowhere/")]
    stranger = Client()
    shown += [stranger.get(f"/rules/?x={'x' * 9}&token=no").content.decode()]
    shown += [json.dumps(list(AuditEntry.objects.values()), default=str), caplog.text, *capsys.readouterr()]
    assert not [text for text in shown if access_token.token() in text]


def test_the_log_of_runserver_leaves_it_out() -> None:
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("django.server")
    logger.addHandler(handler)
    try:
        request = WSGIRequestHandler.__new__(WSGIRequestHandler)
        request.request = None  # type: ignore[assignment]
        request.log_message('"%s" %s %s', f"GET /rules/?q=1&token={access_token.token()}&x=2 HTTP/1.1", "302", "0")
    finally:
        logger.removeHandler(handler)
    assert lines == ['"GET /rules/?q=1&token=***&x=2 HTTP/1.1" 302 0']


def test_the_file_is_the_operators_alone(data_folder: Path) -> None:
    first = access_token.token()
    path = data_folder / "token"
    assert len(first) >= 43 and first == access_token.token()
    assert (path.stat().st_mode & 0o777, data_folder.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_folder_that_was_open_is_closed_when_the_token_is_made(data_folder: Path) -> None:
    data_folder.mkdir(mode=0o755)
    access_token.token()
    assert data_folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_file_that_others_can_reach_lets_nobody_in(stranger: Client, data_folder: Path, mode: int) -> None:
    known = access_token.bearer()
    (data_folder / "token").chmod(mode)
    with pytest.raises(ImproperlyConfigured, match=r"Other users of this machine can read .*: delete it"):
        access_token.token()
    answer = stranger.get("/", headers=known)
    assert answer.status_code == 503 and str(data_folder) not in answer.content.decode() and COMMAND in answer.content.decode()


def test_a_link_in_its_place_is_not_followed(data_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "known").write_text("known")
    data_folder.mkdir()
    (data_folder / "token").symlink_to(tmp_path / "known")
    with pytest.raises(ImproperlyConfigured, match="No secret can be kept"):
        access_token.token()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_the_file_of_another_user_is_refused(data_folder: Path) -> None:
    access_token.token()
    os.chown(data_folder / "token", 65534, 65534)
    with pytest.raises(ImproperlyConfigured, match="Other users"):
        access_token.token()


def test_the_command_prints_the_link(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("serve", "--url", "--port", "8123")
    assert capsys.readouterr().out == f"http://127.0.0.1:8123/?token={access_token.token()}\n"
    call_command("serve", "--url", "--json", "--host", "::1")
    assert json.loads(capsys.readouterr().out) == {
        "url": "http://[::1]:8000/",
        "token": access_token.token(),
        "local": True,
        "operator": os_user(),
    }


def test_where_people_sign_in_the_command_prints_no_token(
    capsys: pytest.CaptureFixture[str], settings: Settings, data_folder: Path
) -> None:
    settings.INSPECTOR_LOCAL = False
    call_command("serve", "--url")
    assert capsys.readouterr().out == "http://127.0.0.1:8000/\n" and not data_folder.exists()


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
def test_another_user_of_this_machine_gets_nothing_from_a_real_server(tmp_path: Path) -> None:
    """As it was found: `su nobody -c curl` read everything."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("INSPECTOR_", "DJANGO_"))}
    environ = ours | {"INSPECTOR_DATABASE_URL": f"sqlite:///{tmp_path}/own.sqlite3"}
    manage = [sys.executable, str(configured.BASE_DIR / "manage.py")]
    subprocess.run([*manage, "migrate", "--verbosity", "0"], env=environ, check=True, timeout=60)
    with subprocess.Popen([*manage, "serve", "--port", "0"], env=environ, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            link = server.stdout.readline().split()[-1]
            url = link.partition("?")[0]
            asked = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", f"{url}sources.json"]
            ran = subprocess.run(asked, user="nobody", capture_output=True, text=True, timeout=60)
            assert ran.stdout == "403"
            opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            with opener.open(link, timeout=60) as page:
                assert page.status == 200 and page.url == url
            with pytest.raises(urllib.error.HTTPError, match="403"):
                urllib.request.urlopen(url, timeout=60)
        finally:
            server.terminate()


def test_opening_the_link_again_and_again_is_recorded_without_the_token(stranger: Client) -> None:
    enter(stranger)
    enter(stranger, "/rules/")
    stranger.get("/rules/?token=wrong")
    entries = list(AuditEntry.objects.filter(verb="sign in").values())
    assert len(entries) == 2 and access_token.token() not in json.dumps(entries, default=str)
