"""A page says how old its data is, and that something new is there; what it asks for that is small, and says nothing of what is hidden."""

import re
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from inspector.access.context import limited_to
from inspector.access.roles import Access, Role, RoleOn
from inspector.models import Conversation, Problem, Source, Watch, Watcher, news
from inspector.models.news import Scope
from inspector.sources.processes import this_process
from tests.actions.building import bring, imported, merged, put, row
from tests.views.test_inbox import MaxQueries

pytestmark = pytest.mark.django_db


def asked(client: Client, address: str) -> str:
    """The address that a page asks for what is new."""
    page = client.get(address).content.decode()
    match = re.search(r'hx-get="(/live/[^"]*)"', page)
    assert match, page[-2000:]
    return unescape(match[1])


def test_every_page_of_data_says_what_came_since(client: Client, tmp_path: Path) -> None:
    conversation = imported(tmp_path / "a.db", merged())
    source, problem = conversation.source, Problem.objects.earliest("rank")
    pages = {
        address: asked(client, address)
        for address in (
            *("/", "/conversations/", "/sources/", "/streams/"),
            *(f"/conversations/{conversation.oid}/", f"/sources/{source.oid}/", f"/problems/{problem.oid}/"),
        )
    }
    for address, question in pages.items():
        answer = client.get(question)
        assert (answer.status_code, answer.content) == (204, b""), address
        assert '"at"' in answer.headers["HX-Trigger"]
    put(tmp_path / "a.db", "conv:c1:chunk:0000000009", row("new"))
    bring(tmp_path / "a.db")
    words = {address: client.get(question).content.decode() for address, question in pages.items()}
    assert "1 new chunk, " in words["/"] and "data-show" in words["/"]
    assert words[f"/conversations/{conversation.oid}/"].startswith("<span>1 new chunk, ")
    assert all(words[address] == words["/"] for address in ("/conversations/", "/sources/", "/streams/", f"/sources/{source.oid}/"))
    (tmp_path / "a.db").with_name("b.db").write_bytes((tmp_path / "a.db").read_bytes())
    bring(tmp_path / "b.db")
    assert "1 new conversation, " in client.get(pages["/"]).content.decode()
    assert client.get(pages[f"/conversations/{conversation.oid}/"]).content.decode() == words[f"/conversations/{conversation.oid}/"]


def test_what_comes_is_said_in_words() -> None:
    before = dict.fromkeys(news.NAMES, 5)
    assert news.news(before, before) == ""
    assert news.news(before, before | {"chunks": 1008, "findings": 6, "changes": 6}) == "1,003 new chunks, 1 new finding"
    assert news.news(before, before | {"conversations": 4, "findings": 3}) == "1 conversation fewer, 2 findings fewer"
    assert news.news(before, before | {"changes": 6}) == "changed content"
    assert news.of_token(news.token(before)) == before


@pytest.mark.parametrize(
    "query",
    [
        "",
        "of=everything",
        "of=x&seen=1.1.1.1.1.1",
        "of=source&seen=1.1.1.1.1.1",
        "of=everything&seen=1.1",
        "of=everything&seen=-1.a.1.1.1.1",
    ],
)
def test_what_no_page_asks_has_no_answer(client: Client, query: str) -> None:
    answer = client.get(f"/live/?{query}")
    assert (answer.status_code, answer.content) == (204, b"")


def test_a_question_is_few_queries_however_much_there_is(client: Client, tmp_path: Path, django_assert_max_num_queries: MaxQueries) -> None:
    conversation = imported(tmp_path / "a.db", merged())
    for address in ("/", f"/conversations/{conversation.oid}/"):
        question = asked(client, address)
        with django_assert_max_num_queries(5):
            client.get(question)


def test_what_may_not_be_seen_has_no_news(tmp_path: Path) -> None:
    shown, hidden = imported(tmp_path / "a.db", merged()), imported(tmp_path / "b.db", merged())
    with limited_to(Access("ann", (RoleOn(Role.VIEWER, frozenset([shown.source_id])),))):
        facts = news.facts_of(Scope())
        assert (facts["conversations"], facts["chunks"]) == (1, 4)
        for scope in (Scope("conversation", hidden.oid), Scope("source", hidden.source.oid), Scope("conversation", "0" * 12)):
            assert news.facts_of(scope) == dict.fromkeys(news.NAMES, 0)
        put(tmp_path / "b.db", "conv:c1:chunk:0000000009", row("new"))
        with limited_to(None):
            bring(tmp_path / "b.db")
        assert news.is_same(Scope(), facts)


def test_data_is_as_old_as_the_last_look_that_found_nothing_new(client: Client, tmp_path: Path) -> None:
    source = imported(tmp_path / "a.db", merged()).source
    long_ago = timezone.now() - timedelta(hours=3)
    Source.objects.update(read_at=long_ago)

    def shown() -> Any:
        return re.search(r'id="live".*?<time datetime="([^"]*)"', client.get(f"/sources/{source.oid}/").content.decode())[1]  # type: ignore[index]

    at = f"{long_ago:%Y-%m-%dT%H:%M:%SZ}"
    assert shown() == at
    alive_at = timezone.now()
    Watcher.objects.create(pk=1, by=this_process(), alive_at=alive_at)
    watch = Watch.objects.create(source=source, mark="m")
    assert shown() == f"{alive_at:%Y-%m-%dT%H:%M:%SZ}"
    assert "Looked at" in client.get(f"/sources/{source.oid}/").content.decode()
    Watch.objects.filter(pk=watch.pk).update(problem="It is gone <b>.", failed_at=alive_at)
    page = client.get(f"/sources/{source.oid}/").content.decode()
    assert shown() == at and "It is gone &lt;b&gt;." in page and "cannot be read now" in client.get("/sources/").content.decode()
    Watch.objects.filter(pk=watch.pk).update(problem="")
    Watcher.objects.update(alive_at=alive_at - timedelta(hours=1))
    assert shown() == at and "Nobody looks at it now" in client.get(f"/sources/{source.oid}/").content.decode()


def test_a_conversation_is_imported_again_from_its_own_page(client: Client, tmp_path: Path) -> None:
    conversation = imported(tmp_path / "a.db", merged())
    address = f"/conversations/{conversation.oid}/"
    assert "Import again" in client.get(address).content.decode()
    put(tmp_path / "a.db", "conv:c1:chunk:0000000009", row("new"))
    answer = client.post(f"/sources/{conversation.source.oid}/import/", {"conversation": conversation.oid})
    assert answer.headers["Location"] == address and Conversation.objects.get().chunk_count == 5
    elsewhere = client.post(f"/sources/{conversation.source.oid}/import/", {"conversation": "//example.org"})
    assert elsewhere.headers["Location"] == f"/sources/{conversation.source.oid}/"
