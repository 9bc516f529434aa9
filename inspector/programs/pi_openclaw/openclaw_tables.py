"""The tables of OpenClaw's store of one agent that are read, schemas 4 to 23, and their rows sorted by session.

The same file holds credentials (auth_profile_store), caches and memories: none of these tables is ever read, nor the blobs of archives.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from inspector.programs.formats import USER_VERSION, Record, RowTable
from inspector.text import jsontext

SqlRow = Mapping[str, Any]

EVENTS, IDENTITIES, ACTIVE = "transcript_events", "transcript_event_identities", "session_transcript_active_events"
WINDOWS, OLD_WINDOWS, NODES, OLD_NODES = "session_windows", "sessions", "session_nodes", "session_entries"
INDEX, WATERMARKS, PENDING = "session_transcript_index_state", "transcript_rewrite_watermarks", "session_pending_inputs"
COLD, ARCHIVES, META = "session_transcript_cold_archives", "session_transcript_archives", "schema_meta"

_WINDOW = (
    *("session_id", "session_key", "previous_session_id", "reason", "created_at", "updated_at", "transcript_updated_at"),
    *("started_at", "ended_at", "status", "model_provider", "model", "parent_session_key", "display_name"),
)
_NODE = (
    *("session_key", "current_session_id", "session_id", "entry_json", "entry_valid", "updated_at", "status", "parent_session_key"),
    *("fork_source_session_key", "fork_source_session_id", "fork_source_entry_id", "label", "display_name", "archived_at"),
)
_COLD = ("session_id", "generation", "archive_name", "archive_sha256", "event_count", "raw_bytes", "last_seq", "archived_at", "storage")

TABLES = (
    RowTable(USER_VERSION, ("user_version",), ""),
    RowTable(META, ("meta_key", "role", "schema_version", "agent_id", "app_version"), "meta_key", optional=True),
    RowTable(WINDOWS, _WINDOW, "session_id", optional=True),
    RowTable(OLD_WINDOWS, _WINDOW, "session_id", optional=True),
    RowTable(NODES, _NODE, "session_key", optional=True),
    RowTable(OLD_NODES, _NODE, "session_key", optional=True),
    RowTable(
        EVENTS,
        ("session_id", "seq", "event_json", "event_zstd", "event_utf8_bytes", "created_at"),
        "session_id",
        "seq",
        conversation="session_id",
    ),
    RowTable(IDENTITIES, ("session_id", "event_id", "seq", "event_type", "parent_id"), "session_id", "event_id", optional=True),
    RowTable(WATERMARKS, ("session_id", "generation"), "session_id", optional=True),
    RowTable(
        INDEX,
        ("session_id", "indexed_seq", "leaf_event_id", "needs_rebuild", "active_event_count", "active_message_count"),
        "session_id",
        optional=True,
    ),
    RowTable(ACTIVE, ("session_id", "active_position", "event_seq"), "session_id", "active_position", optional=True),
    RowTable(COLD, _COLD, "session_id", optional=True),
    RowTable(
        ARCHIVES,
        ("session_id", "generation", "reason", "encoding", "archive_name", "archive_sha256"),
        "session_id",
        "generation",
        optional=True,
    ),
    RowTable(PENDING, ("seq", "session_id", "state", "accepted_at"), "session_id", "seq", optional=True),
)
_OF_STORE = (META, USER_VERSION)
_OF_KEY = (NODES, OLD_NODES)


@dataclass(slots=True)
class SessionRows:
    """The rows of one session by their table, each with its record. `node` is that of its session key, `is_current` where it names this session."""

    rows: dict[str, list[tuple[SqlRow, Record]]] = field(default_factory=dict)
    node: tuple[SqlRow, Record] | None = None
    is_current: bool = False

    def of(self, *tables: str) -> list[tuple[SqlRow, Record]]:
        return [pair for table in tables for pair in self.rows.get(table, ())]

    def first(self, *tables: str) -> tuple[SqlRow, Record] | None:
        return next(iter(self.of(*tables)), None)

    @property
    def records(self) -> tuple[Record, ...]:
        """Those that are of no other session, in the byte order of their keys, which is that of our own database."""
        own = [record for table in self.rows for _, record in self.rows[table]]
        own += [self.node[1]] if self.node and self.is_current else []
        return tuple(sorted(own, key=lambda record: record.key.encode("utf-8", "surrogateescape")))


@dataclass(slots=True)
class Tables:
    """All sessions by their id; `store` are the rows about the file itself."""

    sessions: dict[str, SessionRows] = field(default_factory=dict)
    store: list[tuple[SqlRow, Record]] = field(default_factory=list)


def sorted_rows(records: Iterable[Record]) -> Tables:
    """Sessions in the byte order of their ids: those of windows, of events, and those that only a session key names."""
    tables = Tables()
    nodes: dict[str, tuple[SqlRow, Record]] = {}
    for record in records:
        table, row = record.key.partition(":")[0], jsontext.row_of(record.value.data)
        if table in _OF_STORE:
            tables.store.append((row, record))
        elif table in _OF_KEY:
            nodes.setdefault(jsontext.shown(row.get("session_key")), (row, record))
        else:
            tables.sessions.setdefault(jsontext.shown(row.get("session_id")), SessionRows()).rows.setdefault(table, []).append(
                (row, record)
            )
    for node, record in nodes.values():
        session = tables.sessions.setdefault(current_of(node), SessionRows())
        session.node, session.is_current = session.node or (node, record), True
    for session in tables.sessions.values():
        window = session.first(WINDOWS, OLD_WINDOWS)
        session.node = session.node or (nodes.get(jsontext.shown(window[0].get("session_key"))) if window else None)
    tables.sessions = dict(sorted(tables.sessions.items(), key=lambda item: item[0].encode("utf-8", "surrogatepass")))
    return tables


def current_of(node: SqlRow) -> str:
    """The session that a session key names now; up to schema 13 the column is called session_id."""
    return jsontext.shown(node.get("current_session_id", node.get("session_id")))


def whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
