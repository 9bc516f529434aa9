"""What browsers may keep: nothing of exact bytes, of sign-in and of tokens; of pages what they ask for each time."""

import re
from pathlib import Path

import pytest
from django.http import HttpResponse, StreamingHttpResponse
from django.test import Client, RequestFactory
from django.urls import path
from pytest_django import Settings

from inspector.cache_headers import exact, limit_what_is_kept
from tests.views.reaching import Walk, propose_everywhere, sources_of_every_program

EXACT = re.compile(r".*(/raw/|/audit/export\.\w+|/capture\.jsonl|/bundle\.zip)")


@pytest.mark.slow
@pytest.mark.django_db
def test_every_address_says_what_may_be_kept_of_it(client: Client, tmp_path: Path, settings: Settings) -> None:
    settings.INSPECTOR_SOURCES = [tmp_path]
    sources_of_every_program(tmp_path / "sources")
    propose_everywhere()
    client.get("/rules/")
    addresses = Walk().addresses()
    assert sum(map(bool, map(EXACT.fullmatch, addresses))) > 5
    for address in addresses:
        answer = client.get(address)
        kept = answer.headers["Cache-Control"]
        if EXACT.fullmatch(address) and answer.status_code == 200:
            assert (kept, "ETag" in answer.headers) == ("no-store", False), address
        elif address in ("/login/", "/metrics") or address.startswith(("/welcome/", "/share/")):
            assert "no-store" in kept
        else:
            assert kept == "private, no-cache", address
            assert "ETag" in answer.headers or answer.status_code != 200 or answer.streaming, address


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["/", "/conversations/", "/index.json"])
def test_a_list_that_is_unchanged_is_not_sent_again(client: Client, address: str) -> None:
    client.get("/rules/")
    first = client.get(address)
    second = client.get(address, headers={"if-none-match": first.headers["ETag"]})
    assert (second.status_code, second.content, second.headers["ETag"]) == (304, b"", first.headers["ETag"])
    assert second.headers["Cache-Control"] == "private, no-cache" and "Content-Security-Policy" in second.headers
    client.cookies.clear()
    without = client.get(address, headers={"if-none-match": first.headers["ETag"]})
    assert without.status_code == (304 if address.endswith(".json") else 200), "a form token is of use with its cookie only"


def answered(response: HttpResponse | StreamingHttpResponse, **headers: str) -> HttpResponse:
    return limit_what_is_kept(lambda request: response)(RequestFactory().get("/", headers=headers))  # type: ignore[arg-type, return-value]


def test_exact_content_is_kept_nowhere_whatever_the_view_says() -> None:
    response = exact(HttpResponse("secret", headers={"ETag": '"1"', "Cache-Control": "private, no-cache"}))
    answer = answered(response, **{"if-none-match": '"1"'})
    assert (answer.status_code, answer["Cache-Control"], answer.has_header("ETag")) == (200, "no-store", False)


def test_a_word_of_the_content_that_differs_is_another_answer() -> None:
    token = '<input name="csrfmiddlewaretoken" value="' + "a" * 64 + '">'
    page = answered(HttpResponse(token))
    assert answered(HttpResponse(token.replace("aa", "bb")))["ETag"] == page["ETag"]
    assert answered(HttpResponse(token + "."))["ETag"] != page["ETag"]
    twin = HttpResponse(token, content_type="application/json")
    other = HttpResponse(token.replace("aa", "bb"), content_type="application/json")
    assert answered(twin)["ETag"] != answered(other)["ETag"], "in a twin the same characters are content"


def test_what_fails_or_is_streamed_has_no_tag() -> None:
    for response in (HttpResponse("no", status=404), StreamingHttpResponse([b"a"])):
        answer = answered(response)
        assert (answer["Cache-Control"], answer.has_header("ETag")) == ("private, no-cache", False)


def revealed(request: object) -> HttpResponse:
    return exact(HttpResponse("secret"))


urlpatterns = [path("revealed/", revealed), *__import__("inspector.urls").urls.urlpatterns]


@pytest.mark.django_db
def test_a_view_that_reveals_marks_its_answer(client: Client, settings: Settings) -> None:
    settings.ROOT_URLCONF = __name__
    assert client.get("/revealed/").headers["Cache-Control"] == "no-store"


def test_static_files_are_kept_for_a_year(client: Client, db: None) -> None:
    link = re.findall(r'href="(/static/[^"]+css)"', client.get("/login/").content.decode())[0]
    assert client.get(link).headers["Cache-Control"] == "public, max-age=31536000, immutable"
