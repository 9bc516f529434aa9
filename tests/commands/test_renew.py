"""renew: what an older version judged of large conversations is judged again."""

import json
from pathlib import Path

import pytest
from django.test import Client

from inspector.management.commands.renew import NOTHING
from inspector.models import Conversation, SearchText, StoredAnalysis, searching
from inspector.presentation.visible import folded
from tests.commands.running import run
from tests.views.imported import rows, store
from tests.views.test_large_conversation import LARGE, damaged, limit

__all__ = ["limit"]

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def test_what_an_older_version_judged_is_said_and_judged_again(client: Client, tmp_path: Path) -> None:
    conversation = damaged(tmp_path / "a.db", LARGE + 500)
    damaged(tmp_path / "small.db", 100)
    findings = list(conversation.findings.values_list("oid", "is_open"))
    assert run("renew").out == NOTHING + "\n"
    StoredAnalysis.objects.update(basis="of another version")
    page = f"/conversations/{conversation.oid}/"
    assert "judged again in the background" in client.get(page).content.decode()
    assert run("renew", "--json").json == {"conversations": [conversation.oid]}
    assert "judged again in the background" not in client.get(page).content.decode()
    assert list(conversation.findings.values_list("oid", "is_open")) == findings
    assert Conversation.objects.get(pk=conversation.pk).revision == 1


def test_a_large_file_with_a_short_path_is_judged_once(tmp_path: Path) -> None:
    lines = [{"type": "session", "version": 3, "id": "wide", "timestamp": "2026-07-01T10:00:00.000Z", "cwd": "/w"}]
    for number in range(LARGE + 10):
        message = {"role": "user", "content": [{"type": "text", "text": f"words {number}"}], "timestamp": 1782900000000}
        parent = "00000000" if number else None
        entry = {"type": "message", "id": f"{number:08x}", "parentId": parent, "timestamp": "2026-07-01T10:00:00.000Z", "message": message}
        lines.append(entry)
    (tmp_path / "wide.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert run("import_source", str(tmp_path / "wide.jsonl")).status == 0
    assert run("renew").out == NOTHING + "\n"


def test_what_an_older_version_left_unmasked_is_found_by_no_search(client: Client, tmp_path: Path) -> None:
    """Of the newest revision and of the one before, in the index and not yet in it."""
    secret = "Tr0ub4dor-and-more"

    def saying(word: str) -> list[tuple[str, str, str]]:
        text = f"id,email,password\n1,bob@x.com,{secret}\n{word}"
        return rows("c1", [{"chunk": {"type": "text", "text": text}, "role": "user", "msgIdx": 0, "chunkIdx": 0}])

    store(tmp_path / "a.db", saying("zebra"))
    (tmp_path / "a.db").unlink()
    store(tmp_path / "a.db", saying("giraffe"))
    # As a version of which the rules do not know this: its words, and its entries of the index.
    for text in SearchText.objects.all():
        older = folded(f"id,email,password\n1,bob@x.com,{secret}\n{'zebra' if text.until else 'giraffe'}") + searching.END
        SearchText.objects.filter(pk=text.pk).update(text=older, is_indexed=False)
    searching.index_texts()
    Conversation.objects.update(masked_by="0.0.1")
    address = "/conversations.json?q="
    assert client.get(address + secret).json()["total"] == 1
    assert run("renew").out == "1 conversation is up to date.\n" and run("renew").out == NOTHING + "\n"
    for _ in range(2):
        assert [client.get(address + word).json()["total"] for word in (secret, secret[:6], "giraffe", "bob@x")] == [0, 0, 1, 1]
        searching.index_texts()
    assert SearchText.objects.count() == 2 and not any(folded(secret) in text.text for text in SearchText.objects.all())
    assert Conversation.objects.get().revision == 2
