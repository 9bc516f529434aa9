"""The way through the pages: five sections with their pages as tabs, and what is below the name of who is signed in."""

import re

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from inspector.models import Conversation, Repair
from inspector.views.pages import ACCOUNT, NAVIGATION
from tests.accounts import account
from tests.views.imported import MERGED, rows, store

pytestmark = pytest.mark.django_db


def entries(text: str, label: str) -> dict[str, str]:
    """Words of each link of a navigation, and the value of its `aria-current`."""
    nav = re.search(rf'<nav[^>]*aria-label="{label}">(.*?)</nav>', text, re.S)
    found = re.findall(r"<a ([^>]*)>(.*?)</a>", nav[1], re.S) if nav else []
    return {
        " ".join(re.sub("<[^>]+>", "", words).split()): "".join(re.findall('aria-current="(.*?)"', attributes))
        for attributes, words in found
    }


@pytest.mark.parametrize(
    ("address", "section", "tab"),
    [
        ("/", "Inbox", ""),
        ("/conversations/", "Conversations", "Conversations"),
        ("/conversations/?state=damaged", "Conversations", "Conversations"),
        ("/streams/", "Conversations", "Streams"),
        ("/repairs/", "Repairs", "Repairs"),
        ("/tasks/", "Repairs", "Tasks"),
        ("/explain/", "Diagnose", "Explain"),
        ("/check/", "Diagnose", "Check"),
        ("/whatif/", "Diagnose", "What if"),
        ("/reference/", "Reference", "Overview"),
        ("/rules/", "Reference", "Rules"),
        ("/rules/MSG101/", "Reference", "Rules"),
        ("/strategies/renumber-messages/", "Reference", "Strategies"),
        ("/profiles/", "Reference", "Provider rules"),
        ("/formats/", "Reference", "Formats"),
        ("/sources/", "", "Sources"),
        ("/audit/", "", "Audit"),
        ("/nowhere/", "", ""),
    ],
)
def test_a_page_says_where_it_is(client: Client, address: str, section: str, tab: str) -> None:
    text = client.get(address).content.decode()
    sections, tabs = entries(text, "Main"), entries(text, "Pages of this section")
    assert list(sections) == ["Inbox", "Conversations", "Repairs", "Diagnose", "Reference"]
    assert [label for label, current in sections.items() if current] == [section][: bool(section)]
    assert [label for label, current in tabs.items() if current] == [tab][: bool(tab)]
    assert ('<summary aria-current="true"' in text) == (tab in dict(ACCOUNT)), "what is below the name has its mark there"


def test_every_entry_leads_to_a_page_that_marks_it(client: Client) -> None:
    for section in NAVIGATION:
        for label, href in [(section.label, section.href), *section.tabs]:
            text = client.get(href).content.decode()
            assert re.search(rf'href="{href}" aria-current="page">{label}', text), href
    for label, href in ACCOUNT:
        assert f'href="{href}" aria-current="page">{label}</a>' in client.get(href).content.decode()


def test_sign_out_is_for_who_has_an_account(client: Client, settings: Settings) -> None:
    assert "Sign out" not in client.get("/").content.decode()
    settings.INSPECTOR_LOCAL = False
    client.force_login(account("ada"))
    assert "Sign out" in client.get("/").content.decode()
    assert client.post("/logout/")["Location"] == "/login/?signed=out"
    assert "You are signed out." in client.get("/login/?signed=out").content.decode()
    assert client.get("/")["Location"].startswith("/login/")


def test_the_entry_of_repairs_counts_those_that_wait_for_review(client: Client, tmp_path: object) -> None:
    store(tmp_path / "a.db", rows("first", MERGED))  # type: ignore[operator]
    conversation = Conversation.objects.get()

    def propose(state: str) -> None:
        Repair.objects.create(
            oid=f"{Repair.objects.count():012d}",
            conversation=conversation,
            revision=1,
            strategies=[],
            state=state,
            proposed_at=timezone.now(),
        )

    for state in Repair.State.values:
        if state != "proposed":
            propose(state)
    assert 'class="count"' not in client.get("/rules/").content.decode()
    address = f"/conversations/{conversation.oid}/"
    kept = client.get(address)["ETag"]
    assert client.get(address, headers={"if-none-match": kept}).status_code == 304
    propose("proposed")
    assert '<span class="count" title="1 repair or group of repairs waits for review">1</span>' in client.get("/rules/").content.decode()
    # A page that the browser keeps has the number too.
    assert client.get(address, headers={"if-none-match": kept}).status_code == 200
    propose("proposed")
    assert '<span class="count" title="2 repairs or groups of repairs wait for review">2</span>' in client.get("/rules/").content.decode()


def test_the_reference_leads_to_every_catalogue(client: Client) -> None:
    text, twin = client.get("/reference/").content.decode(), client.get("/reference.json").json()
    for entry in twin["pages"]:
        path, _, fragment = entry["href"].partition("#")
        page = client.get(path).content.decode()
        assert f'href="{entry["href"]}">{entry["title"]}</a>' in text and entry["count"] > 0
        assert not fragment or f'id="{fragment}"' in page, entry
