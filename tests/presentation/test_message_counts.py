"""Of the published incident 9 messages are stored, 4 read, 3 after the reader's own repair, and 3 sent: the same number has the same name everywhere."""

from pathlib import Path

import pytest
from django.test import Client

from inspector.actions.import_source import import_targets
from inspector.models import Conversation
from tests.commands.running import incident, run

NUMBERS = {"messages": 4, "messages_stored": 9, "messages_read": 3, "messages_sent": 3}
WORDS = "9 messages stored, 3 read (4 before the reader's own repair), 3 sent"

pytestmark = pytest.mark.django_db


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return incident(tmp_path / "dispatch.db")


def test_the_command_and_its_json_say_the_same(store: Path) -> None:
    (report,) = run("scan", store, "--json").json["conversations"]
    assert {name: report[name] for name in NUMBERS} == NUMBERS
    assert f"14 chunks, {WORDS}, as dispatch-legacy reads them" in run("scan", store, "--all").out


def test_pages_and_twins_say_the_same(store: Path, client: Client) -> None:
    import_targets([str(store)], "tester")
    row = Conversation.objects.get()
    place = f"/conversations/{row.oid}"
    twin = client.get(f"{place}.json").json()
    assert {name: twin[name] for name in NUMBERS} == NUMBERS
    assert WORDS in client.get(f"{place}.md").content.decode()
    (listed,) = client.get("/conversations.json").json()["conversations"]
    assert (listed["messages_stored"], listed["messages_read"]) == (9, 3) and not {"messages", "read"} & listed.keys()
    page = " ".join(client.get(f"{place}/").content.decode().split())
    assert all(
        words in page
        for words in ("<b>9</b> messages stored", "<b>3</b> read by dispatch-legacy", "(4 before its own repair)", "<b>3</b> sent")
    )
    preview = client.get(f"{place}/repairs/new/?strategy=renumber-messages").content.decode()
    rows = {
        "messages stored": (9, 9),
        "messages read, before the reader&#x27;s own repair": (4, 9),
        "messages read": (3, 8),
        "messages sent": (3, 8),
    }
    for words, (before, after) in rows.items():
        assert f"<tr><td>{words}</td><td>{before}</td><td>{after}</td></tr>" in preview, words
