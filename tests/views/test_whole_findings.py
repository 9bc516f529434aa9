"""Findings about a whole conversation, of which no chunk is wrong by itself: ghosts, older rows, ids that bleed."""

import json
from pathlib import Path

import pytest
from django.test import Client

from inspector.models import Conversation, Finding
from tests.actions.building import Store, U, applied, imported

pytestmark = pytest.mark.django_db

OLDER = {
    "conv:old:msg:0000000000": '{"role":"user","chunks":[{"type":"text","text":"<b>hello</b> \\ud800"}]}',
    "conv:old:msg:0000000001": '{"role":"assistant","chunks":[{"type":"text","text":"hi"}]}',
    "conv:old:seq": "2",
}


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A conversation that another one bleeds into, one of the older generation, and a name that nothing belongs to."""
    store = Store().append(U("one"), to="a_b").append(U("two"), to="aXb")
    listed = json.dumps([*json.loads(store.values["conv-index"]), "old", "ghost"])
    imported(tmp_path / "dispatch.db", {**store.values, **OLDER, "conv-index": listed}, "a_b")
    return tmp_path / "dispatch.db"


@pytest.mark.parametrize(
    ("native_id", "code", "verdict"),
    [
        ("a_b", "STORE303", "goes wrong silently"),
        ("old", "STORE301", "has no chunks of this conversation: 2 whole-message rows"),
        ("ghost", "STORE304", "has no chunks of this conversation: nothing is left"),
    ],
)
def test_every_page_and_twin_shows_it_without_a_place(client: Client, stored: Path, native_id: str, code: str, verdict: str) -> None:
    conversation = Conversation.objects.get(native_id=native_id)
    finding = Finding.objects.get(conversation=conversation, code=code)
    assert finding.seqs == [] and finding.key == ""
    assert verdict in conversation.verdict
    for address in (f"/conversations/{conversation.oid}/", f"/conversations/{conversation.oid}/?finding={finding.oid}"):
        page = client.get(address).content.decode()
        assert code in page and "Of the whole conversation" in page
        assert 'seq-"' not in page and "seq-None" not in page
    assert "the <b>whole conversation</b>" in client.get(f"/findings/{finding.oid}/").content.decode()
    assert "the whole conversation" in client.get(f"/findings/{finding.oid}.md").content.decode()
    assert client.get(f"/findings/{finding.oid}.json").json()["seqs"] == []
    for address in ("/", "/conversations/", f"/conversations/{conversation.oid}.md", f"/conversations/{conversation.oid}.json"):
        assert client.get(address).status_code == 200


def test_the_conversation_that_matches_only_literally_is_not_accused(stored: Path) -> None:
    assert set(Finding.objects.filter(code="STORE303").values_list("conversation__native_id", flat=True)) == {"a_b"}


def test_a_repair_in_place_leaves_an_unlisted_conversation_unlisted_and_is_verified(tmp_path: Path) -> None:
    store = Store().append(U("one")).append(U("two"))
    conversation = imported(tmp_path / "dispatch.db", {**store.values, "conv-index": '["another"]'})
    assert applied(conversation, "renumber-messages").state == "verified"
    conversation.refresh_from_db()
    assert [finding.code for finding in conversation.findings.filter(is_open=True)] == ["STORE304"]
