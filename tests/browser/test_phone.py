"""Pages at the width of a phone: nothing is cut off, nothing leaves room unused."""

from pathlib import Path

import pytest
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer

from inspector.actions.import_source import import_targets
from tests.actions.building import A, Store, U, er, imported, tc
from tests.programs.dispatch.appended_stores import appended
from tests.programs.pi_openclaw.session_files import header, lines, u

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("stage", ["stored", "read", "sent"])
@pytest.mark.parametrize("answers", [0, 210])
def test_a_phone_gives_the_stage_that_is_shown_the_whole_width(
    page: Page, live_server: LiveServer, tmp_path: Path, transactional_db: None, stage: str, answers: int
) -> None:
    """Rows that the reader makes up, and the row that loads more, once added columns of their own."""
    conversation = imported(tmp_path / "a.db", appended([U("go")], *([A("an answer")] for _ in range(answers)), [A(tc("open"))]))
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{live_server.url}/conversations/{conversation.oid}/?stage={stage}")
    table, cell = (page.locator(found).first.bounding_box() for found in ("table.cols", f"tr[id] td.{stage}"))
    assert table and cell and cell["x"] + cell["width"] >= table["x"] + table["width"] - 3


def test_content_that_does_not_break_does_not_widen_a_phone(
    page: Page, live_server: LiveServer, tmp_path: Path, transactional_db: None
) -> None:
    name = "n" * 3000
    store = Store().append(U("W" * 50_000), to=name).append(A(er("E" * 9000), tc("i" * 900, "t" * 900)), to=name)
    store.values[f"conv:{name}:model"] = "m" * 900
    conversation = imported(tmp_path / "a.db", store, name)
    page.set_viewport_size({"width": 390, "height": 800})
    for rest in ("", "prompt/", "trace/", "chunks/0/", "repairs/new/"):
        page.goto(f"{live_server.url}/conversations/{conversation.oid}/{rest}")
        assert page.evaluate("document.documentElement.scrollWidth") == 390, rest


def test_the_rules_are_one_line_each_and_a_link_opens_what_is_folded(page: Page, live_server: LiveServer, transactional_db: None) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{live_server.url}/rules/")
    # A line of text is 21 pixels high, and a rule takes two or three: what its own page says would add several to each.
    assert page.evaluate("document.documentElement.scrollHeight") < 63 * page.locator("main [id]").count()
    page.goto(f"{live_server.url}/profiles/")
    words = page.get_by_text("thinking.signature: Field required")
    assert not words.first.is_visible()
    page.goto(f"{live_server.url}/profiles/#anthropic-2026-07.AN-18")
    page.reload()
    assert words.first.is_visible() and page.get_by_text("AN-18", exact=True).first.is_visible()


def test_a_tree_fits_a_phone(page: Page, live_server: LiveServer, tmp_path: Path, transactional_db: None) -> None:
    path = tmp_path / "s.jsonl"
    branch = [u("u2", "u1", "W" * 5000), u("u3", "u1", "again"), u("u4", "gone", "lost")]
    path.write_bytes(lines(header(cwd="/" + "d" * 3000), u("u1", None, "hello"), *branch))
    (conversation,) = import_targets([str(path)], "tester")[0].source.conversations.all()
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{live_server.url}/conversations/{conversation.oid}/")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    table = page.locator("table.branches").bounding_box()
    assert table and table["x"] + table["width"] <= 390
