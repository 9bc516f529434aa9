"""The search in words: complete, the same on every database, with an index, without one, and where an import left words out of it."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector.actions.import_source import import_targets
from inspector.demo.creation import write_dispatch_store
from inspector.models import Conversation, SearchText, loading, searching
from inspector.models.searching import calls_with, conversations_with, counts, index_texts, matching_positions
from inspector.presentation.conversation.revision_content import searchable
from inspector.presentation.visible import folded
from tests.commands.running import run_in_process
from tests.programs.pi_openclaw.session_files import a, call, header, lines, r, text, u
from tests.views.imported import rows, store

WITHOUT_INDEX = "no index here: a PostgreSQL without the extension pg_trgm"
pytestmark = pytest.mark.django_db

WORDS = (
    "Straße und STRASSE",
    "ΟΔΟΣ ΟΔΟΣΑ",
    "İstanbul ıssız",
    "É e\u0301",
    "100% of a_b\\c 'quoted' \"twice\"",
    "tab\tand\nnewline",
    "hidden\u202e\x00\x1f\ud800",
    "ab",
    "日本語のテキスト",
    "😀😀😀",
    "needle",
)
QUERIES = (
    *(
        "strasse",
        "straße",
        "οδος",
        "ΟΔΟΣ",
        "οδοσα",
        "İ",
        "i̇stan",
        "ıss",
        "é",
        "É",
        "e\u0301",
        "%",
        "a_b",
        "a%b",
        "_",
        "\\",
        "'",
        '"',
        '"twice"',
        "\\c",
    ),
    *(
        "tab\tand",
        "and\nnew",
        "\u202e",
        "\\u202e",
        "\x00",
        "\x1f",
        "\ud800",
        "a",
        "ab",
        "abc",
        "本語の",
        "日",
        "😀",
        "😀😀",
        "NEEDLE",
        "needles",
    ),
    *("* OR needle", "needle AND", "NEAR(", "text:needle", "-", ""),
)


def spoken(words: str) -> dict[str, object]:
    return {"chunk": {"type": "text", "text": words}, "role": "user", "msgIdx": 0, "chunkIdx": 0}


def one_for_each(path: Path, texts: Sequence[str]) -> list[Conversation]:
    store(path, [row for number, words in enumerate(texts) for row in rows(f"c-{number:03d}", [spoken("first"), spoken(words)])])
    return list(Conversation.objects.order_by("native_id"))


def matching(q: str) -> list[str]:
    return sorted(Conversation.objects.filter(conversations_with(q)).values_list("native_id", flat=True))


def expected(q: str) -> list[str]:
    """What a plain comparison of the words of all chunks gives."""
    return sorted(
        row.native_id
        for row in Conversation.objects.select_related("source")
        if folded(q) in folded(row.native_id)
        or row.oid.startswith(folded(q))
        or any(folded(q) in folded(searchable(chunk)) for chunk in loading.stored(row).conversation.chunks)
    )


@pytest.mark.parametrize("state", ["indexed", "not yet indexed", "indexed in part", "no index"])
def test_what_is_found_is_what_a_comparison_of_all_words_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str) -> None:
    one_for_each(tmp_path / "a.db", WORDS)
    if state.startswith("indexed"):
        if not searching.has_index():
            pytest.skip(WITHOUT_INDEX)
        assert index_texts() == len(WORDS)
    if state == "indexed in part":
        store(tmp_path / "b.db", [row for number, words in enumerate(WORDS) for row in rows(f"d-{number:03d}", [spoken(words)])])
    if state == "no index":
        monkeypatch.setattr(searching, "has_index", lambda: False)
    assert {q: matching(q) for q in QUERIES} == {q: expected(q) for q in QUERIES}


def test_the_answers_are_these(tmp_path: Path) -> None:
    one_for_each(tmp_path / "a.db", WORDS)
    index_texts()
    # By its words: an id of ours, which the path of the test decides, may begin with any two letters.
    oids = {int(native_id[2:]): oid for native_id, oid in Conversation.objects.values_list("native_id", "oid")}
    numbers = {
        q: [
            number
            for number in (int(native_id[2:]) for native_id in matching(q))
            if not oids[number].startswith(folded(q)) or folded(q) in folded(WORDS[number])
        ]
        for q in ("strasse", "οδος", "%", "ab", "\u202e", "NEEDLE", "quoted' \"tw", "\nNEW")
    }
    assert numbers == {
        "strasse": [0], "οδος": [1], "%": [4], "ab": [5, 7], "\u202e": [6], "NEEDLE": [10], "quoted' \"tw": [4], "\nNEW": [5],
    }  # fmt: skip


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.text(alphabet=st.sampled_from("aAbBßſıİΣςσ%_\\'\"\n\x1f é\u0301日"), max_size=5))
def test_any_query_finds_what_a_comparison_finds(tmp_path: Path, q: str) -> None:
    if not Conversation.objects.exists():
        write_dispatch_store(
            tmp_path / "a.db",
            [row for n, words in enumerate(("aAbBßſıİΣςσ", "%_\\'\" é\u0301日", "ba\nAB")) for row in rows(f"{n}", [spoken(words)])],
        )
        import_targets([str(tmp_path / "a.db")], "tester")
        index_texts()
    assert matching(q) == expected(q)


def test_a_word_that_most_conversations_have_is_found_in_all_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "FEW", 3)
    one_for_each(tmp_path / "a.db", ["common", "common", "Common words", "rare", "un-common", "com mon"])
    index_texts()
    assert matching("common") == ["c-000", "c-001", "c-002", "c-004"] and matching("rare") == ["c-003"]
    assert matching("first") == [f"c-{number:03d}" for number in range(6)]


def test_words_of_two_chunks_are_not_found_together(tmp_path: Path) -> None:
    store(tmp_path / "a.db", rows("one", [spoken("alpha"), spoken("beta")]))
    assert matching("alpha") == matching("beta") == ["one"]
    assert matching("alpha\nbeta") == matching("alphabeta") == matching("a\x1fb") == []


def test_chunks_are_counted_and_their_places_named(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    turns = [
        u(f"u{number}", f"u{number - 1}" if number else None, f"{'x' * 4_000} {number}{' needle' * (number % 100 == 7)}")
        for number in range(300)
    ]
    path = folder / "a.jsonl"
    path.write_bytes(lines(header(), *turns, a("a1", "u299", text("Needle"), call("c1", q="needles")), r("r1", "a1", "c1", "none")))
    import_targets([str(folder)], "tester")
    row = Conversation.objects.get()
    assert SearchText.objects.count() > 10
    assert matching_positions(row, 1, "NEEDLE") == [7, 107, 207, 300, 301] and counts("needle", [row.pk]) == {row.pk: 5}
    with path.open("ab") as file:
        file.write(lines(u("u300", "r1", "one more needle")))
    import_targets([str(folder)], "tester")
    row.refresh_from_db()
    assert matching_positions(row, 2, "needle") == [7, 107, 207, 300, 301, 303]
    assert matching_positions(row, 1, "needle") == [7, 107, 207, 300, 301]
    assert matching_positions(row, 2, "") == list(range(304)) and counts("nowhere", [row.pk]) == {}


def test_calls_are_looked_up_by_their_whole_id(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    before = [u(f"u{number}", f"u{number - 1}" if number else None, f"{'x' * 4_000} c-17") for number in range(50)]
    ends = call("c-17", q="x"), call("c-175", q="y")
    (folder / "a.jsonl").write_bytes(lines(header(), *before, a("a1", "u49", text("c-17"), *ends), r("r1", "a1", "c-17", "none")))
    import_targets([str(folder)], "tester")
    index_texts()
    row = Conversation.objects.get()
    chunks = loading.stored(row).conversation.chunks
    expected = [chunk.seq for chunk in chunks if chunk.call_id == "c-17"]
    assert len(expected) == 2 and calls_with("c-17") == {row.pk: expected}, "texts that name it are none, nor is a longer id"
    assert calls_with("c-1") == {}


def test_without_an_index_and_of_a_common_word_no_call_is_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store(tmp_path / "a.db", rows("one", [spoken("alpha")]))
    if connection.vendor == "sqlite":
        monkeypatch.setattr(searching, "has_index", lambda: False)
        assert calls_with("alpha") is None
        monkeypatch.undo()
    if not index_texts():
        pytest.skip("no pg_trgm in this PostgreSQL: each text is compared, as each search does")
    monkeypatch.setattr(searching, "FEW", 1)
    assert calls_with("alpha") is None


def test_a_search_that_the_index_helps_compares_a_few_texts(tmp_path: Path) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL's planner decides by its own statistics")
    texts = [f"{'words ' * 50}id_{number:06d}" for number in range(500)]
    store(tmp_path / "a.db", [row for number, words in enumerate(texts) for row in rows(f"c-{number:03d}", [spoken(words)])])
    assert index_texts() == 500 and index_texts() == 0
    assert len(searching._in_sqlite_index("id_000321")) <= 3 and matching("id_000321") == ["c-321"]


def test_what_is_gone_from_a_revision_is_not_found(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store(path, rows("one", [spoken("alpha"), spoken("beta")]))
    index_texts()
    path.unlink()
    store(path, rows("one", [spoken("alpha"), spoken("gamma")]))
    index_texts()
    assert matching("beta") == [] and matching("gamma") == matching("alpha") == ["one"]
    row = Conversation.objects.get()
    assert matching_positions(row, 1, "beta") == [1] and matching_positions(row, 2, "gamma") == [1]
    assert json.dumps(counts("alpha", [row.pk])) == json.dumps({row.pk: 1})


def test_without_an_index_the_page_says_what_to_do(client: Client, tmp_path: Path) -> None:
    store(tmp_path / "a.db", rows("one", [spoken("alpha")], "One"))
    with connection.cursor() as cursor:
        cursor.execute(
            f"DROP {'TABLE' if connection.vendor == 'sqlite' else 'INDEX IF EXISTS'} {searching.TABLE if connection.vendor == 'sqlite' else searching.INDEX}"
        )
    text = client.get("/conversations/?q=alpha").content.decode()
    assert "so a search reads all texts" in text
    assert "1 chunk with this text" in " ".join(text.split())
    assert "reads all texts" not in client.get("/conversations/").content.decode()
    if connection.vendor == "sqlite":
        assert index_texts() == 1 and "reads all texts" not in client.get("/conversations/?q=alpha").content.decode()


IN_BACKGROUND = """
import threading
from inspector.actions.import_source import import_targets
from inspector.models import SearchText, searching
import_targets(["STORE"], "tester")
searching.WAITING = 3
searching.index_in_background()
[thread.join(60) for thread in threading.enumerate() if thread.name == "search index"]
print(SearchText.objects.filter(is_indexed=True).count(), SearchText.objects.filter(is_indexed=False).count(), len(searching._in_sqlite_index("needle")))
"""


@pytest.mark.slow
def test_what_an_import_left_out_is_indexed_while_pages_are_answered(tmp_path: Path) -> None:
    """In a process and a database of its own, for a thread has a connection of its own."""
    path, database = tmp_path / "a.db", tmp_path / "own.sqlite3"
    write_dispatch_store(path, [row for number in range(5) for row in rows(f"c-{number}", [spoken("needle")])])
    assert run_in_process(database, "migrate").status == 0
    ran = subprocess.run(
        [sys.executable, str(django_settings.BASE_DIR / "manage.py"), "shell", "-v", "0", "-c", IN_BACKGROUND.replace("STORE", str(path))],
        capture_output=True, text=True, timeout=120, env={**os.environ, "INSPECTOR_DATABASE_URL": f"sqlite:///{database}"},
    )  # fmt: skip
    assert (ran.returncode, ran.stdout.split()) == (0, ["5", "0", "5"]), ran.stderr
