"""The keys of a page: listed by ?, j and k step through rows, a copy is announced."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from inspector.models import Conversation

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("page", ["with script"], indirect=True)
def test_the_keys_of_this_page_and_no_others(page: Page, live_server: LiveServer, incident: Conversation) -> None:
    page.goto(f"{live_server.url}/rules/MSG101/")
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keys of this page")
    expect(keys.get_by_text("copy for an issue")).to_be_visible()
    expect(keys.get_by_text("propose a repair")).to_be_hidden()
    page.keyboard.press("Escape")
    expect(keys).to_be_hidden()


@pytest.mark.parametrize("page", ["with script"], indirect=True)
def test_j_and_k_step_through_the_rows_of_a_list(page: Page, live_server: LiveServer, transactional_db: None) -> None:
    page.goto(f"{live_server.url}/rules/")
    for key, name in (("j", "merged-messages"), ("j", "merged-into-assistant"), ("k", "merged-messages"), ("k", "merged-messages")):
        page.keyboard.press(key)
        expect(page.get_by_role("link", name=name, exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("merged-messages")


@pytest.mark.parametrize("page", ["with script"], indirect=True)
def test_a_copy_is_announced(page: Page, live_server: LiveServer, transactional_db: None) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{live_server.url}/rules/MSG101/")
    page.keyboard.press("m")
    expect(page.locator("#toast")).to_have_text("Copied")
    assert "MSG101" in page.evaluate("navigator.clipboard.readText()")


def test_without_script_no_keys_are_offered(page: Page, live_server: LiveServer, transactional_db: None) -> None:
    page.goto(f"{live_server.url}/rules/")
    offered = page.locator("button.keys")
    expect(offered).to_be_visible() if page.evaluate("document.documentElement.classList.contains('js')") else expect(
        offered
    ).to_be_hidden()


def test_print_shows_the_content_and_not_the_controls(page: Page, live_server: LiveServer, transactional_db: None) -> None:
    page.emulate_media(media="print")
    page.goto(f"{live_server.url}/rules/MSG101/")
    expect(page.locator("h1")).to_be_visible()
    expect(page.locator("header.top")).to_be_hidden()


@pytest.mark.parametrize("page", ["with script"], indirect=True)
def test_a_menu_closes_by_escape_and_by_a_click_outside(page: Page, live_server: LiveServer, incident: Conversation) -> None:
    page.goto(f"{live_server.url}/conversations/{incident.oid}/")
    menu = page.locator("details.dropdown", has=page.get_by_text("More", exact=True))
    summary = menu.locator("summary")
    summary.click()
    expect(menu).to_have_attribute("open", "")
    page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    expect(menu).not_to_have_attribute("open", "")
    expect(summary).to_be_focused()
    summary.click()
    page.locator("h1").click()
    expect(menu).not_to_have_attribute("open", "")
