"""Below a path of a host that has other pages too: every address that a page has leads to one of ours, and the proxy may take the path away or leave it."""

import re
from collections import deque
from html import unescape
from urllib.parse import urldefrag, urlsplit

import pytest
from django.test import Client
from django.urls import resolve
from pytest_django import Settings

from inspector.models import Conversation
from tests.operators import OperatorClient

BASE = "/tools/inspector"
ADDRESS = re.compile(r'\s(?!value|title|content|placeholder)[\w-]+="(/[^"]*)"')


@pytest.fixture
def below(settings: Settings) -> None:
    settings.INSPECTOR_BASE_URL = f"https://example.org{BASE}"


def followed(client: Client, start: str) -> tuple[set[str], list[str]]:
    """The names of the views that can be reached by links, one address of each; and the links that lead elsewhere."""
    waiting, seen, elsewhere = deque([start]), set[str](), list[str]()
    while waiting:
        address = waiting.popleft()
        answer = client.get(address)
        assert answer.status_code in (200, 204, 302, 405), (address, answer.status_code)
        links = [answer["Location"]] if answer.status_code == 302 else []
        if answer.get("Content-Type", "").startswith("text/html"):
            links += [unescape(link) for link in ADDRESS.findall(answer.content.decode())]
        for link in links:
            path = urlsplit(link).path
            if not path.startswith(f"{BASE}/"):
                elsewhere.append(f"{address}: {link}")
                continue
            inside = path.removeprefix(BASE)
            # What "copy a link" puts in place of the id has no end of its own.
            name = inside if inside.startswith("/static/") else resolve(inside if "." in inside else f"{inside.rstrip('/')}/")._func_path
            if name not in seen:
                seen.add(name)
                waiting.append(urldefrag(link).url)
    return seen, elsewhere


@pytest.mark.usefixtures("below")
def test_every_link_of_every_page_leads_below_it(client: Client, incident: Conversation) -> None:
    seen, elsewhere = followed(client, f"{BASE}/")
    assert not elsewhere
    assert len(seen) > 40 and "inspector.views.repairs.new" in seen and any(name.endswith(".js") for name in seen)


@pytest.mark.usefixtures("below", "db")
def test_the_proxy_may_take_the_path_away(client: Client) -> None:
    whole, short = client.get(f"{BASE}/rules/"), client.get("/rules/")
    assert ADDRESS.findall(whole.content.decode()) == ADDRESS.findall(short.content.decode())
    assert f'href="{BASE}/strategies/' in whole.content.decode()
    assert client.get(f"{BASE}?tab=open").status_code == 200


@pytest.mark.usefixtures("below", "db")
def test_the_length_is_that_of_what_is_sent() -> None:
    answer = OperatorClient().get(f"{BASE}/rules/")
    assert int(answer["Content-Length"]) == len(answer.content)


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize(
    ("address", "stays"),
    [("https://example.org", b'href="/rules/'), ("https://example.org/", b'href="/rules/')],
)
def test_at_the_root_nothing_is_changed(client: Client, settings: Settings, address: str, stays: bytes) -> None:
    settings.INSPECTOR_BASE_URL = address
    assert stays in client.get("/reference/").content


@pytest.mark.usefixtures("below")
def test_what_is_stored_is_not_taken_for_a_link(client: Client, incident: Conversation) -> None:
    Conversation.objects.filter(pk=incident.pk).update(title='see <a href="/etc/passwd"> href="/etc/passwd"')
    shown = client.get(f"/conversations/{incident.oid}/").content
    assert b"/etc/passwd" in shown and b"inspector/etc/passwd" not in shown


@pytest.mark.usefixtures("below", "db")
def test_who_has_to_sign_in_is_sent_below_it(settings: Settings) -> None:
    settings.INSPECTOR_LOCAL = False
    answer = Client().get(f"{BASE}/rules/")
    assert answer["Location"] == f"{BASE}/login/?next=/rules/"
