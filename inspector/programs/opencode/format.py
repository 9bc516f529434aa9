"""opencode's stores: the database from 1.2 on, the tree of JSON files before it, and the file that its export writes and its import reads.

Inspector itself never writes into a store: the program keeps sessions, events and indexes together. A repair is a file for its own import, under new ids,
which opencode imports into its database, and deletes to undo it, where it is installed.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from inspector.conversation.edits import Plan
from inspector.conversation.model import Chunk, Conversation, Fact
from inspector.programs.formats import (
    Cell,
    Change,
    Format,
    Head,
    Listed,
    OwnProgram,
    Record,
    RowGroup,
    RowTable,
    Shape,
    Stored,
    Table,
    WriteMode,
    WriteRefused,
)
from inspector.programs.opencode import events, reader, writing
from inspector.programs.opencode.chunks import ABORTED, chunks_of
from inspector.programs.opencode.sessions import Session, sessions_in
from inspector.text import jsontext

IMPORT = "import-file"
ERROR = "lastError"
NEVER_IN_PLACE = (
    "Nothing but opencode writes into its own store, and Inspector does not find opencode on this machine (INSPECTOR_OPENCODE names it). Instead, `repair` "
    "with --out in place of --apply writes the repaired session as a file for `opencode import`, and says how to import it and how to take it back."
)
_EXPORT = re.compile(rb'\A\s*\{\s*"info"\s*:\s*\{\s*"id"\s*:\s*"ses_')
_IN_TREE = re.compile(r"(?:.*/)?(?:session/[^/]+/ses_[^/]+|message/ses_[^/]+/msg_[^/]+|part/msg_[^/]+/prt_[^/]+)\.json")
_TITLE = 80
_WITHOUT_MESSAGE = "NOT EXISTS (SELECT 1 FROM message WHERE message.id = part.message_id)"


def _no_id(column: str) -> str:
    return f"typeof({column}) <> 'text' OR {column} = ''"


class OpencodeStore(Format):
    default_reader = reader.NAME
    default_projection = "openai-chat+reasoning"
    default_profile = "openai-chat"
    modes: tuple[WriteMode, ...] = (
        WriteMode(
            IMPORT,
            "writes the repaired session under new ids as a file for `opencode import`, or has opencode import it; the old session stays as it is",
            "fork",
        ),
    )

    def __init__(self, name: str, title: str, sample: str) -> None:
        self.name, self.title, self.sample = name, title, sample

    def read(self, records: Iterable[Record]) -> Iterator[Stored]:
        """Sessions in the order of their ids."""
        sessions = sessions_in(records)
        for id_ in sorted(sessions):
            session = sessions[id_]
            chunks = chunks_of(session)
            facts = _facts(session)
            # In the order in which a revision has them: a plan is bound to their digest.
            records = sorted(session.records, key=lambda record: record.key.encode("utf-8", "surrogateescape"))
            yield Stored(Conversation(id_, self.name, chunks, facts, _title(session, chunks)), tuple(records))

    def options(self, mode: str, stored: Stored, fresh_id: str) -> dict[str, str]:
        return {"fork_id": writing.new_id(stored.conversation.native_id, fresh_id)}

    def write(self, plan: Plan, stored: Stored) -> Sequence[Change]:
        """One new file for the import. Raises WriteRefused, EditMismatch."""
        if plan.mode != IMPORT:
            raise WriteRefused(NEVER_IN_PLACE)
        return writing.written(plan, stored)

    def listing(self, mode: str, stored: Stored, now: int) -> dict[str, str]:
        return {}

    def follow_up(self, plan: Plan, stored: Stored) -> tuple[str, ...]:
        folder = stored.conversation.fact("directory") or "of the project"
        left_out = writing.left_out(stored)
        names = ", ".join(left_out[:5]) + (f" and {len(left_out) - 5:,} more" if len(left_out) > 5 else "")
        without = f"Not in the new session are parts of which opencode sends nothing and at which its import would stop: {names}."
        return (
            f"The repaired session is a new one: continue with `opencode -s {plan.options['fork_id']}` in the folder {folder}. Written as a file (--out), import it "
            f"there with `opencode import FILE`, and take it back with `opencode session delete {plan.options['fork_id']}`.",
            *([without] if left_out else []),
        )


class OpencodeDb(OpencodeStore):
    # The same file holds credentials and accounts: no other table is ever read.
    table = Table("message", "id", "data")
    rows: tuple[RowTable, ...] = (
        RowTable(
            "session",
            (
                "id",
                "project_id",
                "parent_id",
                "slug",
                "directory",
                "title",
                "version",
                "agent",
                "model",
                "permission",
                "metadata",
                "cost",
                "tokens_input",
                "tokens_output",
                "tokens_reasoning",
                "tokens_cache_read",
                "tokens_cache_write",
                "time_created",
                "time_updated",
                "time_archived",
            ),
            "id",
        ),
        RowTable("message", ("id", "session_id", "time_created", "time_updated", "data"), "session_id", "id"),
        RowTable("part", ("id", "message_id", "session_id", "data"), "message_id", "id"),
        RowTable("event", ("aggregate_id", "seq", "type", "data"), "aggregate_id", "seq", optional=True),
    )
    # A part is of the session of its message; of one whose message is gone, its own column says which it was.
    row_groups: Mapping[str, RowGroup] = {
        "session": RowGroup("id", "id = ?", ungrouped=_no_id("id")),
        "message": RowGroup(
            "session_id",
            "session_id = ?",
            ungrouped=f"{_no_id('id')} OR {_no_id('session_id')} OR id IN (SELECT id FROM message GROUP BY id HAVING COUNT(*) > 1)",  # noqa: S608 (SQL of our own)
        ),
        # A session that only events name was deleted.
        "event": RowGroup("aggregate_id", "aggregate_id = ?", "0", f"{_no_id('aggregate_id')} OR typeof(seq) <> 'integer'"),
        "part": RowGroup(
            "session_id",
            f"message_id IN (SELECT id FROM message WHERE session_id = ?1) OR (session_id = ?1 AND {_WITHOUT_MESSAGE})",  # noqa: S608 (SQL of our own)
            _WITHOUT_MESSAGE,
            f"{_no_id('id')} OR {_no_id('message_id')} OR {_no_id('session_id')}",
        ),
    }

    own_program = OwnProgram(
        name="opencode",
        variable="INSPECTOR_OPENCODE",
        # Without plugins and the configuration of the folder, which would run what others wrote.
        import_words=("--pure", "import", "{file}"),
        delete_words=("--pure", "session", "delete", "{id}"),
        environment={
            "OPENCODE_DB": "{store}",
            "OPENCODE_DISABLE_PROJECT_CONFIG": "1",
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        },
        migrations=("migration", "data_migration", "__drizzle_migrations"),
        parent_column="parent_id",
    )

    def file_of(self, stored: Stored) -> Record:
        return writing.file_of(sessions_in(stored.records)[stored.conversation.native_id])

    def folder_in(self, file: Cell) -> str:
        return writing.folder_in(file)

    def in_folder(self, file: Cell, folder: str) -> Cell:
        return writing.in_folder(file, folder)

    def is_part(self, part: Cell, whole: Cell) -> bool:
        return writing.is_part(part, whole)

    def group_of(self, key: str) -> str | None:
        return key

    def listed(self, groups: Sequence[str], shared: Sequence[Record], head: Head) -> Sequence[Listed]:
        return [Listed(group, group, {}) for group in groups]

    def read_group(self, listed: Listed, records: Sequence[Record]) -> Stored:
        return next(stored for stored in self.read(records) if stored.conversation.native_id == listed.native_id)

    def sniff(self, shape: Shape) -> float:
        is_message = {"id", "session_id", "data"} <= set(shape.tables.get("message", ()))
        is_part = {"id", "message_id", "session_id", "data"} <= set(shape.tables.get("part", ()))
        return 0.9 if is_message and is_part and "directory" in shape.tables.get("session", ()) else 0.0


class OpencodeTree(OpencodeStore):
    def sniff(self, shape: Shape) -> float:
        return 0.9 if any(_IN_TREE.fullmatch(key) for key in shape.files) else 0.0

    def wants(self, key: str) -> bool:
        return _IN_TREE.fullmatch(key) is not None or "/" not in key


class OpencodeExport(OpencodeStore):
    def sniff(self, shape: Shape) -> float:
        return 0.9 if not shape.files and not shape.tables and _EXPORT.match(shape.head) else 0.0

    def wants(self, key: str) -> bool:
        """A file that is named alone, or is piped in, may have any name."""
        return "/" not in key or key.endswith(".json")


def _facts(session: Session) -> dict[str, Fact]:
    info = session.info or {}
    key = session.records[0].key if session.records else ""
    facts: dict[str, Fact] = {}

    def add(name: str, value: object) -> None:
        if value not in (None, "", [], {}):
            facts[name] = Fact(name, jsontext.shown(value), key)

    time = info.get("time") if isinstance(info.get("time"), dict) else {}
    for name, names in {"directory": ("directory",), "version": ("version",), "parent": ("parent_id", "parentID")}.items():
        add(name, next((info[stored] for stored in names if isinstance(info.get(stored), str)), None))
    created = info.get("time_created", (time or {}).get("created"))
    updated = info.get("time_updated", (time or {}).get("updated"))
    add("createdAt", _milliseconds(created))
    times = [at for at in (_milliseconds(updated), _milliseconds(created), *(message.created for message in session.messages)) if at]
    add("lastActivityAt", max(times, default=None))
    last = session.messages[-1].info or {} if session.messages else {}
    last_time = last.get("time") if isinstance(last.get("time"), dict) else {}
    is_open = last.get("role") == "user" or (not (last_time or {}).get("completed") and not last.get("error"))
    add("status", "active" if session.messages and is_open else "idle")
    add(ERROR, _error(last.get("error")))
    model = next((named for message in reversed(session.messages) if (named := _model(message.info or {}))), {})
    add("provider", model.get("providerID"))
    add("model", model.get("modelID"))
    add("missingSession", "no row or file of the session itself" if session.info is None else "")
    add("orphanParts", [_orphan(part.id, part.message, part.value or {}) for part in session.orphans])
    ids = {message.id for message in session.messages}
    for name, value in events.facts_of(session).items():
        add(name, value)
    parents = [(message.id, (message.info or {}).get("parentID")) for message in session.messages]
    add("missingParents", sorted({parent for _, parent in parents if isinstance(parent, str) and parent not in ids}))
    return facts


def _error(error: object) -> str:
    """What the last answer ended with, its status in front; "" of one that ended well or was aborted by its user."""
    if not isinstance(error, dict) or error.get("name") == ABORTED:
        return ""
    data = error.get("data")
    data = data if isinstance(data, dict) else {}
    words = [text for text in (data.get("message"), error.get("name")) if isinstance(text, str) and text.strip()]
    status = data.get("statusCode")
    is_status = isinstance(status, int) and not isinstance(status, bool)
    return f"HTTP {status}: {words[0]}" if words and is_status else next(iter(words), "")


def _model(info: dict[str, object]) -> dict[str, str]:
    """The model that a user's message asks for: the next request goes to that of the last one. Nothing of an answer."""
    model = info.get("model") if info.get("role") == "user" else None
    return {name: value for name, value in model.items() if isinstance(value, str)} if isinstance(model, dict) else {}


def _orphan(id_: str, message: str, part: dict[str, object]) -> dict[str, object]:
    text = part.get("text") if isinstance(part.get("text"), str) else part.get("tool")
    return {"part": id_, "message": message, "type": part.get("type"), "begins": str(text)[:80] if text else ""}


def _milliseconds(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 2**53 else None


def _title(session: Session, chunks: Sequence[Chunk]) -> str:
    title = (session.info or {}).get("title")
    spoken = next((chunk.text for chunk in chunks if chunk.role == "user" and chunk.text.strip()), "")
    line = " ".join((title if isinstance(title, str) and title else spoken).split())
    return line if len(line) <= _TITLE else f"{line[:_TITLE]}…"


OPENCODE = OpencodeDb(
    "opencode",
    "opencode's database (opencode.db, from 1.2 on)",
    "tables session(directory), message(id, session_id, data), part(id, message_id, session_id, data)",
)
OPENCODE_TREE = OpencodeTree(
    "opencode-storage",
    "opencode's tree of JSON files (storage, up to 1.1)",
    "files session/global/ses_ID.json, message/ses_ID/msg_ID.json, part/msg_ID/prt_ID.json",
)
OPENCODE_EXPORT = OpencodeExport(
    "opencode-export",
    "a session as opencode exports and imports it (JSON)",
    '{"info":{"id":"ses_ID"},"messages":[]}',
)
