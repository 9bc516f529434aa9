"""What htmx asks for and does not get, because the network is cut or slow or the session ended; and back and forward over what it swapped."""

import re
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from inspector.models import Conversation, Repair
from tests.accounts import account
from tests.browser.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)
PASSWORD = "correct horse battery staple"
LISTS = ("/conversations/{}/prompt/", "profile", "gemini"), ("/conversations/{}/", "reader", "exact+keep-thinking")


@pytest.fixture
def context(browser: Browser, live_server: LiveServer, settings: Settings) -> Iterator[BrowserContext]:
    """Of somebody who signed in."""
    settings.INSPECTOR_LOCAL = False
    settings.ALLOWED_HOSTS = ["localhost", "127.0.0.1"]
    account("ann", password=PASSWORD)
    found = browser.new_context(viewport={"width": 1440, "height": 500})
    page = found.new_page()
    page.goto(f"{live_server.url}/login/")
    page.fill("input[name=username]", "ann")
    page.fill("input[name=password]", PASSWORD)
    page.locator("form.panel button").click()
    yield found
    found.close()


@pytest.fixture
def open_page(incident: Conversation, context: BrowserContext) -> Page:
    return context.pages[0]


@pytest.mark.parametrize(("path", "name", "value"), LISTS)
def test_a_cut_or_slow_network_is_said_and_the_choice_can_be_made_again(
    open_page: Page, live_server: LiveServer, incident: Conversation, path: str, name: str, value: str
) -> None:
    page, said = open_page, open_page.locator("#unanswered")
    page.goto(live_server.url + path.format(incident.oid))
    choice = page.locator(f"#choose-{name}")
    before = choice.input_value()
    page.context.set_offline(True)
    choice.select_option(value)
    expect(said).to_have_text("Inspector cannot be reached. This page is as it was. Try again")
    expect(choice).to_have_value(before)
    page.context.set_offline(False)
    held: list[Route] = []
    page.route(re.compile(rf"[?&]{name}="), lambda route: held.append(route))
    choice.select_option(value)
    expect(said).to_have_text("Inspector has not answered yet. Try again")
    held[0].fulfill(status=503, content_type="text/plain; charset=utf-8", body="The database is busy.\n")
    expect(said).to_have_text("The database is busy. Try again")
    page.unroute_all()
    choice.select_option(value)
    page.wait_for_url(f"**{name}=*")
    expect(choice).to_have_value(value)
    expect(said).to_be_empty()


@pytest.mark.parametrize(("path", "name", "value"), LISTS)
def test_back_and_forward_show_what_the_address_says_where_the_reader_was(
    open_page: Page, live_server: LiveServer, incident: Conversation, path: str, name: str, value: str
) -> None:
    page = open_page
    page.goto(live_server.url + path.format(incident.oid))
    seen = []
    for chosen in (page.locator(f"#choose-{name}").input_value(), value):
        page.locator(f"#choose-{name}").select_option(chosen)
        page.wait_for_url(re.compile(rf"[?&]{name}={re.escape(quote(chosen))}"))
        expect(page.locator(f"#choose-{name}")).to_have_value(chosen)
        page.evaluate(f"window.scrollTo(0, {100 + 50 * len(seen)})")
        seen.append((page.url, page.inner_text("main")))
    for turn, at in (("back", 0), ("forward", 1), ("back", 0)):
        page.evaluate(f"history.{turn}()")
        page.wait_for_url(seen[at][0])
        until(page, f"document.readyState === 'complete' && window.scrollY === {100 + 50 * at}")
        assert page.inner_text("main") == seen[at][1]


@pytest.mark.parametrize(("path", "name", "value"), LISTS)
def test_going_back_after_the_session_ended_leads_to_sign_in(
    open_page: Page, live_server: LiveServer, incident: Conversation, path: str, name: str, value: str
) -> None:
    page = open_page
    page.goto(live_server.url + path.format(incident.oid))
    page.locator(f"#choose-{name}").select_option(value)
    page.wait_for_url(f"**{name}=*")
    # What a page showed is kept nowhere that outlives the session.
    assert "hello" not in page.evaluate("JSON.stringify({...sessionStorage, ...localStorage})")
    page.context.clear_cookies()
    page.go_back()
    expect(page.get_by_role("heading", name="Sign in to Inspector")).to_be_visible()


def test_a_copy_is_what_was_asked_for_or_nothing(open_page: Page, live_server: LiveServer) -> None:
    """Not the page of sign-in, that a request without a session ends at."""
    page = open_page
    page.goto(f"{live_server.url}/rules/MSG101/")
    page.evaluate("navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }")
    page.context.set_offline(True)
    page.keyboard.press("m")
    expect(page.locator("#toast")).to_have_text("Not copied: Inspector cannot be reached")
    page.context.set_offline(False)
    page.context.clear_cookies()
    page.keyboard.press("m")
    expect(page.get_by_role("heading", name="Sign in to Inspector")).to_be_visible()


def test_a_second_press_while_the_first_is_under_way_is_no_second_act(
    open_page: Page, live_server: LiveServer, incident: Conversation
) -> None:
    page = open_page
    page.goto(f"{live_server.url}/conversations/{incident.oid}/repairs/new/?strategy=renumber-messages&mode=fork")
    twice = "button => { button.click(); setTimeout(() => button.click(), 12); }"
    page.get_by_role("button", name="Propose this repair").evaluate(twice)
    page.wait_for_url(re.compile(r"/repairs/[0-9a-f]{12}/$"))
    assert Repair.objects.count() == 1
    page.get_by_role("button", name="Reject").evaluate(twice)
    expect(page.get_by_role("status").first).to_have_text("Rejected. Nothing was written.")


def test_a_tick_says_its_outcome_and_keeps_the_focus(open_page: Page, live_server: LiveServer, incident: Conversation) -> None:
    page = open_page
    page.goto(f"{live_server.url}/conversations/{incident.oid}/repairs/new/")
    expect(page.locator("#outcome")).to_contain_text("Choose what to repair")
    page.locator("#choose-renumber-messages").check()
    expect(page.locator("#outcome")).to_contain_text("Remains: THINK301")
    tick = page.get_by_label("promote-leaked-call").first
    tick.focus()
    page.keyboard.press("Space")
    expect(page.locator("#outcome")).to_contain_text("Outcome of promote-leaked-call Left out")
    expect(page.locator("#outcome")).to_contain_text("Remains: no error or warning")
    expect(tick).to_be_focused()
    # On the preview the whole page follows what is ticked.
    page.goto(f"{live_server.url}/conversations/{incident.oid}/repairs/new/?strategy=renumber-messages")
    expect(page.locator(".strip")).to_contain_text("Remain THINK301 promote-leaked-call repairs it THINK101")
    page.locator("summary", has_text="Options: strategies").click()
    page.locator("#choose-promote-leaked-call").focus()
    page.keyboard.press("Space")
    expect(page.locator(".strip")).to_contain_text("No error or warning remains")
    expect(page.locator("#choose-promote-leaked-call")).to_be_focused()


def test_what_is_typed_for_the_reviewer_stays_and_gets_into_no_address(
    open_page: Page, live_server: LiveServer, incident: Conversation
) -> None:
    """Browsers keep addresses, and a reason may quote a key."""
    page = open_page
    page.goto(f"{live_server.url}/conversations/{incident.oid}/repairs/new/?strategy=renumber-messages&options=open")
    page.get_by_label("Reason").fill("leak sk-ant-api03-" + "aB3" * 30)
    page.locator("#choose-promote-leaked-call").focus()
    page.keyboard.press("Space")
    expect(page).to_have_url(re.compile("promote-leaked-call"))
    assert "sk-ant" not in page.url and "reason" not in page.url
    expect(page.get_by_label("Reason")).to_have_value(re.compile("^leak sk-ant"))
