"""The list of repairs: what its address chooses, and decisions on several repairs at once."""

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from inspector.actions import reviewing
from inspector.actions.decide_repair import approve_repair
from inspector.environment import os_user
from inspector.models import AuditEntry, Repair
from tests.accounts import account
from tests.actions.building import proposed
from tests.views.imported import MERGED, rows, store

pytestmark = pytest.mark.django_db


@pytest.fixture
def two(tmp_path: Path) -> tuple[Repair, Repair]:
    """By ann, with a reason, who asks the person of the pages to review it; and by the tester. Each is of a store of its own."""
    first, second = (
        proposed(store(tmp_path / f"{name}.db", rows(name, MERGED, title=f"Chat {name}")).conversations.get(), "renumber-messages", who=who)
        for name, who in (("one", "ann"), ("two", "tester"))
    )
    Repair.objects.filter(pk=first.pk).update(reason="Invoices are late")
    reviewing.request_reviewers(first, "ann", os_user())
    return first, second


@pytest.mark.parametrize("query", ["q=chat+ONE", "q=invoices", "proposer=ann", "mine=1", "proposer=ann&mine=1&q=renumber&sort=who"])
def test_text_person_and_reviewer_choose(client: Client, two: tuple[Repair, Repair], query: str) -> None:
    first, second = two
    page = client.get(f"/repairs/?{query}").content.decode()
    assert first.oid in page and second.oid not in page and 'Waiting <span class="count">1</span>' in page
    listed = client.get(f"/repairs.json?{query}").json()
    assert [repair["repair"] for repair in listed["repairs"]] == [first.oid] and listed["total"] == 1


def test_rule_and_source_choose_and_a_number_of_findings_is_no_rule(client: Client, two: tuple[Repair, Repair]) -> None:
    first, second = two
    page = client.get(f"/repairs/?q=msg101&source={second.conversation.source.oid}").content.decode()
    assert second.oid in page and first.oid not in page
    assert "No repair matches these filters" in client.get("/repairs/?q=%5B1").content.decode()
    assert "No repair that matches is closed." in client.get("/repairs/?tab=closed&proposer=ann").content.decode()


def test_a_row_says_how_many_comments_a_repair_has(client: Client, two: tuple[Repair, Repair]) -> None:
    first, second = two
    for text in ("Looks right.", "Wait for Ada."):
        client.post(f"/repairs/{first.oid}/comments/", {"text": text})
    page = client.get("/repairs/").content.decode()
    assert f'<a href="/repairs/{first.oid}/#talk">2 comments</a>' in page and f"/repairs/{second.oid}/#talk" not in page


def test_a_row_says_what_a_repair_comes_to_before_that_it_loses_nothing(client: Client, two: tuple[Repair, Repair]) -> None:
    row = client.get("/repairs/").content.decode().partition("<tbody>")[2].partition("</tr>")[0]
    assert row.index('class="tried ') < row.index("nothing lost or invented") and ">safe<" not in row


def decided(client: Client, *repairs: Repair, **form: Any) -> str:
    return client.post("/repairs/decide/", {"repair": [repair.oid for repair in repairs], **form}, follow=True).content.decode()


def test_several_are_rejected_with_one_reason(client: Client, two: tuple[Repair, Repair]) -> None:
    page = decided(client, *two, action="reject", comment="The store is rebuilt <b>today</b>")
    assert "2 repairs rejected. Nothing was written." in page
    for repair in two:
        repair.refresh_from_db()
        assert repair.state == "rejected" and repair.comments.get().text == "The store is rebuilt <b>today</b>"
    assert AuditEntry.objects.filter(verb="reject").count() == 2
    page = decided(client, *two, action="reject")
    assert "Chat one: This repair is rejected; only a proposed or approved one can be rejected." in page


def test_one_that_cannot_be_rejected_does_not_stop_the_others(client: Client, two: tuple[Repair, Repair]) -> None:
    first, second = two
    Repair.objects.filter(pk=second.pk).update(state="undone")
    page = decided(client, second, first, action="reject")
    assert "Chat two: This repair is undone" in page and "1 repair rejected." in page


def test_several_are_asked_about_and_nobody_is_forgotten_by_an_empty_field(client: Client, two: tuple[Repair, Repair]) -> None:
    assert "2 repairs asked about." in decided(client, *two, action="ask", reviewers="bob, eve")
    assert "name who is to review the chosen repairs" in decided(client, *two, action="ask", reviewers=" ")
    assert [repair.reviewers for repair in Repair.objects.all()] == [["bob", "eve"]] * 2


def test_none_is_approved_from_the_list(client: Client, two: tuple[Repair, Repair]) -> None:
    page = decided(client, *two, action="approve", statement="fixed", digest=two[0].plan_digest)
    assert "Nothing was decided" in page and {repair.state for repair in Repair.objects.all()} == {"proposed"}
    assert "No repair is chosen" in decided(client, action="reject")


def test_each_is_decided_by_who_may_on_its_source(client: Client, two: tuple[Repair, Repair], settings: Any) -> None:
    first, second = two
    settings.INSPECTOR_LOCAL = False
    client.force_login(account("eve", "viewer", source=first.conversation.source))
    page = decided(client, first, second, action="reject")
    assert "rejected. Nothing was written" not in page and second.conversation.title not in page
    assert "name who" not in page and {repair.state for repair in Repair.objects.all()} == {"proposed"}
    client.force_login(account("abe", "approver", source=first.conversation.source))
    assert "1 repair rejected." in decided(client, first, second, action="reject")
    assert [repair.state for repair in Repair.objects.order_by("pk")] == ["rejected", "proposed"]


def test_a_decision_leads_back_to_what_was_chosen_from_and_nowhere_else(client: Client, two: tuple[Repair, Repair]) -> None:
    approve_repair(two[0], "tester", two[0].plan_digest, statement="unfixed")
    answer = client.post(
        "/repairs/decide/", {"query": "tab=approved&proposer=ann&next=//x&page=7", "repair": two[0].oid, "action": "reject"}
    )
    assert answer["Location"] == "/repairs/?tab=approved&proposer=ann"
