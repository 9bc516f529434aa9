"""The incident as a person walks it: open, see the merge, the trace, preview, approve, apply, undo. Each journey with and without script."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from inspector.models import Conversation, Repair
from tests.browser.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)


def rows(store: Path) -> list[tuple[str, str, str]]:
    with closing(sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True)) as connection:
        return connection.execute("SELECT namespace, key, value FROM kv ORDER BY namespace, key").fetchall()


def test_the_first_page_leads_to_the_merge(page: Page, live_server: LiveServer, incident: Conversation) -> None:
    page.goto(live_server.url)
    page.get_by_role("link", name="merged-messages").first.click()
    expect(page.locator("h1")).to_contain_text("merged-messages")
    page.goto(f"{live_server.url}/conversations/{incident.oid}/")
    expect(page.locator(".verdict")).to_contain_text("reads 9 messages as 3")
    assert [" ".join(words.split()) for words in page.locator(".folds .chip").all_inner_texts()] == [
        "Stored 9, damaged",
        "Read 9 → 3",
        "Sent rejected at messages.1: a tool message without calls before it",
    ]
    merged = page.locator("td.read .msg.merged")
    expect(merged.first.get_by_title("11 chunks")).to_contain_text("MSG 0 · user")
    assert [words.strip() for words in merged.all_inner_texts()[1:4]] == ["MSG 0 → user", "MSG 0 → user", "MSG 0"] and merged.count() == 11
    expect(page.locator("tr#seq-14 td.read")).to_contain_text("left out")
    expect(page.locator("tr#seq-12 td.sent")).to_contain_text("OC-2")
    expect(page.locator("body")).to_contain_text("merged seq 1-6; the next one, as dispatch-legacy reads now, would merge seq 1-11")


def test_what_a_ticked_strategy_includes_loses_its_tick(page: Page, live_server: LiveServer, incident: Conversation) -> None:
    page.goto(f"{live_server.url}/conversations/{incident.oid}/repairs/new/")
    # Ways that differ in what they cost are for a person to choose.
    expect(page.locator("#choose-renumber-messages")).not_to_be_checked()
    is_scripted = page.evaluate("document.documentElement.classList.contains('js')")
    page.locator("#choose-renumber-messages").check()
    if is_scripted:
        # A tick takes the place of the one before it that is still asked for, and the browser calls that an error.
        expect(page.locator("#outcome")).to_contain_text("Outcome of renumber-messages")
    page.locator("#choose-promote-leaked-call").check()
    if not is_scripted:
        page.get_by_role("button", name="Preview").first.click()
    expect(page.locator("main")).to_contain_text("Left out, since it changes nothing next to promote-leaked-call: renumber-messages.")
    expect(page.locator("#choose-promote-leaked-call")).to_be_checked()
    expect(page.locator("#choose-renumber-messages")).not_to_be_checked()
    expect(page.locator("#choose-renumber-messages")).to_have_count(1)


def test_a_past_request_stands_beside_the_store(page: Page, live_server: LiveServer, incident: Conversation) -> None:
    page.goto(f"{live_server.url}/conversations/{incident.oid}/")
    page.locator("#details summary").click()
    page.get_by_role("link", name="See that request").click()
    expect(page.locator("th.read")).to_contain_text("Client's prompt 5 messages")
    expect(page.locator(".note").first).to_contain_text("9 tools, finish reason stop")
    expect(page.locator("td.read .msg.merged")).to_have_count(6)


def test_the_trace_leads_to_the_verbatim_request(page: Page, live_server: LiveServer, incident: Conversation) -> None:
    page.goto(f"{live_server.url}/conversations/{incident.oid}/")
    page.get_by_text("More", exact=True).click()
    page.get_by_role("link", name="Trace", exact=True).click()
    expect(page.locator("body")).to_contain_text("reconcile.repair")
    page.get_by_role("link", name="show the request", exact=True).last.click()
    expect(page.locator("body")).to_contain_text("the caching, there are 3 different percentages displayed")


def test_another_reader_reads_nine_messages(page: Page, live_server: LiveServer, incident: Conversation) -> None:
    page.goto(f"{live_server.url}/conversations/{incident.oid}/?reader=exact%2Bkeep-thinking")
    expect(page.locator(".folds .chip").nth(1)).to_have_text("Read all 9")
    assert page.locator("td.read .msg.merged").count() == 0


def test_a_repair_from_preview_to_undo(page: Page, live_server: LiveServer, incident: Conversation, store: Path) -> None:
    before = rows(store)
    page.goto(f"{live_server.url}/conversations/{incident.oid}/")
    page.locator("#finding summary").click()
    page.locator("#finding").get_by_role("link", name="Preview").click()
    page.get_by_text("Options: strategies, mode, reader").click()
    page.get_by_label("in-place").check()
    if page.get_by_role("button", name="Preview").is_visible():
        page.get_by_role("button", name="Preview").click()
    expect(page.locator("body")).to_contain_text("14 chunks renumbered (content identical)")
    expect(page.locator("body")).to_contain_text("still leaves out seq 14")
    assert rows(store) == before
    page.get_by_role("button", name="Propose this repair").click()
    expect(page.locator("body")).to_contain_text("Rehearsed on a copy: applied, read back as previewed, undone")
    # The browser itself asks for one of the two statements.
    page.get_by_role("button", name="Approve plan").click()
    expect(page.get_by_role("button", name="Approve plan")).to_be_visible()
    page.get_by_label("is fixed: it does not").check()
    page.get_by_role("button", name="Approve plan").click()
    assert rows(store) == before
    page.get_by_role("button", name="Apply").click()
    expect(page.locator(".note.success").first).to_contain_text("Verified")
    expect(page.locator(".note.success").last).to_contain_text("Read back from the store")
    after = rows(store)
    assert after != before and len(after) == len(before)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".note.success").first).to_contain_text("Undone")
    assert rows(store) == before
    assert Repair.objects.get().state == Repair.State.UNDONE


def test_the_mode_that_is_chosen_is_the_one_that_is_proposed(page: Page, live_server: LiveServer, incident: Conversation) -> None:
    """Without script the preview stays that of the fork: the button shows the other one first, and proposes it then."""
    page.goto(f"{live_server.url}/conversations/{incident.oid}/repairs/new/?strategy=renumber-messages&mode=fork")
    page.get_by_text("Options: strategies, mode, reader").click()
    has_script = page.evaluate("document.documentElement.classList.contains('js')")
    if has_script:
        with page.expect_navigation():
            page.get_by_label("in-place").check()
    else:
        page.get_by_label("in-place").check()
        page.get_by_role("button", name="Propose this repair").click()
        expect(page.locator(".note.error")).to_contain_text("Nothing is proposed yet")
        assert not Repair.objects.exists()
    expect(page.get_by_label("in-place")).to_be_checked()
    assert "csrf" not in page.url
    page.get_by_role("button", name="Propose this repair").click()
    expect(page.locator("body")).to_contain_text("Rehearsed on a copy")
    expect(page.locator("body")).to_contain_text("Mode in-place:")
    assert Repair.objects.get().mode == "same-rows"


def test_a_repair_can_be_rejected_without_a_statement(page: Page, live_server: LiveServer, incident: Conversation) -> None:
    page.goto(f"{live_server.url}/conversations/{incident.oid}/repairs/new/?strategy=renumber-messages&mode=fork")
    page.get_by_role("button", name="Propose this repair").click()
    page.get_by_role("button", name="Reject").click()
    expect(page.locator("body")).to_contain_text("Rejected. Nothing was written.")


def test_a_repair_as_a_new_conversation_and_a_refused_undo(
    page: Page, live_server: LiveServer, incident: Conversation, store: Path
) -> None:
    page.goto(f"{live_server.url}/conversations/{incident.oid}/repairs/new/?strategy=renumber-messages&mode=fork")
    page.get_by_role("button", name="Propose this repair").click()
    page.get_by_label("is not fixed yet, or I do not know").check()
    page.get_by_role("button", name="Approve plan").click()
    page.get_by_role("button", name="Apply").click()
    expect(page.locator("body")).to_contain_text("Repaired: hello")
    fork = Repair.objects.get().options["fork_id"]
    with closing(sqlite3.connect(store)) as connection, connection:
        row = '{"chunk":{"type":"text","text":"next"},"role":"user","msgIdx":0,"chunkIdx":0}'
        connection.execute("INSERT INTO kv VALUES ('conversation-store', ?, ?)", (f"conv:{fork}:chunk:0000000015", row))
    page.reload()
    expect(page.get_by_role("button", name="Undo")).to_be_disabled()
    expect(page.locator("body")).to_contain_text("chunk:0000000015 is new")


def test_a_store_that_moved_makes_the_repair_stale(page: Page, live_server: LiveServer, incident: Conversation, store: Path) -> None:
    page.goto(f"{live_server.url}/conversations/{incident.oid}/repairs/new/?strategy=renumber-messages&mode=in-place")
    page.get_by_role("button", name="Propose this repair").click()
    page.get_by_label("is not fixed yet, or I do not know").check()
    page.get_by_role("button", name="Approve plan").click()
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE kv SET value = '15' WHERE key = ?", (f"conv:{incident.native_id}:seq",))
    moved = rows(store)
    page.get_by_role("button", name="Apply").click()
    expect(page.locator(".note.error").first).to_contain_text(f"conv:{incident.native_id}:seq has another value")
    assert rows(store) == moved


def test_a_phone_shows_one_stage_at_a_time(page: Page, live_server: LiveServer, incident: Conversation) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{live_server.url}/conversations/{incident.oid}/")
    expect(page.locator("td.read").first).to_be_hidden()
    page.get_by_role("link", name="Read", exact=True).click()
    expect(page.locator("td.read .msg.merged").first).to_be_visible()
    expect(page.locator("td.sent").first).to_be_hidden()
    assert page.locator("body").bounding_box()["width"] == 390


@pytest.mark.parametrize(("width", "height"), [(1440, 500), (900, 400), (390, 400)])
def test_a_jump_to_a_chunk_ends_below_the_sticky_header(
    page: Page, live_server: LiveServer, incident: Conversation, width: int, height: int
) -> None:
    page.set_viewport_size({"width": width, "height": height})
    page.goto(f"{live_server.url}/conversations/{incident.oid}/#seq-6")
    until(page, "window.scrollY > 0")
    header = page.evaluate(
        "[...document.querySelectorAll('thead th')].map(cell => cell.getBoundingClientRect().bottom).reduce((a, b) => Math.max(a, b), 0)"
    )
    box = page.locator("tr#seq-6").bounding_box()
    assert box is not None and box["y"] >= max(0, header) - 1
