"""Two revisions of one conversation side by side, and what became of a repair between them."""

import re
from pathlib import Path

import pytest
from django.test import Client

from inspector.actions.import_source import import_targets
from inspector.demo import gbrain_incident
from inspector.models import Conversation, Repair
from tests.actions.building import again, applied, chunk_key, imported, merged, put, row
from tests.programs.dispatch.appended_stores import A, U, appended, tc

pytestmark = pytest.mark.django_db


@pytest.fixture
def repaired(tmp_path: Path) -> Repair:
    return applied(imported(tmp_path / "a.db", merged()), "renumber-messages")


def test_what_a_repair_changed_is_shown_with_the_repair(client: Client, repaired: Repair) -> None:
    address = f"/conversations/{repaired.conversation.oid}/diff/1..2/"
    text = client.get(address).content.decode()
    assert "Changes from revision 1 to revision 2" in text and f"/repairs/{repaired.oid}/" in text
    assert "msgIdx <s>0</s> <u>1</u>" in text and "earlier change" not in text and "later change" not in text
    found = client.get(address.rstrip("/") + ".json").json()
    assert found["old"]["revision"] == 1 and found["new"]["digest"] != found["old"]["digest"]
    assert "-2 assistant 0.0 text hi there" in found["diff"] and "+2 assistant 2.0 text hi there" in found["diff"]


def test_a_row_that_came_since_is_inserted(client: Client, repaired: Repair, tmp_path: Path) -> None:
    put(tmp_path / "a.db", chunk_key(5), row("and then <b>this</b>", msg_idx=4))
    conversation = again(tmp_path / "a.db")
    text = client.get(f"/conversations/{conversation.oid}/diff/2..3/").content.decode()
    assert "and then &lt;b&gt;this" in text and "inserted" in text and "earlier change" in text
    both = client.get(f"/conversations/{conversation.oid}/diff/1..3/").content.decode()
    assert "and then &lt;b&gt;this" in both and f"/repairs/{repaired.oid}/" in both


def test_the_findings_that_a_revision_ends_are_named(client: Client, repaired: Repair) -> None:
    text = client.get(f"/conversations/{repaired.conversation.oid}/diff/1..2/").content.decode()
    assert '<a class="badge" href="/rules/MSG101/">MSG101</a> merged-messages' in text and "No repair:" not in text


def test_the_same_revision_twice_differs_in_nothing(client: Client, repaired: Repair) -> None:
    found = client.get(f"/conversations/{repaired.conversation.oid}/diff/2..2.json").json()
    assert found["diff"] == ""
    assert client.get(f"/conversations/{repaired.conversation.oid}/diff/2..2/").status_code == 200


def test_a_revision_that_is_not_there_is_said(client: Client, repaired: Repair) -> None:
    page = client.get(f"/conversations/{repaired.conversation.oid}/diff/1..9/")
    assert page.status_code == 404 and "There is no revision 9 of this conversation; the newest is 2." in page.content.decode()


def test_the_audit_of_one_repair_lists_that_repair_only(client: Client, repaired: Repair) -> None:
    every = client.get("/audit.json").json()
    own = client.get(f"/audit.json?repair={repaired.oid}").json()
    assert every["total"] > own["total"] == len(own["entries"]) == 4
    assert [entry["verb"] for entry in own["entries"]] == ["verify", "apply", "approve", "propose"]
    text = client.get(f"/audit/?repair={repaired.oid}").content.decode()
    assert "4 lines: repair" in text and "Show all" in text
    assert "No line matches" in client.get("/audit/?repair=nosuch").content.decode()
    assert client.get("/audit.json?who=tester&verb=approve").json()["total"] == 1


def test_two_conversations_are_compared_by_what_they_say(client: Client, tmp_path: Path) -> None:
    original = imported(tmp_path / "a.db", merged())
    fork = imported(tmp_path / "b.db", {**merged().values, chunk_key(2): row("<b>another answer</b>", "assistant")})
    address = f"/conversations/{original.oid}/diff"
    text = client.get(f"{address}/?with={fork.oid}").content.decode()
    assert '<span class="words"><del>hi there</del></span>' in text
    assert '<span class="words"><ins>&lt;b&gt;another answer&lt;/b&gt;</ins></span>' in text
    assert f'href="/conversations/{fork.oid}/diff/?with={original.oid}&amp;rev=1&amp;with_rev=1">Swap sides' in text
    report = client.get(f"{address}.json?with={fork.oid}").json()
    assert (report["conversation"], report["with"], report["counts"]) == (original.oid, fork.oid, {"same": 3, "changed": 1})
    assert [(line["op"], "hi there" in line["old"]) for line in report["rows"]] == [("changed", True)]
    same = client.get(f"{address}/?with={original.oid}").content.decode()
    assert "The two say the same" in same


def test_two_revisions_are_shown_side_by_side(client: Client, repaired: Repair) -> None:
    address = f"/conversations/{repaired.conversation.oid}/diff/1..2"
    assert f'href="?with={repaired.conversation.oid}">side by side' in client.get(f"{address}/").content.decode()
    report = client.get(f"{address}.json?with={repaired.conversation.oid}").json()
    assert (report["old"]["revision"], report["new"]["revision"]) == (1, 2) and report["counts"]["reindexed"]


def test_what_cannot_be_compared_is_a_sentence_and_without_a_choice_the_page_offers_some(client: Client, tmp_path: Path) -> None:
    conversation = imported(tmp_path / "a.db", merged(merged(), to="c2"), "c2")
    other = conversation.source.conversations.exclude(pk=conversation.pk).get()
    address = f"/conversations/{conversation.oid}/diff"
    assert f'href="?with={other.oid}"' in client.get(f"{address}/").content.decode()
    for query, sentence in (("with=nobody", "There is no conversation nobody"), (f"with={other.oid}&with_rev=7", "There is no revision 7")):
        answer = client.get(f"{address}/?{query}")
        assert answer.status_code == 404 and sentence in answer.content.decode()
    assert client.get(f"{address}.json").status_code == 404
    for number in (2**63, 10**19):
        assert client.get(f"{address}/1..{number}/").status_code == 404


def test_a_conversation_is_shown_as_two_readers_have_it(client: Client, tmp_path: Path) -> None:
    conversation = imported(tmp_path / "a.db", merged())
    address = f"/conversations/{conversation.oid}/diff"
    text = client.get(f"{address}/?reader=dispatch-legacy&reader=exact").content.decode()
    assert " ".join(re.search(r"<h1>(.*?)</h1>", text, re.DOTALL)[1].split()) == (  # type: ignore[index]
        "exact instead of dispatch-legacy: the next request newly passes"
    )
    rows = [
        " | ".join(
            " ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in re.findall(r'<td class="words-of[^"]*">(.*?)</td>', line, re.DOTALL)
        )
        for line in re.findall(r'<tr class="\w+">(.*?)</tr>', text, re.DOTALL)
    ]
    assert rows[:2] == ["MSG 0 user hello | MSG 0 user hello", "~ MSG 0 user sent under another role hi there | ~ MSG 1 assistant hi there"]
    assert '<b class="differs">~2</b> under another role' in text and "</b> changed" not in text
    assert 'href="?reader=exact&amp;reader=dispatch-legacy">Swap sides' in text
    assert f'href="/conversations/{conversation.oid}/?rev=1&amp;reader=exact&amp;at=2#seq-2"' in text
    report = client.get(f"{address}.json?reader=dispatch-legacy&reader=exact").json()
    assert (report["old"]["reader"], report["old"]["messages"], report["new"]["messages"]) == ("dispatch-legacy", 1, 4)
    assert report["counts"] == {"same": 1, "changed": 2, "reindexed": 1}
    assert "The two read the same messages" in client.get(f"{address}/?reader=exact&reader=exact%2Bwrapped").content.decode()
    for query, sentence in (("reader=exact&reader=nobody", "nobody"), ("reader=exact&reader=pi-1.5", "does not read dispatch")):
        answer = client.get(f"{address}/?{query}")
        assert answer.status_code == 404 and sentence in answer.content.decode()


def test_a_result_that_a_reader_inserts_says_why_it_helps(client: Client, tmp_path: Path) -> None:
    conversation = imported(tmp_path / "a.db", appended([U("go")], [A("calling", tc("x"))]))
    text = client.get(f"/conversations/{conversation.oid}/diff/?reader=exact&reader=dispatch-role-split").content.decode()
    helps = "It helps, since providers reject a call without a result. The model reads these words as the result."
    assert text.count(helps) == 2 and "It does not help" not in text


def test_a_result_that_a_reader_inserts_names_the_rule_that_rejects_the_call_without_it(client: Client, tmp_path: Path) -> None:
    (tmp_path / "gbrain.sql").write_bytes(gbrain_incident.script().encode())
    import_targets([str(tmp_path / "gbrain.sql")], "tester")
    conversation = Conversation.objects.get(native_id="4107")
    text = client.get(f"/conversations/{conversation.oid}/diff/?reader=gbrain-naive&reader=gbrain-head").content.decode()
    assert text.count("It helps: with gbrain-naive, SDK-1 rejects the call. The model reads these words as the result.") == 3


def test_a_reader_that_cannot_open_the_conversation_says_so_next_to_the_other(client: Client, tmp_path: Path) -> None:
    conversation = imported(tmp_path / "a.db", {**merged().values, chunk_key(2): "{no json"})
    text = client.get(f"/conversations/{conversation.oid}/diff/?reader=dispatch-legacy&reader=dispatch-legacy%2Br1").content.decode()
    assert "cannot be opened: load throws: row seq 2" in text and "read the same" not in text
