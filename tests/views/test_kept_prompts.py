"""The prompt of a large conversation: its page reads a window of rows that were kept, and shows what it would show if it read everything."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.http import HttpRequest
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext

from inspector.actions.set_deployed_reader import set_deployed_reader
from inspector.models import AnalysisBlock, Conversation, Source, StoredAnalysis, loading
from inspector.presentation.prompt.side_by_side import ROWS_KEPT
from inspector.views import prompts
from tests.actions.building import again, bring, chunk_key, drop, put, row
from tests.programs.pi_openclaw.session_files import a, call, header, lines, r, text, u
from tests.views.test_large_conversation import LARGE, damaged, limit, page, without_profiles

__all__ = ["limit"]
pytestmark = [pytest.mark.django_db, pytest.mark.database]

WINDOWS = ("", "at=0", "at=37", "at=402", "at=403", "at=99999", "from=1", "from=99", "from=100", "from=250", "from=99999")


@pytest.fixture(autouse=True)
def largest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompts, "LARGEST", LARGE)


@pytest.fixture
def conversation(tmp_path: Path) -> Conversation:
    return damaged(tmp_path / "a.db", LARGE + 203)


def asked(query: str = "") -> HttpRequest:
    return RequestFactory().get(f"/?{query}")


def keep(conversation: Conversation, query: str = "") -> None:
    prompts.keep_page(asked(query), Conversation.objects.select_related("source").get(pk=conversation.pk))  # type: ignore[arg-type]


def kept() -> int:
    return StoredAnalysis.objects.filter(is_own=False).count()


@pytest.mark.slow
@pytest.mark.parametrize(
    "look", ["", "profile=openai-chat", "as=openai-responses", "strategy=insert-interrupted-result", "strategy=renumber-messages"]
)
def test_each_window_of_what_was_kept_is_that_of_what_is_read_whole(client: Client, conversation: Conversation, look: str) -> None:
    whole = {window: page(client, conversation, f"prompt/?{look}&{window}") for window in WINDOWS}
    keep(conversation, look)
    assert prompts.is_page_kept(asked(look), Conversation.objects.select_related("source").get())  # type: ignore[arg-type]
    for window in WINDOWS:
        assert without_profiles(page(client, conversation, f"prompt/?{look}&{window}")) == without_profiles(whole[window]), window


def test_a_page_reads_its_window_and_no_record(client: Client, tmp_path: Path) -> None:
    counts = []
    for chunks in (LARGE + 203, LARGE + 803):
        conversation = damaged(tmp_path / f"{chunks}.db", chunks)
        keep(conversation)
        loading.forget()
        with CaptureQueriesContext(connection) as queries:
            text = page(client, conversation, "prompt/?from=250")
        assert len(re.findall(r'<tr [^>]*id="seq-', text)) == ROWS_KEPT
        assert not [query["sql"] for query in queries if "inspector_record" in query["sql"] or "inspector_payload" in query["sql"]]
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 20


def test_its_rows_are_kept_in_blocks(conversation: Conversation) -> None:
    keep(conversation)
    rows = AnalysisBlock.objects.filter(analysis__is_own=False).order_by("number").values_list("position_low", "position_high")
    assert [low for low, _ in rows] == [number * ROWS_KEPT for number in range(len(rows))]
    assert rows[len(rows) - 1][1] + 1 >= conversation.chunk_count


@pytest.mark.parametrize("query", ["", "from=250", "strategy=insert-interrupted-result", "profile=openai-chat", "rev=1"])
def test_each_look_is_kept_by_itself_and_each_window_of_it_with_it(conversation: Conversation, query: str) -> None:
    row = Conversation.objects.select_related("source").get(pk=conversation.pk)
    assert not prompts.is_page_kept(asked(query), row)  # type: ignore[arg-type]
    keep(conversation, query)
    assert prompts.is_page_kept(asked(query), row)  # type: ignore[arg-type]
    assert prompts.is_page_kept(asked(f"{query}&at=3"), row)  # type: ignore[arg-type]
    assert not prompts.is_page_kept(asked(f"{query}&strategy=fix-counter"), row)  # type: ignore[arg-type]


def test_what_is_read_again_is_made_again(client: Client, conversation: Conversation, tmp_path: Path) -> None:
    keep(conversation)
    put(tmp_path / "a.db", chunk_key(99_999), row("one more"))
    again(tmp_path / "a.db")
    now = Conversation.objects.select_related("source").get()
    assert not prompts.is_page_kept(asked(), now)  # type: ignore[arg-type]
    assert "one more" in page(client, now, "prompt/?at=99999")


def test_what_came_too_late_is_not_kept(conversation: Conversation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The source was read again while the prompt was made."""
    computed = prompts._computed

    def slowly(*arguments: object) -> object:
        made = computed(*arguments)  # type: ignore[arg-type]
        drop(tmp_path / "a.db", chunk_key(1))
        again(tmp_path / "a.db")
        return made

    monkeypatch.setattr(prompts, "_computed", slowly)
    keep(conversation)
    assert not kept()


def test_another_reader_of_the_source_makes_another_prompt(conversation: Conversation) -> None:
    keep(conversation)
    source = Source.objects.get()
    earlier = source.reader
    set_deployed_reader(source, "test", "dispatch-role-split")
    now = Conversation.objects.select_related("source").get()
    assert not prompts.is_page_kept(asked(), now) and prompts.is_page_kept(asked(f"reader={earlier}"), now)  # type: ignore[arg-type]


def test_of_a_short_conversation_and_of_a_crash_file_nothing_is_kept(tmp_path: Path, conversation: Conversation) -> None:
    """A row of a crash file also names what its session has stored, which is read when the page is opened."""
    Conversation.objects.update(is_crash=True)
    keep(conversation)
    keep(damaged(tmp_path / "b.db", LARGE - 50))
    assert not kept()


@pytest.mark.slow
def test_an_address_opens_at_its_row_where_a_strategy_inserts_rows(client: Client, tmp_path: Path) -> None:
    """What is inserted has the highest seqs of all: every later address opened at the first inserted row."""
    turns = [entry for turn in range(100) for entry in turn_of(turn, loses=turn % 25 == 9)]
    path = tmp_path / "s.jsonl"
    path.write_bytes(lines(header(), *turns))
    bring(path)
    session = Conversation.objects.get()
    windows = [f"strategy=insert-pi-result&at={seq}" for seq in range(1, session.chunk_count + 4, 17)]
    whole = {window: without_profiles(page(client, session, f"prompt/?{window}")) for window in windows}
    keep(session, windows[0])
    assert kept() and {window: without_profiles(page(client, session, f"prompt/?{window}")) for window in windows} == whole


def turn_of(turn: int, loses: bool) -> Iterator[dict[str, Any]]:
    """Five entries; where it `loses` its result, four."""
    ids = [f"{turn:04}{letter}" for letter in "abcde"]
    above = f"{turn - 1:04}e" if turn else None
    yield u(ids[0], above, f"question {turn}")
    yield a(ids[1], ids[0], call(f"c{turn}"))
    if not loses:
        yield r(ids[2], ids[1], f"c{turn}")
    yield u(ids[3], ids[1] if loses else ids[2], "and?")
    yield a(ids[4], ids[3], text("done"))


@pytest.mark.slow
def test_a_prompt_is_kept_with_what_the_page_of_the_conversation_says_now(client: Client, conversation: Conversation) -> None:
    """It was kept with what older rules had recommended, and nothing made it again."""
    fresh = StoredAnalysis.objects.get()
    StoredAnalysis.objects.update(basis="of an older version")
    whole = page(client, conversation, "prompt/")
    keep(conversation)
    assert StoredAnalysis.objects.get(is_own=True).basis == fresh.basis, "worked out by now, and kept too"
    assert without_profiles(page(client, conversation, "prompt/")) == without_profiles(whole)
    StoredAnalysis.objects.all().delete()
    keep(conversation)
    assert without_profiles(page(client, conversation, "prompt/")) == without_profiles(whole)


def test_of_a_short_revision_of_what_is_long_now_other_readers_are_tried_each_time(client: Client, tmp_path: Path) -> None:
    short = damaged(tmp_path / "a.db", 100)
    for turn in range(LARGE):
        put(tmp_path / "a.db", chunk_key(10_000 + turn), row(f"later {turn}"))
    again(tmp_path / "a.db")
    assert Conversation.objects.get().chunk_count > LARGE
    keep(short, "rev=1")
    assert not kept() and "Tried in memory" in page(client, short, "prompt/?rev=1")
