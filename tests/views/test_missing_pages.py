"""What is said where there is nothing: of which kind, why, and where to look."""

import pytest
from django.test import Client

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


def test_the_address_is_shown_and_not_obeyed(client: Client) -> None:
    text = client.get("/conversations/<script>alert(1)<script>/x/").content.decode()
    assert "<script>alert" not in text and "&lt;script&gt;alert(1)" in text
