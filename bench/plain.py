"""What our work is compared with, in the same run: plain parsing and inserting of the same bytes, and plain pages of the same number of rows.

It is also the module of addresses while pages are measured: ours, and the plain ones below /plain/.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.template import engines
from django.urls import path

from inspector.urls import handler400, handler404
from inspector.urls import urlpatterns as ours

__all__ = ["handler400", "handler404"]

_TABLE = (
    "CREATE TABLE chunks (conversation TEXT, seq INTEGER, role TEXT, type TEXT, ts TEXT, payload TEXT, PRIMARY KEY (conversation, seq))"
)
_KV = "CREATE TABLE kv (namespace TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (namespace, key))"
_OF_LIST = (
    "SELECT c.oid, c.title, s.path, c.chunk_count, c.message_count, c.read_count, c.verdict, c.last_activity FROM inspector_conversation c "
    "JOIN inspector_source s ON s.id = c.source_id WHERE NOT c.is_gone ORDER BY c.place, c.id LIMIT %s"
)
_OF_CHUNKS = "SELECT position, key, kind, role, seq, msg_idx, chunk_idx, size FROM inspector_chunkrow ORDER BY id LIMIT %s"
_PAGE = (
    "{% extends 'base.html' %}{% block main %}<table>{% for row in rows %}<tr><td><a href='/conversations/{{ row.0 }}/'>{{ row.1 }}</a></td>"
    "<td>{{ row.2 }}</td><td>{{ row.3 }}</td><td>{{ row.4 }}</td><td>{{ row.5 }}</td><td>{{ row.6 }}</td><td>{{ row.7 }}</td></tr>"
    "{% endfor %}</table>{% endblock %}"
)


def parsed_and_inserted(files: Sequence[Path], address: str) -> None:
    """Every block of session files as a row of a new table, one transaction: what an import cannot do without."""
    _insert(address, "chunks", _TABLE, 6, (row for file in files for row in _chunks_of(file)))


def _chunks_of(file: Path) -> Iterator[tuple[object, ...]]:
    """Of pi and OpenClaw, whose first line names the session, and of Claude Code, where each line does."""
    seq, native_id = 0, ""
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            entry = json.loads(line)
            message = entry.get("message")
            if message is None:
                native_id = entry["id"]
                continue
            session, content = entry.get("sessionId") or native_id, message["content"]
            for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
                seq += 1
                yield session, seq, message["role"], block["type"], entry["timestamp"], json.dumps(block)


def copied(store: Path, address: str) -> None:
    """Every row of a dispatch.db, its value parsed, into a new table, one transaction."""

    def rows() -> Iterator[tuple[object, ...]]:
        with closing(sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True)) as source:
            for row in source.execute("SELECT namespace, key, value FROM kv ORDER BY namespace, key"):
                if ":chunk:" in row[1]:
                    json.loads(row[2])
                yield row

    _insert(address, "kv", _KV, 3, rows())


def _insert(address: str, table: str, definition: str, columns: int, rows: Iterator[tuple[object, ...]]) -> None:
    """`address`: the file of a new SQLite database, as durable as the product's own; or that of a PostgreSQL database."""
    if address.startswith("postgresql:"):
        import psycopg

        with psycopg.connect(address) as postgres:
            postgres.execute(f"DROP TABLE IF EXISTS {table}")  # type: ignore[call-overload]
            postgres.execute(definition.replace("INTEGER", "BIGINT"))  # type: ignore[call-overload]
            with postgres.cursor().copy(f"COPY {table} FROM STDIN") as copy:  # type: ignore[call-overload]
                for row in rows:
                    copy.write_row(row)
        return
    for suffix in ("", "-wal", "-shm"):
        Path(address + suffix).unlink(missing_ok=True)
    with closing(sqlite3.connect(address, isolation_level=None)) as own:
        own.execute("PRAGMA journal_mode=WAL")
        own.execute(definition)
        own.execute("BEGIN")
        own.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * columns)})", rows)
        own.execute("COMMIT")


def plain_page(request: HttpRequest, table: str, rows: int) -> HttpResponse:
    """The base template of the program, and a row of eight cells for each row of one SQL statement."""
    with connection.cursor() as cursor:
        cursor.execute(_OF_LIST if table == "list" else _OF_CHUNKS, [rows])
        fetched = cursor.fetchall()
    return HttpResponse(_TEMPLATE.render({"rows": fetched}, request))


_TEMPLATE = engines["django"].from_string(_PAGE)
urlpatterns = [*ours, path("plain/<str:table>/<int:rows>/", plain_page)]
