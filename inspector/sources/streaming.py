"""Stores whose conversations are read one after the other: first which there are, from keys and shared records, then the records of one at a time."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from inspector.programs.formats import (
    UNREAD,
    Cell,
    Exported,
    Format,
    Grouped,
    InFiles,
    InRowGroups,
    InRows,
    KnowsKeys,
    Listed,
    LooksAround,
    Record,
    Stored,
    Table,
    read_listed,
    unread,
)
from inspector.sources import files, folders, index_rows, sqlite, table_rows
from inspector.sources.folders import Start, WholeFile
from inspector.sources.problems import CONVERSATIONS, Changing, LargeValue, TooLarge
from inspector.text import limits
from inspector.traces.model import Problem


@dataclass(frozen=True, slots=True)
class OpenStore:
    """A store as long as it is open. `listed` are its conversations in their order; `size` in bytes says how much there is to read, about.

    `records` gives those of one conversation. Raises Changing where the store is not any more what `listed` was read of: open it again.
    """

    path: Path
    format: Format
    listed: Sequence[Listed]
    size: int
    problems: tuple[Problem, ...]
    records: Callable[[Listed], Sequence[Record]]
    files: Callable[[Listed], tuple[WholeFile, ...]] = lambda listed: ()
    """The records of one that are whole files."""
    nearby: Callable[[Listed], tuple[tuple[str, int], ...]] = lambda listed: ()
    """Other files that say more of one, by their keys, with their bytes."""
    unexamined: frozenset[str] = frozenset()
    """Native ids of those that are over a limit, of which `problems` says how many there are: they are read when somebody names one."""

    @property
    def examined(self) -> Sequence[Listed]:
        """Those that a look at the whole store reads."""
        return [listed for listed in self.listed if listed.native_id not in self.unexamined] if self.unexamined else self.listed

    def read(self, listed: Listed) -> Stored:
        """One conversation. Raises SourceProblem."""
        listed, records = self.records_of(listed)
        return read_listed(self.format, self.informed(listed, records), records)

    def records_of(self, listed: Listed) -> tuple[Listed, Sequence[Record]]:
        """Those of one conversation; none of one that is over a limit, which its facts say then. Raises SourceProblem."""
        listed = self.within_limit(listed)
        try:
            return listed, () if UNREAD in listed.facts else self.records(listed)
        except LargeValue:
            return unread(listed, limits.reason(f"a value of more than {limits.LARGEST_VALUE >> 20} MB")), ()

    def within_limit(self, listed: Listed) -> Listed:
        """As it is, or with the fact that one of its files is over the limit."""
        large = next((file for file in self.files(listed) if file.size > limits.LARGEST_FILE), None)
        return (
            listed
            if large is None
            else unread(listed, limits.reason(f"{large.size:,} bytes in one file", limits.FILE_NAME, limits.LARGEST_FILE))
        )

    def informed(self, listed: Listed, records: Sequence[Record]) -> Listed:
        """With what other files of the store say of the conversation."""
        return informed(self.path, self.format, listed, records)


def _within_limit(store: OpenStore, counts: Mapping[str, int]) -> OpenStore:
    """`counts` says how many records each group has. An index can name a million conversations, and the title row of each is a hundred bytes."""
    rest = [listed.native_id for listed in store.listed if counts.get(listed.group, 0) <= 1][limits.MOST_EMPTY :]
    if not rest:
        return store
    sentence = (
        f"{len(rest):,} of its conversations consist of one record or none and were not examined, after the first {limits.MOST_EMPTY:,} such: "
        f"set {limits.EMPTY_NAME} to a larger number to examine them."
    )
    return replace(store, unexamined=frozenset(rest), problems=(*store.problems, Problem(CONVERSATIONS, sentence)))


def informed(path: Path, format_: Format, listed: Listed, records: Sequence[Record]) -> Listed:
    facts = folders.around(path, format_, records)
    return replace(listed, facts={**listed.facts, **facts}) if facts else listed


def is_streamed(format_: Format) -> bool:
    """Whether the format says how its records group, so that no more than one conversation is in memory."""
    return isinstance(format_, Grouped) and (isinstance(format_, InRowGroups) or not isinstance(format_, InRows | Exported))


@contextmanager
def opened(path: Path, format_: Format, check: bool, about: str) -> Iterator[OpenStore]:
    """`check`: looks for keys that the format does not know, as problems at `about`. Raises SourceProblem, Changing also at the end."""
    if isinstance(format_, InFiles):
        yield _files(path, format_)
    else:
        with sqlite.snapshot(path) as store:
            yield _rows(path, format_, store) if isinstance(format_, InRowGroups) else _table(path, format_, store, check, about)


def _rows(path: Path, format_: Format, store: sqlite.Snapshot) -> OpenStore:
    assert isinstance(format_, Grouped) and isinstance(format_, InRowGroups)
    size = files.status(path).st_size
    selections = {rows.name: format_.row_groups[rows.name] for rows in format_.rows if rows.name in store.tables or not rows.optional}
    if any(group.ungrouped and any(store.rows(name, (group.column,), group.ungrouped)) for name, group in selections.items()):
        # Ids of another kind: all rows at once tell which are of which.
        stored = {one.conversation.native_id: one for one in format_.read(list(table_rows.records(store, format_.rows)))}
        listed = format_.listed(tuple(stored), (), _no_head)
        return OpenStore(path, format_, listed, size, (), lambda one: stored[one.group].records)
    counts: Counter[str] = Counter()
    for name, group in selections.items():
        counts.update(str(value) for (value,) in store.rows(name, (group.column,), group.naming))

    def records(listed: Listed) -> Sequence[Record]:
        rows = table_rows.records(store, format_.rows, {name: (group.own, listed.group) for name, group in selections.items()})
        # As a revision has them, so that the digest of both is the same.
        return tuple(sorted(rows, key=lambda record: record.key.encode("utf-8", "surrogateescape")))

    return _within_limit(OpenStore(path, format_, format_.listed(tuple(sorted(counts)), (), _no_head), size, (), records), counts)


def _no_head(group: str, size: int) -> bytes:
    return b""


@dataclass(slots=True)
class _Range:
    first: str
    last: str
    count: int


def _table(path: Path, format_: Format, store: sqlite.Snapshot, check: bool, about: str) -> OpenStore:
    assert isinstance(format_, Grouped)
    table = format_.table
    groups: dict[str, _Range] = {}
    shared_keys: dict[str, None] = {}
    strange: list[Record] = []
    for key in store.keys(table):
        name = format_.group_of(key)
        if name is None:
            shared_keys[key] = None
        elif not name:
            strange.append(Record(key, Cell(b"")))
        elif (group := groups.get(name)) is None:
            groups[name] = _Range(key, key, 1)
        else:
            group.last = key
            group.count += 1
    shared = [record for key in shared_keys for record in store.between(table, key, key)]

    def records(listed: Listed) -> Sequence[Record]:
        group = groups.get(listed.group)
        return _of_group(format_, store, table, listed.group, group) if group else ()

    def head(name: str, size: int) -> bytes:
        return store.between(table, groups[name].first, groups[name].first)[0].value.data[:size]

    unknown = format_.unknown(strange) if check and isinstance(format_, KnowsKeys) else ()
    problems = tuple(Problem(about, text) for text in unknown)
    opened_store = OpenStore(path, format_, format_.listed(tuple(groups), shared, head), files.status(path).st_size, problems, records)
    return _within_limit(opened_store, {name: group.count for name, group in groups.items()})


def _of_group(format_: Grouped, store: sqlite.Snapshot, table: Table, name: str, group: _Range) -> Sequence[Record]:
    rows = store.between(table, group.first, group.last)
    if len(rows) != group.count:
        # The keys of another group are between them: an id may go on as the keys of this one do.
        rows = [record for record in rows if format_.group_of(record.key) == name]
    if len(rows) != group.count:
        # A key that is no text is before or after all texts.
        rows = [record for record in store.records(table) if format_.group_of(record.key) == name]
    return rows


def _files(path: Path, format_: Format) -> OpenStore:
    assert isinstance(format_, Grouped) and isinstance(format_, InFiles)
    all_places = folders.regular(path)
    places = {key: place for key, place in all_places.items() if format_.wants(key)}
    keys = sorted(all_places) if isinstance(format_, LooksAround) and folders.is_folder(path) else []
    groups: dict[str, list[str]] = {}
    shared = index_rows.of(path, format_, list(all_places))
    sizes: dict[str, int] = {}
    is_folder = folders.is_folder(path)
    closed: set[str] = set()
    """Groups of which a file may not be read: a part of a conversation would look damaged."""
    for key, place in places.items():
        name = format_.group_of(key)
        if is_folder and not folders.is_readable(place):
            closed.add(name or "")
        elif name is None:
            shared.append(folders.record(path, WholeFile(key, place, 0)))
        elif name:
            groups.setdefault(name, []).append(key)
            sizes[key] = _size(path, place)
    for name in closed:
        groups.pop(name, None)

    starts: dict[str, Start] = {}

    def of(listed: Listed) -> tuple[WholeFile, ...]:
        return tuple(WholeFile(key, places[key], sizes[key], starts.get(key)) for key in groups.get(listed.group, ()))

    def records(listed: Listed) -> Sequence[Record]:
        return tuple(folders.record(path, file) for file in of(listed))

    def nearby(listed: Listed) -> tuple[tuple[str, int], ...]:
        if not keys or not isinstance(format_, LooksAround):
            return ()
        folder = format_.folder_of(listed.group) + "/"
        start, stop = bisect_left(keys, folder), bisect_left(keys, folder + "\U0010ffff")
        return tuple((key, folders.size_of(all_places[key])) for key in keys[start:stop])

    def head(name: str, size: int) -> bytes:
        key = groups[name][0]
        data = folders.head(places[key], size)
        starts[key] = Start.of(data)
        return data

    opened_store = OpenStore(path, format_, format_.listed(tuple(groups), shared, head), sum(sizes.values()), (), records, of, nearby)
    # A file holds a whole conversation; what has none is only named in an index.
    return _within_limit(opened_store, dict.fromkeys(groups, 2))


def _size(path: Path, place: Path) -> int:
    try:
        size = place.stat().st_size
    except OSError as error:
        raise Changing(path) from error
    if size > files.LIMIT and not folders.is_folder(path):
        raise TooLarge(place, "The content", files.LIMIT)
    return size
