"""renew: what an older version judged of large conversations is judged again."""

import json
from pathlib import Path

import pytest
from django.test import Client

from inspector.models import Conversation, StoredAnalysis
from tests.commands.running import run
from tests.views.test_large_conversation import LARGE, damaged, limit

__all__ = ["limit"]

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def test_what_an_older_version_judged_is_said_and_judged_again(client: Client, tmp_path: Path) -> None:
    conversation = damaged(tmp_path / "a.db", LARGE + 500)
    damaged(tmp_path / "small.db", 100)
    findings = list(conversation.findings.values_list("oid", "is_open"))
    assert run("renew").out == "Nothing to do: every large conversation was judged by this version.\n"
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
    assert run("renew").out == "Nothing to do: every large conversation was judged by this version.\n"


def test_what_another_version_packed_otherwise_is_computed(client: Client, tmp_path: Path) -> None:
    conversation = damaged(tmp_path / "a.db", LARGE + 500)
    StoredAnalysis.objects.update(basis="of another version", headline=b"unreadable")
    assert "question 0" in client.get(f"/conversations/{conversation.oid}/").content.decode()
