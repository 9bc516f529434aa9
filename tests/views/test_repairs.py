"""The pages of a repair: the preview writes nothing, every act is a POST of its own, and refusals are sentences."""

import json
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import pytest
from django.test import Client
from pytest_django import Settings

from inspector.actions.decide_repair import STATEMENTS
from inspector.actions.import_source import import_targets
from inspector.models import AuditEntry, Conversation, Repair, Source
from inspector.programs.dispatch.format import DISPATCH
from inspector.strategies.catalogue import STRATEGIES, strategy
from inspector.views import repair_list
from tests.actions.building import A, Store, U, applied, approved, broken, chunk_key, er, everything, imported, merged, proposed, put, row
from tests.commands.test_repair import FIELDS
from tests.kept import Kept
from tests.operators import OperatorClient
from tests.programs.claude_code import session_lines as cc
from tests.sources.stores import prints
from tests.views.imported import INCIDENT, example, of_programs

pytestmark = pytest.mark.django_db

RENUMBER = "renumber-messages"
Post = Callable[..., str]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.db"


@pytest.fixture
def merged_one(path: Path) -> Conversation:
    """A store of its own that the pages may write to."""
    conversation = imported(path, merged())
    Source.objects.update(write_enabled=True)
    return Conversation.objects.select_related("source").get(pk=conversation.pk)


@pytest.fixture
def post(client: Client) -> Post:
    """Posts and follows to the page that answers."""

    def sent(repair: Repair, verb: str, **data: str) -> str:
        answer = client.post(f"/repairs/{repair.oid}/{verb}/", data)
        assert answer.status_code == 302 and answer["Location"] == f"/repairs/{repair.oid}/"
        repair.refresh_from_db()
        return client.get(answer["Location"]).content.decode()

    return sent


def seen(client: Client, row: Conversation, **chosen: object) -> str:
    """Where the button Propose sends what is `chosen`, after a person saw the preview of that."""
    page = client.get(f"/conversations/{row.oid}/repairs/new/", chosen).content.decode()
    return f"/conversations/{row.oid}/repairs/new/" + "".join(re.findall(r'formaction="(\?seen[^"]*)"', page))


def text(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, address
    return answer.content.decode()


def offered_acts(page: str) -> set[str]:
    """Where the forms of the page, without those around it, send."""
    return set(re.findall(r'<form method="post" action="([^"]*)"', page[page.index("<main") : page.index("</main>")]))


# Before a repair is proposed


@pytest.mark.parametrize("query", ["", "?strategy=renumber-messages", "?strategy=renumber-messages&mode=in-place&reader=exact"])
def test_the_preview_writes_nothing_anywhere(client: Client, merged_one: Conversation, path: Path, query: str) -> None:
    before = prints(path)
    page = text(client, f"/conversations/{merged_one.oid}/repairs/new/{query}")
    text(client, f"/conversations/{merged_one.oid}/repairs/new/{query}")
    assert prints(path) == before and not Repair.objects.exists()
    assert ("Propose this repair" in page) == bool(query)
    if query:
        assert "4 chunks renumbered (content identical)" in page and "merges again on its next turn" in page


def test_costs_stand_beside_their_strategies_and_the_plan_is_summed_up_before_them(client: Client, path: Path) -> None:
    conversation = imported(path, broken())
    query = "?strategy=renumber-messages&strategy=insert-interrupted-result&mode=in-place"
    page = unescape(text(client, f"/conversations/{conversation.oid}/repairs/new/{query}"))
    # The page composes in the catalogue's order, and inserting gives each message its number along the way.
    adds, costs = (
        page.index("<b>Adds</b> what is stored nowhere as such:"),
        page.index(strategy("insert-interrupted-result").cost, page.index("<aside")),
    )
    assert adds < costs < page.index(">Propose this repair<")
    assert "Left out, since it changes nothing next to insert-interrupted-result: renumber-messages." in page
    assert page.index("<b>1 chunk inserted") < page.index('class="diff"') < page.index("This plan:</b>")
    assert "This plan:</b> 1 chunk inserted, " in page
    assert strategy("renumber-messages").cost not in page


def test_the_page_of_a_repair_says_what_its_mode_writes(client: Client, merged_one: Conversation) -> None:
    for mode in ("fork", "in-place"):
        page = text(client, f"/repairs/{proposed(merged_one, RENUMBER, mode=mode).oid}/")
        (own,) = [each for each in DISPATCH.modes if each.alias == mode]
        assert (
            f"<b>Mode {own.alias or own.name}:</b> {own.summary}." in page
            and "This plan:</b> 4 chunks renumbered (content identical); " in page
        )


def test_what_was_found_is_recommended(client: Client, path: Path) -> None:
    conversation = imported(path, broken())
    page = text(client, f"/conversations/{conversation.oid}/repairs/new/")
    options = re.findall(
        r'value="([\w-]+)".*?</label>', page[page.index("What is found here") : page.index("How it is written")], re.DOTALL
    )
    labels = re.findall(r"<label.*?</label>", page[page.index("What is found here") : page.index("How it is written")], re.DOTALL)
    advised = [name for name, label in zip(options, labels, strict=True) if ">recommended<" in label]
    assert "insert-interrupted-result" in advised and "fix-counter" not in advised


def test_the_options_say_what_the_ticked_strategies_come_to_together(client: Client, path: Path) -> None:
    def outcome(query: str, **headers: str) -> str:
        page = client.get(f"/conversations/{conversation.oid}/repairs/new/{query}", **headers).content.decode()
        assert headers == {} or "<html" not in page
        return " ".join(re.sub("<[^>]+>", " ", page.partition('id="outcome"')[2].partition("</div>")[0]).split())

    conversation, htmx = imported(path, broken()), {"HTTP_HX_REQUEST": "true"}
    together = outcome("")
    assert "Outcome of strip-error-chunks, then insert-interrupted-result Next request: openai-chat: rejected → accepted" in together
    assert "TOOL102 1 → 0" in together and "Undo: every byte" in together
    alone = outcome("?outcome=&strategy=renumber-messages&mode=fork", **htmx)
    assert "Next request: openai-chat: still rejected at messages.1 (OC-1)" in alone and "TOOL102" in alone.partition("Remains: ")[2]
    assert "Choose what to repair." in outcome("?outcome=&mode=fork", **htmx)
    assert "Nothing to do: fix-counter would change nothing" in outcome("?outcome=&strategy=fix-counter", **htmx)


def test_what_remains_comes_with_the_strategy_that_repairs_it_too(client: Client, tmp_path: Path) -> None:
    address = f"/conversations/{example(tmp_path, traces=False).conversations.get(native_id=INCIDENT).oid}/repairs/new/"
    options = text(client, address)
    assert "Choose what to repair: there are several ways, each with its cost." in options
    ticked = client.get(f"{address}?outcome=&strategy={RENUMBER}", HTTP_HX_REQUEST="true").content.decode()
    outcome = " ".join(re.sub("<[^>]+>", " ", ticked).split())
    assert "Remains: THINK301 ; promote-leaked-call invented repairs it, and includes renumber-messages" in outcome
    assert "The row is whole and only the reader drops it" in options and "Remains: THINK101 ; promote-leaked-call" in outcome
    assert "rejected → wrong silently (without seq 14); accepted with promote-leaked-call alone" in outcome
    both = text(client, f"{address}?outcome=&strategy={RENUMBER}&strategy=promote-leaked-call")
    assert "THINK101 1 → 0" in both and "no strategy is for it" not in both and "accepted with" not in both, "it goes with another"
    other = client.get(f"{address}?outcome=&strategy={RENUMBER}&strategy=drop-leaked-call", HTTP_HX_REQUEST="true").content.decode()
    assert "rejected → wrong silently (without seq 14)" in other, "what it lacks is taken away, and was not sent"
    assert "THINK301 1 → 0" in other
    folded = options.partition("Other strategies")[2]
    assert "adopt-results" in folded and ">TOOL202<" not in folded, "it does not repair it here"
    preview = text(client, f"{address}?strategy={RENUMBER}&mode=in-place")
    href = re.search(r'href="([^"]*)"[^>]*aria-label="Repair THINK301 too"', preview)
    assert href and "mode=same-rows" in href[1]
    assert ">THINK301 1 → 0</a>" in text(client, unescape(href[1]))


def test_a_strategy_that_includes_another_says_so_and_leaves_it_out(client: Client, tmp_path: Path) -> None:
    address = f"/conversations/{example(tmp_path, traces=False).conversations.get(native_id=INCIDENT).oid}/repairs/new/"
    labels = {
        re.findall(r'value="([\w-]+)"', label)[0]: label for label in re.findall(r"<label.*?</label>", text(client, address), re.DOTALL)
    }
    words = {name: " ".join(re.sub("<[^>]+>", " ", label).split()) for name, label in labels.items()}
    assert "includes renumber-messages, so also repairs MSG101 TOOL202 also repairs THINK101 Turns a call" in words["promote-leaked-call"]
    assert "includes" not in words[RENUMBER]
    left_out = "Left out, since it changes nothing next to promote-leaked-call: renumber-messages."
    both = f"?strategy=promote-leaked-call&strategy={RENUMBER}"
    answer = client.get(f"{address}{both}&outcome=", HTTP_HX_REQUEST="true").content.decode()
    (box,) = re.findall(r"<input[^>]*hx-swap-oob[^>]*>", answer)
    assert f'id="choose-{RENUMBER}"' in box and " checked" not in box, "the page takes its tick away"
    assert left_out in answer and "changes nothing in this plan" not in answer
    alone = client.get(f"{address}?strategy=promote-leaked-call&outcome=", HTTP_HX_REQUEST="true").content.decode()
    assert "Left out" not in alone and not re.findall(r"<input[^>]*hx-swap-oob", alone)
    preview = text(client, address + both)
    assert left_out in preview and "leave it out" not in preview, "without script the preview leaves it out"
    checked = re.findall(r'name="strategy"[^>]*value="([\w-]+)" checked', preview)
    assert checked == ["promote-leaked-call"], "and it is not proposed"


def test_where_the_choice_waits_already_its_review_is_the_first_act(client: Client, merged_one: Conversation) -> None:
    address = f"/conversations/{merged_one.oid}/repairs/new/"
    assert '<a class="btn main"' not in text(client, address)
    repair = proposed(merged_one, RENUMBER, mode="in-place")
    review = f'<a class="btn main" href="/repairs/{repair.oid}/">Review</a>'
    assert text(client, address).partition('id="outcome"')[2].count(review) == 1
    page = text(client, address)
    assert page.count('class="btn main"') == 1 and '<button class="link">Preview</button>' in page, "one button is the first act"
    other = text(client, f"{address}?outcome=&strategy=fix-counter")
    assert review not in other and '<button class="btn main">Preview</button>' in other


def test_ticked_alternatives_are_named(client: Client, tmp_path: Path) -> None:
    address = f"/conversations/{example(tmp_path, traces=False).conversations.get(native_id=INCIDENT).oid}/repairs/new/"
    first, alternatives = text(client, address).split('<details class="alternatives">', 1)
    assert 'value="promote-leaked-call"' in first and 'value="drop-leaked-call"' not in first
    assert "2 alternatives" in alternatives and 'value="drop-leaked-call"' in alternatives.partition("</details>")[0]
    first, _, _ = text(client, f"{address}?strategy=drop-leaked-call").partition('<details class="alternatives">')
    assert 'value="drop-leaked-call" checked' in first, "what is chosen is never folded away"
    answer = client.get(f"{address}?outcome=&strategy=promote-leaked-call&strategy=drop-leaked-call", HTTP_HX_REQUEST="true")
    assert "promote-leaked-call and drop-leaked-call are alternatives for THINK301: one is enough." in answer.content.decode()
    answer = client.get(f"{address}?outcome=&strategy=promote-leaked-call&strategy={RENUMBER}", HTTP_HX_REQUEST="true")
    assert "one is enough" not in answer.content.decode()


def test_the_options_say_what_the_next_request_comes_to_after_each_strategy(
    client: Client, merged_one: Conversation, tmp_path: Path
) -> None:
    def outcomes(conversation: Conversation) -> dict[str, str]:
        labels = re.findall(r"<label.*?</label>", text(client, f"/conversations/{conversation.oid}/repairs/new/"), re.DOTALL)
        matches = (re.search(r'value="([\w-]+)".*Next request, with this alone:</b> ([^<]*)', label, re.DOTALL) for label in labels)
        return {match[1]: match[2] for match in matches if match}

    assert outcomes(merged_one) == {"renumber-messages": "openai-chat: wrong silently → accepted"}
    assert outcomes(imported(tmp_path / "broken.db", broken())) == {
        "insert-interrupted-result": "openai-chat: rejected → accepted",
        "renumber-messages": "openai-chat: still rejected at messages.1 (OC-1)",
        "strip-error-chunks": "openai-chat: still rejected at messages.1 (OC-2); the request stays the same",
    }


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("?strategy=fix-counter", "Nothing to do: fix-counter would change nothing"),
        ("?strategy=renumber-messages&mode=sideways", "cannot be written in mode &#x27;sideways&#x27;; it offers new-conversation (fork)"),
        ("?strategy=format-the-disk", "<h2>Outcome of renumber-messages</h2>"),
        ("?strategy=renumber-messages&reader=nobody", "There is no reader &#x27;nobody&#x27;"),
        ("?strategy=renumber-messages&reader=pi-1.5", "The reader pi-1.5 does not read dispatch: name one of dispatch-legacy,"),
        ("?reader=%00pi", "There is no reader"),
        ("?strategy=%3Cscript%3E&mode=%3Cscript%3E%00", "cannot be written in mode"),
    ],
)
def test_an_odd_request_for_a_preview_is_a_sentence(client: Client, merged_one: Conversation, query: str, said: str) -> None:
    page = text(client, f"/conversations/{merged_one.oid}/repairs/new/{query}")
    assert said in page and "<script>" not in page.replace("<script src", "")


def test_htmx_gets_the_preview_alone(client: Client, merged_one: Conversation) -> None:
    answer = client.get(f"/conversations/{merged_one.oid}/repairs/new/?strategy={RENUMBER}", HTTP_HX_REQUEST="true")
    assert b"<html" not in answer.content and b"Propose this repair" in answer.content


def test_the_json_of_a_preview_is_what_the_command_prints(client: Client, merged_one: Conversation) -> None:
    report = client.get(f"/conversations/{merged_one.oid}/repairs/new.json?strategy={RENUMBER}&mode=in-place").json()
    assert list(report) == FIELDS and report["conversation"] == merged_one.oid and report["mode"] == "same-rows"
    assert [edit["op"] for edit in report["edits"]] == ["replace"] * 4 and report["diff"].startswith("--- c1")
    empty = client.get(f"/conversations/{merged_one.oid}/repairs/new.json")
    assert empty.status_code == 400 and empty.json()["error"] == "Name at least one strategy."


@pytest.mark.parametrize("reader", ["nobody", "gbrain-naive"])
def test_a_repair_is_neither_previewed_nor_proposed_for_another_reader_than_asked(
    client: Client, merged_one: Conversation, path: Path, reader: str
) -> None:
    """The deployed reader stood in for it without a word."""
    before = everything(path)
    address = f"/conversations/{merged_one.oid}/repairs/new"
    report = client.get(f"{address}.json", {"strategy": RENUMBER, "reader": reader})
    assert report.status_code == 400 and "reader" in report.json()["error"]
    answer = client.post(f"{address}/", {"strategy": RENUMBER, "reader": reader}, follow=True)
    assert f"{reader}" in answer.content.decode() and "Propose this repair" not in answer.content.decode()
    assert not Repair.objects.exists() and everything(path) == before


def test_proposing_leads_to_the_page_of_the_repair(client: Client, merged_one: Conversation, path: Path) -> None:
    before = everything(path)
    data = {"strategy": [RENUMBER, RENUMBER, "nonsense"], "mode": "in-place"}
    answer = client.post(seen(client, merged_one, **data), data)
    repair = Repair.objects.get()
    assert answer["Location"] == f"/repairs/{repair.oid}/" and everything(path) == before
    assert (repair.strategies, repair.mode, repair.reader, repair.state) == ([RENUMBER], "same-rows", "dispatch-legacy", "proposed")
    page = text(client, answer["Location"])
    assert "Rehearsed on a copy: applied, read back as previewed, undone" in page and repair.plan_digest[:12] in page


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({}, "Choose at least one strategy"),
        ({"strategy": "fix-counter"}, "Nothing to do"),
        ({"strategy": RENUMBER, "mode": "<b>"}, "cannot be written in mode"),
    ],
)
def test_a_refused_proposal_goes_back_to_the_preview(client: Client, merged_one: Conversation, data: dict[str, str], said: str) -> None:
    answer = client.post(f"/conversations/{merged_one.oid}/repairs/new/", {**data, "csrfmiddlewaretoken": "secret"})
    assert answer.status_code == 409 and said in answer.content.decode() and not Repair.objects.exists()


def test_a_refused_proposal_keeps_all_that_was_typed(client: Client, merged_one: Conversation) -> None:
    """An address has no room for a long reason, and browsers keep one."""
    reason = ("because " * 600).strip()
    typed = {"strategy": RENUMBER, "mode": "in-place", "reason": reason, "incident": "https://u:p@x.example/"}
    answer = client.post(f"/conversations/{merged_one.oid}/repairs/new/", typed)
    page = answer.content.decode()
    assert answer.status_code == 409 and not Repair.objects.exists()
    assert f">{reason}</textarea>" in page and "mode in-place: edits the original" in page and "u:p@x" not in page


def test_a_strategy_that_is_none_is_said(client: Client, merged_one: Conversation) -> None:
    page = text(client, f"/conversations/{merged_one.oid}/repairs/new/?strategy=zzz")
    assert "There is no strategy &#x27;zzz&#x27;: choose from those below." in page


def test_what_is_chosen_is_proposed_and_only_after_its_preview(client: Client, merged_one: Conversation) -> None:
    """Without script the page still shows the fork when in-place is chosen: the fork was proposed, whatever was chosen."""
    page = text(client, f"/conversations/{merged_one.oid}/repairs/new/?strategy={RENUMBER}&mode=fork")
    (button,) = re.findall(r'<button class="btn main"[^>]*>Propose', page)
    (action,) = re.findall(r'form="choose" formmethod="post" formaction="(\?seen[^"]*)"', button)
    chosen = {"strategy": RENUMBER, "mode": "same-rows", "reader": "dispatch-legacy"}
    answer = client.post(f"/conversations/{merged_one.oid}/repairs/new/{action}", chosen)
    assert not Repair.objects.exists()
    page = answer.content.decode()
    assert "Nothing is proposed yet: what is chosen now is another plan than the preview showed." in page
    assert (
        '<input type="radio" name="mode" id="choose-mode-same-rows" value="same-rows" checked>' in page
        and "mode in-place: edits the original" in page
        and "4 chunks renumbered" in page
    )
    (action,) = re.findall(r'formaction="(\?seen[^"]*)"', page)
    assert client.post(f"/conversations/{merged_one.oid}/repairs/new/{action}", chosen).status_code == 302
    assert Repair.objects.get().mode == "same-rows"


def test_another_choice_is_previewed_without_script_and_what_was_typed_stays_out_of_the_address(
    client: Client, merged_one: Conversation
) -> None:
    address = f"/conversations/{merged_one.oid}/repairs/new/"
    assert 'formaction="?preview=1"' in text(client, f"{address}?strategy={RENUMBER}&mode=fork")
    typed = {"strategy": RENUMBER, "mode": "same-rows", "reason": "as in <ticket>, token=abc", "incident": "https://i.example/7"}
    answer = client.post(f"{address}?preview=1", typed)
    page = answer.content.decode()
    assert answer.status_code == 200 and not Repair.objects.exists() and not AuditEntry.objects.filter(verb="propose").exists()
    assert 'value="same-rows" checked' in page and "as in &lt;ticket&gt;" in page and "https://i.example/7" in page


@pytest.mark.parametrize("mode", ["fork", "same-rows"])
def test_a_form_that_is_sent_twice_makes_one_repair(client: Client, merged_one: Conversation, mode: str) -> None:
    """Two quick presses, without script."""
    address = seen(client, merged_one, strategy=RENUMBER, mode=mode)
    first, second = (client.post(address, {"strategy": RENUMBER, "mode": mode}) for _ in range(2))
    repair = Repair.objects.get()
    assert first["Location"] == second["Location"] == f"/repairs/{repair.oid}/"
    assert "You proposed this plan before" in text(client, second["Location"])
    assert AuditEntry.objects.filter(verb="propose").count() == 1
    # Once it is decided, the same plan is another repair.
    client.post(f"/repairs/{repair.oid}/reject/", {"comment": "not now"})
    client.post(address, {"strategy": RENUMBER, "mode": mode})
    assert Repair.objects.count() == 2


def test_another_reader_than_previewed_is_another_plan(client: Client, merged_one: Conversation) -> None:
    address = seen(client, merged_one, strategy=RENUMBER, reader="dispatch-legacy")
    client.post(address, {"strategy": RENUMBER, "reader": "exact"})
    assert not Repair.objects.exists()
    client.post(address, {"strategy": RENUMBER, "reader": "dispatch-legacy"})
    assert Repair.objects.get().reader == "dispatch-legacy"


@pytest.mark.parametrize("query", ["", "?seen=", "?seen=0000"])
def test_nothing_is_proposed_without_a_preview(client: Client, merged_one: Conversation, query: str) -> None:
    client.post(f"/conversations/{merged_one.oid}/repairs/new/{query}", {"strategy": RENUMBER})
    assert not Repair.objects.exists()


def test_what_was_chosen_comes_back_with_a_refusal_however_many_strategies(client: Client, merged_one: Conversation) -> None:
    names = [each.name for each in STRATEGIES if each.applies_to("dispatch")]
    answer = client.post(f"/conversations/{merged_one.oid}/repairs/new/", {"strategy": names, "mode": "in-place"})
    assert answer.content.decode().count(" checked>") == len(names) + 1


def test_only_strategies_that_can_apply_are_offered(client: Client, merged_one: Conversation) -> None:
    page = text(client, f"/conversations/{merged_one.oid}/repairs/new/")
    assert 'value="renumber-messages"' in page and 'value="relink-lost-line"' not in page


def test_no_token_stands_in_the_form_that_is_sent_with_get(client: Client, merged_one: Conversation) -> None:
    page = text(client, f"/conversations/{merged_one.oid}/repairs/new/?strategy={RENUMBER}")
    form = page[page.index('<form method="get" id="choose"') :]
    assert (
        'input type="hidden" name="csrfmiddlewaretoken"' not in form[: form.index("</form>")] and page.count("csrfmiddlewaretoken") == 3
    ), "its two buttons have it, and the form that reveals"


def test_a_proposal_on_a_store_that_moved_says_what_moved(client: Client, merged_one: Conversation, path: Path) -> None:
    put(path, b"conv:c1:chunk:\x1b<b>\xed\xa0\x80", row("new"))
    answer = client.post(seen(client, merged_one, strategy=RENUMBER), {"strategy": RENUMBER}, follow=True)
    assert "conv:c1:chunk:\\x1b&lt;b&gt;\\udced\\udca0\\udc80 is new" in answer.content.decode()


# From approval to undo


@pytest.mark.parametrize("mode", ["in-place", "fork"])
def test_the_whole_way_on_the_pages(client: Client, post: Post, merged_one: Conversation, path: Path, mode: str) -> None:
    before = everything(path)
    repair = proposed(merged_one, RENUMBER, mode=mode)
    page = text(client, f"/repairs/{repair.oid}/")
    assert re.search(r"Approve plan \w{8}", page) and "Apply" not in page
    page = post(repair, "approve", digest=repair.plan_digest, statement="unfixed")
    assert "Approved. Nothing is written yet" in page and f"Apply: write to {path}" in page and everything(path) == before
    page = post(repair, "apply")
    assert "Read back from the store" in page and repair.state == "verified" and everything(path) != before
    assert "The store holds exactly what this repair wrote" in page and ("Open it here" in page) == (mode == "fork")
    page = post(repair, "undo")
    said = "Undone: every record holds its bytes from before" if mode == "in-place" else "Undone: the repaired copy is removed"
    assert page.count(said) == 1 and "Undone. Undone" not in page and everything(path) == before
    assert offered_acts(page) == {"comments/"}


def test_a_copy_that_an_undo_removed_is_not_missing(client: Client, post: Post, merged_one: Conversation) -> None:
    """Who undid a fork read "1 more is gone from its store", which sounds as if something were lost."""
    repair = applied(merged_one, RENUMBER, mode="fork")
    post(repair, "undo")
    copy = Conversation.objects.get(is_gone=True)
    for address in ("/", "/conversations/", f"/sources/{merged_one.source.oid}/"):
        assert "gone from" not in text(client, address).replace("gone from their store", ""), address
    assert client.get("/conversations.json").json()["gone"] == client.get("/index.json").json()["gone"] == 0
    listed = text(client, "/conversations/?gone=1")
    assert f'removed by undoing <a href="/repairs/{repair.oid}/">its repair</a>' in listed and "gone from the store<" not in listed
    page = text(client, f"/conversations/{copy.oid}/")
    assert "Undoing the repair removed it from the store" in page and "was gone from the store" not in page
    # One that is gone without an undo still is.
    Conversation.objects.filter(pk=copy.pk).update(forked_by=None)
    assert "1 more is gone from its store" in text(client, "/conversations/")


def test_approval_on_the_page_needs_digest_and_statement(post: Post, merged_one: Conversation) -> None:
    repair = proposed(merged_one, RENUMBER)
    assert "Nothing was stated about the program" in post(repair, "approve", digest=repair.plan_digest)
    assert "not the plan that you looked at" in post(repair, "approve", digest="0" * 64, statement="unfixed")
    assert "not the plan that you looked at" in post(repair, "approve", statement="unfixed")
    assert repair.state == "proposed"


@pytest.mark.parametrize("stated", ["fixed", "unfixed"])
def test_what_an_approver_states_is_recorded_and_shown(client: Client, post: Post, merged_one: Conversation, stated: str) -> None:
    """One box asked to confirm `not fixed yet, or I do not know`, which is false once the program is fixed."""
    repair = proposed(merged_one, RENUMBER)
    page = text(client, f"/repairs/{repair.oid}/")
    assert re.findall(r'<input type="radio" name="statement" value="(\w+)" required>', page) == list(STATEMENTS) == ["fixed", "unfixed"]
    assert "formnovalidate>Reject" in page and "Stated on approval" not in page
    page = post(repair, "approve", digest=repair.plan_digest, statement=stated)
    assert f"<b>Stated on approval:</b> “{STATEMENTS[stated]}”" in page
    entry = AuditEntry.objects.get(repair=repair.oid, verb="approve")
    assert entry.detail["statement"] == stated
    assert f'<span class="quiet">statement</span> <span class="mono">{stated}</span>' in text(client, "/audit/")
    assert client.get(f"/repairs/{repair.oid}.json").json()["statement"] == stated
    assert STATEMENTS[stated] in text(client, f"/repairs/{repair.oid}.md")
    page = post(repair, "apply")
    assert ("Fix the program that did the damage" in page) == (stated == "unfixed") and "after a reload." in page


@pytest.mark.parametrize("stated", ["", "on", "not-asked", "<b>"])
def test_a_page_accepts_only_what_it_offers(post: Post, merged_one: Conversation, stated: str) -> None:
    repair = proposed(merged_one, RENUMBER)
    assert "choose whether it is fixed, then approve" in post(repair, "approve", digest=repair.plan_digest, statement=stated)
    assert repair.state == "proposed"


def test_the_page_of_a_repair_names_the_second_approver(client: Client, post: Post, merged_one: Conversation, settings: Settings) -> None:
    settings.INSPECTOR_REQUIRE_SECOND_APPROVER = True
    client.post(seen(client, merged_one, strategy=RENUMBER), {"strategy": RENUMBER})
    repair = Repair.objects.get()
    page = text(client, f"/repairs/{repair.oid}/")
    assert re.search(r'<button class="btn main" disabled aria-describedby="why-not">Approve plan', page)
    assert 'id="why-not">A second person must approve this repair: the one who proposed it cannot' in page
    assert (
        f'Waits for <b>one approval</b> by somebody other than {repair.proposed_by}: <a class="link" href="#written-reviewers">ask somebody</a>.'
        in page
    )
    Repair.objects.update(proposed_by="ann")
    page = text(client, f"/repairs/{repair.oid}/")
    assert re.search(r'<button class="btn main">Approve plan', page) and "Proposed by ann: you are the second person." in page
    Repair.objects.update(proposed_by=repair.proposed_by)
    assert "A second person must approve" in post(repair, "approve", digest=repair.plan_digest, statement="unfixed")


def test_rejecting_ends_it(post: Post, merged_one: Conversation) -> None:
    repair = approved(merged_one, RENUMBER)
    page = post(repair, "reject")
    assert "Rejected. Nothing was written." in page and "rejected</li>" in page and repair.state == "rejected"
    assert "only an approved one can be applied" in post(repair, "apply")


def test_applying_where_writing_is_off_is_refused_with_the_way_to_switch_it_on(
    client: Client, post: Post, merged_one: Conversation, path: Path
) -> None:
    Source.objects.update(write_enabled=False)
    repair = approved(merged_one, RENUMBER)
    before = everything(path)
    page = text(client, f"/repairs/{repair.oid}/")
    assert re.search(r'<button class="btn main" disabled>Apply', page) and f'href="/sources/{merged_one.source.oid}/"' in page
    assert "a.db is switched off" in post(repair, "apply") and everything(path) == before


def test_a_stale_repair_says_what_moved_and_offers_to_propose_it_again(post: Post, merged_one: Conversation, path: Path) -> None:
    repair = approved(merged_one, RENUMBER)
    put(path, chunk_key(5), row("new"))
    page = post(repair, "apply")
    assert (
        repair.state == "stale"
        and page.count("conv:c1:chunk:0000000005 is new") == 2
        and offered_acts(page) == {"comments/"}
        and f"/conversations/{merged_one.oid}/repairs/new/?strategy={RENUMBER}&amp;mode=same-rows" in page
    )


def test_an_undo_that_would_take_more_away_is_switched_off_with_the_reason(
    client: Client, post: Post, merged_one: Conversation, path: Path
) -> None:
    repair = applied(merged_one, RENUMBER)
    put(path, chunk_key(5), row("new"))
    page = text(client, f"/repairs/{repair.oid}/")
    assert re.search(r'<button class="btn" disabled>Undo', page) and "chunk:0000000005 is new" in page
    assert "Undo is refused, since the store went on after the repair" in post(repair, "undo") and repair.state == "verified"


@pytest.mark.parametrize("verb", ["approve", "reject", "apply", "undo"])
def test_acts_are_posts_with_a_token_of_the_page(client: Client, merged_one: Conversation, path: Path, verb: str) -> None:
    repair = approved(merged_one, RENUMBER)
    before = everything(path)
    assert client.get(f"/repairs/{repair.oid}/{verb}/").status_code == 405
    strict = OperatorClient(enforce_csrf_checks=True)
    assert strict.post(f"/repairs/{repair.oid}/{verb}/", {"digest": repair.plan_digest, "statement": "unfixed"}).status_code == 403
    assert strict.post(f"/conversations/{merged_one.oid}/repairs/new/", {"strategy": RENUMBER}).status_code == 403
    repair.refresh_from_db()
    assert repair.state == "approved" and everything(path) == before and Repair.objects.count() == 1
    assert client.post(f"/repairs/nobody/{verb}/").status_code == 404


def test_the_token_of_the_page_lets_the_act_through(merged_one: Conversation) -> None:
    repair = proposed(merged_one, RENUMBER)
    strict = OperatorClient(enforce_csrf_checks=True)
    page = strict.get(f"/repairs/{repair.oid}/").content.decode()
    token = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page)[0]
    answer = strict.post(
        f"/repairs/{repair.oid}/approve/", {"digest": repair.plan_digest, "statement": "unfixed", "csrfmiddlewaretoken": token}
    )
    repair.refresh_from_db()
    assert answer.status_code == 302 and repair.state == "approved"


# Twins and the list


@pytest.mark.parametrize("act", [proposed, approved, applied], ids=["proposed", "approved", "verified"])
def test_the_twins_of_a_repair_say_what_it_is_and_where_it_stands(
    client: Client, merged_one: Conversation, act: Callable[..., Repair]
) -> None:
    repair = act(merged_one, RENUMBER)
    report = client.get(f"/repairs/{repair.oid}.json").json()
    assert list(report)[: len(FIELDS)] == FIELDS and report["plan_digest"] == repair.plan_digest
    assert (report["repair"], report["state"], report["strategies"], report["rehearsal"]["ok"]) == (
        repair.oid,
        repair.state,
        [RENUMBER],
        True,
    )
    assert (report["proposed_by"], bool(report["applied_at"])) == ("tester", repair.state == "verified")
    answer = client.get(f"/repairs/{repair.oid}.md")
    assert answer["Content-Type"] == "text/markdown; charset=utf-8"
    for said in (repair.oid, repair.state, RENUMBER, repair.plan_digest, "```diff", "MSG10"):
        assert said in answer.content.decode(), said


def test_hostile_content_in_a_repair_is_shown_and_not_obeyed(client: Client, path: Path) -> None:
    bad = "<script>alert(1)</script>\u202e\x1b\ud800"
    key = "sk-proj-" + "Ab3dEf7hIj1LmN0pQrStUvWxYz" * 2
    store = merged().append(U(bad)).append(U(key)).append(A(bad, er(bad)))
    meta = {"createdAt": 1, "lastActivityAt": 2, "title": bad, "status": "idle"}
    store.values["conv:c1:meta"] = json.dumps(meta)
    conversation = imported(path, store)
    repair = applied(conversation, "strip-error-chunks", RENUMBER, mode="fork")
    for address in (f"/repairs/{repair.oid}/", "/repairs/", f"/conversations/{conversation.oid}/repairs/new/?strategy={RENUMBER}"):
        page = text(client, address)
        assert "<script>alert" not in page and "\u202e" not in page and "\x1b" not in page
    assert "\\u202e\\x1b\\ud800" in text(client, f"/repairs/{repair.oid}/")
    assert client.get(f"/repairs/{repair.oid}.json").content.isascii()
    markdown = text(client, f"/repairs/{repair.oid}.md")
    assert key not in markdown and "\u202e" not in markdown and "<script>" not in markdown[: markdown.index("```")]


def test_a_preview_of_a_thousand_rows_is_folded_and_bounded(client: Client, path: Path) -> None:
    store = merged()
    for number in range(1000):
        store.append(U(f"number {number} " + "x" * 2000))
    conversation = imported(path, store)
    page = text(client, f"/conversations/{conversation.oid}/repairs/new/?{urlencode({'strategy': RENUMBER, 'mode': 'fork'})}")
    assert len(page) < 2_000_000 and "more changed in numbers only" in page and "200 of 1007 shown" in page


def test_the_list_has_the_newest_first_and_its_twin(client: Client, merged_one: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    assert client.get("/repairs.json").json() == {"repairs": [], "total": 0}
    first, second = proposed(merged_one, RENUMBER), approved(merged_one, RENUMBER, mode="fork")
    third = proposed(merged_one, RENUMBER, who="grace")
    page = text(client, "/repairs/")
    assert page.index(third.oid) < page.index(first.oid) and second.oid not in page
    assert 'Approval <div class="quiet">you may approve</div>' in page and "Renumber messages in " in page
    assert ">New conversation, the original stays<" in text(client, "/repairs/?tab=approved") and ">Edits the original<" in page
    assert second.oid in text(client, "/repairs/?tab=approved") and "No repair is closed." in text(client, "/repairs/?tab=closed")
    assert [each["repair"] for each in client.get("/repairs.json?tab=approved").json()["repairs"]] == [second.oid]
    Repair.objects.filter(pk=third.pk).delete()
    found = client.get("/repairs.json").json()["repairs"]
    assert [(each["repair"], each["state"], each["mode"]) for each in found] == [
        (second.oid, "approved", "new-conversation"),
        (first.oid, "proposed", "same-rows"),
    ]
    assert client.get("/repairs/?page=99").status_code == 200
    monkeypatch.setattr(repair_list, "LISTED", 1)
    cut = client.get("/repairs.json").json()
    assert [each["repair"] for each in cut["repairs"]] == [second.oid] and cut["total"] == 2


def test_a_repair_whose_strategy_is_no_more_still_has_its_page(client: Client, post: Post, merged_one: Conversation) -> None:
    repair = proposed(merged_one, RENUMBER)
    Repair.objects.update(strategies=["of-another-version"])
    assert "There is no strategy &#x27;of-another-version&#x27;" in text(client, f"/repairs/{repair.oid}/")
    assert "There is no strategy" in post(repair, "approve", digest=repair.plan_digest, statement="unfixed")
    for ending in ("json", "md"):
        answer = client.get(f"/repairs/{repair.oid}.{ending}")
        assert answer.status_code == 409 and "of-another-version" in answer.content.decode()
    assert client.get("/repairs/nobody/").status_code == 404


# What a reader at three in the morning must not have to guess


def test_strategies_that_have_nothing_to_repair_are_folded_away(client: Client, merged_one: Conversation) -> None:
    address = f"/conversations/{merged_one.oid}/repairs/new/"
    near, folded = text(client, address).split('<details class="others">', 1)
    assert f'value="{RENUMBER}"' in near and 'value="fix-counter"' not in near and 'value="fix-counter"' in folded
    assert "/rules/" not in folded.split("</details>", 1)[0], "of a strategy that repairs nothing here no rule is named"
    chosen, _ = text(client, f"{address}?strategy=fix-counter").split('<details class="others">', 1)
    assert 'value="fix-counter" checked' in chosen


def test_where_nothing_can_be_repaired_all_strategies_are_open(client: Client, path: Path) -> None:
    page = text(client, f"/conversations/{imported(path, Store().append(U('go'))).oid}/repairs/new/")
    assert "<legend>Nothing is found here</legend>" in page and '<details class="others" open>' in page


def test_only_a_made_up_row_is_called_synthetic_in_the_diff(client: Client, path: Path) -> None:
    page = text(client, f"/conversations/{imported(path, broken()).oid}/repairs/new/?strategy=insert-interrupted-result")
    lines = re.findall(r'<div class="line (\w+)[ "].*?</div>', page, re.DOTALL)
    said = [line for line in re.findall(r'<div class="line .*?</div>', page, re.DOTALL) if "synthetic: not from a tool" in line]
    assert len(said) == lines.count("inserted") == 1 and "interrupted: tool execution did not complete" in said[0]


def test_a_finding_that_the_repair_itself_makes_is_not_called_still_found(client: Client, post: Post, path: Path) -> None:
    conversation = imported(path, broken())
    Source.objects.update(write_enabled=True)
    page = post(approved(conversation, "insert-interrupted-result"), "apply")
    remains = page.split("<h2>Follow-up</h2>", 1)[1].split("</section>", 1)[0]
    assert "synthetic-result: 1 new, made by this repair." in remains and "synthetic-result: 1 still found" not in remains


def test_a_strategy_names_the_rule_that_it_repairs_where_another_one_already_does_its_work(client: Client, path: Path) -> None:
    page = text(client, f"/conversations/{imported(path, broken()).oid}/repairs/new/")
    (group,) = [part for part in page.split('<div class="of-rule">')[1:] if f'value="{RENUMBER}"' in part.partition("</div>")[0]]
    label = group.split(f'value="{RENUMBER}"', 1)[1].split("</label>", 1)[0]
    assert ">MSG101<" in group.partition("</p>")[0] and ">recommended<" not in label


def test_what_a_plan_takes_away_is_not_called_unrepaired(client: Client, path: Path) -> None:
    """MSG101 names another strategy, and is gone after this one as well: the counts say what the plan does."""
    page = text(client, f"/conversations/{imported(path, broken()).oid}/repairs/new/?strategy=insert-interrupted-result")
    gone = re.findall(r">([A-Z]+\d+) \d+ → 0</a>", page)
    assert {"MSG101", "TOOL102"} <= set(gone)
    assert "Not repaired by this plan" not in page and ">remain<" not in page


def test_a_repair_begins_with_a_mode_in_which_it_can_be_written(client: Client, tmp_path: Path) -> None:
    """Next to a session that was imported alone no new one is written: it was ticked, and refused."""
    (tmp_path / "s.jsonl").write_bytes(cc.lines(cc.u("u1", None), cc.a("a1", "u1", "m1", cc.call("c1")), cc.u("u2", "a1")))
    import_targets([str(tmp_path / "s.jsonl")], "tester")
    address = f"/conversations/{Conversation.objects.get().oid}/repairs/new/"
    page = text(client, address)
    assert 'value="same-file" checked' in page and "<b>Next request:</b>" in page
    fork, same_file = re.findall(r'<label class="option">.*?</label>', page[page.index("How it is written") :], re.DOTALL)
    assert "Not possible here: A new session is written next to this one, outside of what is open here" in fork
    assert "Not possible here" not in same_file and page.count("outside of what is open here") == 1, "said once, where it is chosen"
    preview = text(client, f"{address}?strategy=insert-interrupted-result")
    assert 'value="same-file" checked' in preview and "Propose this repair" in preview and '<p class="gate">' not in preview
    assert client.get(address.removesuffix("/") + ".json?strategy=insert-interrupted-result").json()["mode"] == "same-file"
    assert '<p class="gate">A new session' in text(client, f"{address}?mode=new-session&strategy=insert-interrupted-result")


def test_a_mode_that_is_chosen_for_a_repair_that_waits_says_so(client: Client, merged_one: Conversation) -> None:
    address = f"/conversations/{merged_one.oid}/repairs/new/"
    assert "Chosen here" not in text(client, address)
    proposed(merged_one, RENUMBER, mode="in-place")
    page = text(client, address)
    fork, in_place = re.findall(r'<label class="option">.*?</label>', page[page.index("How it is written") :], re.DOTALL)
    assert " checked" in in_place and "Chosen here: a repair that waits is in this mode." in in_place and "Chosen here" not in fork


def advice(page: str) -> list[str]:
    """Which strategies to choose, line by line."""
    lines = re.findall("<p>(.*?)</p>", page.partition('<div class="choice">')[2].partition("</div>")[0], re.DOTALL)
    return [" ".join(re.sub("<[^>]+>", "", re.split(r' <a class="[^"]+" href="[?]', line)[0]).split()) for line in lines]


def test_what_leaves_the_next_request_wrong_is_partial_and_what_passes_is_named(
    client: Client, tmp_path: Path, merged_one: Conversation
) -> None:
    """The word promised an accepted request, next to an outcome that goes wrong silently."""
    address = f"/conversations/{example(tmp_path, traces=False).conversations.get(native_id=INCIDENT).oid}/repairs/new/"
    page = text(client, address)
    previews = re.findall(r'href="[?]([^"]*)">Preview', page.partition('<div class="choice">')[2].partition("</div>")[0])
    assert previews == ["strategy=promote-leaked-call", "strategy=renumber-messages"]
    taken_away = text(client, f"{address}?strategy=drop-leaked-call&strategy=renumber-messages")
    assert "Rejected → wrong silently" in taken_away and "the same request as renumber-messages alone" in taken_away
    assert "Rejected → wrong silently" in text(client, f"{address}?strategy=strip-thinking&strategy=renumber-messages")
    assert advice(page) == [
        "Passes: promote-leaked-call, but adds what is stored nowhere.",
        "Loses and invents nothing: renumber-messages (3 → 8 messages read), but wrong silently (without seq 14).",
    ]
    assert ">recommended<" not in page
    passing = text(client, f"/conversations/{merged_one.oid}/repairs/new/")
    assert ">recommended<" in passing and ">partial<" not in passing
    assert advice(passing) == ["Passes: renumber-messages, loses and invents nothing."]


def test_what_a_repair_invents_is_next_to_the_word(client: Client, path: Path) -> None:
    def content(name: str) -> str:
        answer = client.get(f"{address}?outcome=&strategy={name}", HTTP_HX_REQUEST="true").content.decode()
        (line,) = re.findall(r"<b>Content:</b>(.*?)</li>", answer, re.DOTALL)
        return unescape(" ".join(re.sub("<[^>]+>", " ", line).split()))

    address = f"/conversations/{imported(path, broken()).oid}/repairs/new/"
    assert content("insert-interrupted-result").endswith("invented adds tool tool-result interrupted: tool execution did not complete")
    assert "adds" not in content(RENUMBER) and content(RENUMBER).endswith("nothing lost or invented")
    label = text(client, address).split('value="insert-interrupted-result"', 1)[1].split("</label>", 1)[0]
    assert label.count(">invented<") == 1 and ">invented</span> One synthetic result per call" in label


def test_a_repair_for_another_reader_is_tried_as_that_one_reads(client: Client, tmp_path: Path) -> None:
    """Side by side leads here with a reader alone: nothing was ticked, and findings and outcomes were those of the deployed one."""
    address = f"/conversations/{example(tmp_path, traces=False).conversations.get(native_id=INCIDENT).oid}/repairs/new/"
    deployed, other = text(client, address), text(client, f"{address}?reader=dispatch-role-split")
    assert "openai-chat: rejected → accepted" in deployed and "openai-chat: rejected" not in other
    assert "What is found here as dispatch-role-split reads it" in other and "MSG101" not in other
    assert "openai-chat: wrong silently → accepted" in other
    assert advice(other) == [
        "Passes: promote-leaked-call, but adds what is stored nowhere.",
    ]
    named = re.findall('href="#(strategy-[a-z-]+)"', other.partition('<div class="choice">')[2].partition("</div>")[0])
    assert named == ["strategy-promote-leaked-call"] and all(f'id="{name}"' in other for name in named)
    passing = text(
        client,
        f"/conversations/{Conversation.objects.get(title__startswith='Run the migration').oid}/repairs/new/?reader=dispatch-role-split",
    )
    assert 'value="insert-interrupted-result" checked' in passing and ">recommended<" in passing


def test_a_session_that_can_be_resumed_without_a_row_is_wrong_silently(client: Client, kept: Kept) -> None:
    """It was called one that can be resumed, and what answers the call of its end one that makes it wrong; the row that cannot be read lacks in both, and
    in what replaces it, too: the request is the same."""
    kept("programs", of_programs)
    row = Conversation.objects.get(title__startswith="Rename the package")
    page = text(client, f"/conversations/{row.oid}/repairs/new/")
    assert advice(page) == [
        "Nothing that repairs what is found here makes the next request right.",
        "Adds what is stored nowhere: insert-interrupted-result, but still wrong silently (without seq 2).",
        "Adds what is stored nowhere and takes something stored away: replace-unreadable-row and insert-interrupted-result (leaves no error or "
        "warning), but still wrong silently (without seq 2).",
    ]
    assert re.findall(r'value="([\w-]+)" checked', page.partition("How it is written")[0]) == [], "a person chooses what it costs"
    assert "Choose what to repair: there are several ways" in page
    assert ">partial<" in page and ">recommended<" not in page
    assert "accepted with" not in outcome_of(client, row, "insert-interrupted-result"), "the other one alone leaves the call open"
    assert "accepted with" not in outcome_of(client, row, "replace-unreadable-row", "insert-interrupted-result")


def test_a_finding_that_gets_milder_is_named_and_what_a_parent_brings_back_is_not_invented(client: Client, kept: Kept) -> None:
    kept("programs", of_programs)
    row = Conversation.objects.get(title__startswith="The totals of the ledger")
    answer = client.get(
        f"/conversations/{row.oid}/repairs/new/?outcome=&strategy=reparent-orphan-entry", HTTP_HX_REQUEST="true"
    ).content.decode()
    words = unescape(" ".join(re.sub("<[^>]+>", " ", answer).split()))
    assert "Findings: TREE101 error → note" in words and "none fewer" not in words
    assert "Next request: anthropic-2026-07: still wrong silently (content lost)" in words
    assert " · nothing more lost or invented Undo" in words, "the torn line says the parent, and the entries are in the file"
    assert "Read: 5 → 8 messages" in words


def test_a_repair_whose_request_stays_the_same_says_what_it_is_for(client: Client, kept: Kept) -> None:
    """TREE101 here is repaired for other readers; which mode leaves a note, and why, was seen by trying each."""
    kept("programs", of_programs)
    row = Conversation.objects.get(title__startswith="Help me plan the move")
    gain = "Gains: 8 of 9 other readers read fewer of its 13 messages, down to 3; after it, none does"
    assert gain in outcome_of(client, row, "reparent-orphan-entry")
    words = unescape(" ".join(re.sub("<[^>]+>", " ", text(client, f"/conversations/{row.oid}/repairs/new/")).split()))
    leaves = re.findall(
        r"(replay-suffix|in-place|fork)(?: default: no stored byte changes)? [A-Z][^:]*(?:: the old one stays damaged\.)? Findings: (TREE101 \w+ → \w+)",
        words,
    )
    assert leaves == [("replay-suffix", "TREE101 warning → note"), ("in-place", "TREE101 1 → 0"), ("fork", "TREE101 1 → 0")]
    address = f"/conversations/{row.oid}/repairs/new/?strategy=reparent-orphan-entry&mode="
    preview = unescape(" ".join(re.sub("<[^>]+>", " ", text(client, f"{address}replay-suffix")).split()))
    assert gain in preview and re.search("TREE101 stays, milder: .* this old one is a branch that no request takes", preview)
    assert "The bytes: 1 record extended" in preview
    preview = unescape(" ".join(re.sub("<[^>]+>", " ", text(client, f"{address}in-place")).split()))
    assert gain in preview and "stays, milder" not in preview and "The bytes: 1 record changed in part" in preview


@pytest.mark.parametrize(("mode", "stays"), [("replay-suffix", False), ("in-place", False), ("fork", True)])
def test_what_a_torn_line_lost_stays_lost_in_each_mode(client: Client, kept: Kept, mode: str, stays: bool) -> None:
    """A new session has no torn line, and was called accepted, next to a strategy that leaves the request wrong."""
    kept("programs", of_programs)
    row = Conversation.objects.get(title__startswith="The totals of the ledger")
    address = f"/conversations/{row.oid}/repairs/new/?strategy=reparent-orphan-entry&mode={mode}"
    panel = client.get(f"{address}&outcome=", HTTP_HX_REQUEST="true").content.decode()
    words = unescape(" ".join(re.sub("<[^>]+>", " ", panel).split()))
    assert "Next request: anthropic-2026-07: still wrong silently (content lost)" in words
    assert ("Stays lost: what STORE501 at seq 7 reports" in words) is stays and (
        "Remains: STORE501 no strategy is for it" in words
    ) is not stays
    assert "no error or warning" not in words
    assert ("Stays lost:</b> what STORE501 at seq 7" in text(client, address)) is stays


@pytest.mark.parametrize(
    ("mode", "acts"),
    [
        ("replay-suffix", "5 written again, 1 unreadable before and after"),
        ("in-place", "1 changed, 4 unchanged, 1 unreadable before and after"),
        ("fork", "5 unchanged, 1 unreadable before and after"),
    ],
)
def test_what_is_in_the_file_and_on_the_path_again_is_not_inserted(client: Client, kept: Kept, mode: str, acts: str) -> None:
    """Six green rows with a plus stood for one parent that changes; the mode that touches no line showed five as changed, their old ids struck out; and none
    of them showed the torn line, which no repair brings back."""
    kept("programs", of_programs)
    row = Conversation.objects.get(title__startswith="The totals of the ledger")
    page = text(client, f"/conversations/{row.oid}/repairs/new/?strategy=reparent-orphan-entry&mode={mode}")
    words = unescape(" ".join(re.sub("<[^>]+>", " ", page).split()))
    assert "6 chunks back on the path" in words and "chunks inserted" not in words and "5 → 8 read of 5 → 8 on the path" in words
    assert f"6 chunks back on the path, {acts}" in words and "7 no role unreadable not read, before and after" in words
    assert len(re.findall(r'<div class="line restored', page)) == 6 and '<div class="line inserted' not in page
    diff = page[page.index('class="line restored') : page.index("Verdicts and findings")]
    assert ("<s>" in diff) is (mode == "in-place")
    assert ("Findings in the new conversation" in words) is (mode == "fork")
    assert ("STORE501 1 → 0" in words) is False, "a fork leaves it in the old file"


@pytest.mark.parametrize("mode", ["fork", "in-place"])
def test_what_is_inserted_is_named_in_each_mode(client: Client, kept: Kept, mode: str) -> None:
    """In a file of lines the one that is inserted takes the key of the next one."""
    kept("programs", of_programs)
    row = Conversation.objects.get(title__startswith="Find out why resumed sessions", is_crash=False)
    address = f"/conversations/{row.oid}/repairs/new/?outcome=&strategy=insert-interrupted-result&mode={mode}"
    words = unescape(" ".join(re.sub("<[^>]+>", " ", client.get(address, HTTP_HX_REQUEST="true").content.decode()).split()))
    assert "invented adds tool tool-result [interrupted - no result provided]" in words and "no words of its own" not in words


def test_that_the_request_stays_the_same_is_said(client: Client, kept: Kept) -> None:
    """What the reader leaves out anyhow is removed: nothing is healed by that."""
    kept("programs", of_programs)
    row = Conversation.objects.get(title__startswith="Summarise the open pull requests")
    page = text(client, f"/conversations/{row.oid}/repairs/new/")
    assert page.count("openai-chat: accepted, as before; the request stays the same") == 2, "with it alone, and of what is ticked"
    assert ">optional<" in page and "merges again" not in text(client, f"/conversations/{row.oid}/repairs/new/?strategy=strip-error-chunks")
    merged_too = Conversation.objects.get(native_id=INCIDENT)
    other = text(client, f"/conversations/{merged_too.oid}/repairs/new/?strategy={RENUMBER}")
    assert "the request stays the same" not in other and "merges again" in other


def outcome_of(client: Client, row: Conversation, *strategies: str, mode: str = "") -> str:
    ticked = "".join(f"&strategy={name}" for name in strategies)
    address = f"/conversations/{row.oid}/repairs/new/?outcome={ticked}{f'&mode={mode}' if mode else ''}"
    return unescape(" ".join(re.sub("<[^>]+>", " ", client.get(address, HTTP_HX_REQUEST="true").content.decode()).split()))


def test_what_is_new_does_not_remain_and_what_passes_needs_no_other_strategy(client: Client, kept: Kept) -> None:
    """A rule that only the plan brings was new and remained; a ticked strategy was named as what would lead to a request that is accepted."""
    kept("programs", of_programs)
    row = Conversation.objects.get(title__startswith="Find out why resumed sessions", is_crash=False)
    merged = outcome_of(client, row, "merge-same-role-messages")
    assert "New: MSG403" in merged and "Remains: MSG403" not in merged and "Remains: TOOL102" in merged
    both = outcome_of(client, row, "thinking-to-text", "insert-interrupted-result")
    assert "accepted → rejected" in both and "accepted with" not in both


@pytest.mark.parametrize(
    ("title", "strategy", "mode", "until"),
    [
        ("The totals of the ledger", "reparent-orphan-entry", "in-place", "something else writes to the same file"),
        ("The totals of the ledger", "reparent-orphan-entry", "fork", "somebody goes on with the new conversation"),
        ("Summarise the open pull requests", "strip-error-chunks", "in-place", "something else writes to the same rows"),
    ],
)
def test_how_long_it_can_be_undone_is_in_the_words_of_the_store(
    client: Client, kept: Kept, title: str, strategy: str, mode: str, until: str
) -> None:
    kept("programs", of_programs)
    assert f"Undo: every byte, until {until}" in outcome_of(client, Conversation.objects.get(title__startswith=title), strategy, mode=mode)


def test_what_would_repair_a_crash_file_is_chosen_for_its_session(client: Client, kept: Kept) -> None:
    """It is never written; the page had strategies ticked, and a preview of what could not be."""
    kept("programs", of_programs)
    row = Conversation.objects.get(is_crash=True)
    answer = client.get(f"/conversations/{row.oid}/repairs/new/?strategy=order-blocks&mode=fork")
    session = Conversation.objects.get(source=row.source, is_crash=False, title__startswith="Find out why resumed")
    assert answer["Location"] == f"/conversations/{session.oid}/repairs/new/?strategy=order-blocks"
    session.delete()
    options = text(client, f"/conversations/{row.oid}/repairs/new/")
    assert "Which to choose" not in options and "there is nothing to repair" in options, "where it is not here"


def test_what_is_repaired_in_part_is_not_said_to_be_repaired(client: Client, kept: Kept) -> None:
    kept("programs", of_programs)
    row = Conversation.objects.get(title__startswith="Find out why resumed sessions", is_crash=False)
    page = text(client, f"/conversations/{row.oid}/repairs/new/")
    words = unescape(" ".join(re.sub("<[^>]+>", " ", page).split()))
    assert "(seq 22-25), with" in words and "Also at seq 27-32." in words
    assert "MSG401 2 → 1" in words and "also repairs MSG401 in part THINK204 Inserts" in words
    assert words.count("insert-interrupted-result, above, repairs some of these too.") == 1
    assert words.count("insert-interrupted-result, above, repairs it too.") == 1, "of the other rule nothing is left"


def test_a_list_says_what_a_repair_invents_in_its_conversation(client: Client, kept: Kept) -> None:
    """A reviewer read "invented" of a plan of which its own page says that nothing is."""
    kept("programs", of_programs)
    for title, marks in (("The totals of the ledger", []), ("Help me plan the move", ["invented"])):
        repair = proposed(Conversation.objects.get(title__startswith=title), "reparent-orphan-entry")
        for address in ("/?tab=review", "/repairs/"):
            row = next(row for row in text(client, address).split("<tr") if title in row)
            assert re.findall(r'class="badge warn">(\w+)<', row) == marks, address
        Repair.objects.filter(pk=repair.pk).update(safety="")
        row = next(row for row in text(client, "/?tab=review").split("<tr") if title in row)
        assert "invented" in row, "of an older version its strategies say it"
