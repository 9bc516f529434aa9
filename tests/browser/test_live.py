"""The line that says what came since, and the reader's place when it is shown."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from inspector.models import Conversation
from tests.actions.building import Store, U, again, imported, put, row
from tests.browser.test_reading import has_script
from tests.browser.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)


def test_what_came_is_shown_where_the_reader_was(page: Page, live_server: LiveServer, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("store") / "a.db"
    store = Store()
    for number in range(60):
        store.append(U(f"line {number}"), to="c1")
    conversation: Conversation = imported(path, store)
    page.set_viewport_size({"width": 390, "height": 600})
    page.goto(f"{live_server.url}/conversations/{conversation.oid}/?kind=text#seq-9")
    line = page.locator("#live")
    expect(line).to_contain_text("Data as of")
    news = page.locator("#news")
    if not has_script(page):
        put(path, "conv:c1:chunk:0000000099", row("came later"))
        again(path)
        expect(news).not_to_be_in_viewport()
        line.get_by_role("link", name="Load again").click()
        expect(page.get_by_text("came later").first).to_be_attached()
        return
    page.evaluate("window.scrollTo(0, 900)")
    row_before = page.locator("#seq-15").bounding_box()
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(news).not_to_be_in_viewport()
    put(path, "conv:c1:chunk:0000000099", row("came later"))
    again(path)
    with page.expect_response("**/live/**"):
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(news).to_be_in_viewport()
    expect(news).to_contain_text("1 new chunk")
    assert page.locator("#seq-15").bounding_box() == row_before and page.evaluate("window.scrollY") == 900, "nothing moved"
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.evaluate("window.before = true")
    news.get_by_role("link", name="Show").click()
    until(page, "!window.before && document.readyState === 'complete'")
    until(page, "Math.abs(window.scrollY - 900) < 2")
    assert page.url.endswith("?kind=text#seq-9")
    expect(page.locator("#news")).not_to_be_in_viewport()
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def test_a_page_that_nobody_looks_at_does_not_ask(page: Page, live_server: LiveServer, incident: Conversation) -> None:
    page.goto(f"{live_server.url}/")
    if not has_script(page):
        return
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/live/" in request.url else None)
    page.evaluate("Object.defineProperty(document, 'visibilityState', { get: () => 'hidden', configurable: true })")
    page.wait_for_timeout(5000)
    assert asked == []
    page.evaluate("delete document.visibilityState; document.dispatchEvent(new Event('visibilitychange'))")
    page.wait_for_timeout(300)
    assert len(asked) == 1
