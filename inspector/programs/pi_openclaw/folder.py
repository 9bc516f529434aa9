"""What is next to session files: OpenClaw's sessions.json, lock files, and copies that are material for a recovery, never sessions."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from inspector.conversation.model import Conversation, Fact
from inspector.programs import not_read
from inspector.programs.formats import Head, Listed, Record, Stored, read_grouped
from inspector.programs.pi_openclaw.entries import read_session
from inspector.programs.pi_openclaw.facts import facts_of, title_of
from inspector.programs.pi_openclaw.lines import header_of
from inspector.sources.problems import shown
from inspector.text import jsontext
from inspector.text.jsontext import Unreadable

INDEX, LOCK = "sessions.json", ".jsonl.lock"
_HEAD = 1 << 14
"""Bytes in which the header of a session file is looked for first."""
_RECOVERY = re.compile(
    r"(?P<stem>.+?)(?:(?P<deleted>\.jsonl\.deleted\..+)|(?P<reset>\.jsonl\.reset\..+)|(?P<backup>(?:\.jsonl)?\.bak-.+)"
    r"|(?P<corrupted>(?:\.jsonl)?\.corrupt-.+)|(?P<trajectory>\.trajectory\.jsonl)|(?P<checkpoint>\.checkpoint\..+\.jsonl))"
)
_COPIES = {
    "deleted": ("of a deleted session", "of deleted sessions"),
    "reset": ("of a reset session", "of reset sessions"),
    "backup": ("backup", "backups"),
    "corrupted": ("of a corrupted session", "of corrupted sessions"),
    "checkpoint": ("from before a compaction", "from before compactions"),
}
"""Of one, of several. The trajectory is no copy: it says what happened while the program ran."""
SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_NAMED = 10
_SHOWN = 5
INDEX_UNREADABLE = "sessions.json cannot be read"
_UNLISTED = "sessions.json has no entry for this session: OpenClaw's own list does not show it."


@dataclass
class Folder:
    """The keys of the files of one folder by what they are; `recovery` by the name of the session that they are copies of."""

    sessions: list[str] = field(default_factory=list)
    locks: dict[str, Record] = field(default_factory=dict)
    recovery: dict[str, list[str]] = field(default_factory=dict)
    index: Record | None = None

    @cached_property
    def copies_of_others(self) -> list[str]:
        stems = {_stem(key) for key in self.sessions}
        return [key for of, keys in self.recovery.items() if of not in stems for key in keys]


def is_wanted(key: str) -> bool:
    """Whether a file is read at all; a file that was named alone always is."""
    name = key.rpartition("/")[2]
    return "/" not in key or name == INDEX or name.endswith((".jsonl", LOCK)) or _RECOVERY.fullmatch(name) is not None


def is_session(key: str) -> bool:
    """By the name of the file. One that was named alone is a session whatever it is called: a copy can so be looked at."""
    name = key.rpartition("/")[2]
    return name != INDEX and ("/" not in key or (name.endswith(".jsonl") and not _RECOVERY.fullmatch(name)))


def copies(keys: Iterable[str]) -> dict[str, list[str]]:
    """Keys of files that OpenClaw sets aside when it deletes, resets, repairs or compacts a session, by kind; none of them is a session."""
    by_kind: dict[str, list[str]] = {}
    for key in keys:
        kind = _kind(key)
        if kind in _COPIES:
            by_kind.setdefault(kind, []).append(key)
    return by_kind


def counted(by_kind: Mapping[str, Sequence[str]]) -> str:
    """Such copies as `2 of deleted sessions, 1 backup`."""
    return ", ".join(f"{len(keys):,} {_COPIES[kind][len(keys) > 1]}" for kind, keys in by_kind.items())


def trajectories(keys: Iterable[str]) -> list[str]:
    return [key for key in keys if _kind(key) == "trajectory"]


def unread(keys: Sequence[str], format_name: str) -> Iterator[str]:
    """A sentence for each kind of file next to sessions that is not read."""
    folders = {key.rpartition("/")[0] for key in keys if is_session(key)}
    if kinds := copies(keys):
        files = [key for names in kinds.values() for key in names]
        are = "is a copy of a session" if len(files) == 1 else "are copies of sessions"
        read = "is not read" if len(files) == 1 else "are not read"
        yield f"{_files(files)} {are} that the program set aside ({counted(kinds)}), and {read}: {_first(files)}. A copy is read by its path."
    if files := trajectories(keys):
        are = f"is {not_read.TRAJECTORY}" if len(files) == 1 else "are runtime traces of OpenClaw"
        yield f"{_files(files)} {are}, which Inspector does not read yet: {_first(files)}."
    if files := [key for key in keys if key.rpartition("/")[0] in folders and not is_wanted(key)]:
        are = "is not read, since its name is" if len(files) == 1 else "are not read, since their names are"
        yield f"{_files(files)} {are} no session's: {_first(files)}. Its own path with --format {format_name} reads one."


def _files(keys: Sequence[str]) -> str:
    return f"{len(keys):,} file{'' if len(keys) == 1 else 's'}"


def _first(keys: Sequence[str]) -> str:
    """The first few of them, below the folder."""
    return ", ".join(shown(key.partition("/")[2]) for key in keys[:_SHOWN]) + (", …" if len(keys) > _SHOWN else "")


def _kind(key: str) -> str:
    copy = _RECOVERY.fullmatch(key.rpartition("/")[2]) if "/" in key else None
    return (copy.lastgroup or "") if copy else ""


def read_folders(records: Iterable[Record], format_name: str, control_rows: bool) -> Iterator[Stored]:
    """Sessions in the order of their files; then, without any line, those that only a sessions.json names."""
    return read_grouped(SessionFolders(format_name, control_rows), records)


@dataclass(frozen=True, slots=True)
class SessionFolders:
    """How the files of folders with sessions group: a session is its file; lists and lock files are shared (see Grouped)."""

    format_name: str
    control_rows: bool

    def group_of(self, key: str) -> str | None:
        """The key of the file; of a copy that the program set aside only this is read."""
        name = key.rpartition("/")[2]
        if name == INDEX or (name.endswith(LOCK) and not is_session(key)):
            return None
        return key if is_session(key) or _RECOVERY.fullmatch(name) else ""

    def listed(self, groups: Sequence[str], shared: Sequence[Record], head: Head) -> Sequence[Listed]:
        folders: dict[str, Folder] = {}
        by_key = {record.key: record for record in shared}
        for key in sorted({*groups, *by_key}):
            _add(folders.setdefault(key.rpartition("/")[0], Folder()), key, by_key.get(key))
        sessions = [(folder, key, _stem(key)) for folder in folders.values() for key in folder.sessions]
        own_ids = [_header_id(partial(head, key)) or stem for _, key, stem in sessions]
        natives = _natives([(own_id, key) for own_id, (_, key, _) in zip(own_ids, sessions, strict=True)])
        indexes = {id(folder): _index(folder.index) for folder in folders.values()}
        result = [
            Listed(native, key, {**_companions(stem, folder), **_indexed(stem, own_id, folder, indexes[id(folder)])})
            for native, own_id, (folder, key, stem) in zip(natives, own_ids, sessions, strict=True)
        ]
        names: dict[int, set[str]] = {}
        for own_id, (folder, _, stem) in zip(own_ids, sessions, strict=True):
            names.setdefault(id(folder), set()).update((stem, own_id))
        used_ids = set(natives)
        for folder in folders.values():
            result += _without_file(folder, indexes[id(folder)].entries, names.get(id(folder), set()), used_ids)
        return result

    def read_group(self, listed: Listed, records: Sequence[Record]) -> Stored:
        if not records:
            return Stored(Conversation(listed.native_id, self.format_name, (), listed.facts, listed.facts["sessionKey"].value or ""), ())
        (record,) = records
        session = read_session(record.value.data)
        facts = {**facts_of(session, record.key, self.control_rows), **listed.facts}
        return Stored(Conversation(listed.native_id, self.format_name, tuple(session.chunks), facts, title_of(session)), (record,))


def _stem(key: str) -> str:
    return key.rpartition("/")[2].removesuffix(".jsonl")


def _header_id(head: Callable[[int], bytes]) -> str:
    """The id that the header of a file names, "" where there is none: read as far as the first line that says it."""
    size = _HEAD
    while True:
        data = head(size)
        if (header := header_of(data, is_whole=len(data) < size)) is not None:
            id_ = header.get("id")
            return id_ if isinstance(id_, str) else ""
        size *= _HEAD


def _add(folder: Folder, key: str, record: Record | None) -> None:
    name = key.rpartition("/")[2]
    if name == INDEX:
        folder.index = record
    elif is_session(key):
        folder.sessions.append(key)
    elif name.endswith(LOCK) and record is not None:
        folder.locks[name.removesuffix(LOCK)] = record
    elif copy := _RECOVERY.fullmatch(name):
        folder.recovery.setdefault(copy["stem"], []).append(key)


def _natives(ids: Sequence[tuple[str, str]]) -> list[str]:
    """Ids, with the file after those that several files have: the id of a conversation names one thing."""
    counts = Counter(native for native, _ in ids)
    names = [native if counts[native] == 1 else f"{native} {key.rpartition('/')[2]}" for native, key in ids]
    counts_by_name = Counter(names)
    return [name if counts_by_name[name] == 1 else f"{native} {key}" for name, (native, key) in zip(names, ids, strict=True)]


def _companions(stem: str, folder: Folder) -> dict[str, Fact]:
    """The lock, and the names of copies: of this session, and on each session those of sessions that are gone."""
    facts: dict[str, Fact] = {}
    if lock := folder.locks.get(stem):
        facts |= {name: Fact(name, value, lock.key) for name, value in _lock(lock).items()}
    if own := folder.recovery.get(stem):
        facts["recovery"] = Fact("recovery", _names(own), own[0])
    if others := folder.copies_of_others:
        facts["recoveryOfOthers"] = Fact("recoveryOfOthers", _names(others), others[0])
    return facts


def _names(keys: Sequence[str]) -> str:
    more = f" and {len(keys) - _NAMED:,} more" if len(keys) > _NAMED else ""
    return ", ".join(key.rpartition("/")[2] for key in keys[:_NAMED]) + more


def _lock(record: Record) -> dict[str, str]:
    lock = _object(record)
    if isinstance(lock, str):
        return {"lock": f"there is a lock file that cannot be read ({lock}); OpenClaw takes it for stale"}
    pid, since = lock.get("pid"), lock.get("createdAt")
    if not isinstance(pid, int) or isinstance(pid, bool):
        return {"lock": "there is a lock file that names no process; OpenClaw takes it for stale"}
    return {"lock": f"held by process {pid} since {since if isinstance(since, str) else 'an unknown time'}", "lockPid": str(pid)}


def _object(record: Record) -> dict[str, Any] | str:
    """The object of a JSON file, or why there is none."""
    try:
        value = jsontext.parse(jsontext.decode(record.value.data))
    except Unreadable as problem:
        return problem.reason
    return value if isinstance(value, dict) else "JSON, but no object"


@dataclass(frozen=True, slots=True)
class Index:
    """The entries of a sessions.json by session key, and what is wrong with the file; by the ids and the files that they name, the places of those entries."""

    entries: Mapping[str, Any]
    problem: str = ""
    by_id: Mapping[str, Sequence[int]] = field(default_factory=dict)
    by_file: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def of(self, stem: str, native: str) -> dict[str, Any]:
        """The entries of one session."""
        places = sorted({*self.by_id.get(stem, ()), *self.by_id.get(native, ()), *self.by_file.get(stem, ())})
        names = list(self.entries) if places else []
        return {names[place]: self.entries[names[place]] for place in places}


def _index(record: Record | None) -> Index:
    value = {} if record is None else _object(record)
    if isinstance(value, str):
        return Index({}, f"{INDEX_UNREADABLE} ({value}): OpenClaw's list of sessions is empty.")
    by_id: dict[str, list[int]] = {}
    by_file: dict[str, list[int]] = {}
    for place, entry in enumerate(value.values()):
        if isinstance(entry, dict):
            by_file.setdefault(_file(entry), []).append(place)
            if isinstance(session_id := entry.get("sessionId"), str):
                by_id.setdefault(session_id, []).append(place)
    return Index(value, "", by_id, by_file)


def _indexed(stem: str, native: str, folder: Folder, index: Index) -> dict[str, Fact]:
    if folder.index is None:
        return {}
    key = folder.index.key
    if index.problem:
        return {"index": Fact("index", index.problem, key)}
    own = index.of(stem, native)
    if not own:
        return {"index": Fact("index", _UNLISTED, key)}
    facts = {"sessionKey": Fact("sessionKey", ", ".join(own), key)}
    entry = next(iter(own.values()))
    updated = entry.get("updatedAt")
    if isinstance(updated, int | float) and not isinstance(updated, bool):
        facts["indexUpdatedAt"] = Fact("indexUpdatedAt", jsontext.compact(updated), key)
    if text := " ".join(_disagreements(own, stem, native)):
        facts["index"] = Fact("index", text, key)
    return facts


def _file(entry: Mapping[str, Any]) -> str:
    path = entry.get("sessionFile")
    return re.split(r"[/\\]", path)[-1].removesuffix(".jsonl") if isinstance(path, str) else ""


def _disagreements(own: Mapping[str, Mapping[str, Any]], stem: str, native: str) -> Iterator[str]:
    for name, entry in own.items():
        session_id = entry.get("sessionId")
        if session_id != native:
            yield f"sessions.json ({name}) says sessionId {_shown(session_id)}, the header of the file {native}."
        if _file(entry) and _file(entry) != stem:
            yield f"sessions.json ({name}) names the file {_file(entry)}.jsonl, this one is {stem}.jsonl."
        if not isinstance(session_id, str) or not SAFE_ID.fullmatch(session_id):
            yield f"sessions.json ({name}): OpenClaw drops an entry whose sessionId is {_shown(session_id)}."


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else jsontext.compact(value)


def _without_file(folder: Folder, entries: Mapping[str, Any], names: set[str], used_ids: set[str]) -> Iterator[Listed]:
    """What sessions.json lists without a file. Such a conversation has no records: only the index names it."""
    if folder.index is None:
        return
    for name, entry in entries.items():
        if not isinstance(entry, dict):
            continue
        session_id, file = entry.get("sessionId"), _file(entry)
        native = session_id if isinstance(session_id, str) and session_id else file or name
        if {session_id if isinstance(session_id, str) else "", file} & names or native in used_ids:
            continue
        used_ids.add(native)
        text = f"sessions.json ({name}) names this session; its file {file or native}.jsonl is not among the files that were read."
        facts = {"index": text, "sessionKey": name, "reachable": "0/0"}
        yield Listed(native, "", {fact: Fact(fact, value, folder.index.key) for fact, value in facts.items()})
