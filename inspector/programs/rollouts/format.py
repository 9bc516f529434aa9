"""rollouts' sessions: a folder each, session.json and messages.jsonl (eras B and C), or one JSONL file of era A; crash files next to them.

Facts were read off the program's source (arb8020/research to 0779491, 2026-01-04) and checked by running its modules.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from inspector.conversation.edits import Plan
from inspector.conversation.model import Chunk, Conversation, Fact, Kind
from inspector.programs.formats import CRASH_ALONE, CRASH_FILE, Change, Format, Record, Shape, Stored, WriteMode, WriteRefused
from inspector.programs.rollouts import crash as rollouts_crash
from inspector.programs.rollouts import writing as rollouts_writing
from inspector.programs.rollouts.chunks import file_chunks, message_chunks, unreadable_line
from inspector.programs.rollouts.lines import parsed, split
from inspector.programs.rollouts.session import activity, content, is_era_b, session_facts, title_of
from inspector.text.jsontext import Unreadable
from inspector.text.timestamps import milliseconds

NAME = "rollouts"
MESSAGES, SESSION, LEFTOVER = "messages.jsonl", "session.json", "session.tmp"
_OWN = (SESSION, MESSAGES, LEFTOVER)
_ID = re.compile(r"\d{8}_\d{6}_[0-9a-f]{6}")
_ERA_A = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d[^/]*_[^/]+\.jsonl")
_ALONE = "This is a session.json alone: name the folder that holds it, and its messages are read as well."


@dataclass(slots=True)
class _Session:
    folder: str
    records: dict[str, Record] = field(default_factory=dict)


class Rollouts(Format):
    name = NAME
    title = "rollouts sessions (a folder each: session.json and messages.jsonl) with crash files"
    sample = "files sessions/20260504_091231_0f1e2d/session.json"
    default_reader = "rollouts"
    default_projection = "rollouts-anthropic"
    default_profile = "anthropic-2026-07"
    modes: tuple[WriteMode, ...] = (
        WriteMode("child", "writes the repaired history as a new session whose parent is this one, which stays as it is", "fork"),
        WriteMode("same-file", "rewrites the messages file of the session itself; lines that nothing changes keep every byte", "in-place"),
    )

    def sniff(self, shape: Shape) -> float:
        if shape.files:
            return max((_likeness(key) for key in shape.files), default=0.0)
        if shape.tables or not shape.head.lstrip().startswith(b"{"):
            return 0.0
        if shape.name == SESSION:
            return 0.8 if b'"session_id"' in shape.head and b'"parent_id"' in shape.head else 0.0
        start = shape.head.split(b"\n", 1)[0]
        if shape.name == MESSAGES:
            return 0.8 if b'"role"' in start and b'"content"' in start else 0.0
        header = all(word in start for word in (b'"session"', b'"cwd"', b'"provider"', b'"model"')) and b'"version"' not in start
        return 0.7 if header else 0.0

    def wants(self, key: str) -> bool:
        folder, _, name = key.rpartition("/")
        if name in _OWN:
            return True
        if not folder:
            return name.endswith(".jsonl")
        parent = folder.rpartition("/")[2]
        return (parent == "crashes" and name.endswith(".txt")) or (parent.startswith("--") and name.endswith(".jsonl"))

    def read(self, records: Iterable[Record]) -> Iterator[Stored]:
        """Sessions in the order of their names, then crash files, the newest first."""
        folders: dict[str, _Session] = {}
        crashes: list[Record] = []
        for record in records:
            folder, _, name = record.key.rpartition("/")
            if folder.rpartition("/")[2] == "crashes" and name.endswith(".txt"):
                crashes.append(record)
            else:
                place = folder if name in _OWN else record.key
                folders.setdefault(place, _Session(place)).records[name] = record
        used_ids: set[str] = set()
        sessions = [_read(session, used_ids) for session in folders.values()]
        names: set[str] = set()
        # The folder's own crash file keeps its name; a copy of it in a folder below has its path as well.
        own = {record.key: _crash(record, names) for record in sorted(crashes, key=lambda record: (record.key.count("/"), record.key))}
        evidence = [own[key] for key in sorted(own, reverse=True)]
        yield from _tied(sessions, evidence)

    def options(self, mode: str, stored: Stored, fresh_id: str) -> dict[str, str]:
        """Id and time of a child. Both follow from the session and `fresh_id`, so that the same question has the same answer."""
        if mode != self.modes[0].name:
            return {}
        moment = rollouts_writing.stamp(stored.conversation)
        suffix = hashlib.sha256(fresh_id.encode()).hexdigest()[:6]
        return {"fork_id": f"{moment:%Y%m%d_%H%M%S}_{suffix}", "now": moment.isoformat(timespec="microseconds")}

    def write(self, plan: Plan, stored: Stored) -> Sequence[Change]:
        """The changes that carry out `plan`. Raises WriteRefused, EditMismatch."""
        if stored.conversation.native_id.startswith(rollouts_crash.PREFIX):
            raise WriteRefused(CRASH_FILE if stored.conversation.fact("session") else CRASH_ALONE)
        era_a = stored.conversation.fact("era") == "A"
        place = stored.conversation.fact("place") or ""
        if plan.mode != self.modes[0].name:
            if not era_a and place == SESSION:
                raise WriteRefused(_ALONE)
            return rollouts_writing.in_place(plan, stored, place if era_a or place == MESSAGES else f"{place}/{MESSAGES}".removeprefix("/"))
        if era_a:
            raise WriteRefused(f"A session of era A knows no parent; {rollouts_writing.IN_PLACE_INSTEAD}.")
        return rollouts_writing.child(plan, stored, place)


def _likeness(key: str) -> float:
    folder, _, name = key.rpartition("/")
    parent = folder.rpartition("/")[2]
    if name in (SESSION, MESSAGES) and _ID.fullmatch(parent):
        return 1.0
    if parent == "crashes" and name.endswith(".txt") and _ID.fullmatch(name.removesuffix(".txt")):
        return 0.9
    if parent.startswith("--") and _ERA_A.fullmatch(name):
        return 0.6
    return 0.5 if name == SESSION and folder.rpartition("/")[0].endswith("sessions") else 0.0


def _read(session: _Session, used_ids: set[str]) -> Stored:
    name = session.folder.rpartition("/")[2]
    lone = next(iter(session.records)) if len(session.records) == 1 else ""
    if lone and lone not in _OWN:
        return _era_a(session, lone, used_ids)
    if not session.folder and lone:
        # One file of a session was named itself.
        name = lone
    native = _native(name, session.folder, used_ids)
    meta, messages = session.records.get(SESSION), session.records.get(MESSAGES)
    session_json = content(meta)
    chunks = file_chunks(messages.key, messages.value.data) if messages else _no_messages(meta, session.folder)
    facts = session_facts(meta, session_json)
    key = messages.key if messages else meta.key if meta else ""
    # The loader of era C knows nothing of era B's endpoint; lines show where the endpoint was repaired by hand.
    is_bare = any(chunk.kind is not Kind.UNREADABLE for chunk in chunks) and not any(b'"provider"' in chunk.raw for chunk in chunks)
    era = "B" if is_era_b(session_json) or is_bare else "C"
    facts["era"] = Fact("era", era, key)
    facts["place"] = Fact("place", session.folder or name, key)
    if LEFTOVER in session.records:
        leftover = session.records[LEFTOVER]
        facts["tmp"] = Fact(
            "tmp", f"session.tmp was left behind ({len(leftover.value.data):,} bytes): a write was cut off before its rename", leftover.key
        )
    if messages is not None and not messages.value.data.strip():
        facts["trajectory"] = Fact("trajectory", f"messages.jsonl holds {len(messages.value.data)} bytes and no message", messages.key)
    elif messages is None:
        facts["trajectory"] = Fact("trajectory", "there is no messages.jsonl", key)
    facts |= activity(facts, chunks, key)
    ordered = tuple(session.records[file_name] for file_name in sorted(session.records))
    return Stored(Conversation(native, NAME, tuple(chunks), facts, title_of(chunks)), ordered)


def _no_messages(meta: Record | None, folder: str) -> list[Chunk]:
    if folder or meta is None:
        return []
    return [Chunk(f"{meta.key}#0", 1, "", Kind.UNREADABLE, {}, raw=meta.value.data, damage="alone", reason=_ALONE)]


def _native(name: str, folder: str, used_ids: set[str]) -> str:
    """The folder's name; with what is above it where two folders of one source have the same."""
    native = name if name not in used_ids else folder
    used_ids.add(native)
    return native


def _crash(record: Record, used_ids: set[str]) -> Stored:
    stored = rollouts_crash.read_crash(record, NAME)
    native = stored.conversation.native_id
    if native in used_ids:
        return replace(stored, conversation=replace(stored.conversation, native_id=f"{native} {record.key}"))
    used_ids.add(native)
    return stored


def _era_a(session: _Session, name: str, used_ids: set[str]) -> Stored:
    record = session.records[name]
    chunks: list[Chunk] = []
    facts: dict[str, Fact] = {}
    number = 0
    for line in split(record.value.data)[0]:
        try:
            entry = parsed(line.raw)
        except Unreadable as problem:
            chunks.append(unreadable_line(record.key, line, len(chunks) + 1, problem))
            continue
        message = entry.get("message")
        if entry.get("type") == "message" and isinstance(message, dict):
            new_chunks = message_chunks(record.key, line.index, len(chunks) + 1, line.raw, message)
            at = milliseconds(entry.get("timestamp"))
            chunks += [replace(chunk, msg_idx=number, at=chunk.at if chunk.at is not None else at) for chunk in new_chunks]
            number += 1
        else:
            facts |= _header(record.key, entry)
    facts["era"] = Fact("era", "A", record.key)
    facts["place"] = Fact("place", record.key, record.key)
    facts |= activity(facts, chunks, record.key)
    native = _native(name.removesuffix(".jsonl"), session.folder, used_ids)
    return Stored(Conversation(native, NAME, tuple(chunks), facts, title_of(chunks)), (record,))


def _header(key: str, line: dict[str, object]) -> dict[str, Fact]:
    """Facts of a `session` or `config_change` line; the later one counts."""
    endpoint = line.get("endpoint") if isinstance(line.get("endpoint"), dict) else line
    values = {name: endpoint.get(name) for name in ("provider", "model")} if isinstance(endpoint, dict) else {}
    if line.get("type") == "session":
        moment = milliseconds(line.get("timestamp"))
        values |= {"cwd": line.get("cwd"), "createdAt": None if moment is None else str(moment)}
    return {name: Fact(name, value, key) for name, value in values.items() if isinstance(value, str) and value}


def _tied(sessions: Sequence[Stored], crashes: Sequence[Stored]) -> Iterator[Stored]:
    """Crashes with the session that they belong to, and sessions with their crashes; each names the record of the other."""
    by_mark: dict[str, set[str]] = {}
    for session in sessions if crashes else ():
        for mark in rollouts_crash.marks(session.conversation.chunks):
            by_mark.setdefault(mark, set()).add(session.conversation.native_id)
    conversations = [session.conversation for session in sessions]
    keys = {session.conversation.native_id: session.records[0].key for session in sessions}
    of_session: dict[str, list[Stored]] = {}
    tied: list[Stored] = []
    for crash in crashes:
        link = rollouts_crash.linked(crash.conversation, conversations, by_mark)
        if link is not None:
            of_session.setdefault(link[0], []).append(crash)
            facts = dict(zip(("session", "linkedBy"), link, strict=True))
            crash = _with(crash, {name: Fact(name, value, keys[link[0]]) for name, value in facts.items()})
        tied.append(crash)
    for session in sessions:
        own = of_session.get(session.conversation.native_id, [])
        names = ", ".join(crash.conversation.native_id for crash in own)
        yield _with(session, {"crashes": Fact("crashes", names, own[0].records[0].key), **_refusal(session, own[0])}) if own else session
    yield from tied


def _refusal(session: Stored, crash: Stored) -> dict[str, Fact]:
    """The error of the newest crash, where the session was not written after it: its last request was refused with this."""
    error, at = crash.conversation.facts.get("error"), crash.conversation.fact("lastActivityAt")
    times = [chunk.at for chunk in session.conversation.chunks if chunk.at is not None]
    if error is None or at is None or (times and max(times) > int(at)):
        return {}
    return {"crashError": Fact("crashError", error.value, crash.records[0].key)}


def _with(stored: Stored, facts: dict[str, Fact]) -> Stored:
    conversation = stored.conversation
    return Stored(replace(conversation, facts={**conversation.facts, **facts}), stored.records)


ROLLOUTS = Rollouts()
