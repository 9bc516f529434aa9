"""A real Chromium against the real server on the real demo stores; skipped, with the reason, where there is no Chromium."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright
from pytest_django.live_server_helper import LiveServer

from inspector.access_token import link
from inspector.actions.import_source import import_targets
from inspector.demo import dispatch_incident
from inspector.demo.creation import write_dispatch_store, write_trace_store
from inspector.models import Conversation

CHROMIUM = (
    os.environ.get("INSPECTOR_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
# Without these Chromium calls home at its start and retries for minutes on a closed network.
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/browser" in item.nodeid:
            item.add_marker(pytest.mark.browser)
            if CHROMIUM is None:
                item.add_marker(pytest.mark.skip(reason="no Chromium on this machine; on Debian: apt-get install chromium"))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield found
        found.close()


@pytest.fixture
def store(tmp_path: Path, transactional_db: None) -> Path:
    """The demo's stores, imported as the demo does."""
    path = tmp_path / "dispatch.db"
    write_dispatch_store(path, dispatch_incident.store_rows())
    write_trace_store(tmp_path / "traces.db", dispatch_incident.trace_records())
    import_targets([str(path), str(tmp_path / "traces.db")], "tester", demo=True)
    return path


@pytest.fixture
def incident(store: Path) -> Conversation:
    return Conversation.objects.get(native_id=dispatch_incident.CONVERSATION)


@pytest.fixture(params=["with script", "script off"])
def page(request: pytest.FixtureRequest, browser: Browser, live_server: LiveServer) -> Iterator[Page]:
    context = browser.new_context(java_script_enabled=request.param == "with script", viewport={"width": 1440, "height": 1000})
    # As a person who opens the link that `serve` prints.
    assert context.request.get(link(f"{live_server.url}/login/"), max_redirects=0).status == 302
    found = context.new_page()
    found.set_default_timeout(15000)
    problems: list[str] = []
    found.on("console", lambda message: problems.append(f"{message.text} {message.location['url']}") if message.type == "error" else None)
    found.on("pageerror", lambda error: problems.append(str(error)))
    yield found
    context.close()
    # A blocked inline style or script, a missing file, an exception: all of them land on the console. So does a form that is refused, whose page says why.
    # What a page asks for by itself, it asks for again: it finds the database of a test, which is in memory and waits for nobody, busy when the test writes.
    expected = ("status of 409 (Conflict)", "status of 503 (Service Unavailable) http", "Response Status Error Code 503 from /live/")
    assert [problem for problem in problems if not any(words in problem for words in expected)] == []
