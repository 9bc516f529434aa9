"""The inbox and the page of a finding: what is most dangerous stands first, and a link leads to the very place."""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from django.test import Client

from inspector.actions.import_source import import_targets
from inspector.actions.set_deployed_reader import set_deployed_reader
from inspector.actions.undo_repair import undo_repair
from inspector.demo.creation import write_dispatch_store
from inspector.models import Conversation, Finding, Repair, Source
from tests.actions.building import applied, imported, merged
from tests.kept import Kept
from tests.views.imported import HEALTHY, INCIDENT, MERGED, example, many, rows, store

pytestmark = pytest.mark.django_db
MaxQueries = Callable[[int], AbstractContextManager[object]]


def test_an_empty_database_says_how_to_load_something(client: Client) -> None:
    page = client.get("/")
    assert page.status_code == 200
    for words in ("make run STORE=", "manage.py import_source", "manage.py demo"):
        assert words in page.content.decode()
    assert client.get("/index.json").json()["rules"] == []


def test_the_incident_stands_first_with_a_link_to_the_very_place(client: Client, kept: Kept) -> None:
    kept("example", example)
    incident = Conversation.objects.get(native_id=INCIDENT)
    finding = incident.findings.get(code="MSG101")
    text = client.get("/").content.decode()
    start = text[text.index("Start here") :]
    assert f'href="/conversations/{incident.oid}/?finding={finding.oid}"' in start[:1500]
    line = " ".join(re.sub("<[^>]+>", "", start.partition("</p>")[0]).split())
    assert line.endswith("“hello” · next request rejected at messages.1 · merged-messages"), "why to start there"
    assert "Local single-operator mode" in text and "6 conversations" in text and "2 sources" in text


def test_silent_errors_stand_before_loud_ones_and_those_before_warnings(client: Client, kept: Kept) -> None:
    kept("example", example)
    found = client.get("/index.json").json()["rules"]
    order = [(["error", "warning", "note"].index(rule["severity"]), not rule["silent"]) for rule in found]
    assert order == sorted(order) and len(set(order)) > 2
    assert found[0]["severity"] == "error" and found[0]["silent"]


def test_the_counts_of_a_rule_are_those_of_its_list(client: Client, tmp_path: Path) -> None:
    many(tmp_path / "a.db", 7)
    rule = client.get("/index.json").json()["rules"][0]
    assert (rule["code"], rule["conversations"], rule["findings"]) == ("MSG101", 3, 3)
    assert client.get("/conversations.json?rule=MSG101").json()["total"] == 3
    newest = Conversation.objects.get(native_id="conversation-005")
    assert rule["newest"]["conversation"] == newest.oid and rule["last_activity"] == newest.last_activity


def test_conversations_that_are_gone_from_their_store_are_not_open_any_more(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store(path, rows("here", HEALTHY) + rows("leaves", MERGED))
    assert client.get("/index.json").json()["rules"] != []
    path.unlink()
    write_dispatch_store(path, rows("here", HEALTHY))
    import_targets([str(path)], "tester")
    found = client.get("/index.json").json()
    assert (found["rules"], found["conversations"], found["gone"]) == ([], 1, 1)
    assert "Nothing is broken" in client.get("/").content.decode()


def test_the_number_of_queries_does_not_grow_with_the_conversations(
    client: Client, tmp_path: Path, django_assert_max_num_queries: MaxQueries
) -> None:
    many(tmp_path / "a.db", 40)
    with django_assert_max_num_queries(19):
        assert client.get("/").status_code == 200


def test_a_hostile_title_is_shown_and_not_run(client: Client, tmp_path: Path) -> None:
    title = '<script>alert(1)</script>"\u202egnp.exe\ud800\x00'
    store(tmp_path / "a.db", rows('<img src=x onerror="x">', MERGED, title))
    for address in (
        "/",
        "/conversations/",
        "/rules/MSG101/",
        f"/sources/{Source.objects.get().oid}/",
        f"/findings/{Finding.objects.get().oid}/",
    ):
        page = client.get(address)
        text = page.content.decode()
        assert page.status_code == 200, address
        assert "<script>alert" not in text and "<img src=x" not in text and "\u202e" not in text, address
        assert "&lt;script&gt;alert(1)" in text and "\\u202e" in text and "\\ud800" in text, address


def test_a_finding_says_what_it_rests_on_and_what_repairs_it(client: Client, kept: Kept) -> None:
    kept("example", example)
    finding = Finding.objects.get(conversation__native_id=INCIDENT, code="MSG101")
    text = client.get(f"/findings/{finding.oid}/").content.decode()
    assert f"/conversations/{finding.conversation.oid}/repairs/new/?strategy=renumber-messages" in text
    assert f'/conversations/{finding.conversation.oid}/?finding={finding.oid}&amp;at=1#seq-1"' in text
    assert "the stream was cut off" in text and "9 tools went with" in text, "the trace rules things out"
    assert "Can you read some files in this project" in text


def test_each_of_two_findings_of_one_rule_has_its_own_page(client: Client, kept: Kept) -> None:
    kept("example", example)
    twice = Finding.objects.filter(conversation__native_id=INCIDENT, code="TOOL202")
    found = [client.get(f"/findings/{finding.oid}.json").json() for finding in twice]
    assert [each["seqs"] for each in found] == [finding.seqs for finding in twice]
    assert len({tuple(each["seqs"]) for each in found}) == 2


def test_the_twins_of_a_finding(client: Client, kept: Kept) -> None:
    kept("example", example)
    finding = Finding.objects.filter(code="MSG101").first()
    assert finding is not None
    found = client.get(f"/findings/{finding.oid}.json").json()
    assert found["id"] == finding.oid and found["conversation"] == finding.conversation.oid
    assert {
        "code",
        "rule",
        "severity",
        "silent",
        "origin",
        "seqs",
        "total",
        "message",
        "repaired_by",
        "evidence",
        "ruled_out",
    } <= found.keys()
    text = client.get(f"/findings/{finding.oid}.md").content.decode()
    assert "MSG101" in text and f"`/findings/{finding.identity}/`" in text


@pytest.fixture
def repaired(tmp_path: Path) -> Repair:
    """A repair that is applied, and the id of the finding that it repaired."""
    conversation = imported(tmp_path / "a.db", merged())
    return applied(conversation, "renumber-messages")


def test_the_link_of_a_finding_that_was_repaired_shows_its_revision_and_the_repair(client: Client, repaired: Repair) -> None:
    conversation = repaired.conversation
    finding = conversation.findings.get(code="MSG101")
    assert (
        not finding.is_open and not conversation.findings.filter(is_open=True).exists() and "MSG101" not in client.get("/").content.decode()
    )
    text = client.get(f"/findings/{finding.oid}/").content.decode()
    assert "Repaired: renumber-messages was applied to revision 1, and revision 2 no longer has it." in text
    assert f"/repairs/{repaired.oid}/" in text and f"/conversations/{conversation.oid}/diff/1..2/" in text and "revision <b>1</b>" in text
    assert "/repairs/new/" not in text, "what is repaired is not proposed again"
    found = client.get(f"/findings/{finding.oid}.json").json()
    assert (found["revision"], found["is_open"], found["repair"]) == (1, False, repaired.oid) and found["seqs"] == [1, 2, 3, 4]
    text = client.get(f"/findings/{finding.oid}.md").content.decode()
    assert "Repaired: renumber\\-messages" in text or "Repaired: renumber-messages" in text
    assert f"/conversations/{conversation.identity}/?rev=1&reader=dispatch-legacy&finding={finding.identity}" in text


def test_undone_it_is_open_again_under_the_same_link(client: Client, repaired: Repair) -> None:
    oid = repaired.conversation.findings.get(code="MSG101").oid
    undo_repair(repaired, "tester", interactive=True)
    found = client.get(f"/findings/{oid}.json").json()
    assert found["is_open"] and found["revision"] == 3 and found["fate"] == ""


def test_a_finding_that_another_program_repaired_says_when(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store(path, rows("one", MERGED))
    oid = Finding.objects.get().oid
    path.unlink()
    write_dispatch_store(path, rows("one", HEALTHY))
    import_targets([str(path)], "tester")
    for ending in ("/", ".json", ".md"):
        page = client.get(f"/findings/{oid}{ending}")
        assert page.status_code == 200 and "No longer found: the conversation changed, and revision 2" in page.content.decode()


def test_a_finding_of_another_reader_keeps_its_link(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store(path, rows("one", MERGED))
    oid = Finding.objects.get(code="MSG101").oid
    set_deployed_reader(Source.objects.get(), "tester", "dispatch-role-split")
    text = client.get(f"/findings/{oid}/").content.decode()
    assert (
        "the source is read by dispatch-role-split now, and dispatch-legacy detected this" in text
        and "as <b>dispatch-legacy</b> reads" in text
    )


def test_a_finding_that_never_was_is_not_found(client: Client) -> None:
    for ending, kind in (("/", "text/html"), (".json", "application/json"), (".md", "text/plain")):
        page = client.get(f"/findings/000000000000{ending}")
        assert page.status_code == 404 and page["Content-Type"].startswith(kind)
        assert "There is no finding with this id here" in page.content.decode()
