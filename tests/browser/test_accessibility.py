"""axe-core finds nothing critical or serious on any kind of page: in the light, in the dark, and at the width of a phone."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.test import Client
from playwright.sync_api import Browser, Page
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from inspector.access_token import link
from inspector.actions.welcome import link_of
from inspector.models import SourceGroup
from tests.access.planted import two_sources
from tests.accounts import account
from tests.views.reaching import Walk, propose_everywhere, sources_of_every_program

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core comes with requirements-dev.lock: make dev")

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

# What a person sees after a form, or a choice, was sent: the walk has the bare addresses.
REFUSAL = "messages.5.content.3: thinking or redacted_thinking blocks in the latest assistant message cannot be modified"
CHOSEN = (
    f"/explain/?error={REFUSAL}",
    "/conversations/?q=a&state=damaged",
    "/rules/?q=tool",
    "/repairs/?page=2",
    "/audit/?who=nobody",
    "/nowhere/",
)
LOOKS = (("light", 1440), ("dark", 1440), ("light", 390))


@contextmanager
def opened(browser: Browser, live_server: LiveServer) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    assert context.request.get(link(f"{live_server.url}/login/"), max_redirects=0).status == 302
    page = context.new_page()
    page.set_default_timeout(60_000)
    yield page
    context.close()


def pages() -> list[str]:
    """Of each kind of address that answers with a page, the first and the last."""
    kinds: dict[tuple[str, ...], list[str]] = {}
    for address in Walk().addresses():
        # What asks whether there is something new is no page.
        if address.endswith("/") and not address.endswith("/raw/") and address != "/live/":
            words = address.strip("/").split("/")
            kinds.setdefault(tuple(word for word in words if word.isalpha() and word.islower()), []).append(address)
    return [address for addresses in kinds.values() for address in dict.fromkeys((addresses[0], addresses[-1]))]


def findings(page: Page) -> list[str]:
    """What is critical or serious on the page that is open, each with the first element that has it."""
    answer = axe.Axe().run(page).response
    return [
        f"{found['impact']} {found['id']}: {json.dumps(found['nodes'][0]['target'])} {found['nodes'][0]['html'][:200]}"
        for found in answer["violations"]
        if found["impact"] in ("critical", "serious")
    ]


def test_axe_finds_nothing_critical_or_serious(browser: Browser, live_server: LiveServer, tmp_path: Path, transactional_db: None) -> None:
    sources_of_every_program(tmp_path / "stores")
    propose_everywhere()
    problems: list[str] = []
    seen = 0
    with opened(browser, live_server) as page:
        for address in (*pages(), *CHOSEN):
            answer = page.goto(f"{live_server.url}{address}")
            if answer is None or not answer.headers["content-type"].startswith("text/html"):
                # A sentence in plain text, of an address that takes forms only.
                continue
            seen += 1
            for scheme, width in LOOKS:
                page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
                page.set_viewport_size({"width": width, "height": 900})
                problems += [f"{address} {scheme} {width}: {problem}" for problem in findings(page)]
    assert seen > 40
    assert not problems, "\n".join(problems)


def test_axe_reports_what_it_is_there_for(browser: Browser, live_server: LiveServer, transactional_db: None) -> None:
    """The test above can fail: an image without words and a link inside a button are reported."""
    with opened(browser, live_server) as page:
        page.goto(f"{live_server.url}/reference/")
        assert findings(page) == []
        page.evaluate("document.querySelector('main').innerHTML += '<div role=button tabindex=0><a href=/>x</a></div><img src=x>'")
        assert {problem.split(":")[0] for problem in findings(page)} == {"serious nested-interactive", "critical image-alt"}


def test_axe_finds_nothing_on_pages_of_people(
    live_server: LiveServer, browser: Browser, tmp_path: Path, transactional_db: None, settings: Settings
) -> None:
    """Where people sign in: as an admin of all, and as one of one source; with what is shown after a form, and to who is not signed in."""
    shown, _ = two_sources(tmp_path)
    boss, ann = account("boss", "admin"), account("ann", "admin", shown)
    group = SourceGroup.objects.create(name="ours")
    group.sources.add(shown)
    account("val", "viewer", group=group, masked=True)
    settings.INSPECTOR_LOCAL, settings.ALLOWED_HOSTS = False, ["localhost", "127.0.0.1"]
    signed_out = ("/login/", urlsplit(link_of(ann, "http://localhost")).path, "/welcome/MQ/none/")
    of_all = (
        "/users/",
        f"/users/{ann.pk}/",
        "/users/groups/",
        f"/users/groups/{group.pk}/",
        "/links/?tab=ended",
        "/password/",
        "/audit/?from=2026-01-01",
        "/audit/?who=nobody",
        "/notifications/",
        "/notifications/?kind=github",
        "/account/",
        "/links/",
        "/sources/add/",
        f"/sources/{shown.oid}/remove/",
        f"/new-link/conversation/{shown.conversations.all()[0].oid}/",
    )
    of_one = ("/users/", f"/users/{ann.pk}/", "/users/groups/", "/audit/")
    problems, seen = [], 0
    for user, addresses in ((None, signed_out), (boss, of_all), (ann, of_one)):
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        if user is not None:
            client = Client()
            client.force_login(user)
            cookie = client.cookies["inspector_session"].value
            context.add_cookies([{"name": "inspector_session", "value": cookie, "url": live_server.url}])
        page = context.new_page()
        page.set_default_timeout(60_000)
        for address in addresses:
            page.goto(f"{live_server.url}{address}")
            seen += 1
            for scheme, width in LOOKS:
                page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
                page.set_viewport_size({"width": width, "height": 900})
                problems += [f"{address} {scheme} {width}: {problem}" for problem in findings(page)]
        if user == boss:
            problems += _refused(page, live_server)
        context.close()
    assert seen == 22 and not problems, "\n".join(problems)


def _refused(page: Page, live_server: LiveServer) -> list[str]:
    """Forms that are sent as they are opened: what is wrong is next to its field, which has the focus, and its words belong to it."""
    problems = []
    for address in ("/users/", "/users/groups/", "/account/", "/sources/add/", "/notifications/?kind=webhook"):
        page.goto(f"{live_server.url}{address}")
        with page.expect_navigation():
            page.evaluate("() => { const form = document.querySelector('main form.fields'); form.noValidate = true; form.submit(); }")
        wrong = page.locator("[aria-invalid=true]:focus")
        described = page.locator(f"#{wrong.get_attribute('aria-describedby')}.problem")
        if not described.is_visible():
            problems.append(f"{address}: nothing is said next to the field")
        problems += [f"{address} refused: {problem}" for problem in findings(page)]
    return problems
