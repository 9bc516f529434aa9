"""The whole way of a problem: found, understood, repaired in three conversations with a second person, and damaged again by the program that writes the store.

One walk, in five ways: with script, without, by the keyboard alone, on a dark phone; and what the review looks like on paper.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from inspector.models import Problem, Source
from tests.accounts import account
from tests.actions.building import Store, bring, everything, merged, pairs, put
from tests.sources.stores import make

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
PASSWORD = "correct horse battery staple"
IDS = ("c1", "c2", "c3")


class Look(NamedTuple):
    """How a person looks at the pages."""

    has_script: bool = True
    keyboard: bool = False
    width: int = 1440
    scheme: str = "light"


LOOKS = {
    "with script": Look(),
    "without script": Look(has_script=False),
    "keyboard only": Look(keyboard=True),
    "dark phone": Look(width=390, scheme="dark"),
}


class Person:
    """Somebody who signed in. What is pressed or typed is reached by the pointer, or by Tab, j and Enter alone."""

    def __init__(self, page: Page, look: Look, address: str) -> None:
        self.page, self.look, self.address = page, look, address

    def sign_in(self, name: str) -> "Person":
        self.page.goto(f"{self.address}/login/")
        self.type(self.page.locator("input[name=username]"), name)
        self.type(self.page.locator("input[name=password]"), PASSWORD)
        self.press(self.page.locator("main form button, form button").last)
        expect(self.page.locator(".account summary")).to_contain_text(name)
        return self

    def open(self, name: str) -> None:
        """A row of a list."""
        link = self.page.locator(".row-link", has_text=name).first
        if not self.look.keyboard:
            link.click()
        else:
            expect(link).to_be_visible()
            for _ in range(50):
                self.page.keyboard.press("j")
                if self._is_focused(link):
                    break
            assert self._is_focused(link), f"j does not reach {name}"
            self._enter(leads_on=True)
        self.settled()

    def press(self, control: Locator) -> None:
        expect(control).to_be_visible()
        if self.look.keyboard:
            self._reach(control)
            self._enter(leads_on=control.evaluate("element => element.localName") != "summary")
        else:
            control.click()
        self.settled()

    def choose(self, radio: Locator) -> None:
        if not self.look.keyboard:
            radio.check()
            return
        name = radio.get_attribute("name")
        self._reach(self.page.locator(f"input[name={name}]"))
        self.page.keyboard.press("Space")
        for _ in range(5):
            if not radio.is_checked():
                self.page.keyboard.press("ArrowDown")
        expect(radio).to_be_checked()

    def type(self, field: Locator, text: str) -> None:
        if self.look.keyboard:
            self._reach(field)
            self.page.keyboard.type(text)
        else:
            field.fill(text)

    def go(self, section: str) -> None:
        """By the navigation."""
        self.press(self.page.locator("header.top nav").get_by_role("link", name=section))

    def settled(self) -> None:
        """Nothing is wider than the screen, and what should be dark is."""
        self.page.wait_for_load_state()
        assert self.page.evaluate("document.documentElement.scrollWidth") <= self.look.width, self.page.url
        ground = self.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (max(map(int, re.findall(r"\d+", ground)[:3])) < 60) == (self.look.scheme == "dark"), self.page.url

    def _enter(self, leads_on: bool) -> None:
        """A click waits for the page that it leads to; a key does not."""
        if not leads_on:
            self.page.keyboard.press("Enter")
            return
        with self.page.expect_navigation():
            self.page.keyboard.press("Enter")

    def _reach(self, control: Locator) -> None:
        for _ in range(300):
            self.page.keyboard.press("Tab")
            if self._is_focused(control):
                return
        raise AssertionError(f"Tab does not reach {control}")

    def _is_focused(self, control: Locator) -> bool:
        return bool(control.evaluate_all("elements => elements.includes(document.activeElement)"))


@pytest.fixture
def several_people(settings: Settings) -> None:
    settings.INSPECTOR_LOCAL = False
    settings.ALLOWED_HOSTS = ["localhost", "127.0.0.1"]
    settings.INSPECTOR_WRITE_BACK = True
    settings.INSPECTOR_REQUIRE_SECOND_APPROVER = True


@pytest.fixture
def path(tmp_path: Path, transactional_db: None, several_people: None, settings: Settings) -> Path:
    path = tmp_path / "dispatch.db"
    settings.INSPECTOR_SOURCES = [tmp_path]
    store = Store()
    for native_id in IDS:
        merged(store, native_id)
    make(path, store.values)
    bring(path)
    Source.objects.update(write_enabled=True)
    for name in ("ann", "bob"):
        account(name, password=PASSWORD)
    return path


@pytest.fixture
def contexts(browser: Browser) -> Iterator[list[Any]]:
    opened: list[Any] = []
    yield opened
    for context in opened:
        context.close()


def person(name: str, browser: Browser, contexts: list[Any], look: Look, address: str) -> Person:
    context = browser.new_context(
        java_script_enabled=look.has_script,
        viewport={"width": look.width, "height": 900},
        color_scheme=look.scheme,  # type: ignore[arg-type]
    )
    contexts.append(context)
    page = context.new_page()
    page.set_default_timeout(60_000)
    return Person(page, look, address).sign_in(name)


def proposed(ann: Person) -> None:
    """From the inbox to one proposal for the three conversations."""
    ann.open("merged-messages")
    expect(ann.page.locator("h1")).to_contain_text("merged-messages")
    ann.open("hello")
    # The first bad point, in three columns.
    expect(ann.page.locator("#seq-2")).to_have_count(1)
    for stage in ("stored", "read", "sent"):
        if ann.look.width > 400:
            expect(ann.page.locator(f"th.{stage}").first).to_be_visible()
    expect(ann.page.locator(".verdict").first).to_contain_text("reads 4 messages as 1")
    ann.go("Inbox")
    ann.open("merged-messages")
    ann.press(ann.page.get_by_role("link", name="Repair all 3 conversations"))
    expect(ann.page.locator("h1")).to_contain_text("Preview: repair 3 conversations")
    ann.press(ann.page.locator("summary", has_text="Options: strategy, mode"))
    ann.choose(ann.page.get_by_label("in-place"))
    ann.press(ann.page.get_by_role("button", name="Preview"))
    expect(ann.page.locator(".facts")).to_contain_text("mode in-place")
    ann.type(ann.page.get_by_label("Reason"), "Every append counted from 0")
    ann.press(ann.page.get_by_role("button", name="Propose 3 repairs"))
    expect(ann.page.locator(".facts .badge").first).to_have_text("3 proposed")


def walk(ann: Person, bob: Person, path: Path) -> None:
    before = everything(path)
    proposed(ann)
    # Who proposed it is told why somebody else has to approve it.
    expect(ann.page.get_by_role("button", name="Approve 3 plans")).to_be_disabled()
    expect(ann.page.locator("#why-not")).to_contain_text("A second person must approve")
    bob.go("Repairs")
    bob.open("3 conversations: merged-messages")
    expect(bob.page.locator("body")).to_contain_text("Every append counted from 0")
    expect(bob.page.locator(".diff").first).to_be_visible()
    bob.choose(bob.page.get_by_label("is fixed: it does not"))
    bob.type(bob.page.get_by_label("Comment on the decision"), "read all three")
    bob.press(bob.page.get_by_role("button", name="Approve 3 plans"))
    expect(bob.page.locator(".facts .badge").first).to_have_text("3 approved")
    expect(bob.page.locator(".comment")).to_contain_text("read all three")
    assert everything(path) == before
    ann.page.reload()
    ann.press(ann.page.get_by_role("button", name="Apply 3"))
    expect(ann.page.locator(".facts .badge").first).to_have_text("3 verified")
    assert everything(path) != before
    ann.go("Inbox")
    ann.press(ann.page.get_by_role("navigation", name="Problems").get_by_role("link", name="Repaired"))
    expect(ann.page.locator(".row-link", has_text="merged-messages")).to_be_visible()
    # The program is not fixed after all: it writes one conversation back as it had it.
    old = {bytes(row[1]).decode(): bytes(row[3]).decode() for row in before}  # type: ignore[call-overload]
    for key in pairs(path):
        if key.startswith("conv:c2:"):
            put(path, key, old[key])
    ann.press(ann.page.locator(".account summary"))
    ann.press(ann.page.locator(".account").get_by_role("link", name="Sources"))
    ann.open("dispatch.db")
    ann.press(ann.page.locator("form[action$='import/'] button"))
    assert Problem.objects.get(code="MSG101").state == "regressed"
    ann.go("Inbox")
    expect(ann.page.locator("tr", has_text="merged-messages")).to_contain_text("regressed")
    ann.open("merged-messages")
    expect(ann.page.locator("h1")).to_contain_text("regressed")


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_a_problem_from_its_finding_to_its_return(
    browser: Browser, contexts: list[Any], live_server: LiveServer, path: Path, look: Look
) -> None:
    ann, bob = (person(name, browser, contexts, look, live_server.url) for name in ("ann", "bob"))
    walk(ann, bob, path)


def test_a_review_on_paper_has_the_diff_and_no_controls(browser: Browser, contexts: list[Any], live_server: LiveServer, path: Path) -> None:
    ann = person("ann", browser, contexts, Look(), live_server.url)
    proposed(ann)
    ann.page.emulate_media(media="print")
    for name in ("header.top", ".foot", "aside .btn"):
        for control in ann.page.locator(name).all():
            expect(control).to_be_hidden()
    expect(ann.page.locator("h1")).to_be_visible()
    # What is folded on the screen is open on paper.
    assert ann.page.locator(".diff").count() == 3
    for diff in ann.page.locator(".diff").all():
        expect(diff).to_be_visible()
