"""Static files: names with a digest, compressed once, kept by browsers."""

import gzip
import re
from pathlib import Path

import pytest
from django.conf import settings as configured
from django.contrib.staticfiles import finders as staticfiles_finders
from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.contrib.staticfiles.storage import staticfiles_storage
from django.test import Client, RequestFactory
from pytest_django import DjangoAssertNumQueries, Settings

from inspector import static_files

NAME = "inspector.css"


@pytest.fixture
def url() -> str:
    return str(staticfiles_storage.url(NAME))


def test_a_page_names_every_static_file_by_its_content(client: Client, db: None) -> None:
    """Every link of a page is to a file that browsers keep."""
    links = re.findall(r'(?:href|src)="(/static/[^"]+)"', client.get("/rules/").content.decode())
    assert len(links) >= 4
    for link in links:
        assert re.fullmatch(r"/static/[\w./-]+\.[0-9a-f]{12}\.\w+", link)
        answer = client.get(link)
        assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "public, max-age=31536000, immutable")


def test_it_is_what_is_in_the_file(client: Client, url: str) -> None:
    answer = client.get(url)
    assert answer.content == (Path(configured.BASE_DIR) / "static" / NAME).read_bytes()
    assert answer.headers["Content-Type"] == "text/css; charset=utf-8" and "Set-Cookie" not in answer.headers
    assert answer.headers["X-Content-Type-Options"] == "nosniff" and "Content-Security-Policy" in answer.headers


def test_it_is_compressed_once_for_whom_asks(client: Client, url: str) -> None:
    plain, packed = client.get(url), client.get(url, headers={"accept-encoding": "gzip, br"})
    assert packed.headers["Content-Encoding"] == "gzip" and gzip.decompress(packed.content) == plain.content
    assert packed.content == client.get(url, headers={"accept-encoding": "gzip"}).content
    assert "Content-Encoding" not in plain.headers
    assert plain.headers["Vary"] == packed.headers["Vary"] == "Accept-Encoding"


def test_a_plain_name_and_one_of_another_version_are_kept_for_a_minute(client: Client) -> None:
    for name in (NAME, "inspector.0123456789ab.css"):
        answer = client.get(f"/static/{name}")
        assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "public, max-age=60")


def test_an_unchanged_file_is_not_sent_again(client: Client, url: str) -> None:
    entity = client.get(url).headers["ETag"]
    again = client.get(url, headers={"if-none-match": entity})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get(url, headers={"if-none-match": '"another"'}).status_code == 200


@pytest.mark.parametrize(
    "name", ["", "no-such.css", "../settings.py", "%2e%2e/manage.py", "/etc/passwd", "inspector", ".css", "x.0123456789ab.css"]
)
def test_only_what_finders_list_is_served(client: Client, db: None, name: str) -> None:
    assert client.get(f"/static/{name}").status_code == 404


def test_a_request_that_writes_is_not_answered_with_a_file(client: Client, db: None, url: str) -> None:
    assert client.post(url).status_code in (403, 404, 405)


def test_nobody_has_to_sign_in_and_no_session_is_read(
    client: Client, db: None, settings: Settings, url: str, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    settings.INSPECTOR_LOCAL = False
    client.cookies[settings.SESSION_COOKIE_NAME] = "a session"
    with django_assert_num_queries(0):
        assert client.get(url).status_code == 200


def test_another_content_has_another_name(settings: Settings, tmp_path: Path) -> None:
    settings.DEBUG = True
    settings.STATICFILES_DIRS = [tmp_path]
    static_files.finders.get_finder.cache_clear()
    try:
        names = []
        for content in ("a { }", "b { }", "a { }"):
            (tmp_path / "own.css").write_text(content)
            names.append(staticfiles_storage.url("own.css"))
    finally:
        static_files.finders.get_finder.cache_clear()
    assert names[0] == names[2] != names[1] and re.fullmatch(r"/static/own\.[0-9a-f]{12}\.css", names[0])


def test_runserver_and_the_server_of_browser_tests_find_hashed_names_too(url: str) -> None:
    """They answer before any middleware."""
    handler = StaticFilesHandler(lambda environ, start_response: [])
    answer = handler.serve(RequestFactory().get(url))
    assert answer.status_code == 200
    assert staticfiles_finders.find(NAME.replace(".css", ".0123456789ab.css")) is None
