"""What OpenClaw's store says of a session next to its events: session key and window, index, generation, archives, pending inputs."""

from collections import Counter
from collections.abc import Iterator, Mapping

from inspector.conversation.model import Fact
from inspector.programs.formats import USER_VERSION, Record
from inspector.programs.pi_openclaw import openclaw_tables as tables
from inspector.programs.pi_openclaw.facts import facts_of
from inspector.programs.pi_openclaw.openclaw_events import Events
from inspector.programs.pi_openclaw.openclaw_tables import SessionRows, SqlRow, whole
from inspector.text import jsontext
from inspector.text.jsontext import Unreadable

KNOWN_SCHEMA = 23
_NO_HEADER = "The first event that can be read is no session header, which OpenClaw writes at seq 0: the version and folder of the session are unknown."
_NO_EVENTS = "The store names this session and holds no event of it: look at its archives, or for a copy of the file."
# What the bytes of a file say, and rows do not have.
_OF_FILES = ("byteOrderMark", "carriageReturns", "noLastLf", "headerProblem")
_WINDOW = {
    "session_key": "sessionKey",
    "previous_session_id": "previousSession",
    "reason": "windowReason",
    "status": "status",
    "model_provider": "provider",
    "model": "model",
    "transcript_updated_at": "transcriptUpdatedAt",
    "parent_session_key": "parentSessionKey",
}
_NODE = {
    "session_key": "sessionKey",
    "parent_session_key": "parentSessionKey",
    "fork_source_session_id": "forkSourceSession",
    "fork_source_entry_id": "forkSourceEntry",
    "label": "label",
    "archived_at": "archived",
}


def facts(session: SessionRows, events: Events) -> dict[str, Fact]:
    """All of one session. `status` is the window's or the key's; how the last answer ended is `stopReason`."""
    by_name = _of_events(session, events)
    stored = {
        fact.name: fact
        for fact in (
            *_columns(session.first(tables.WINDOWS, tables.OLD_WINDOWS), _WINDOW),
            *_of_node(session),
            *_of_index(session, events),
            *_of_archives(session),
        )
    }
    if disagreements := " ".join(_disagreements(session, events, by_name)):
        stored["index"] = Fact("index", disagreements, _key(session))
    for name in ("model", "provider"):
        # What the last answer on the path names comes before what the window was begun with.
        if name in by_name:
            stored.pop(name, None)
    return by_name | stored


def of_store(rows: list[tuple[SqlRow, Record]]) -> dict[str, Fact]:
    """The schema of the file, and whether the two places that name it agree; the same for all its sessions."""
    user = next(((whole(row.get("user_version")), record) for row, record in rows if record.key == USER_VERSION), None)
    meta = next(((whole(row.get("schema_version")), record) for row, record in rows if record.key.startswith(tables.META)), None)
    version, record = meta or user or (None, None)
    if record is None or version is None:
        return {}
    by_name = {"schema": Fact("schema", str(version), record.key)}
    if user and meta and user[0] != meta[0]:
        problem = f"schema_meta says schema {meta[0]}, and user_version says {user[0]}: OpenClaw refuses a store in which they differ."
        by_name["schemaProblem"] = Fact("schemaProblem", problem, record.key)
    elif version > KNOWN_SCHEMA:
        problem = f"Schema {version} is newer than {KNOWN_SCHEMA}, the last one known here: what it stores elsewhere is not read."
        by_name["schemaProblem"] = Fact("schemaProblem", problem, record.key)
    return by_name


def title(session: SessionRows) -> str:
    """The label or the name that the store shows; "" where it has none."""
    window = session.first(tables.WINDOWS, tables.OLD_WINDOWS)
    sources = (session.node if session.is_current else None, window)
    names = (source[0].get(name) for source in sources if source for name in ("label", "display_name"))
    return next((name for name in names if isinstance(name, str) and name.strip()), "")


def _key(session: SessionRows) -> str:
    return next((record.key for table in session.rows for _, record in session.rows[table]), session.node[1].key if session.node else "")


def _of_events(session: SessionRows, events: Events) -> dict[str, Fact]:
    first = session.first(tables.EVENTS)
    key = first[1].key if first else _key(session)
    by_name = {name: fact for name, fact in facts_of(events.session, key, True, "row", 0).items() if name not in _OF_FILES}
    if "status" in by_name:
        by_name["stopReason"] = Fact("stopReason", by_name.pop("status").value, key)
    if not session.of(tables.EVENTS):
        by_name["headerProblem"] = Fact("headerProblem", _NO_EVENTS, key)
    elif not events.session.begins_with_header:
        by_name["headerProblem"] = Fact("headerProblem", _NO_HEADER, key)
    if events.gaps:
        by_name["gaps"] = Fact("gaps", f"no row has seq {events.gaps}: OpenClaw leaves none out", key)
    return by_name


def _columns(pair: tuple[SqlRow, Record] | None, names: Mapping[str, str]) -> Iterator[Fact]:
    if pair:
        row, record = pair
        yield from (Fact(name, jsontext.shown(row[column]), record.key) for column, name in names.items() if row.get(column) is not None)


def _of_node(session: SessionRows) -> Iterator[Fact]:
    """What the session key says is said of its current session; of an earlier one, which that is."""
    if not session.node:
        return
    row, record = session.node
    if not session.is_current:
        yield Fact("currentSession", tables.current_of(row), record.key)
        return
    yield from _columns(session.node, _NODE)
    if row.get("status") is not None:
        yield Fact("status", jsontext.shown(row["status"]), record.key)
    if problem := _entry_problem(row):
        yield Fact("entryProblem", problem, record.key)


def _entry_problem(row: SqlRow) -> str:
    if row.get("entry_valid") == -1:
        return "entry_valid is -1: OpenClaw has found the entry of this session invalid and leaves it out."
    try:
        is_object = isinstance(jsontext.parse(jsontext.shown(row.get("entry_json"))), dict)
    except Unreadable as problem:
        return f"entry_json cannot be read ({problem.reason}), and it is the session's own record."
    return "" if is_object else "entry_json is no object, and it is the session's own record."


def _of_index(session: SessionRows, events: Events) -> Iterator[Fact]:
    """The leaf as the index has it, never as a choice: that is a fact of another name."""
    names = {"leaf_event_id": "storedLeaf", "needs_rebuild": "needsRebuild", "indexed_seq": "indexedSeq"}
    yield from _columns(session.first(tables.INDEX), names)
    yield from _columns(session.first(tables.WATERMARKS), {"generation": "generation"})
    for table, name in ((tables.IDENTITIES, "identities"), (tables.ACTIVE, "activeEvents")):
        if rows := session.of(table):
            yield Fact(name, str(len(rows)), rows[0][1].key)
    if rows := session.of(tables.PENDING):
        states = Counter(jsontext.shown(row.get("state")) for row, _ in rows)
        counts = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
        yield Fact("pendingInputs", f"{len(rows):,} ({counts}): accepted from the user, and not in the transcript", rows[0][1].key)


def _of_archives(session: SessionRows) -> Iterator[Fact]:
    if cold := session.first(tables.COLD):
        row, record = cold
        place = "inside the store" if row.get("storage") == "sqlite" else "in the folder sessions/cold next to it"
        count = whole(row.get("event_count"))
        archive = f"{jsontext.shown(row.get('archive_name'))}, {'' if count is None else f'{count:,} events '}{place}. "
        archive += (
            "To look at it here, open the session once in OpenClaw, which puts the events back into the store, and read the store again."
        )
        yield Fact("coldArchive", archive, record.key)
    if rows := session.of(tables.ARCHIVES):
        names = [f"{jsontext.shown(row.get('archive_name'))} ({jsontext.shown(row.get('reason'))})" for row, _ in rows]
        more = f" and {len(names) - 10:,} more" if len(names) > 10 else ""
        yield Fact("archives", ", ".join(names[:10]) + more, rows[0][1].key)


def _disagreements(session: SessionRows, events: Events, by_name: Mapping[str, Fact]) -> Iterator[str]:
    """Where the tables next to the events say something else than these; an index that waits to be rebuilt may."""
    has_events = bool(session.of(tables.EVENTS))
    if not session.of(tables.WINDOWS, tables.OLD_WINDOWS):
        yield "No row of session_windows names this session: OpenClaw's own list does not show it."
    if (
        (header := events.session.header.get("id")) is not None
        and has_events
        and header != session.of(tables.EVENTS)[0][0].get("session_id")
    ):
        yield f"The header of the session says id {jsontext.shown(header)[:60]}."
    yield from _identities(session, events)
    state = session.first(tables.INDEX)
    if state is None or state[0].get("needs_rebuild") or not has_events:
        return
    row = state[0]
    if row.get("indexed_seq") != events.last_seq:
        yield f"The index ends at seq {jsontext.shown(row.get('indexed_seq'))}, the events at {events.last_seq}, and no rebuild is due."
        return
    last, leaf = by_name.get("lastLeaf"), row.get("leaf_event_id")
    if (last.value if last else None) != leaf:
        yield f"The index names the leaf {jsontext.shown(leaf)[:60] or 'none'}, the events end with {last.value if last else 'none'}, and no rebuild is due."
    active = len(session.of(tables.ACTIVE))
    if active != row.get("active_event_count", active):
        yield f"The index counts {jsontext.shown(row['active_event_count'])} active events, and there are {active:,} rows of them."


def _identities(session: SessionRows, events: Events) -> Iterator[str]:
    rows = session.of(tables.IDENTITIES)
    if not rows:
        return
    ids = {chunk.msg_idx: chunk.payload["entry"].get("id") for chunk in events.session.chunks if "entry" in chunk.payload}
    wrong = [row for row, _ in rows if (seq := whole(row.get("seq"))) in ids and ids[seq] != row.get("event_id")]
    if wrong:
        some = ", ".join(f"{jsontext.shown(row.get('event_id'))[:40]} at seq {jsontext.shown(row.get('seq'))}" for row in wrong[:5])
        yield f"{len(wrong):,} of {len(rows):,} rows of transcript_event_identities name another id than the event has: {some}."
