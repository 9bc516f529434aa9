"""What is said where there is nothing: of which kind, why, and where to look."""

import pytest
from django.test import Client

from inspector.models import Conversation

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("address", "title", "lists"),
    [
        ("/conversations/abcdef123456/", "No conversation here has the id abcdef123456", "/conversations/"),
        ("/repairs/abcdef123456/", "No repair here has the id abcdef123456", "/repairs/"),
        ("/streams/abcdef123456/", "No stream here has the id abcdef123456", "/streams/"),
        ("/sources/abcdef123456/", "No source here has the id abcdef123456", "/sources/"),
        ("/rules/NOSUCH1/", "There is nothing at this address", "/rules/"),
        ("/nothing/at/all/", "There is nothing at this address", "/"),
    ],
)
def test_a_missing_page_leads_to_where_things_of_its_kind_are_listed(client: Client, address: str, title: str, lists: str) -> None:
    answer = client.get(address)
    text = answer.content.decode()
    assert answer.status_code == 404 and f"<h1>{title}</h1>" in text and f'<a class="btn" href="{lists}">' in text
    assert f'<p class="mono quiet">{address}</p>' in text


@pytest.mark.parametrize("kind", ["conversations", "sources"])
def test_a_wrong_address_below_what_is_here_leads_to_it(client: Client, incident: Conversation, kind: str) -> None:
    own = f"/{kind}/{incident.oid if kind == 'conversations' else incident.source.oid}/"
    answer = client.get(f"{own}nonsense/")
    text = answer.content.decode()
    assert answer.status_code == 404 and "<h1>There is nothing at this address</h1>" in text and "is here, and has no such page." in text
    assert f'<a class="btn" href="{own}">To the {kind[:-1]}</a>' in text
    twin = client.get(f"{own}nonsense.json")
    assert twin.status_code == 404 and "has no such page" in twin.json()["error"]
    assert client.get(own).status_code == 200


def test_a_wrong_address_below_nothing_says_that_nothing_is_there(client: Client) -> None:
    assert "No conversation here has the id abcdef123456" in client.get("/conversations/abcdef123456/nonsense/").content.decode()


def test_the_address_is_shown_and_not_obeyed(client: Client) -> None:
    text = client.get("/conversations/<script>alert(1)<script>/x/").content.decode()
    assert "<script>alert" not in text and "&lt;script&gt;alert(1)" in text
