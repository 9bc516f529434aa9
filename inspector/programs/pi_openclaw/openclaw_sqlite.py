"""OpenClaw's SQLite store of one agent, schemas 4 to 23: a session is the rows of its events, each the same entry as a line of a session file.

Nothing is ever written into it: one gateway owns it, and events, identities, index and watermark would have to move together.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from inspector.conversation.edits import Plan
from inspector.conversation.model import Conversation
from inspector.programs.formats import Cell, Change, Format, Record, RowTable, Shape, Stored, Table, WriteMode, WriteRefused
from inspector.programs.pi_openclaw import folder as session_folder
from inspector.programs.pi_openclaw import listing as session_listing
from inspector.programs.pi_openclaw import openclaw, openclaw_facts
from inspector.programs.pi_openclaw import writing as session_writing
from inspector.programs.pi_openclaw.facts import title_of
from inspector.programs.pi_openclaw.lines import version_of
from inspector.programs.pi_openclaw.openclaw_events import Events, EventUnpacker, read_events
from inspector.programs.pi_openclaw.openclaw_tables import EVENTS, TABLES, SessionRows, sorted_rows
from inspector.text import jsontext

NAME = "openclaw-sqlite"
NEVER_IN_PLACE = (
    "Nothing is written into OpenClaw's SQLite store: its gateway owns it. Instead, `repair` with --out in place of --apply writes the "
    "repaired session as a new JSONL session file, and says how OpenClaw's doctor imports it."
)
_FILE = "file"
_JSONL_VERSION = 3
"""The header version of session files; 4 is that of the store, and no program writes it to a file."""


class OpenClawSqlite(Format):
    name = NAME
    title = "OpenClaw's SQLite store of an agent (openclaw-agent.sqlite, schemas 4 to 23)"
    sample = "tables transcript_events(session_id, seq, event_json), sessions(session_key), schema_meta(schema_version)"
    default_reader = "openclaw-2026.9"
    default_projection = "anthropic"
    default_profile = "anthropic-2026-07"
    modes: tuple[WriteMode, ...] = (
        WriteMode(session_writing.NEW, "writes the path as a new JSONL session file (--out); the store stays as it is", "fork"),
    )
    table = Table(EVENTS, "session_id", "event_json")
    rows: tuple[RowTable, ...] = TABLES

    def sniff(self, shape: Shape) -> float:
        """By what only OpenClaw has together: events by session and seq, their identities, and the name of the schema."""
        events = {"session_id", "seq", "event_json"} <= set(shape.tables.get(EVENTS, ()))
        identities = {"session_id", "event_id", "seq"} <= set(shape.tables.get("transcript_event_identities", ()))
        windows = any("session_key" in shape.tables.get(name, ()) for name in ("session_windows", "sessions"))
        meta = "schema_version" in shape.tables.get("schema_meta", ())
        return 0.95 if events and windows and identities and meta else 0.8 if events and windows and (identities or meta) else 0.0

    def read(self, records: Iterable[Record]) -> Iterator[Stored]:
        """Sessions in the byte order of their ids; a session file that a plan made of one comes last, under its own id."""
        files: list[Record] = []

        def rows() -> Iterator[Record]:
            for record in records:
                if record.value.type == _FILE:
                    files.append(record)
                else:
                    yield record

        tables = sorted_rows(rows())
        unpacker = EventUnpacker()
        shared = openclaw_facts.of_store(tables.store)
        for native_id, session in tables.sessions.items():
            events = read_events(session.of(EVENTS), unpacker)
            facts = {**shared, **openclaw_facts.facts(session, events)}
            title = openclaw_facts.title(session) or title_of(events.session)
            yield Stored(Conversation(native_id, self.name, tuple(events.session.chunks), facts, title), session.records)
        yield from session_folder.read_folders(files, self.name, control_rows=True)

    def options(self, mode: str, stored: Stored, fresh_id: str) -> dict[str, str]:
        return session_writing.options(mode, stored, fresh_id)

    def write(self, plan: Plan, stored: Stored) -> Sequence[Change]:
        """One new session file with the path after the plan. Raises WriteRefused, EditMismatch."""
        if plan.mode != session_writing.NEW:
            raise WriteRefused(NEVER_IN_PLACE)
        # As if a file of its name in the folder of the store were the session: so the new one names the store as its parent.
        folder, _, name = plan.source.rpartition("/")
        as_file = Record(f"{folder.rpartition('/')[2] or '.'}/{name}", Cell(_with_version(self._events(stored)), _FILE))
        # What rows say of its place in a list is no sessions.json.
        facts = {name: fact for name, fact in stored.conversation.facts.items() if name not in session_listing.FACTS}
        conversation = replace(stored.conversation, format=openclaw.NAME, facts=facts)
        return session_writing.write(replace(plan, source=folder), Stored(conversation, (as_file,)))

    def listing(self, mode: str, stored: Stored, now: int) -> dict[str, str]:
        return session_listing.options(mode, now)

    def follow_up(self, plan: Plan, stored: Stored) -> tuple[str, ...]:
        return (session_listing.follow_up_of_a_store(plan, stored.conversation),)

    def _events(self, stored: Stored) -> Events:
        session = sorted_rows(stored.records).sessions.get(stored.conversation.native_id, SessionRows())
        return read_events(session.of(EVENTS), EventUnpacker())

    def target(self, plan: Plan) -> str:
        return session_writing.target(plan)


def _with_version(events: Events) -> bytes:
    """The events as a session file with the header of one; without a header, or with an older one, they stay as they are."""
    if not events.session.begins_with_header or version_of(events.session.header) <= _JSONL_VERSION:
        return events.data
    _, _, body = events.data.partition(b"\n")
    header = jsontext.compact({**events.session.header, "version": _JSONL_VERSION})
    return b"".join(chain((jsontext.encode(header), b"\n", body)))


OPENCLAW_SQLITE = OpenClawSqlite()
