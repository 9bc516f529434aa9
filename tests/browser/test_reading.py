"""The page of a conversation as it is read: the first screen, choices that swap a part of it, jumps, keys, a search."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from inspector.models import Conversation
from tests.actions.building import A, Store, T, U, imported, tc, tr

pytestmark = pytest.mark.django_db(transaction=True)


def has_script(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.classList.contains('js')"))


def test_the_first_screen_is_for_reading(page: Page, live_server: LiveServer, incident: Conversation) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(f"{live_server.url}/conversations/{incident.oid}/")
    table, stored = page.locator("table.cols").bounding_box(), page.locator("tr#seq-3 td.stored").bounding_box()
    assert table and table["y"] <= 300
    assert stored and stored["width"] >= 560
    assert page.evaluate("document.documentElement.scrollWidth") == 1440


def test_a_choice_swaps_the_page_and_its_address_is_true(page: Page, live_server: LiveServer, incident: Conversation) -> None:
    page.goto(f"{live_server.url}/conversations/{incident.oid}/")
    page.evaluate("window.before = true; window.scrollTo(0, 300)")
    page.get_by_label("Reader").select_option("exact+keep-thinking")
    if not has_script(page):
        page.get_by_role("button", name="Show").click()
    expect(page.locator("th.read")).to_contain_text("9 messages")
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
    expect(page.locator("#finding")).to_contain_text("2 of 5")


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
