"""Many conversations repaired by one plan, on the pages: the preview of all, one review, and acts that go on without the page."""

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from inspector import background
from inspector.actions import group_previews
from inspector.actions.apply_repair import apply_repair
from inspector.actions.decide_repair import approve_repair
from inspector.actions.repair_groups import open_group
from inspector.actions.undo_repair import undo_repair
from inspector.models import AuditEntry, BackgroundTask, Conversation, Occurrence, Problem, Repair, RepairGroup, Source, loading
from inspector.presentation.repair.group_sum import sum_of
from inspector.rules.catalogue import rule
from inspector.views import problem_list, repair_groups
from tests.actions.building import Store, bring, chunk_key, everything, merged, proposed, put, row
from tests.kept import Kept
from tests.operators import OperatorClient
from tests.sources.stores import make
from tests.views.imported import of_programs

pytestmark = pytest.mark.django_db
TOKEN = "ghp_" + "Ab3dEf7hIj1LmN0pQrStUvWxYz0123456789"


def problem_in(path: Path, count: int = 3) -> Problem:
    store = Store()
    for number in range(1, count + 1):
        merged(store, f"c{number}")
    make(path, store.values)
    bring(path)
    Source.objects.update(write_enabled=True)
    return Problem.objects.select_related("source").get(code="MSG101")


@pytest.fixture(autouse=True)
def _may_write(settings: Any) -> None:
    settings.INSPECTOR_WRITE_BACK = True


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.db"


@pytest.fixture
def problem(path: Path) -> Problem:
    return problem_in(path)


def text(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, address
    return re.sub(r"\s+", " ", unescape(answer.content.decode()))


def done() -> BackgroundTask:
    """The newest task, after a process did it."""
    task = BackgroundTask.objects.order_by("-pk")[0]
    loading.forget()
    background.run(task.pk)
    loading.forget()
    task.refresh_from_db()
    return task


def chosen(page: str) -> list[str]:
    return re.findall(r'name="conversation" value="([^"]*)"', page)


def propose(client: Client, problem: Problem, **fields: Any) -> RepairGroup:
    address = f"/problems/{problem.oid}/repair/"
    page = text(client, f"{address}?mode=in-place")
    answer = client.post(address, {"mode": "in-place", "conversation": chosen(page), **fields})
    group = RepairGroup.objects.get()
    assert answer.headers["Location"] == f"/repair-groups/{group.oid}/"
    done()
    return group


def act(client: Client, group: RepairGroup, name: str, **fields: Any) -> str:
    answer = client.post(f"/repair-groups/{group.oid}/{name}/", fields, follow=True)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", unescape(answer.content.decode()))


def approve(client: Client, group: RepairGroup, **fields: Any) -> str:
    page = text(client, f"/repair-groups/{group.oid}/")
    return act(client, group, "approve", plan=re.findall(r'name="plan" value="([^"]*)"', page), statement="unfixed", **fields)


def states(group: RepairGroup) -> list[str]:
    return [repair.state for repair in group.current]


def test_the_problem_leads_to_the_preview_of_all_its_conversations(client: Client, problem: Problem, path: Path) -> None:
    before = everything(path)
    address = f"/problems/{problem.oid}/repair/"
    assert f'href="{address}">Repair all 3 conversations<' in text(client, f"/problems/{problem.oid}/")
    page = text(client, address)
    assert "Preview: repair 3 conversations in " in page and "Propose 3 repairs" in page and len(chosen(page)) == 3
    assert "3 conversations · chunks: 12 renumbered · " in page and " new · requests accepted: 0 → 3 · " in page
    assert '<a class="badge ok" href="/rules/MSG101/">MSG101 3 → 0</a>' in page
    assert everything(path) == before and not RepairGroup.objects.exists() and not BackgroundTask.objects.exists()
    twin = client.get(f"/problems/{problem.oid}/repair.json").json()
    assert [member["strategies"] for member in twin["conversations"]] == [["renumber-messages"]] * 3
    assert " · MSG101 3 → 0 · requests accepted: 0 → 3" in twin["headline"]


def test_crash_files_are_in_no_group_and_the_page_says_why(client: Client, kept: Kept) -> None:
    kept("programs", of_programs)
    source = Conversation.objects.get(is_crash=True).source
    both, alone = (source.rule_problems.get(code=code) for code in ("TOOL102", "MSG403"))
    assert both.conversations == 2
    assert "this problem: repair" not in text(client, f"/problems/{both.oid}/repair/"), "the other one is a crash file"
    page = text(client, f"/problems/{alone.oid}/repair/")
    assert "Only crash files have this problem." in page and "each with what needs no choice" not in page
    assert client.get(f"/problems/{alone.oid}/repair.json").status_code == 400
    alone.occurrences.update(state=Occurrence.State.REPAIRED)
    Problem.objects.filter(pk=alone.pk).update(conversations=0)
    assert "No conversation has this problem now." in text(client, f"/problems/{alone.oid}/repair/")


def test_what_is_more_than_one_group_may_have_is_for_later(client: Client, problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    for most, words in ((3, ""), (2, "1 more conversation has this problem: repair it after these."), (1, "2 more conversations have")):
        monkeypatch.setattr(group_previews, "MOST", most)
        page = text(client, f"/problems/{problem.oid}/repair/")
        assert words in page and ("this problem: repair" in page) == bool(words)


def test_the_problem_says_which_repairs_wait_and_leads_to_their_review(client: Client, problem: Problem) -> None:
    """Its first act led to a preview that had nothing to propose, and no occurrence said that a repair of it waits."""
    address = f"/problems/{problem.oid}/"
    one = Conversation.objects.get(native_id="c1")
    repair = proposed(one, "renumber-messages")
    page = text(client, address)
    assert f'href="/repairs/{repair.oid}/">Review the repair that waits<' in page and ">Repair the other 2<" in page
    assert 'Next request with the repair: <b class="fine">wrong silently → accepted</b>' in page, "what the review comes to"
    assert page.partition("<h2>Occurrences")[2].count(f'href="/repairs/{repair.oid}/">repair {repair.oid[:6]}</a> waits for review') == 1
    group = propose(client, problem)
    page = text(client, address)
    assert len(group.members) == 2 and 'href="/repairs/">Review what waits for 3 conversations<' in page and ">Repair " not in page
    assert "Next request with" not in page and "Requests accepted" not in page, "they have no outcome together"
    client.post(f"/repairs/{repair.oid}/reject/")
    page = text(client, address)
    assert f'href="/repair-groups/{group.oid}/">Review the group of 2 repairs<' in page and ">Repair the other<" in page
    assert "<p>Requests accepted: 0 → 2 <span" in page
    waiting = [row["waiting_repair"] for row in client.get(f"/problems/{problem.oid}.json").json()["occurrences"]]
    assert sorted(waiting) == sorted(["", *(repair.oid for repair in group.current)])


def test_lists_say_for_how_many_conversations_a_repair_waits_and_how_many_are_left(client: Client, problem: Problem, path: Path) -> None:
    def cells() -> list[str]:
        """Of the inbox, of its JSON, and of the page of the source."""
        pages = text(client, "/"), text(client, f"/sources/{problem.source.oid}/").partition('id="rules"')[2]
        inbox, source = (re.search(r'<td[^>]* data-label="repair">(.*?)</td>', page) for page in pages)
        assert inbox and source
        progress = client.get("/index.json").json()["problems"][0]["repair_progress"]
        return [re.sub(r"<div[^>]*>", " | ", inbox[1]), str(progress), source[1]]

    def words() -> str:
        return re.sub("<[^>]*>", "", cells()[0])

    assert words() == "renumber-messages" and cells()[1] == "{}"
    one, two, _ = Conversation.objects.order_by("native_id")
    first = proposed(one, "renumber-messages")
    assert words() == "1 of 3 proposed | 2 left" and cells()[1] == "{'proposed': 1}"
    link, left = re.findall(r'href="(.*?)"', cells()[2])
    assert (link, left) == (f"/repairs/{first.oid}/", f"/problems/{problem.oid}/repair/")
    again = proposed(one, "renumber-messages", mode="fork")
    assert words().startswith("1 of 3 proposed"), "a conversation is counted once"
    again.delete()
    approve_repair(first, "tester", first.plan_digest, statement="unfixed")
    second = proposed(two, "renumber-messages")
    assert words() == "1 proposed, 1 approved | 1 left"
    assert re.findall(r'href="(.*?)"', cells()[2])[0] == f"/problems/{problem.oid}/", "no page has both"
    apply_repair(first, "tester", interactive=True)
    assert words() == "1 repaired, 1 proposed | 1 left"
    second.delete()
    assert words() == "1 of 3 repaired | 2 left"
    undo_repair(Repair.objects.get(pk=first.pk), "tester", interactive=True)
    assert words() == "renumber-messages"


def test_lists_lead_to_the_group_whose_repairs_are_for_all(client: Client, problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    group = propose(client, problem)
    page = text(client, f"/sources/{problem.source.oid}/").partition('id="rules"')[2]
    assert re.search(rf'href="/repair-groups/{group.oid}/"[^>]*>all 3 proposed</a></td>', page)
    monkeypatch.setattr(problem_list, "MOST_REPAIRS", 2)
    newest = group.current[-1].oid[:6]
    assert f">proposed {newest}</b></td>" in text(client, "/"), "of too many only the newest is named"


def test_somebody_is_asked_to_review_all_that_wait(client: Client, problem: Problem) -> None:
    group = propose(client, problem)
    assert "Nobody is asked yet." in text(client, f"/repair-groups/{group.oid}/")
    waiting = text(client, f"/problems/{problem.oid}/repair/")
    assert "3 repairs wait for a decision in " in waiting and f'href="/repair-groups/{group.oid}/">Review 3 together<' in waiting
    assert waiting.count("Nobody is asked yet.") == 1 and f'action="/repair-groups/{group.oid}/reviewers/"' in waiting
    page = act(client, group, "reviewers", reviewers="ann, bob")
    assert "The reviewers are named here and on each repair." in page and page.count('<span class="quiet">asked</span>') == 2
    assert [repair.reviewers for repair in group.current] == [["ann", "bob"]] * 3
    assert AuditEntry.objects.filter(verb="request review").count() == 3
    assert "Nobody is asked to review any more." in act(client, group, "reviewers", reviewers="")
    act(client, group, "reject")
    assert "Ask somebody" not in text(client, f"/repair-groups/{group.oid}/")
    assert "No repair of this group can be asked about now" in act(client, group, "reviewers", reviewers="ann")
    assert not RepairGroup.objects.get().reviewers


def test_the_review_says_what_is_wrong_and_where_it_is_written(client: Client, problem: Problem) -> None:
    group = propose(client, problem)
    page = text(client, f"/repair-groups/{group.oid}/")
    assert rule(problem.code).why[:60] in page and ">mode in-place: edits the original<" in page and "in the new conversations" not in page
    assert ">mode in-place: edits the original<" in text(client, f"/repairs/{group.current[0].oid}/")


def test_a_conversation_without_a_repair_is_named_with_the_reason(client: Client, problem: Problem) -> None:
    page = text(client, f"/problems/{problem.oid}/repair/?strategy=drop-empty-blocks")
    assert (
        page.count("Nothing to do: drop-empty-blocks would change nothing") == 3
        and "Propose" not in page.partition("<main")[2].partition("</main")[0]
    )
    assert "No strategy repairs a conversation of this problem by itself" in page


def test_a_repair_of_a_conversation_alone_is_named_in_the_review_of_its_group(client: Client, problem: Problem) -> None:
    group = propose(client, problem)
    address = f"/repair-groups/{group.oid}/"
    assert "Another repair of" not in text(client, address)
    alone = proposed(group.current[0].conversation, "renumber-messages", mode="same-rows")
    page = text(client, address)
    assert page.count("Another repair of this conversation is proposed too") == 1 and f'href="/repairs/{alone.oid}/"' in page
    assert "nothing lost or invented" in text(client, f"/problems/{problem.oid}/repair/"), "of those that wait it says what they do"


def test_many_chunks_are_planned_by_a_task(client: Client, problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repair_groups, "AT_ONCE", 11)
    address = f"/problems/{problem.oid}/repair/"
    page = text(client, address)
    assert "The plans of 3 conversations are being computed" in page and not chosen(page)
    assert client.get(f"/problems/{problem.oid}/repair.json").json()["waiting"].startswith("The plans of 3")
    assert BackgroundTask.objects.count() == 1 and done().error == ""
    page = text(client, address)
    assert len(chosen(page)) == 3 and "are being computed" not in page
    client.post(address, {"conversation": chosen(page)[:2]})
    assert len(RepairGroup.objects.get().members) == 2
    BackgroundTask.objects.filter(kind="group preview").update(error="No memory.", answer="")
    assert "No memory." in text(client, address)
    assert client.get(f"{address}?again=1").headers["Location"] == address
    assert BackgroundTask.objects.get(kind="group preview").ended_at is None


def test_one_review_from_the_proposal_to_the_undo(client: Client, problem: Problem, path: Path) -> None:
    before = everything(path)
    group = propose(client, problem, reason=f"one bug {TOKEN}", incident="https://i.example/7", reviewers="ann, bob", after="on")
    assert group.goes_on and group.reviewers == ["ann", "bob"] and TOKEN not in group.reason
    address = f"/repair-groups/{group.oid}/"
    page = text(client, address)
    order = [
        "Repair 3 conversations in ",
        "merged-messages",
        ">3 proposed</span>",
        "chunks: 12 renumbered",
        "one bug [masked",
        'class="member"',
        'class="diff"',
    ]
    assert [page.find(words) for words in order] == sorted(page.find(words) for words in order) and page.find(order[0]) > 0
    assert page.count('class="member"') == page.count('class="diff"') == 3 and page.count("Review it alone") == 3
    assert "Incident https://i.example/7" in page and TOKEN not in page
    page = approve(client, group, comment=f"fine {TOKEN}")
    assert "3 of 3 approved." in page and ">3 approved</span>" in page and "on 3 conversations" in page and page.count("fine [masked") == 1
    assert everything(path) == before
    page = act(client, group, "apply")
    assert "The repairs are being written" in page and "Approve" not in page and 'hx-trigger="load delay:2s, again delay:4s"' in page
    # Who presses twice, or an undo meanwhile, begins no second work.
    act(client, group, "apply")
    assert "Another act on this group goes on at this moment" in act(client, group, "undo")
    assert BackgroundTask.objects.filter(ended_at=None).count() == 1
    assert done().answer == "3 of 3 applied."
    page = text(client, address)
    assert ">3 verified</span>" in page and "3 of 3 applied." in page and "Undo 3: restore every byte" in page
    assert ">repaired</span>" in text(client, f"/problems/{problem.oid}/")
    act(client, group, "undo")
    assert done().answer == "3 of 3 undone." and everything(path) == before
    assert client.get(f"{address[:-1]}.json").json()["states"] == {"undone": 3}


def test_a_task_that_was_killed_is_said_and_goes_on(client: Client, problem: Problem) -> None:
    group = propose(client, problem)
    approve(client, group)
    act(client, group, "apply")
    BackgroundTask.objects.filter(ended_at=None).update(by="no such process", started_at="2020-01-01T00:00:00Z")
    page = text(client, f"/repair-groups/{group.oid}/")
    assert background.LOST in page and "Apply 3: write to " in page
    act(client, group, "apply")
    assert done().answer == "3 of 3 applied." and states(group) == ["verified"] * 3


def test_one_that_drifted_is_proposed_again_from_the_page(client: Client, problem: Problem, path: Path) -> None:
    group = propose(client, problem)
    approve(client, group)
    put(path, chunk_key(5, "c2"), row("one more", msg_idx=0))
    put(path, "conv:c2:seq", "5")
    bring(path)
    page = text(client, f"/repair-groups/{group.oid}/")
    assert ">2 approved</span>" in page and ">1 changed</span>" in page and "its approval does not hold: propose it again" in page
    assert "Apply 2: write to " in page and "Propose 1 again" in page and "Approve" not in page
    oid = Conversation.objects.get(native_id="c2").oid
    act(client, group, "again", conversation=[oid, "0" * 12])
    assert done().answer == "1 of 1 proposed again."
    page = text(client, f"/repair-groups/{group.oid}/")
    assert "Approve 1 plan<" in page and "Apply 2: write to " in page and ">2 approved</span>" in page
    approve(client, group)
    act(client, group, "apply")
    assert done().answer == "3 of 3 applied."


def test_a_failure_stops_and_the_page_says_what_was_not_tried(client: Client, problem: Problem, path: Path) -> None:
    group = propose(client, problem)
    approve(client, group)
    first = group.current[0].conversation.native_id
    put(path, chunk_key(5, first), row("one more", msg_idx=0))
    act(client, group, "apply")
    assert "0 of 3 applied." in done().error
    page = text(client, f"/repair-groups/{group.oid}/")
    assert "2 were not tried: this group stops at the first failure." in page and ">1 stale</span>" in page and "Apply 2: " in page


def test_lists_have_one_row_of_a_group_and_each_repair_leads_to_it(client: Client, problem: Problem) -> None:
    group = propose(client, problem)
    for address in ("/repairs/", "/?tab=review"):
        page = text(client, address)
        assert page.count(f'href="/repair-groups/{group.oid}/"') == 1 and "3 conversations: merged-messages" in page
        assert 'href="/repairs/' not in page.partition("<main")[2].partition("</main")[0].replace('href="/repairs/"', "")
        assert 'title="1 repair or group of repairs waits for review"' in page
    assert client.get("/index.json").json()["tabs"]["review"] == 1
    assert f'href="/repair-groups/{group.oid}/"' in text(client, f"/repairs/{group.current[0].oid}/")
    assert [repair["group"] for repair in client.get("/repairs.json").json()["repairs"]] == [group.oid] * 3


def test_a_row_says_how_many_conversations_of_its_group_are_in_the_tab(client: Client, problem: Problem) -> None:
    group = propose(client, problem)
    first = group.current[0]
    approve_repair(first, "ann", first.plan_digest, statement="unfixed")
    waiting, approved = (text(client, f"/repairs/?tab={tab}") for tab in ("waiting", "approved"))
    assert "2 of 3 conversations: merged-messages" in waiting and "1 of 3 conversations: merged-messages" in approved


def test_the_list_names_the_strategies_of_every_conversation_of_a_group(client: Client, problem: Problem) -> None:
    group = propose(client, problem)
    group.members[-1]["strategies"] = ["renumber-messages", "insert-interrupted-result"]
    group.save()
    assert "Renumber messages, then insert interrupted result in" in text(client, "/repairs/")


def test_the_sum_says_first_what_gets_worse_and_how_much_it_leaves_out() -> None:
    plan = {"ops": {}, "bytes": 10, "costs": [], "safety": ["safe"], "accepted": [False, True]}
    better = {f"MSG10{number}": (2, 0) for number in range(1, 6)}
    total = sum_of([plan | {"counts": better | {"TOOL401": (0, 1)}}, plan | {"counts": {"MSG101": (1, 0), "THINK101": (1, 1)}}])
    assert "TOOL401 0 → 1 · MSG101 3 → 0 · MSG102 2 → 0 · MSG103 2 → 0 · 2 more rules change" in total.headline
    # Plans of an older version do not say what remains.
    assert "remain" not in total.headline
    left = [plan | {"counts": {}, "remaining": {"error": number, "warning": 1}} for number in (1, 0)]
    assert sum_of(left).headline.endswith(" · 1 error and 2 warnings remain")


def test_the_copies_have_every_conversation(client: Client, problem: Problem) -> None:
    group = propose(client, problem, reason="why *not*")
    twin = client.get(f"/repair-groups/{group.oid}.json").json()
    assert (twin["code"], twin["states"], twin["goes_on"], len(twin["conversations"])) == ("MSG101", {"proposed": 3}, False, 3)
    assert {member["repair"] for member in twin["conversations"]} == set(Repair.objects.values_list("oid", flat=True))
    copy = client.get(f"/repair-groups/{group.oid}.md").content.decode()
    assert copy.startswith("**Repair 3 conversations in ") and copy.count("| proposed |") == 3 and "why \\*not\\*" in copy


def test_who_proposed_does_not_approve(client: Client, problem: Problem, settings: Any) -> None:
    settings.INSPECTOR_REQUIRE_SECOND_APPROVER = True
    group = propose(client, problem)
    page = text(client, f"/repair-groups/{group.oid}/")
    assert "A second person must approve this repair" in page and re.search(r"<button class=\"btn main\"\s+disabled", page)
    assert "0 of 3 approved." in approve(client, group) and states(group) == ["proposed"] * 3


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, "No conversation is chosen"),
        ({"conversation": ["<script>", "0" * 12, f"{'0' * 12}:{'0' * 64}:", "\x00"]}, "No conversation is chosen"),
        ({"mode": "zzz"}, "cannot be written in mode"),
        ({"incident": "javascript:alert(1)"}, "starts with http:// or https://"),
        ({"reason": "x" * 5001}, "at most 5,000 are kept"),
    ],
)
def test_an_odd_proposal_is_refused_in_a_sentence(client: Client, problem: Problem, fields: dict[str, Any], sentence: str) -> None:
    answer = client.post(f"/problems/{problem.oid}/repair/", fields, follow=True)
    assert answer.status_code == 200 and sentence in unescape(answer.content.decode())
    assert not RepairGroup.objects.exists() and not Repair.objects.exists()


def test_what_was_not_previewed_is_not_proposed(client: Client, problem: Problem) -> None:
    page = text(client, f"/problems/{problem.oid}/repair/?mode=in-place")
    client.post(f"/problems/{problem.oid}/repair/", {"mode": "fork", "conversation": chosen(page)})
    assert "0 of 3 proposed." in done().error and "another plan than the preview showed" in done().error and not Repair.objects.exists()
    page = text(client, f"/repair-groups/{RepairGroup.objects.get().oid}/")
    assert ">3 not proposed</span>" in page and "Propose the rest" in page


def test_a_form_that_is_sent_twice_opens_one_group_with_each_conversation_once(client: Client, problem: Problem) -> None:
    address = f"/problems/{problem.oid}/repair/"
    rows = chosen(text(client, f"{address}?mode=in-place"))
    form = {"mode": "in-place", "conversation": [*rows, rows[0], rows[0]]}
    first, second = (client.post(address, form) for _ in range(2))
    group = RepairGroup.objects.get()
    assert first.headers["Location"] == second.headers["Location"] == f"/repair-groups/{group.oid}/"
    assert done().error == "" and Repair.objects.count() == len(group.members) == 3
    # With another reason it is another proposal, and so is one after a decision.
    assert repair_group_again(group, reason="other").oid != group.oid
    last = repair_group_again(group)
    assert repair_group_again(group).oid == last.oid and last.oid != group.oid


def repair_group_again(group: RepairGroup, **written: str) -> RepairGroup:
    members = RepairGroup.objects.get(pk=group.pk).members
    return open_group(group.source, group.code, group.rule, members, group.proposed_by, goes_on=group.goes_on, **written)


@pytest.mark.parametrize("query", ["?show=zzz", "?page=99", "?page=0", "?show=%00", "?page=x&show=<b>"])
def test_odd_addresses_of_a_group_are_answered(client: Client, problem: Problem, query: str) -> None:
    group = propose(client, problem)
    assert "Repair 3 conversations" in text(client, f"/repair-groups/{group.oid}/{query}")
    for name in ("approve", "reject", "apply", "undo", "again"):
        assert client.get(f"/repair-groups/{group.oid}/{name}/").status_code == 405
        assert client.post(f"/repair-groups/{'0' * 12}/{name}/").status_code == 404
    assert client.get(f"/repair-groups/{'0' * 12}/").status_code == client.get(f"/problems/{'0' * 12}/repair/").status_code == 404
    act(client, group, "approve", plan=["zzz", f"{group.current[0].oid}:{'0' * 64}"], statement="<b>")
    assert states(group) == ["proposed"] * 3


@pytest.mark.slow
def test_a_large_group_is_shown_in_pages_at_the_same_cost(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repair_groups, "AT_ONCE", 10_000)
    monkeypatch.setattr(repair_groups, "OPEN", 2 * (4 + repair_groups.PER_CONVERSATION))
    costs = []
    for count in (6, 31):
        group = propose(client, problem_in(tmp_path / f"{count}.db", count))
        address = f"/repair-groups/{group.oid}/"
        text(client, address)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            page = text(client, address)
        costs.append(len(queries))
        assert page.count('class="member"') == min(count, 25) and page.count('class="diff"') == 2
        assert page.count(">Show the diff<") == min(count, 25) - 2
        last = group.members[min(count, 25) - 1]["conversation"]
        assert f'id="c-{last}" open' in text(client, f"{address}?show={last}")
        Repair.objects.all().delete()
        RepairGroup.objects.all().delete()
        Problem.objects.all().delete()
    assert costs[0] == costs[1]


def test_nobody_who_is_not_signed_in_sees_or_does_anything(problem: Problem, client: Client, settings: Any) -> None:
    group = propose(client, problem)
    settings.INSPECTOR_LOCAL = False
    settings.ALLOWED_HOSTS = ["testserver"]
    stranger = Client()
    for name in ("", "approve/", "apply/", "undo/", "again/", "reject/"):
        send = stranger.post if name else stranger.get
        assert send(f"/repair-groups/{group.oid}/{name}").headers["Location"].startswith("/login/")
    assert states(group) == ["proposed"] * 3
    assert not AuditEntry.objects.filter(verb="apply group").exists()
    assert isinstance(client, OperatorClient)


def test_a_preview_of_forks_says_that_the_originals_stay(client: Client, problem: Problem) -> None:
    """Its numbers are those of the new conversations, and looked like those of the store."""
    page = text(client, f"/problems/{problem.oid}/repair/?mode=fork")
    assert "mode fork: new conversation, the original stays" in page and "findings in the new conversations" in page
    assert "in the new conversations" not in text(client, f"/problems/{problem.oid}/repair/?mode=in-place")
