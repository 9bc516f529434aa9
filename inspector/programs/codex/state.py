"""Codex's list of threads, `state_N.sqlite` in its home: what it says of each rollout file, and which files it names that are not there.

The table `threads` has about 34 columns; read are the id, `rollout_path` and `archived`. The number in the name is the generation of the schema: the
highest counts. The list is filled from the files (backfill) and by the program as it runs; no command fills it again.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inspector.conversation.model import Fact
from inspector.programs.formats import Record, RowTable
from inspector.text.jsontext import object_of

ROWS = (RowTable("threads", ("id", "rollout_path", "archived"), "id"),)
DATABASE = re.compile(r"state_(\d+)\.sqlite")
INDEX, WITHOUT_FILE = "threadIndex", "threadIndexWithoutFile"
"""Facts: how the row of a thread and its file disagree; and that of a row no file was found."""
_FOLDERS = ("sessions", "archived_sessions")
_PACKED = ".zst"


def home_of(source: str, keys: Sequence[str]) -> str | None:
    """The folder of the list: the one that holds the source ("") where that is `sessions`, the source where it is the home; None of a part of either."""
    if source == _FOLDERS[0]:
        return ""
    return source if any(key.startswith(f"{source}/{folder}/") for folder in _FOLDERS for key in keys) else None


def is_row(key: str) -> bool:
    return f"#{ROWS[0].name}:" in key


@dataclass(frozen=True, slots=True)
class Row:
    """`place` is the path below the home, "" for one that is below neither folder of threads."""

    id: str
    place: str
    path: str
    archived: bool
    key: str

    @property
    def list(self) -> str:
        return self.key.partition("#")[0].rpartition("/")[2]


def rows_in(records: Sequence[Record]) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    for record in records:
        value = object_of(record.value.data)
        id_, path = value.get("id"), value.get("rollout_path")
        if is_row(record.key) and isinstance(id_, str) and isinstance(path, str):
            rows[id_] = Row(id_, _below_home(path), path, bool(value.get("archived")), record.key)
    return rows


def _below_home(path: str) -> str:
    """A copy of a home has the paths of the first one: what is above the folder of threads is not compared."""
    parts = re.split(r"[/\\]", path.removesuffix(_PACKED))
    at = next((at for at in range(len(parts) - 1, -1, -1) if parts[at] in _FOLDERS), None)
    return "" if at is None else "/".join(parts[at:])


def facts_of_file(id_: str, key: str, rows: Mapping[str, Row]) -> dict[str, Fact]:
    """What the list says of the thread of a file; nothing where there is no list, or an empty one."""
    if not rows:
        return {}
    first = next(iter(rows.values()))
    row, place = rows.get(id_), _below_home(key)
    if row is None:
        text = f"{first.list} has no row for this thread: Codex's list does not show it. The list was never filled from this file, or the row was deleted on purpose"
        return {INDEX: Fact(INDEX, text, first.key)}
    if row.place == place:
        return {}
    if row.archived and place.startswith(f"{_FOLDERS[0]}/"):
        text = f"{row.list} says that this thread is archived ({row.path}), and its file is among those that are not. It was put back by hand, or is a copy that was left"
    else:
        text = f"{row.list} names another file for this thread ({row.path}). This one was moved by hand, or is a copy, and the other is the thread's"
    return {INDEX: Fact(INDEX, text, row.key)}


def without_file(ids: Sequence[str], keys: Sequence[str], rows: Mapping[str, Row]) -> list[tuple[Row, Fact]]:
    """Rows whose thread is in no file that was read. Of an archived one nothing is known where the archive was not read."""
    known_ids, places = set(ids), {_below_home(key) for key in keys}
    folders = {place.partition("/")[0] for place in places}
    missing = []
    for row in rows.values():
        if row.id in known_ids or row.place in places or not row.place or (row.place.partition("/")[0] not in folders):
            continue
        kind = "archived thread" if row.archived else "thread"
        text = (
            f"{row.list} lists this {kind}, and its file {row.path} is not there: Codex answers `no rollout found for thread id {row.id}`. "
            "The file was deleted on purpose, and its row was left; or it was moved or lost, and may be in a backup"
        )
        missing.append((row, Fact(WITHOUT_FILE, text, row.key)))
    return missing
