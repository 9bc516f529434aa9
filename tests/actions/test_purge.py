"""Purging: a conversation is gone with every word of it, its links say so, and nothing brings it back unless somebody wants that."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from django.test import Client

from inspector.actions import audit
from inspector.actions.problems import Refused
from inspector.actions.purge import allow_import, older_than, purge
from inspector.actions.undo_repair import undo_repair
from inspector.models import AuditEntry, Conversation, ConversationCount, Finding, Payload, Repair, RuleCount, Tombstone, searching
from tests.actions.building import WHO, again, applied, imported, merged, proposed
from tests.commands.running import run, run_in_process
from tests.views.imported import HEALTHY, MERGED, rows, store

pytestmark = pytest.mark.django_db
REASON = "the customer asked for it"


def test_a_purged_conversation_is_gone_and_its_links_say_when_and_why(tmp_path: Path, client: Client) -> None:
    conversation = imported(tmp_path / "a.db", merged())
    repair, finding = proposed(conversation, "renumber-messages"), Finding.objects.filter(conversation=conversation)[0]
    searching.index_texts()
    purged = purge(conversation, "ada", REASON + ".")
    assert (purged.repairs, purged.shared) == (1, 0) and purged.payloads > 4
    assert not Conversation.objects.exists() and not Payload.objects.exists() and not Repair.objects.exists()
    for kind, oid in (("conversation", conversation.oid), ("finding", finding.oid), ("repair", repair.oid)):
        page, twin = client.get(f"/{kind}s/{oid}/"), client.get(f"/{kind}s/{oid}.json")
        assert (page.status_code, twin.status_code, client.get(f"/{kind}s/{oid}.md").status_code) == (410, 410, 410)
        text = page.content.decode()
        assert (
            f"This {kind} was purged" in text
            and "by <b>ada</b>" in text
            and f"<dd>{REASON}</dd>" in re.sub(r">\s+|\s+<", lambda m: m[0].strip(), text)
        )
        assert twin.json()["error"].startswith(f"The {kind} {oid} was") and REASON in twin.json()["error"]
        assert f"purged on {Tombstone.objects.get(oid=oid).purged_at:%Y-%m-%d} by ada: {REASON}." in twin.json()["error"]
    assert client.get(f"/conversations/{conversation.oid}/chunks/1/").status_code == 410
    assert client.get("/conversations/000000000000/").status_code == 404
    line = AuditEntry.objects.get(verb="purge")
    assert (line.who, line.conversation, line.detail["repairs"], line.detail["reason"]) == ("ada", conversation.oid, [repair.oid], REASON)
    assert audit.state(values=True).total == 0


def test_a_secret_in_the_reason_is_masked_for_good(tmp_path: Path) -> None:
    """Who purges a conversation for the secret in it may write that secret, and the tombstone stays."""
    conversation = imported(tmp_path / "a.db", merged())
    purge(conversation, "ada", "x" * (500 - 20) + " password=correct-horse-7, which was pasted")
    reasons = [*Tombstone.objects.values_list("reason", flat=True), AuditEntry.objects.get(verb="purge").detail["reason"]]
    assert not [reason for reason in reasons if "correct" in reason or "[masked" not in reason]


def test_lists_count_what_stays(tmp_path: Path, client: Client) -> None:
    source = store(tmp_path / "a.db", [*rows("gone", MERGED), *rows("stays", MERGED)])
    purge(source.conversations.get(native_id="gone"), WHO, REASON)
    assert list(ConversationCount.objects.filter(conversations__gt=0).values_list("conversations", "chunks")) == [(1, 2)]
    assert {count.conversations for count in RuleCount.objects.filter(findings__gt=0)} == {1}
    assert [row["native_id"] for row in client.get("/conversations.json").json()["conversations"]] == ["stays"]


def test_content_that_another_conversation_has_too_stays(tmp_path: Path) -> None:
    source = store(tmp_path / "a.db", [*rows("gone", HEALTHY), *rows("stays", HEALTHY)])
    purged = purge(source.conversations.get(native_id="gone"), WHO, REASON)
    assert purged.shared >= 2
    assert again(tmp_path / "a.db", "stays").revision == 1


def test_imports_leave_it_out_until_somebody_allows_it(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    conversation = imported(path, merged())
    purge(conversation, WHO, REASON)
    assert run("import_source", str(path)).status == 0 and not Conversation.objects.exists()
    allow_import(conversation.oid[:6], WHO)
    assert again(path).oid == conversation.oid


def test_the_undo_of_a_repair_in_the_store_is_not_purged_by_mistake(tmp_path: Path) -> None:
    repair = applied(imported(tmp_path / "a.db", merged()), "renumber-messages")
    with pytest.raises(Refused, match="its undo would be lost"):
        purge(repair.conversation, WHO, REASON)
    undo_repair(repair, WHO, interactive=True)
    purge(repair.conversation, WHO, REASON)
    assert not Repair.objects.exists()


def test_a_purge_without_a_reason_is_refused(tmp_path: Path) -> None:
    conversation = imported(tmp_path / "a.db", merged())
    with pytest.raises(Refused, match="--reason"):
        purge(conversation, WHO, " \n")
    assert Conversation.objects.exists() and not Tombstone.objects.exists()


def test_old_ones_are_those_without_activity_for_so_many_days(tmp_path: Path) -> None:
    day = 24 * 3600 * 1000
    store(tmp_path / "a.db", [*rows("old", HEALTHY, at=1782000000000 - 4000 * day), *rows("young", HEALTHY, at=4782000000000)])
    assert [row.native_id for row in older_than(30)] == ["old"]
    asked = run("purge", "--older-than", "30")
    assert asked.status == 0 and "Nothing was purged" in asked.out and Conversation.objects.count() == 2
    done = run("purge", "--older-than", "30", "--yes", "--json")
    assert done.status == 0 and len(json.loads(done.out)["purged"]) == 1
    assert Conversation.objects.get().native_id == "young" and "30 days" in Tombstone.objects.filter(kind="conversation")[0].reason


@pytest.mark.slow
def test_no_word_of_it_is_in_the_files_of_the_database(tmp_path: Path) -> None:
    """Also not of a revision that was replaced, nor in the index of the search, of which deleted pages would keep it."""
    database, path = tmp_path / "own.sqlite3", tmp_path / "a.db"
    word = "quetzalcoatlus"
    secret = [
        {"chunk": {"type": "text", "text": f"{word} {number}"}, "role": "user", "msgIdx": number, "chunkIdx": 0} for number in range(300)
    ]
    from inspector.demo.creation import write_dispatch_store

    write_dispatch_store(path, [*rows("gone", secret, title=f"about {word}"), *rows("stays", HEALTHY, title="harmless")])
    assert run_in_process(database, "migrate").status == 0
    assert run_in_process(database, "import_source", path).status == 0
    with closing(sqlite3.connect(path)) as rewritten, rewritten:
        rewritten.execute(
            "UPDATE kv SET value = CAST(replace(CAST(value AS TEXT), '7\"', '8\"') AS BLOB) WHERE key LIKE 'conv:gone:chunk:%'"
        )
    assert run_in_process(database, "import_source", path).status == 0
    with_word = [name for name in sorted(tmp_path.glob("own.sqlite3*")) if word.encode() in name.read_bytes()]
    assert with_word
    purged = run_in_process(database, "purge", "gone", "--reason", REASON, "--yes")
    assert purged.status == 0 and "Purged 1 conversation" in purged.out and "-wal" not in purged.out, purged
    for name in sorted(tmp_path.glob("own.sqlite3*")):
        content = name.read_bytes()
        assert word.encode() not in content and word[:5].encode() not in content, name
    assert run_in_process(database, "audit", "--verify").status == 0
    assert run_in_process(database, "show", "stays").status == 0
