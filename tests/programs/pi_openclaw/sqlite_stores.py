"""OpenClaw's SQLite store as its schemas 4, 19 and 23 make it: STRICT tables, WAL, and rows as the program writes them."""

import json
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from inspector.conversation.model import Conversation
from inspector.programs.formats import Stored
from inspector.programs.pi_openclaw.openclaw_sqlite import OPENCLAW_SQLITE
from inspector.sources import stores
from tests.programs.pi_openclaw.session_files import HEADER, line

ID = str(HEADER["id"])
KEY = "agent:main:main"
NOW = 1_700_000_000_000
_EVERY = """
CREATE TABLE schema_meta (meta_key TEXT NOT NULL PRIMARY KEY, role TEXT NOT NULL, schema_version INTEGER NOT NULL, agent_id TEXT, app_version TEXT,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL) STRICT;
CREATE TABLE auth_profile_store (store_key TEXT NOT NULL PRIMARY KEY, store_json TEXT NOT NULL, updated_at INTEGER NOT NULL) STRICT;
CREATE TABLE transcript_event_identities (session_id TEXT NOT NULL, event_id TEXT NOT NULL, seq INTEGER NOT NULL, event_type TEXT, parent_id TEXT,
  message_idempotency_key TEXT, created_at INTEGER NOT NULL, PRIMARY KEY (session_id, event_id)) STRICT;
"""
_WINDOW = """session_id TEXT NOT NULL PRIMARY KEY, session_key TEXT NOT NULL, {} created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
  transcript_updated_at INTEGER DEFAULT NULL, status TEXT CHECK (status IS NULL OR status IN ('running', 'done', 'failed', 'killed', 'timeout')),
  model_provider TEXT, model TEXT, parent_session_key TEXT, display_name TEXT"""
_OLD = f"""
CREATE TABLE sessions ({_WINDOW.format("")}) STRICT;
CREATE TABLE session_entries (session_key TEXT NOT NULL PRIMARY KEY, session_id TEXT NOT NULL, entry_json TEXT NOT NULL,
  updated_at INTEGER NOT NULL) STRICT;
CREATE TABLE transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT NOT NULL, created_at INTEGER NOT NULL,
  PRIMARY KEY (session_id, seq)) STRICT;
"""
_NODES = f"""
CREATE TABLE session_windows ({_WINDOW.format("previous_session_id TEXT, reason TEXT,")}) STRICT;
CREATE TABLE session_nodes (session_key TEXT NOT NULL PRIMARY KEY, current_session_id TEXT NOT NULL, entry_json TEXT NOT NULL,
  entry_valid INTEGER NOT NULL DEFAULT 0 CHECK (entry_valid IN (-1, 0, 1)), updated_at INTEGER NOT NULL, status TEXT, parent_session_key TEXT,
  fork_source_session_id TEXT, fork_source_entry_id TEXT, label TEXT, display_name TEXT, archived_at INTEGER) STRICT;
CREATE TABLE transcript_rewrite_watermarks (session_id TEXT NOT NULL PRIMARY KEY, generation TEXT NOT NULL, updated_at INTEGER NOT NULL) STRICT;
CREATE TABLE session_transcript_index_state (session_id TEXT NOT NULL PRIMARY KEY, indexed_seq INTEGER NOT NULL, leaf_event_id TEXT,
  needs_rebuild INTEGER NOT NULL DEFAULT 0, active_event_count INTEGER NOT NULL DEFAULT 0, active_message_count INTEGER NOT NULL DEFAULT 0,
  updated_at INTEGER NOT NULL) STRICT;
CREATE TABLE session_transcript_active_events (session_id TEXT NOT NULL, active_position INTEGER NOT NULL CHECK (active_position >= 0),
  event_seq INTEGER NOT NULL, message_position INTEGER, PRIMARY KEY (session_id, active_position)) STRICT;
"""
_EVENTS_19 = """
CREATE TABLE transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT NOT NULL, created_at INTEGER NOT NULL,
  PRIMARY KEY (session_id, seq)) STRICT;
"""
_ONLY_23 = """
CREATE TABLE transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT, created_at INTEGER NOT NULL, event_zstd BLOB,
  event_utf8_bytes INTEGER, navigation_json TEXT, PRIMARY KEY (session_id, seq)) STRICT;
CREATE TABLE session_transcript_cold_archives (session_id TEXT NOT NULL PRIMARY KEY, generation TEXT NOT NULL, archive_name TEXT NOT NULL UNIQUE,
  archive_sha256 TEXT NOT NULL, event_count INTEGER NOT NULL, raw_bytes INTEGER NOT NULL, archive_bytes INTEGER NOT NULL, last_seq INTEGER NOT NULL,
  archived_at INTEGER NOT NULL, storage TEXT NOT NULL CHECK (storage IN ('file', 'sqlite')), archive_blob BLOB) STRICT;
CREATE TABLE session_transcript_archives (session_id TEXT NOT NULL, generation TEXT NOT NULL, session_key TEXT NOT NULL, reason TEXT NOT NULL,
  encoding TEXT NOT NULL, archive_blob BLOB NOT NULL, archive_sha256 TEXT NOT NULL, archive_name TEXT NOT NULL UNIQUE, created_at INTEGER NOT NULL,
  PRIMARY KEY (session_id, generation)) STRICT;
CREATE TABLE session_pending_inputs (seq INTEGER PRIMARY KEY AUTOINCREMENT, input_id TEXT NOT NULL UNIQUE, session_key TEXT NOT NULL,
  session_id TEXT NOT NULL, message_json TEXT NOT NULL, state TEXT NOT NULL, accepted_at INTEGER NOT NULL) STRICT;
"""
_TABLES = {4: _EVERY + _OLD, 19: _EVERY + _NODES + _EVENTS_19, 23: _EVERY + _NODES + _ONLY_23}


def open_store(path: Path, schema: int = 23) -> sqlite3.Connection:
    """A new store with its tables and no session, in WAL mode; the caller closes it."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.executescript(_TABLES[schema])
    connection.execute(f"PRAGMA user_version={schema}")
    connection.execute("INSERT INTO schema_meta VALUES ('primary', 'agent', ?, 'main', '2026.9.6', ?, ?)", (schema, NOW, NOW))
    connection.execute("INSERT INTO auth_profile_store VALUES ('default', '{\"token\":\"not-to-be-read\"}', ?)", (NOW,))
    return connection


def insert(connection: sqlite3.Connection, table: str, **row: Any) -> None:
    names, marks = ", ".join(row), ", ".join("?" * len(row))
    connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(row.values()))


def event(connection: sqlite3.Connection, seq: int, value: Any, session_id: str = ID, **row: Any) -> None:
    """`value`: an entry, text or bytes as they are, or None where `row` says what the row holds."""
    plain = value if isinstance(value, str | None) else line(value).decode()
    insert(connection, "transcript_events", **{"session_id": session_id, "seq": seq, "event_json": plain, "created_at": NOW, **row})


def events(connection: sqlite3.Connection, *entries: Mapping[str, Any], session_id: str = ID, version: int = 4) -> None:
    """A header and `entries` as rows from seq 0 on, with their identities."""
    for seq, value in enumerate(({**HEADER, "version": version, "id": session_id}, *entries)):
        event(connection, seq, value, session_id)
        if seq:
            insert(
                connection,
                "transcript_event_identities",
                **{"session_id": session_id, "event_id": value["id"], "seq": seq, "event_type": value["type"]},
                **{"parent_id": value["parentId"], "created_at": NOW},
            )


def window(connection: sqlite3.Connection, session_id: str = ID, key: str = KEY, **row: Any) -> None:
    made = {"session_id": session_id, "session_key": key, "reason": "initial", "created_at": NOW, "updated_at": NOW}
    insert(connection, "session_windows", **{**made, "model_provider": "anthropic", "model": "window-model", "status": "running", **row})


def node(connection: sqlite3.Connection, session_id: str = ID, key: str = KEY, **row: Any) -> None:
    entry = json.dumps({"sessionId": session_id, "updatedAt": NOW})
    made = {"session_key": key, "current_session_id": session_id, "entry_json": entry, "entry_valid": 1, "updated_at": NOW}
    insert(connection, "session_nodes", **{**made, **row})


def index(connection: sqlite3.Connection, leaf: str | None, last: int, active: Iterable[int] = (), **row: Any) -> None:
    seqs = list(active)
    made = {"session_id": ID, "indexed_seq": last, "leaf_event_id": leaf, "active_event_count": len(seqs), "updated_at": NOW}
    insert(connection, "session_transcript_index_state", **{**made, **row})
    for position, seq in enumerate(seqs):
        insert(connection, "session_transcript_active_events", session_id=ID, active_position=position, event_seq=seq)


def whole_store(path: Path, *entries: Mapping[str, Any], schema: int = 23) -> Path:
    """A store of one session with everything that the program keeps about it; closed, so that it stands alone."""
    with closing(open_store(path, schema)) as connection:
        window(connection)
        node(connection, status="done", label="Nightly run")
        events(connection, *entries)
        index(connection, entries[-1]["id"], len(entries), range(1, len(entries) + 1))
        insert(connection, "transcript_rewrite_watermarks", session_id=ID, generation="0f" * 16, updated_at=NOW)
    return path


def read(path: Path) -> dict[str, Stored]:
    return {found.conversation.native_id: found for found in OPENCLAW_SQLITE.read(stores.records(path, OPENCLAW_SQLITE))}


def one(path: Path) -> Conversation:
    return read(path)[ID].conversation
