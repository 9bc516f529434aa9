"""The page of a repair as a review: what is wrong, why it is proposed, the diff, comments, and who may decide."""

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from pytest_django import Settings

from inspector.actions.approvals import expires_at
from inspector.actions.import_source import import_targets
from inspector.actions.reviewing import comment, request_reviewers
from inspector.environment import os_user
from inspector.models import Conversation, Problem, ProblemDay, Repair, RepairComment
from tests.accounts import account
from tests.actions.building import (
    WHO,
    A,
    Store,
    U,
    applied,
    approved,
    bring,
    broken,
    chunk_key,
    er,
    imported,
    merged,
    pairs,
    proposed,
    put,
    row,
)
from tests.kept import Kept
from tests.operators import OperatorClient
from tests.programs.pi_openclaw import session_files as sessions
from tests.views.imported import INCIDENT, example

pytestmark = pytest.mark.django_db

RENUMBER = "renumber-messages"
HOSTILE = "<script>alert(1)</script> \u202e ghp_" + "Ab3dEf7hIj1LmN0pQrStUvWxYz0123456789"


@pytest.fixture
def conversation(tmp_path: Path) -> Conversation:
    return imported(tmp_path / "a.db", merged())


def text(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, address
    return re.sub(r"\s+", " ", answer.content.decode())


def test_the_page_says_what_is_wrong_before_the_diff_and_folds_the_rest_after_it(client: Client, conversation: Conversation) -> None:
    page = unescape(text(client, f"/repairs/{proposed(conversation, RENUMBER).oid}/"))
    order = [
        *("Repair <em>", "</em> in ", ">proposed</span>", "proposed by <b>tester</b>"),
        *(
            '<dl class="strip">',
            "Wrong silently → accepted</b>",
            "<b>1 → 4 read</b>",
            "of 4 stored",
            "MSG101 1 → 0",
            "No error or warning remains",
            "<b>4 chunks renumbered, no content changes</b>",
            ">MSG101</a> 4 messages in a row of 2 turns share msgIdx 0",
        ),
        *('<i>1</i> <em class="u">user</em> <i>text</i> hello', 'class="diff"', '<h2 id="talk">Comments</h2>'),
        *(
            "<summary>Verdicts and findings before and after",
            "<summary>Prompt before and after",
            "The bytes: ",
        ),
    ]
    assert [page.find(words) for words in order] == sorted(page.find(words) for words in order) and page.find(order[0]) > 0
    assert all(page.count(words) for words in order)


def test_what_the_provider_answered_is_before_the_diff(client: Client, tmp_path: Path) -> None:
    page = text(client, f"/repairs/{proposed(imported(tmp_path / 'b.db', broken()), RENUMBER).oid}/")
    assert 0 < page.find("<b>The provider answered</b> <span") < page.find('class="diff"')
    both = "rejects the next one neither without this repair nor with it"
    assert both not in page, "the next request is rejected before it"
    assert "The provider answered" not in text(client, f"/repairs/{proposed(imported(tmp_path / 'c.db', merged()), RENUMBER).oid}/")
    passing = Store()
    passing.append(U("hello"))
    passing.append(A(er()), U("again"), A("done"))
    page = text(client, f"/conversations/{imported(tmp_path / 'd.db', passing).oid}/repairs/new/?strategy={RENUMBER}")
    assert ("The provider answered" in page) and both in page


def test_the_verdicts_of_a_repair_after_which_the_request_is_wrong_silently_are_no_all_clear(client: Client, kept: Kept) -> None:
    kept("example", example)
    page = text(client, f"/repairs/{proposed(Conversation.objects.get(native_id=INCIDENT), RENUMBER).oid}/")
    fold = page.partition("Verdicts and findings before and after")[2].partition("</table>")[0]
    assert '<span class="badge warn">wrong silently (without seq 14)</span>' in fold
    assert "badge ok" not in fold and "passes" not in fold
    assert "the request passes before and after" not in page


@pytest.mark.parametrize(("mode", "has_gap"), [("in-place", True), ("fork", False)])
def test_a_lossy_repair_of_a_store_says_what_is_kept_and_whether_a_gap_stays(
    tmp_path: Path, client: Client, mode: str, has_gap: bool
) -> None:
    repair = proposed(imported(tmp_path / "a.db", broken()), "strip-error-chunks", mode=mode)
    page = text(client, f"/repairs/{repair.oid}/")
    assert f"{'Undo and the audit log keep' if has_gap else 'The original keeps'} what leaves the history." in page
    assert ("A gap in the numbers stays" in page) is has_gap


def test_a_safe_repair_of_a_store_loses_nothing_that_is_to_be_kept(conversation: Conversation, client: Client) -> None:
    page = text(client, f"/repairs/{proposed(conversation, RENUMBER).oid}/")
    assert "Undo and the audit log keep" not in page and "A gap in the numbers" not in page


def test_the_preview_has_the_same_order_and_its_options_last(client: Client, conversation: Conversation) -> None:
    page = text(client, f"/conversations/{conversation.oid}/repairs/new/?strategy={RENUMBER}")
    order = [
        '<dl class="strip">',
        ">MSG101</a>",
        'class="diff"',
        "<summary>Verdicts and findings",
        "<summary>Options: strategies, mode, reader",
    ]
    assert [page.find(words) for words in order] == sorted(page.find(words) for words in order) and page.find(order[0]) > 0
    assert '<form method="get" id="choose" class="choose review"' in text(client, f"/conversations/{conversation.oid}/repairs/new/")


def test_what_is_typed_with_a_proposal_is_on_its_page_and_in_its_twins(client: Client, conversation: Conversation) -> None:
    address = f"/conversations/{conversation.oid}/repairs/new/"
    (action,) = re.findall(r'formaction="(\?seen[^"]*)"', text(client, f"{address}?strategy={RENUMBER}"))
    written = {"reason": f"why {HOSTILE}", "incident": "https://i.example/7?a=1&b=2", "reviewers": "ann, bob"}
    client.post(unescape(address + action), {"strategy": RENUMBER, **written})
    repair = Repair.objects.get()
    page = text(client, f"/repairs/{repair.oid}/")
    assert "<script>alert" not in page and "\u202e" not in page and "ghp_" not in page and "why &lt;script&gt;alert(1)" in page
    assert 'href="https://i.example/7?a=1&amp;b=2"' in page and "<li>ann <span" in page and "<li>bob <span" in page
    report = client.get(f"/repairs/{repair.oid}.json").json()
    assert report["reason"].startswith("why <script>alert(1)</script> \\u202e [masked") and report["reviewers"] == ["ann", "bob"]
    assert report["incident"] == written["incident"] and report["comments"] == [] and report["expires_at"] is None
    for words in ("https://i.example/7", "ann, bob", "why "):
        assert words in client.get(f"/repairs/{repair.oid}.md").content.decode()
    assert "ann, bob" in text(client, "/repairs/")


def test_a_reviewer_goes_on_with_other_options_from_what_is_proposed(client: Client, conversation: Conversation) -> None:
    repair = proposed(conversation, RENUMBER)
    page = text(client, f"/repairs/{repair.oid}/")
    ask = '<a class="link" href="#written-reviewers">ask somebody</a>.'
    assert f"Waits for <b>one approval</b>: {ask}" in page and "you proposed it" not in page
    Repair.objects.update(proposed_by=os_user())
    own = text(client, f"/repairs/{repair.oid}/")
    assert f"Waits for <b>one approval</b>: you proposed it, and may approve it yourself here, or {ask}" in own
    assert "<details open><summary>Ask somebody</summary>" in page and page.count('id="written-reviewers"') == 1
    request_reviewers(repair, WHO, "ann, bob")
    Repair.objects.update(reason="the server is fixed")
    page = text(client, f"/repairs/{repair.oid}/")
    assert "Waits for <b>one approval</b>: <b>ann, bob</b> are asked." in page
    (href,) = re.findall(r'href="([^"]*)">Propose it with other options</a>', page)
    options = text(client, unescape(href))
    assert "the server is fixed</textarea>" in options and 'value="ann, bob"' in options and '<details class="fold" open>' in options
    assert re.findall(r'value="([^"]*)" checked', options) == [RENUMBER, "same-rows"]


def test_a_reviewer_requests_changes_and_the_pages_say_whose_turn_it_is(client: Client, conversation: Conversation) -> None:
    repair = proposed(conversation, RENUMBER)
    address = f"/repairs/{repair.oid}/"
    refused = client.post(f"{address}changes/", {"comment": ""}, follow=True).content.decode()
    assert "say in the comment what is to be changed" in refused and Repair.objects.get().changes_by == ""
    client.post(f"{address}changes/", {"comment": f"keep the original {HOSTILE}"})
    page = text(client, address)
    assert "waits for changes" in page and "Waits for <b>tester</b>" in page and "Waits for <b>one approval</b>" not in page
    assert "keep the original &lt;script&gt;" in page and "<script>alert" not in page and "\u202e" not in page
    by = client.get(f"/repairs/{repair.oid}.json").json()["changes_requested_by"]
    assert by and f"by <b>tester</b>, requested by {by}" in text(client, "/repairs/")
    assert client.get("/index.json").json()["tabs"]["review"] == 0 and "waits for changes" in text(client, "/")
    (href,) = re.findall(r'href="([^"]*)">Propose it with other options</a>', page)
    assert f'value="{by}"' in text(client, unescape(href)), "who asked for it reviews it"
    (names,) = re.findall(r'<input type="hidden" name="reviewers" value="([^"]*)"', page)
    client.post(f"{address}reviewers/", {"reviewers": names})
    page = text(client, address)
    assert f"Waits for <b>one approval</b>: <b>{by}</b> is asked." in page and "requested changes</span>" in page
    assert client.get("/index.json").json()["tabs"]["review"] == 1


def test_a_list_of_what_asks_me_has_what_i_am_to_change_and_not_what_another_is(client: Client, conversation: Conversation) -> None:
    repair = proposed(conversation, RENUMBER)
    me = client.get("/repairs.json").wsgi_request.operator

    def is_listed(**fields: object) -> bool:
        Repair.objects.update(**fields)
        return repair.oid in text(client, "/repairs/?mine=1")

    assert not is_listed(proposed_by=me) and is_listed(changes_by="bob") and not is_listed(proposed_by="ann", reviewers=[me])
    assert is_listed(changes_by="")


def test_the_comments_on_rows_are_counted_there_and_at_the_top(client: Client, conversation: Conversation) -> None:
    repair = proposed(conversation, RENUMBER)
    (at,) = re.findall(r'name="at" value="(\d+)"', text(client, f"/repairs/{repair.oid}/"))
    for words in ("why seq 4?", "and seq 2?"):
        client.post(f"/repairs/{repair.oid}/comments/", {"text": words, "at": at})
    client.post(f"/repairs/{repair.oid}/comments/", {"text": "of the whole"})
    page = text(client, f"/repairs/{repair.oid}/")
    first, second, _ = RepairComment.objects.order_by("pk").values_list("pk", flat=True)
    assert '<a href="#talk">3 comments</a>' in page and f'<a href="#comment-{first}">2 comments</a>' in page
    assert f'href="#comment-{second}">' in page.partition('id="talk"')[2] and page.count(f'id="comment-{first}"') == 1


def test_who_states_whether_the_program_is_fixed_reads_what_is_known_about_it(client: Client, tmp_path: Path) -> None:
    repair = proposed(example(tmp_path, traces=False).conversations.get(native_id=INCIDENT), RENUMBER)
    assert known(client, repair) == [
        "Last written 2026-06-28 by umans/umans-flash.",
        "MSG101 TOOL202 newest in the source 2026-06-28 by umans/umans-flash; not marked as fixed.",
    ]
    ProblemDay.objects.filter(problem__code="MSG101").update(client_version="2.1.107")
    Problem.objects.filter(code="MSG101").update(fixed_at=repair.proposed_at, fixed_by="ann", fixed_in="2.1.108")
    Problem.objects.filter(code="TOOL202").update(regressed_at=repair.proposed_at)
    assert known(client, repair)[1:] == [
        "MSG101 newest in the source 2026-06-28 by client 2.1.107, umans/umans-flash; marked as fixed in client version 2.1.108 by ann just now, "
        "none found since.",
        "TOOL202 newest in the source 2026-06-28 by umans/umans-flash; occurs again since just now.",
    ]
    Repair.objects.update(counts={"MSG101": [1, 1], "TOOL202": [2, 0]})
    assert not any(line.startswith("MSG101") for line in known(client, repair)), "it repairs none of them"


def known(client: Client, repair: Repair) -> list[str]:
    lines = re.findall(r'<p class="known">(.*?)</p>', text(client, f"/repairs/{repair.oid}/"), re.DOTALL)
    return [" ".join(unescape(re.sub("<[^>]*>", "", line)).split()) for line in lines]


def test_what_a_proposed_repair_leaves_has_the_way_to_repair_it_too(client: Client, tmp_path: Path) -> None:
    repair = proposed(example(tmp_path, traces=False).conversations.get(native_id=INCIDENT), RENUMBER)
    (href,) = re.findall(r'href="([^"]*)"[^>]*aria-label="Repair THINK301 too"', text(client, f"/repairs/{repair.oid}/"))
    assert ">THINK301 1 → 0</a>" in text(client, unescape(href))
    assert 'Remain</span> <a class="badge error" href="/rules/THINK301/">' in text(client, "/repairs/")
    Repair.objects.update(state="rejected")
    assert "Repair THINK301 too" not in text(client, f"/repairs/{repair.oid}/")


def test_another_repair_of_the_conversation_that_waits_is_named(client: Client, conversation: Conversation) -> None:
    one, two = proposed(conversation, RENUMBER), proposed(conversation, RENUMBER, mode="new-conversation")
    for repair, other in ((one, two), (two, one)):
        page = text(client, f"/repairs/{repair.oid}/")
        assert "Another repair of this conversation is proposed too" in page and f'href="/repairs/{other.oid}/"' in page
    Repair.objects.filter(pk=two.pk).update(state="rejected")
    assert "Another repair of" not in text(client, f"/repairs/{one.oid}/")


def test_what_waits_already_is_said_where_it_would_be_chosen_and_proposed_again(client: Client, conversation: Conversation) -> None:
    address = f"/conversations/{conversation.oid}/repairs/new/"
    assert "<summary>Propose it once more" not in text(client, f"{address}?strategy={RENUMBER}&mode=in-place")
    repair = proposed(conversation, RENUMBER)
    options = text(client, address)
    assert f'<a class="badge warn" href="/repairs/{repair.oid}/">proposed, in-place</a>' in options, "next to the strategy"
    assert 'id="choose-mode-same-rows" value="same-rows" checked' in options, "as what waits would be written"
    of_renumber, of_another = (
        client.get(f"{address}?strategy={strategy}&outcome=", headers={"HX-Request": "true", "HX-Target": "outcome"}).content.decode()
        for strategy in (RENUMBER, "drop-orphaned-results")
    )
    assert "Already proposed, in-place" in of_renumber and "Already proposed" not in of_another, "next to the outcome, in whatever mode"
    same, other = (text(client, f"{address}?strategy={RENUMBER}&mode={mode}") for mode in ("in-place", "fork"))
    assert (
        "<details> <summary>Propose it once more</summary>" in re.sub(r"\s+", " ", same)
        and 'class="btn main"' not in same.partition("<aside")[2]
    )
    assert "<summary>Propose it once more" not in other
    again = client.post(address, {"strategy": RENUMBER, "mode": "in-place", "incident": "javascript:", "reason": "typed"}).content.decode()
    assert "<details open> <summary>Propose it once more</summary>" in re.sub(r"\s+", " ", again), "with what was typed"


def test_a_message_begins_with_a_line_in_the_diff(client: Client, tmp_path: Path) -> None:
    """The call of seq 3 and that of seq 4 are in the message of seq 2, the error of seq 8 is in that of seq 7."""
    page = text(client, f"/conversations/{imported(tmp_path / 'a.db', broken()).oid}/repairs/new/?strategy={RENUMBER}&mode=in-place")
    assert re.findall(r'<div class="line reindexed begins"><i>(\d+)</i>', page) == ["1", "2", "5", "6", "7", "9", "10"]
    assert re.findall(r'<div class="line reindexed"><i>(\d+)</i>', page) == ["3", "4", "8"]


def test_in_local_mode_those_who_acted_on_repairs_are_offered_as_reviewers(client: Client, conversation: Conversation) -> None:
    address = f"/conversations/{conversation.oid}/repairs/new/?strategy={RENUMBER}"
    assert "<datalist" not in text(client, address)
    request_reviewers(proposed(conversation, RENUMBER), WHO, "bob")
    names = re.findall(r'<option value="([^"]*)">', text(client, address).partition("<datalist")[2])
    assert names == sorted(["bob", WHO])


def test_a_link_that_is_none_goes_back_with_what_was_typed(client: Client, conversation: Conversation) -> None:
    address = f"/conversations/{conversation.oid}/repairs/new/"
    (action,) = re.findall(r'formaction="(\?seen[^"]*)"', text(client, f"{address}?strategy={RENUMBER}"))
    answer = client.post(unescape(address + action), {"strategy": RENUMBER, "incident": "javascript:alert(1)", "reason": "all in one"})
    page = answer.content.decode()
    assert "starts with http:// or https://" in unescape(page) and not Repair.objects.exists()
    assert ">all in one</textarea>" in page and 'href="javascript' not in page


def test_comments_are_where_they_were_made_and_hostile_text_is_text(client: Client, conversation: Conversation) -> None:
    repair = proposed(conversation, RENUMBER)
    page = text(client, f"/repairs/{repair.oid}/")
    (anchor,), (position,) = re.findall(r'id="h-([0-9a-f]{10})"', page), re.findall(r'name="at" value="(\d+)"', page)
    assert client.post(f"/repairs/{repair.oid}/comments/", {"text": f"of the hunk {HOSTILE}", "at": position}).status_code == 302
    client.post(f"/repairs/{repair.oid}/comments/", {"text": "of all"})
    page = text(client, f"/repairs/{repair.oid}/")
    assert page.index(f'id="h-{anchor}"') < page.index("of the hunk &lt;script&gt;") < page.index('id="talk"') < page.index("of all")
    assert "<script>alert" not in page and "\u202e" not in page and "ghp_" not in page
    assert [(row["who"], row["hunk"]) for row in client.get(f"/repairs/{repair.oid}.json").json()["comments"]] == [
        (RepairComment.objects.all()[0].who, anchor),
        (RepairComment.objects.all()[1].who, ""),
    ]
    other = proposed(conversation, RENUMBER)
    assert f'id="h-{anchor}"' in text(client, f"/repairs/{other.oid}/"), "of the same plan"


@pytest.mark.parametrize(
    ("data", "sentence"), [({}, "Nothing was written"), ({"text": "x", "at": "-1"}, "no hunk"), ({"text": "x" * 5001}, "5,001")]
)
def test_a_comment_that_cannot_be_is_a_sentence(client: Client, conversation: Conversation, data: dict[str, str], sentence: str) -> None:
    repair = proposed(conversation, RENUMBER)
    assert sentence in client.post(f"/repairs/{repair.oid}/comments/", data, follow=True).content.decode()
    assert not RepairComment.objects.exists()


def test_comments_and_reviewers_are_posts_with_a_token(client: Client, conversation: Conversation) -> None:
    repair = proposed(conversation, RENUMBER)
    strict = OperatorClient(enforce_csrf_checks=True)
    for verb in ("comments", "reviewers"):
        assert client.get(f"/repairs/{repair.oid}/{verb}/").status_code == 405
        assert strict.post(f"/repairs/{repair.oid}/{verb}/", {"text": "x", "reviewers": "x"}).status_code == 403
    assert not RepairComment.objects.exists()


def test_a_decision_with_its_comment_is_on_the_page(client: Client, conversation: Conversation) -> None:
    repair = proposed(conversation, RENUMBER)
    data = {"digest": repair.plan_digest, "statement": "unfixed", "comment": "read twice"}
    page = re.sub(r"\s+", " ", client.post(f"/repairs/{repair.oid}/approve/", data, follow=True).content.decode())
    assert '<span class="badge ok">approved</span>' in page and "read twice" in page and "; holds until 20" in page
    repair.refresh_from_db()
    end = expires_at(repair)
    assert end is not None and client.get(f"/repairs/{repair.oid}.json").json()["expires_at"] == end.isoformat()
    page = client.post(f"/repairs/{repair.oid}/reject/", {"comment": "no, wait"}, follow=True).content.decode()
    assert '<span class="badge">rejected</span>' in page and "no, wait" in page


def test_a_new_comment_shows_on_the_page_of_an_ended_repair(client: Client, conversation: Conversation) -> None:
    """Its page is answered with 304 where nothing changed."""
    repair = approved(conversation, RENUMBER)
    client.post(f"/repairs/{repair.oid}/reject/")
    text(client, f"/repairs/{repair.oid}/")
    tag = client.get(f"/repairs/{repair.oid}/")["ETag"]
    assert client.get(f"/repairs/{repair.oid}/", HTTP_IF_NONE_MATCH=tag).status_code == 304
    comment(repair, "ann", "later")
    assert client.get(f"/repairs/{repair.oid}/", HTTP_IF_NONE_MATCH=tag).status_code == 200


def test_who_may_not_approve_sees_why_and_reviewers_are_accounts(client: Client, conversation: Conversation, settings: Settings) -> None:
    repair = proposed(conversation, RENUMBER)
    settings.INSPECTOR_LOCAL, settings.INSPECTOR_APPROVERS, settings.ALLOWED_HOSTS = False, "reviewers", ["testserver"]
    for name in ("ann", "bob"):
        account(name)
    get_user_model().objects.get(username="bob").groups.create(name="reviewers")
    client.force_login(get_user_model().objects.get(username="ann"))
    page = text(client, f"/repairs/{repair.oid}/")
    assert (
        '<option value="ann">' not in page
        and 'disabled aria-describedby="why-not">Approve plan' in page
        and "ann is not in the group reviewers" in page
    )
    assert '<option value="bob">' in page
    request_reviewers(repair, WHO, "bob")
    assert 'Approval <div class="quiet">by <b>bob</b></div>' in text(client, "/repairs/")
    answer = client.post(f"/repairs/{repair.oid}/reviewers/", {"reviewers": "nobody"}, follow=True)
    assert "No account nobody may approve" in answer.content.decode()


@pytest.mark.parametrize("act", [proposed, approved])
def test_a_repair_whose_conversation_changed_says_so_and_leads_to_a_new_one(
    client: Client, conversation: Conversation, tmp_path: Path, act: Callable[..., Repair]
) -> None:
    repair = act(conversation, RENUMBER)
    changed = '<span class="caution">Another proposal</span> <div class="quiet">the conversation changed since</div>'
    assert changed not in text(client, "/repairs/")
    put(tmp_path / "a.db", chunk_key(5), row("new"))
    bring(tmp_path / "a.db")
    assert changed in text(client, "/repairs/"), "before somebody opens it to approve it"
    page = text(client, f"/repairs/{repair.oid}/")
    assert "The conversation changed since this was proposed" in page and f"/repairs/new/?strategy={RENUMBER}&amp;mode=same-rows" in page


def test_a_regression_is_on_the_page_in_the_list_and_in_the_twin(client: Client, conversation: Conversation, tmp_path: Path) -> None:
    before = pairs(tmp_path / "a.db")
    repair = applied(conversation, RENUMBER)
    assert "regressed" not in text(client, "/repairs/?tab=applied")
    for key, value in before.items():
        put(tmp_path / "a.db", key, value)
    bring(tmp_path / "a.db")
    page = text(client, f"/repairs/{repair.oid}/")
    assert "<b>Regressed " in page and "Another program wrote back what was there before this repair." in page
    assert ">regressed</span>" in text(client, "/repairs/?tab=applied")
    assert client.get(f"/repairs/{repair.oid}.json").json()["regression"].startswith("Another program")


def test_the_command_keeps_reason_incident_and_reviewers(tmp_path: Path, settings: Settings) -> None:
    from tests.commands.running import run

    store = imported(tmp_path / "a.db", merged()).source.path
    settings.INSPECTOR_REQUIRE_SECOND_APPROVER = True
    command = ("repair", store, "--strategy", RENUMBER, "--reason", "all in one", "--incident", "https://i.example/7", "--reviewers", "ann")
    assert run(*command, "--apply").status == 2
    repair = Repair.objects.get()
    assert (repair.reason, repair.incident, repair.reviewers) == ("all in one", "https://i.example/7", ["ann"])
    refused = run(*command, "--plan")
    assert refused.status == 2 and "add --apply" in refused.err


def test_the_request_after_the_repair_is_one_click_from_its_preview_and_its_review(client: Client, conversation: Conversation) -> None:
    repair = proposed(conversation, RENUMBER)
    request = f"/conversations/{conversation.oid}/prompt/?strategy={RENUMBER}&reader=dispatch-legacy"
    for address in (f"/conversations/{conversation.oid}/repairs/new/?strategy={RENUMBER}", f"/repairs/{repair.oid}/"):
        assert f'<a href="{request}">See the repaired request</a>' in unescape(text(client, address))
    assert client.get(request).status_code == 200
    Repair.objects.filter(pk=repair.pk).update(state="rejected")
    assert "See the repaired request" not in text(client, f"/repairs/{repair.oid}/"), "nothing of it is to come"


def test_a_hunk_that_begins_with_an_inserted_chunk_is_named_by_numbers_that_rise(client: Client, tmp_path: Path) -> None:
    """What is put at the end of the file has the highest numbers, and comes before what it replaces."""
    before, late = (sessions.a("2", "1", sessions.call("c1")), sessions.u("3", "2", "meanwhile")), sessions.r("5", "4", "c1")
    (tmp_path / "s.jsonl").write_bytes(
        sessions.lines(sessions.header(), sessions.u("1", None), *before, sessions.a("4", "3", sessions.text("hm")), late)
    )
    conversation = import_targets([str(tmp_path)], WHO)[0].source.conversations.get()
    page = text(client, f"/repairs/{proposed(conversation, 'move-results', mode='replay-suffix').oid}/")
    assert re.findall(r'">Seq ([\d–]+)</a>', page) == ["3–5"]
