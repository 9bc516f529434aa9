"""A preview is worked out once: the second view, the twin, the proposal and the page of the repair load no record, and no page grows with the conversation."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from inspector.actions import shown_previews
from inspector.actions.kept_previews import base_case
from inspector.models import Conversation, Repair, Source, loading
from inspector.planning.preview import look
from tests.actions.building import A, U, again, imported, merged, proposed, put, row
from tests.views.test_repairs import seen

pytestmark = pytest.mark.django_db
CHOSEN = {"strategy": "renumber-messages", "mode": "in-place"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.db"


@pytest.fixture
def conversation(path: Path) -> Conversation:
    imported_row = imported(path, merged())
    Source.objects.update(write_enabled=True)
    return imported_row


@contextmanager
def loading_no_record() -> Iterator[None]:
    with CaptureQueriesContext(connection) as queries:
        yield
    assert queries.captured_queries and not [query["sql"] for query in queries.captured_queries if '_record"' in query["sql"]]


def address(conversation: Conversation, ending: str = "/", **chosen: str) -> str:
    return f"/conversations/{conversation.oid}/repairs/new{ending}?{urlencode({**CHOSEN, **chosen})}"


def preview(client: Client, conversation: Conversation, **chosen: str) -> str:
    return client.get(address(conversation, **chosen)).content.decode()


def of_plan(page: str) -> str:
    """The page from the plan on; above it is the token of the form."""
    return page[page.index("This plan:") :].partition("csrfmiddlewaretoken")[0]


def summary_of(page: str) -> str:
    return of_plan(page).partition("</p>")[0]


def forget_records() -> None:
    loading._stored.cache_clear()


def test_the_second_view_says_the_same_and_loads_nothing(client: Client, conversation: Conversation) -> None:
    first = preview(client, conversation)
    forget_records()
    with loading_no_record():
        again_shown = preview(client, conversation)
    assert of_plan(again_shown) == of_plan(first)


def test_the_twin_says_the_same_before_and_after_the_page(client: Client, conversation: Conversation) -> None:
    first = client.get(address(conversation, ".json")).json()
    preview(client, conversation)
    forget_records()
    with loading_no_record():
        assert client.get(address(conversation, ".json")).json() == first


def test_the_page_of_the_repair_shows_what_was_proposed_without_loading_it(client: Client, conversation: Conversation) -> None:
    shown = preview(client, conversation)
    answer = client.post(seen(client, conversation, **CHOSEN), CHOSEN)
    repair = Repair.objects.get()
    forget_records()
    with loading_no_record():
        page = client.get(answer["Location"]).content.decode()
    assert repair.plan_digest[:12] in page and summary_of(page) == summary_of(shown)


@pytest.mark.parametrize("chosen", [{"mode": "fork"}, {"strategy": "insert-interrupted-result"}, {"reader": "dispatch-2026-07"}])
def test_another_question_has_another_answer(client: Client, conversation: Conversation, chosen: dict[str, str]) -> None:
    first = preview(client, conversation)
    assert preview(client, conversation, **chosen) != first


def test_an_imported_change_is_seen(client: Client, conversation: Conversation, path: Path) -> None:
    first = preview(client, conversation)
    put(path, "conv:c1:chunk:0000000005", row("a fifth one", msg_idx=0))
    again(path)
    assert "a fifth one" not in first and "a fifth one" in preview(client, conversation)


def test_a_repair_shows_the_revision_that_it_was_proposed_on(client: Client, conversation: Conversation, path: Path) -> None:
    repair = proposed(conversation, "renumber-messages")
    put(path, "conv:c1:chunk:0000000005", row("a fifth one", msg_idx=0))
    again(path)
    page = client.get(f"/repairs/{repair.oid}/").content.decode()
    assert "This plan:" in page and "a fifth one" not in page


def size_of_preview(client: Client, path: Path, count: int, mode: str) -> int:
    store = merged()
    for number in range(count):
        store.append(U(f"number {number:06}")), store.append(A(f"answer {number:06}"))
    return len(preview(client, imported(path, store), mode=mode))


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["fork", "in-place"])
def test_the_page_does_not_grow_with_the_conversation(client: Client, tmp_path: Path, mode: str) -> None:
    smaller, larger = (size_of_preview(client, tmp_path / f"{count}.db", count, mode) for count in (400, 1600))
    assert larger < 1.02 * smaller


@pytest.mark.slow
def test_what_is_kept_of_a_page_is_what_it_shows(client: Client, tmp_path: Path) -> None:
    sizes = []
    for count in (400, 1600):
        shown_previews._shown.cache_clear()
        size_of_preview(client, tmp_path / f"{count}.db", count, "fork")
        sizes.append(shown_previews._shown.kept.bytes)
    assert sizes[1] < 1.05 * sizes[0] and shown_previews._shown.kept.most_bytes > sizes[0]


def test_while_a_page_holds_its_conversation_nothing_loads_or_judges_it_again(conversation: Conversation) -> None:
    base = shown_previews.base_of_page(conversation, "")
    assert base is not None and base_case(conversation, base[0].reading.reader) is base[0] and loading.stored(conversation) is base[1]
    side = look(base[0], *conversation.judges)
    assert look(base_case(conversation, base[0].reading.reader), *conversation.judges).prompt is side.prompt


def test_what_a_large_conversation_offers_is_what_its_import_kept(client: Client, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The strategies of its findings are in the database: choosing among them loads no record."""
    store = merged()
    for number in range(1100):
        store.append(U(f"number {number:06}")), store.append(A(f"answer {number:06}"))
    conversation = imported(path, store)
    page = f"/conversations/{conversation.oid}/repairs/new/"
    forget_records()
    with loading_no_record():
        offered = client.get(page).content.decode()
    assert ">suggested<" in offered
    kept = shown_previews.offered(conversation, "")
    shown_previews._offered.cache_clear()
    monkeypatch.setattr(shown_previews, "_analysis", lambda row: None)
    computed = shown_previews.offered(conversation, "")
    assert kept.recommended == computed.recommended and kept.named <= computed.named
