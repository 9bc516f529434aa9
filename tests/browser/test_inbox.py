"""The inbox as a person uses it: little on its first screen, problems chosen and decided by the keyboard, and without script."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from inspector.models import Problem
from tests.views.imported import MERGED, example, rows, store

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ON_SCREEN = """() => {
  const shown = (element) => {
    const box = element.getBoundingClientRect();
    return element.checkVisibility() && box.width > 0 && box.height > 0 && box.top < innerHeight && box.bottom > 0;
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  // Text of one block goes together: highlighted JSON is cut into many nodes, and a dot or an arrow is no word.
  let all = "", block = null;
  while (texts.nextNode()) {
    const node = texts.currentNode, parent = node.parentElement;
    if (!node.textContent.trim() || !shown(parent) || parent.closest(".sr, .skip, script, style, title, option")) continue;
    const own = parent.closest("p, td, th, li, div, h1, h2, a, label, summary, figcaption > span, .badge, .kind");
    all += (own === block && node.previousSibling?.nodeName !== "BR" ? "" : " ") + node.textContent;
    block = own;
  }
  const words = all.split(/\\s+/).filter((word) => /[\\p{L}\\p{N}]/u.test(word)).length;
  const controls = [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary")];
  return [words, controls.filter((element) => shown(element) && !element.matches(".skip")).length];
}"""


def test_the_first_screen_has_under_250_words_and_40_controls(page: Page, live_server: LiveServer, tmp_path: Path) -> None:
    example(tmp_path)
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(live_server.url)
    expect(page.get_by_role("link", name="merged-messages")).to_be_visible()
    words, controls = page.evaluate(ON_SCREEN)
    assert words < 250 and controls < 40, (words, controls)


def test_problems_are_chosen_and_decided_by_the_keyboard(page: Page, live_server: LiveServer, tmp_path: Path) -> None:
    example(tmp_path)
    page.goto(live_server.url)
    acknowledge = page.get_by_role("button", name="Acknowledge")
    expect(acknowledge).to_be_hidden()
    page.get_by_role("checkbox", name="MSG101").focus()
    page.keyboard.press("Space")
    expect(acknowledge).to_be_visible()
    acknowledge.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").first).to_contain_text("1 problem acknowledged.")
    assert Problem.objects.get(code="MSG101").state == "acknowledged"


def test_a_problem_is_ignored_without_script(browser: Browser, page: Page, live_server: LiveServer, tmp_path: Path) -> None:
    store(tmp_path / "a.db", rows("one", MERGED, "One"))
    page.goto(live_server.url)
    context = browser.new_context(java_script_enabled=False, storage_state=page.context.storage_state())
    plain = context.new_page()
    plain.goto(f"{live_server.url}/problems/{Problem.objects.get().oid}/")
    plain.locator("summary", has_text="Ignore…").click()
    plain.get_by_label("Reason").fill("Known")
    plain.get_by_role("button", name="Ignore", exact=True).click()
    expect(plain.get_by_role("status").first).to_contain_text("1 problem ignored.")
    plain.goto(f"{live_server.url}/?tab=ignored")
    expect(plain.get_by_role("link", name="merged-messages")).to_be_visible()
    context.close()
