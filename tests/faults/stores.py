"""What a store holds at one moment, read without Inspector, and which of its repairs are in it."""

import shutil
import sqlite3
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

from inspector.programs.formats import Element
from inspector.sources.elements import Absent, Differs, Present, WrongShape, spliced

Content = dict[str, object]
"""A name for each part of the store (file, folder, row) and what it holds."""


@dataclass(frozen=True)
class Change:
    """As the intent in Inspector's own database has it; None is absent. `element` is which part of a shared record is meant, "" for all of it."""

    key: str
    element: str
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True)
class Intent:
    """A repair as Inspector's own database has it, with the changes that it keeps before it writes."""

    oid: str
    state: str
    changes: tuple[Change, ...]
    is_claimed: bool = False

    @property
    def is_recorded(self) -> bool:
        return self.state in ("applied", "verified")


@dataclass(frozen=True)
class Found:
    """`present`: ids of the repairs that are in the store, None where it is neither as before nor as after.

    `is_hot`: SQLite has to roll back a journal first. `lost`: untouched parts that differ. `extra`: parts that no repair and no program made.
    """

    present: frozenset[str] | None
    is_hot: bool = False
    lost: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    content: Content = field(default_factory=dict, compare=False)


def tree(folder: Path) -> Content:
    """Every file and folder below, with its mode; folders end with a slash."""
    found: Content = {}
    for place in folder.rglob("*"):
        name, status = place.relative_to(folder).as_posix(), place.lstat()
        if stat.S_ISDIR(status.st_mode):
            found[f"{name}/"] = (oct(status.st_mode), b"")
        else:
            found[name] = (oct(status.st_mode), place.read_bytes())
    return found


class Files:
    """A store of plain files below `folder`. `base` is what keys count from: the folder that holds the source."""

    def __init__(self, folder: Path, scratch: Path) -> None:
        self.folder = self.base = folder

    def save(self, kept: Path) -> None:
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(self.folder, kept, symlinks=True)

    def restore(self, kept: Path) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(kept, self.folder, symlinks=True)

    def wait(self) -> None:
        """Until nobody writes any more: a file is written by none but the process that died."""

    def strike(self, kind: str) -> None:
        """Does to the server what `kind` says, while its client waits."""
        raise ValueError(kind)

    def content(self) -> Content:
        return tree(self.folder)

    def is_hot(self) -> bool:
        return False

    def part(self, key: str) -> str:
        return (self.base.relative_to(self.folder) / key).as_posix()

    def data(self, value: object) -> bytes | None:
        return value[1] if isinstance(value, tuple) else None

    def made_with(self, part: str) -> set[str]:
        """Folders that come and go with a file."""
        return {f"{parent.as_posix()}/" for parent in Path(part).parents if parent.as_posix() != "."}


class Sqlite(Files):
    """A database below `folder`, and whatever is next to it; its rows as SQLite has them after it recovered a copy."""

    def __init__(self, folder: Path, scratch: Path) -> None:
        super().__init__(folder, scratch)
        self.copy = scratch / "copy"

    def content(self) -> Content:
        shutil.rmtree(self.copy, ignore_errors=True)
        shutil.copytree(self.folder, self.copy)
        found = {name: value for name, value in tree(self.folder).items() if not name.endswith(("-shm", "-wal", "-journal", ".db"))}
        for path in sorted(self.copy.glob("*.db")):
            found[path.name] = oct((self.folder / path.name).stat().st_mode)
            with closing(sqlite3.connect(path)) as connection:
                connection.text_factory = bytes
                damage = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
                if damage != b"ok":
                    found[f"{path.name} is damaged"] = damage
                for (table,) in connection.execute(
                    "SELECT CAST(name AS BLOB) FROM sqlite_master WHERE type = 'table' ORDER BY 1"
                ).fetchall():
                    found |= self._rows(connection, table.decode())
        return found

    def _rows(self, connection: sqlite3.Connection, table: str) -> Content:
        if table != "kv":
            return {f"{table} {number}": row for number, row in enumerate(connection.execute(f'SELECT * FROM "{table}"').fetchall())}
        rows = connection.execute(
            "SELECT CAST(namespace AS BLOB), CAST(key AS BLOB), typeof(value), CAST(value AS BLOB) FROM kv"
        ).fetchall()
        return {f"{place.decode()}:{key.decode('utf-8', 'surrogateescape')}": (kind, value) for place, key, kind, value in rows}

    def is_hot(self) -> bool:
        for path in self.folder.glob("*-journal"):
            with path.open("rb") as file:
                if file.read(1) not in (b"", b"\0"):
                    return True
        return False

    def part(self, key: str) -> str:
        return f"conversation-store:{key}"

    def made_with(self, part: str) -> set[str]:
        return set()


def found(store: Files, before: Content, intents: Sequence[Intent]) -> Found:
    """What is in the store now, told by what the intents say that each repair writes."""
    content = store.content()
    parts = {store.part(change.key) for intent in intents for change in intent.changes}
    lost = tuple(sorted(name for name in before if name not in parts and content.get(name) != before[name]))
    folders = {folder for part in parts if part in content for folder in store.made_with(part)}
    extra = tuple(sorted(name for name in content if name not in before and name not in parts and name not in folders))
    now = {part: store.data(content.get(part)) for part in parts}
    start = {part: store.data(before.get(part)) for part in parts}
    chosen = next((some for some in _choices(intents) if written(store, start, some) == now), None)
    present = None if chosen is None else frozenset(intent.oid for intent in chosen)
    return Found(present, store.is_hot(), lost, extra, content)


def _choices(intents: Sequence[Intent]) -> Iterator[tuple[Intent, ...]]:
    """What may be in the store, what the record says first: two repairs may write the same bytes."""
    intents = [intent for intent in intents if intent.changes]
    yield tuple(intent for intent in intents if intent.is_recorded)
    for size in range(len(intents) + 1):
        yield from combinations(intents, size)


def written(store: Files, start: Mapping[str, bytes | None], intents: Iterable[Intent]) -> dict[str, bytes | None] | None:
    """None where the repairs cannot be in the store one after the other: the second begins with something else than the first leaves."""
    now = dict(start)
    for intent in intents:
        for change in intent.changes:
            part = store.part(change.key)
            if not change.element:
                if now[part] != change.before:
                    return None
                now[part] = change.after
                continue
            try:
                now[part] = spliced(now[part] or b"", change.before, change.after, Element(change.element))
            except (Absent, Differs, Present, WrongShape):
                return None
    return now
