"""The inbox as a person uses it: little on its first screen, problems chosen and decided by the keyboard, and without script."""

from getpass import getuser
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from inspector.actions import decide_problem
from inspector.actions.decide_problem import Decision
from inspector.models import Conversation, Problem, SavedView
from inspector.rules.catalogue import RULES
from tests.actions.building import proposed
from tests.views.imported import MERGED, example, rows, store

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ON_SCREEN = """() => {
  const shown = (element) => {
    const box = element.getBoundingClientRect();
    return element.checkVisibility() && box.width > 0 && box.height > 0 && box.top < innerHeight && box.bottom > 0 && box.right > 0;
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


LONG = "Why does the nightly import of the warehouse stop at a quarter of an hour past one on every second Sunday"


@pytest.fixture
def crowded(tmp_path: Path) -> None:
    """As much as an inbox can say: many problems of long words that are assigned and occur again, views, and repairs that wait."""
    folder = tmp_path / "the stores of my agents"
    folder.mkdir()
    store(folder / "a store.db", [row for number in range(30) for row in rows(f"c{number}", MERGED, LONG)])
    one = Problem.objects.get(code="MSG101")
    wordy = sorted(RULES, key=lambda rule: -len(rule.summary.split()))[:40]
    for number, about in enumerate(wordy):
        if about.code == one.code:
            continue
        Problem(
            **{field.attname: getattr(one, field.attname) for field in Problem._meta.concrete_fields if not field.primary_key}
            | {
                "oid": f"{number:012d}",
                "code": about.code,
                "rule": about.name,
                "total": one.conversations + 1_000,
                "assigned_to": "Ada Lovelace of the night shift",
                "decision": "acknowledged" if number % 2 else "",
            }
        ).save()
    conversations = list(Conversation.objects.order_by("pk"))
    first = proposed(conversations[0], "renumber-messages")
    for number, row in enumerate(conversations[1:]):
        first.pk, first.oid, first.conversation = None, f"{number:012d}", row
        first.save(force_insert=True)
    for number in range(12):
        SavedView.objects.create(who=getuser(), name=f"{number} what I look at in the morning", query=f"q={number}")


def test_the_first_screen_has_under_250_words_in_every_state(page: Page, live_server: LiveServer, crowded: None) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    counted = {}
    for query in (
        "",
        "?tab=review",
        "?tab=repaired",
        "?tab=ignored",
        "?q=a",
        "?silent=1&severity=error&kind=conversations",
        "?q=nothing+such",
        "?sort=seen",
        "?next_request=rejected",
        "?sort=seen&silent=1&severity=error&kind=conversations&program=dispatch",
    ):
        page.goto(f"{live_server.url}/{query}")
        counted[query] = page.evaluate(ON_SCREEN)
    page.goto(live_server.url)
    page.get_by_role("checkbox", name="MSG101").check()
    page.get_by_role("button", name="Acknowledge").click()
    expect(page.get_by_role("status").first).to_contain_text("1 problem acknowledged.")
    counted["after an act"] = page.evaluate(ON_SCREEN)
    assert all(words < 250 and controls < 40 for words, controls in counted.values()), str(counted)


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


@pytest.mark.parametrize("width", [390, 1440])
def test_long_names_make_no_list_wider_than_the_page(page: Page, live_server: LiveServer, tmp_path: Path, width: int) -> None:
    """Of a source, a conversation and a person."""
    path = tmp_path / f"{'w' * 150}.db"
    source = store(path, rows("one", MERGED, title="W" * 500))
    decide_problem.decide([Problem.objects.get(code="MSG101").oid], Decision("assign", to="P" * 140), "tester")
    proposed(source.conversations.get(), "renumber-messages")
    page.set_viewport_size({"width": width, "height": 844})
    for where in ("/", "/?tab=review", "/repairs/", "/conversations/", "/sources/"):
        page.goto(live_server.url + where)
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width, where
