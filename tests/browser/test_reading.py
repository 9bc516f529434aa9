"""The page of a conversation as it is read: the first screen, choices that swap a part of it, jumps, keys, a search."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from inspector.models import Conversation
from tests.actions.building import A, Store, T, U, imported, tc, tr
from tests.browser.test_inbox import ON_SCREEN

pytestmark = pytest.mark.django_db(transaction=True)


def has_script(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.classList.contains('js')"))


def test_the_first_screen_is_for_reading(page: Page, live_server: LiveServer, incident: Conversation) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(f"{live_server.url}/conversations/{incident.oid}/")
    table, stored = page.locator("table.cols").bounding_box(), page.locator("tr#seq-3 td.stored").bounding_box()
    assert table and table["y"] <= 260
    assert stored and stored["width"] >= 560
    assert page.evaluate("document.documentElement.scrollWidth") == 1440
    words, controls = page.evaluate(ON_SCREEN)
    assert words < 300 and controls < 45, (words, controls)


def test_each_row_of_a_merged_message_says_what_became_of_it(page: Page, live_server: LiveServer, incident: Conversation) -> None:
    page.goto(f"{live_server.url}/conversations/{incident.oid}/")
    pieces = page.locator("td.read .merged>i").all()
    assert len(pieces) == 11
    for seq, piece in enumerate(pieces, 1):
        row, box = page.locator(f"tr#seq-{seq}").bounding_box(), piece.bounding_box()
        assert row and box and abs(row["y"] + row["height"] / 2 - box["y"] - box["height"] / 2) < 8, seq
    expect(page.locator("td.sent .merged>i.lost")).to_have_count(5)
    assert [page.locator(f"tr#seq-{seq} td.sent").inner_text() for seq in (2, 3, 10)] == [
        "lost: dropped from user messages",
        "messages.0 → user",
        "lost",
    ]


def test_a_phone_shows_rows_on_its_first_screen(page: Page, live_server: LiveServer, incident: Conversation) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{live_server.url}/conversations/{incident.oid}/")
    table = page.locator("table.cols").bounding_box()
    assert table and table["y"] < (450 if has_script(page) else 485)
    assert page.evaluate("document.documentElement.scrollWidth") == 390


@pytest.mark.parametrize(
    ("path", "name", "value", "query"),
    [
        ("/conversations/{}/prompt/", "profile", "gemini", "profile=gemini"),
        ("/whatif/", "show", "worse", "show=worse"),
        ("/trends/", "days", "90", "days=90"),
        ("/conversations/", "rule", "MSG101", "rule=MSG101"),
    ],
)
def test_every_selector_swaps_its_page(
    page: Page, live_server: LiveServer, incident: Conversation, path: str, name: str, value: str, query: str
) -> None:
    page.set_viewport_size({"width": 1440, "height": 500})
    page.goto(live_server.url + path.format(incident.oid))
    page.evaluate("window.before = true; window.scrollTo(0, 40)")
    at = page.evaluate("window.scrollY")
    page.locator(f"#choose-{name}").select_option(value)
    if not has_script(page):
        page.locator(f"main form:has(#choose-{name}) button").first.click()
    page.wait_for_url(f"**{query}*")
    expect(page.locator("main")).to_have_count(1)
    expect(page.locator(f"#choose-{name}")).to_have_value(value)
    expect(page.locator("#foot a").first).to_have_attribute("href", re.compile(query))
    if has_script(page):
        assert page.evaluate("[window.before, window.scrollY]") == [True, at]


def test_a_click_on_the_overview_leads_to_its_place(page: Page, live_server: LiveServer, incident: Conversation) -> None:
    page.goto(f"{live_server.url}/conversations/{incident.oid}/?profile=gemini")
    if has_script(page):
        page.locator("rect.part[data-at='12']").last.click()
        page.wait_for_url("**/?profile=gemini&at=12#seq-12")


def test_a_copied_link_names_what_every_copy_of_the_store_has(page: Page, live_server: LiveServer, incident: Conversation) -> None:
    finding = incident.findings.filter(code="TOOL202").first()
    assert finding and finding.identity
    page.goto(f"{live_server.url}/conversations/{incident.oid}/?finding={finding.oid}&kind=text")
    if not has_script(page):
        return
    page.evaluate("navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }")
    page.keyboard.press("y")
    copied = page.evaluate("window.copied")
    assert copied == f"{live_server.url}/conversations/{incident.identity}/?finding={finding.identity}&kind=text"
    page.goto(copied)
    assert f"/conversations/{incident.oid}/" in page.url and f"finding={finding.oid}" in page.url


@pytest.mark.parametrize(("old", "now"), [("#STORE301", "/rules/STORE301/"), ("#anthropic-2026-07", "/profiles/#anthropic-2026-07")])
def test_an_old_link_into_the_rules_leads_to_what_is_there_now(page: Page, live_server: LiveServer, db: None, old: str, now: str) -> None:
    page.goto(f"{live_server.url}/rules/{old}")
    if has_script(page):
        page.wait_for_url(f"**{now}")


def test_a_choice_swaps_the_page_and_its_address_is_true(page: Page, live_server: LiveServer, incident: Conversation) -> None:
    page.goto(f"{live_server.url}/conversations/{incident.oid}/")
    page.evaluate("window.before = true; window.scrollTo(0, 300)")
    page.get_by_label("Reader").select_option("exact+keep-thinking")
    if not has_script(page):
        page.get_by_role("button", name="Show").click()
    expect(page.locator(".folds .chip").nth(1)).to_have_text("Read all 9")
    assert "reader=exact%2Bkeep-thinking" in page.url
    if has_script(page):
        assert page.evaluate("window.before") and page.evaluate("window.scrollY") > 200
        assert "role=" not in page.url and "q=" not in page.url
        page.get_by_label("Projection").select_option("anthropic")
        expect(page.get_by_label("Profile")).to_have_value("anthropic-2026-07")
        page.go_back()
        expect(page.get_by_label("Projection")).to_have_value("dispatch-openai")
    page.goto(page.url)
    expect(page.get_by_label("Reader")).to_have_value("exact+keep-thinking")


def test_a_search_marks_what_matches(page: Page, live_server: LiveServer, incident: Conversation) -> None:
    page.goto(f"{live_server.url}/conversations/{incident.oid}/")
    page.get_by_label("Text in chunks").fill("cache-WARMING")
    page.get_by_label("Text in chunks").press("Enter")
    expect(page.locator("mark").first).to_have_text("cache-warming")
    expect(page.locator("tr[id]")).to_have_count(1)


def test_the_keys_step_through_rows_and_findings(page: Page, live_server: LiveServer, incident: Conversation) -> None:
    page.goto(f"{live_server.url}/conversations/{incident.oid}/")
    if not has_script(page):
        return
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("j")
    expect(page.locator("tr.current")).to_have_attribute("id", "seq-2")
    assert page.url.endswith("?at=2#seq-2")
    page.keyboard.press("n")
    page.wait_for_url("**finding=**")
    expect(page.locator("#finding")).to_contain_text("2/5")


def test_a_result_of_another_window_is_folded_in_the_row_of_its_call(
    page: Page, live_server: LiveServer, tmp_path: Path, transactional_db: None
) -> None:
    store = Store().append(U("go"), A("calling", tc("far")))
    for number in range(120):
        store.append(U(f"still there? {number}"))
    conversation = imported(tmp_path / "far.db", store.append(T(tr("far"))))
    page.goto(f"{live_server.url}/conversations/{conversation.oid}/")
    fused = page.locator("tr#seq-3 details.fused")
    fused.locator("summary").click()
    fused.get_by_role("link").click()
    expect(page.locator("tr:target td.stored")).to_contain_text("← call 3")


@pytest.mark.parametrize("path", ["/diagnose/", "/check/"])
def test_an_example_is_answered_by_one_click(page: Page, live_server: LiveServer, path: str) -> None:
    page.goto(live_server.url + path)
    heading = page.locator("main h1").inner_text()
    for name in page.locator("form.examples button").all_inner_texts():
        page.goto(live_server.url + path)
        page.locator("form.examples").get_by_role("button", name=name, exact=True).click()
        expect(page.locator("main h1")).not_to_have_text(heading)
        expect(page.get_by_role("alert")).to_have_count(0)


@pytest.mark.parametrize("width", [1440, 390])
def test_the_reader_of_a_source_is_not_cut_off(page: Page, live_server: LiveServer, incident: Conversation, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{live_server.url}/sources/{incident.source.oid}/")
    select, form = (page.locator(where).bounding_box() for where in ("#reader select", "#reader form"))
    assert select and form and select["x"] + select["width"] <= form["x"] + form["width"] <= width, (select, form)
