"""The section of a conversation's page on what store and trace already recorded."""

import pytest
from django.test import Client

from inspector.demo.dispatch_others import HEALTHY, TRAILING_ERROR
from inspector.models import Conversation
from tests.kept import Kept
from tests.views.imported import example

pytestmark = pytest.mark.django_db


def test_a_recorded_error_is_explained_beside_the_findings(client: Client, kept: Kept) -> None:
    kept("example", example)
    row = Conversation.objects.get(native_id=TRAILING_ERROR)
    text = client.get(f"/conversations/{row.oid}/").content.decode()
    section = text.split('id="recorded"', 1)[1].split("</section>", 1)[0]
    assert "HTTP 401: model not supported" in section and "does not offer this model" in section
    assert 'href="/rules/MSG201/"' in section and "is found at seq 2" in section
    assert client.get(f"/conversations/{row.oid}.json").json()["recorded"][0]["rule"] == "MSG201"
    assert "Recorded errors:" in client.get(f"/conversations/{row.oid}.md").content.decode()


def test_where_nothing_was_recorded_there_is_no_section(client: Client, kept: Kept) -> None:
    kept("example", example)
    row = Conversation.objects.get(native_id=HEALTHY)
    assert 'id="recorded"' not in client.get(f"/conversations/{row.oid}/").content.decode()
