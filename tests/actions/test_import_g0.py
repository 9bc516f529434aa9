"""A real file of the old Dispatch store, imported and looked at: its conversations arrive, and nothing of its secret tables does."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client

from inspector.actions.import_source import import_targets
from inspector.actions.planning import request_for, web_may_write
from inspector.actions.problems import Refused
from inspector.actions.set_write_back import set_write_back
from inspector.models import Conversation, Source, loading, searching
from inspector.sources import opening, reading
from tests.sources.stores import prints

pytestmark = pytest.mark.django_db

SECRET = "sk-ant-PLANTED-0123456789"
SCHEMA = f"""
CREATE TABLE tabs (id TEXT PRIMARY KEY, title TEXT NOT NULL, key_id TEXT, model_id TEXT, parent_tab_id TEXT, status TEXT NOT NULL,
  is_open INTEGER NOT NULL, position INTEGER NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL);
CREATE TABLE chunks (id TEXT PRIMARY KEY, tab_id TEXT NOT NULL REFERENCES tabs(id), seq INTEGER NOT NULL, turn_id TEXT NOT NULL,
  step INTEGER NOT NULL, role TEXT NOT NULL, type TEXT NOT NULL, data_json TEXT NOT NULL, created_at INTEGER NOT NULL);
CREATE INDEX idx_chunks_tab_seq ON chunks(tab_id, seq);
CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE credentials (id TEXT PRIMARY KEY, access_token TEXT);
CREATE TABLE api_keys (id TEXT PRIMARY KEY, key TEXT);
CREATE TABLE usage_cache (id TEXT PRIMARY KEY, data TEXT);
CREATE TABLE wake_schedule (id TEXT PRIMARY KEY, data TEXT);
INSERT INTO settings VALUES ('token', '{SECRET}');
INSERT INTO credentials VALUES ('c', '{SECRET}');
INSERT INTO api_keys VALUES ('k', '{SECRET}');
INSERT INTO usage_cache VALUES ('u', '{SECRET}');
INSERT INTO tabs VALUES ('tab1', 'Old <b>talk</b>', '{SECRET}', 'claude-x', NULL, 'idle', 1, 0, 1750000000000, 1750000009000);
INSERT INTO tabs VALUES ('empty', 'Nothing said', NULL, NULL, 'tab1', 'idle', 0, 1, 1750000000000, 1750000000000);
"""
ROWS = (
    (0, "user", "text", {"text": "list it"}),
    (1, "assistant", "thinking", {"text": "hm", "metadata": {"signature": "s"}}),
    (2, "assistant", "tool_call", {"callId": "a", "name": "ls", "arguments": {"path": "."}}),
    *((seq, "tool", "tool_result", {"callId": "a", "name": "ls", "result": "one file", "isError": False}) for seq in range(3, 13)),
    (13, "assistant", "text", {"text": "one file <script>alert(1)</script>"}),
)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "dispatch.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("PRAGMA journal_mode=WAL")
        database.executescript(SCHEMA)
        for seq, role, kind, data in ROWS:
            row = (f"r{seq}", "tab1", seq, "t1", 0 if seq < 13 else 1, role, kind, json.dumps(data), 1750000000000 + seq)
            database.execute("INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    return path


def bring(path: Path) -> Conversation:
    import_targets([str(path)], "tester")
    return Conversation.objects.select_related("source").get(native_id="tab1")


def change(path: Path, sql: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(sql, values)


def test_conversations_arrive_and_the_file_stays(store: Path) -> None:
    before = prints(store)
    conversation = bring(store)
    assert prints(store) == before
    assert (conversation.source.format, conversation.source.reader, conversation.title) == ("dispatch-g0", "exact", "Old <b>talk</b>")
    assert (conversation.chunk_count, conversation.message_count, conversation.model) == (14, 4, "claude-x")
    assert conversation.last_activity == 1750000009000
    assert set(conversation.findings.values_list("code", flat=True)) >= {"TOOL206"}
    assert not set(conversation.findings.values_list("code", flat=True)) & {"STORE201", "STORE202", "STORE304"}
    assert Conversation.objects.get(native_id="empty").findings.count() == 0


def test_what_our_database_holds_reads_as_the_store_does(store: Path) -> None:
    conversation = bring(store)
    (fresh,) = [each for each in reading.read_store(store).conversations if each.conversation.native_id == "tab1"]
    loading._stored.cache_clear()
    kept = loading.stored(conversation)
    assert kept.conversation == fresh.conversation and kept.records == fresh.records
    assert import_targets([str(store)], "tester")[0].unchanged == 2


def test_no_other_table_is_selected_from(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: set[tuple[str, str]] = set()
    connect = opening.connect

    def watched(*args: object, **options: object) -> sqlite3.Connection:
        opened = connect(*args, **options)  # type: ignore[arg-type]

        def note(action: int, table: str | None, column: str | None, *_: object) -> int:
            if action == sqlite3.SQLITE_READ:
                read.add((table or "", column or ""))
            return sqlite3.SQLITE_OK

        opened.set_authorizer(note)
        return opened

    monkeypatch.setattr(opening, "connect", watched)
    bring(store)
    assert {table for table, _ in read} == {"sqlite_master", "chunks", "tabs"}
    assert ("tabs", "key_id") not in read and ("chunks", "data_json") in read


def test_no_byte_of_a_secret_reaches_our_database_or_a_page(store: Path, client: Client) -> None:
    conversation = bring(store)
    with connection.cursor() as cursor:
        # What the index of words holds is in tables of its own.
        for table in set(connection.introspection.table_names(cursor)) - {searching.TABLE}:
            cursor.execute(f'SELECT * FROM "{table}"')
            for row in cursor.fetchall():
                assert not any(SECRET.encode() in (bytes(v) if isinstance(v, bytes | memoryview) else str(v).encode()) for v in row), table
    paths = ["/", "/conversations/", "/sources/", f"/sources/{conversation.source.oid}/", f"/sources/{conversation.source.oid}.json"]
    paths += [f"/conversations/{conversation.oid}{rest}" for rest in ("/", ".json", ".md", "/prompt/", "/chunks/0/", "/chunks/0/raw/")]
    for path in paths:
        answer = client.get(path)
        content = b"".join(answer.streaming_content) if answer.streaming else answer.content  # type: ignore[attr-defined]
        assert answer.status_code == 200 and SECRET.encode() not in content, path


def test_its_page_shows_the_rows_as_words(store: Path, client: Client) -> None:
    page = client.get(f"/conversations/{bring(store).oid}/").content.decode()
    assert "one file &lt;script&gt;" in page and "<script>alert" not in page
    assert 'id="seq-0"' in page and 'id="seq-13"' in page


def test_it_is_never_written_and_says_so(store: Path, client: Client) -> None:
    conversation = bring(store)
    with pytest.raises(Refused, match="only read"):
        request_for(conversation.source, loading.stored(conversation), ["deduplicate-results"], None)
    with pytest.raises(Refused, match="only read"):
        set_write_back(conversation.source, "tester", True, answers_for_it=True)
    assert not web_may_write(Source.objects.get())
    assert client.get(f"/conversations/{conversation.oid}/repairs/new/").status_code < 500


def test_hostile_rows_are_shown_and_nothing_is_lost(store: Path, client: Client) -> None:
    change(store, "UPDATE chunks SET data_json = CAST(? AS TEXT) WHERE seq = 3", b'{"text": "\xff')
    change(store, "UPDATE chunks SET data_json = ? WHERE seq = 4", b"\x00blob")
    change(store, "UPDATE chunks SET seq = 6 WHERE seq = 5")
    change(store, "UPDATE chunks SET seq = 'x', created_at = 9e999 WHERE seq = 7")
    change(store, "UPDATE chunks SET role = 'robot', step = x'00' WHERE seq = 8")
    change(store, "UPDATE tabs SET title = CAST(? AS TEXT), updated_at = 'never' WHERE id = 'tab1'", b"\xe2\x80\xae\xff title")
    conversation = bring(store)
    assert conversation.chunk_count == 14 and conversation.last_activity is None
    loading._stored.cache_clear()
    chunks = loading.stored(conversation).conversation.chunks
    assert len({chunk.key for chunk in chunks}) == 14
    assert {chunk.damage for chunk in chunks} == {"", "not-utf8", "not-text", "wrong-type"}
    for rest in ("/", ".json", ".md", "/prompt/"):
        assert client.get(f"/conversations/{conversation.oid}{rest}").status_code == 200


def test_a_store_of_fewer_columns_is_read_by_what_it_has(store: Path) -> None:
    change(store, "ALTER TABLE chunks DROP COLUMN created_at")
    change(store, "ALTER TABLE tabs DROP COLUMN title")
    conversation = bring(store)
    assert conversation.title == "" and loading.stored(conversation).conversation.chunks[0].at is None
