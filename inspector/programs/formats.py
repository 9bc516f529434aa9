"""What a stored shape must offer: bytes in, bytes out. Nothing here opens anything."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import Any, Protocol, runtime_checkable

from inspector.conversation.edits import Plan
from inspector.conversation.model import Chunk, Conversation, Fact
from inspector.text import limits
from inspector.text.light import light_dataclass


@light_dataclass(frozen=True, slots=True)
class Cell:
    """One stored value: its exact bytes and its storage class (`text` or `blob`; SQLite keeps the two apart)."""

    data: bytes
    type: str = "text"


TOO_LARGE = "too-large"
"""Type of a cell whose value is over `limits.LARGEST_VALUE` and was not read; its data is empty. No write touches one."""


@light_dataclass(frozen=True, slots=True)
class Record:
    """One row, line or key-value pair exactly as stored. `key` is the store's key (decoded with surrogateescape)."""

    key: str
    value: Cell


class Element(StrEnum):
    """Which part of a JSON text that conversations share a change is about; everything else in the text stays as it is at the moment of writing."""

    NONE = ""
    """The record is not shared: the change is about its whole value."""
    STRING = "string"
    """One string of a JSON array: `before`/`after` is the string itself."""
    MEMBER = "member"
    """One member of a JSON object: `before`/`after` is its JSON text, `"name": value`."""


@dataclass(frozen=True, slots=True)
class Change:
    """One value of the store before and after; None = absent. With `element` the value is one part of a record that conversations share (a list of them)."""

    key: str
    before: Cell | None
    after: Cell | None
    element: Element = Element.NONE

    def reversed(self) -> "Change":
        return Change(self.key, self.after, self.before, self.element)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Stored:
    """One conversation with the records it was read from, in store order: what a plan is computed on."""

    conversation: Conversation
    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Where a format's key-value pairs live in a database: the table, its key and value columns, and fixed column values."""

    name: str
    key: str
    value: str
    where: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class RowTable:
    """A table of which a format reads whole rows: exactly these columns, a record's key from `key` and, where set, the number or text `order`.

    `optional`: a store of another version may lack the table. The name USER_VERSION stands for the row that SQLite's own pragma would be.
    `conversation`: the column with the id of the conversation that a row is of, in a table that has long values.
    """

    name: str
    columns: tuple[str, ...]
    key: str
    order: str = ""
    optional: bool = False
    conversation: str = ""


USER_VERSION = "PRAGMA user_version"
"""The number that a program keeps in the header of its database: a record of this key, `{"user_version": N}`."""


@runtime_checkable
class InRows(Protocol):
    """A format whose records are rows of tables instead of key-value pairs; no other table of the file is read."""

    rows: tuple[RowTable, ...]


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Which rows of a table are of one conversation, as SQL of our own: `own` is the condition with the id for its one `?`; `column` holds the id in
    the rows that `naming` selects (all where it is ""). `ungrouped`: rows with which no SQL tells the conversations of the store apart."""

    column: str
    own: str
    naming: str = ""
    ungrouped: str = ""


@runtime_checkable
class InRowGroups(Protocol):
    """A format of rows whose conversations can be read one after the other (see Grouped): `row_groups` says by table which rows are of which."""

    rows: tuple[RowTable, ...]
    row_groups: Mapping[str, RowGroup]


FILE = "file"
"""Storage class of a record that is a whole file."""
ROW = "row"
"""Storage class of a record that is a row of a database server: a JSON object, each column's text as the server prints it, or null."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A table of a database server of which a format reads whole rows.

    `columns` are read where the table has them, `required` must be there. `key` are the columns that distinguish rows, all of them numbers: a record's key
    is `name:0000000007:0000000003`. `conversation` is the column with the number of the conversation that a row belongs to. `where` is SQL of our own.
    `distinguished_by` are columns that distinguish the rows of a conversation in an export that leaves out the number `key` ends in; () = none do.
    """

    name: str
    columns: tuple[str, ...]
    required: tuple[str, ...]
    key: tuple[str, ...]
    conversation: str
    where: str = ""
    optional: bool = False
    distinguished_by: tuple[str, ...] = ()


@runtime_checkable
class InRelations(Protocol):
    """A format whose records are rows of a database server; no other table is read. The first relation holds one row for each conversation, which a write locks."""

    relations: tuple[Relation, ...]


class NotAnExport(Exception):
    """No rows can be read from these files. `reason` goes on a sentence that begins with the name of the place, and says what to do next."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class OfAnotherDatabase(NotAnExport):
    """They hold no table that is read here."""


@dataclass(frozen=True, slots=True)
class Unpacked:
    """`notes`: what was left out or is missing, as sentences for a person."""

    records: tuple[Record, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Listed:
    """A conversation of a store before its own records are read. `group` is that of its records ("": it has none), `facts` are those of shared records."""

    native_id: str
    group: str
    facts: Mapping[str, Fact]


UNREAD = "unread"
"""Fact of a conversation that is over a limit of ours, so that nothing of it was read: it says why, after the name of what is over it."""


def unread(listed: Listed, reason: str) -> Listed:
    """`reason` as `limits.reason` gives it."""
    return replace(listed, facts={**listed.facts, UNREAD: Fact(UNREAD, reason, UNREAD)})


OFF_PATH_UNREAD = "offPathUnread"
"""Fact of a path through a tree: what of the tree is over a limit of ours, so that it may belong to the path."""


def unread_chunk(conversation: Conversation) -> Chunk | None:
    """The first line, row or value that is only over a limit of ours. Its program may read it, so what is missing here may be there."""
    return next((chunk for chunk in conversation.chunks if chunk.damage in limits.OWN_DAMAGE), None)


def not_read(conversation: Conversation) -> str:
    """What is over a limit of ours, in words after "it", so that nobody knows whether it is whole; "" where all of it was read."""
    if reason := conversation.fact(UNREAD) or conversation.fact(OFF_PATH_UNREAD):
        return reason
    chunk = unread_chunk(conversation)
    return f"has something at seq {chunk.seq} that is not read here ({chunk.reason})" if chunk else ""


def read_listed(format_: "Format", listed: Listed, records: Sequence[Record]) -> Stored:
    """One conversation of a format that is Grouped. Of one that is over a limit only that is known."""
    if UNREAD in listed.facts:
        return Stored(Conversation(listed.native_id, format_.name, (), listed.facts), ())
    assert isinstance(format_, Grouped)
    return format_.read_group(listed, records)


@runtime_checkable
class PacksRecords(Protocol):
    """A format whose records may be compressed: `plain` gives the bytes that are read, in which a secret can be recognized."""

    def plain(self, data: bytes) -> bytes: ...


Head = Callable[[str, int], bytes]
"""The first bytes of the first record of a group, at most as many as asked for."""


@runtime_checkable
class Grouped(Protocol):
    """A format whose conversations can be read one after the other: what a key says tells whose record it is.

    `group_of` gives the group of a record by its key: "" where it is of no conversation, None where several share it. `listed` gives the conversations in
    their order, from the groups in the order of their first keys and the shared records. `read_group` reads one of them.
    """

    def group_of(self, key: str) -> str | None: ...
    def listed(self, groups: Sequence[str], shared: Sequence[Record], head: Head) -> Sequence[Listed]: ...
    def read_group(self, listed: Listed, records: Sequence[Record]) -> Stored: ...


class Neighbors(Protocol):
    """The other files of a store, as a conversation that is being read sees them: looked at when they are asked for."""

    def below(self, folder: str) -> Sequence[str]:
        """Keys of the regular files in the folder and below it, sorted; () where there is no such folder, or it cannot be read."""
        ...

    def place(self, key: str) -> str:
        """The path of a file."""
        ...

    def read(self, key: str) -> bytes | None:
        """The whole of a file; None where it cannot be read."""
        ...


@runtime_checkable
class ListedInDatabase(Protocol):
    """A format of files whose program keeps a list of them in an SQLite database: its rows are read as records that all conversations share.

    `index_folder` is the key of the folder that holds the database, from the name of the source and the keys of its files: "" for the folder that holds
    the source, None where there is none. Of the files there that `index_name` matches, the one with the highest number (its first group) is read.
    """

    index_name: re.Pattern[str]
    index_rows: tuple[RowTable, ...]

    def index_folder(self, source: str, keys: Sequence[str]) -> str | None: ...


@runtime_checkable
class LooksAround(Protocol):
    """A format of files in which other files say more of a conversation: what it lost, or what it names and is not there.

    `folder_of` is the folder that holds most of them, by the group of the conversation; `around` gives what they say as facts, of keys of theirs.
    Both are asked only where the store is a folder.
    """

    def folder_of(self, group: str) -> str: ...
    def around(self, records: Sequence[Record], neighbors: Neighbors) -> Mapping[str, Fact]: ...


def read_grouped(format_: Grouped, records: Iterable[Record]) -> Iterator[Stored]:
    """All conversations of such a format, from all its records."""
    groups: dict[str, list[Record]] = {}
    shared: list[Record] = []
    for record in records:
        group = format_.group_of(record.key)
        if group is None:
            shared.append(record)
        elif group:
            groups.setdefault(group, []).append(record)
    for listed in format_.listed(tuple(groups), shared, lambda group, size: groups[group][0].value.data[:size]):
        yield format_.read_group(listed, groups.get(listed.group, ()))


@runtime_checkable
class Claimable(Protocol):
    """A format whose store says itself who is at work on a conversation.

    `at_work` gives a sentence that says why nothing may be written at `now` (epoch ms), "" where nobody is at work.
    """

    def at_work(self, stored: Stored, now: int) -> str: ...


@runtime_checkable
class Scripted(Protocol):
    """A format whose write can be handed over as a script in its server's own language; `about` are sentences for its head. Raises WriteRefused."""

    def script(self, stored: Stored, changes: Sequence[Change], about: Iterable[str]) -> str: ...


@runtime_checkable
class Exported(Protocol):
    """A format of files that hold the rows of such tables: `unpack` gives the records that the server itself would give.

    `weigh` is asked before anything is read, with the bytes of all files. Both raise NotAnExport.
    """

    def wants(self, key: str) -> bool: ...
    def weigh(self, size: int) -> None: ...
    def unpack(self, files: Iterable[Record]) -> Unpacked: ...


@runtime_checkable
class InFiles(Protocol):
    """A format whose records are whole files (cells of type `file`): keys are paths below the folder that holds the source.

    `wants` says by its key whether a file is read; nothing else of the folder is opened.
    """

    def wants(self, key: str) -> bool: ...


@runtime_checkable
class SharesFiles(Protocol):
    """A format of files whose program works at the same time.

    `keeps_times`: a file that is written over keeps its time, since the program resumes the newest one. `lock_suffix`: what the lock
    file of such a program has after the name of the file.
    """

    keeps_times: bool
    lock_suffix: str


@runtime_checkable
class Unlocked(Protocol):
    """A format of files whose program takes no lock: none of them is replaced or removed while a process has it open, nor replaced less than
    `quiet_seconds` after it was written."""

    quiet_seconds: float


@runtime_checkable
class Lists(Protocol):
    """A format whose program finds a new conversation by an entry in a list, which nothing stored fills.

    `listing` gives what the entry needs at `now` (epoch ms), as options of the plan. `follow_up` are sentences for the plan, before its approval: what the
    operator has to do so that the program lists and opens the result.
    """

    def listing(self, mode: str, stored: Stored, now: int) -> dict[str, str]: ...
    def follow_up(self, plan: Plan, stored: Stored) -> tuple[str, ...]: ...


@runtime_checkable
class InShape(Protocol):
    """A format of request bodies: `shape` says where in a body the messages are."""

    shape: Any


@runtime_checkable
class LeavesFiles(Protocol):
    """A format of folders that leaves files next to its sessions unread.

    `copies` names the kinds of copies among the keys that its program set aside, "" where there are none; `unread` gives a sentence for each kind of file.
    """

    def copies(self, keys: Sequence[str]) -> str: ...
    def unread(self, keys: Sequence[str]) -> tuple[str, ...]: ...


@runtime_checkable
class KnowsKeys(Protocol):
    """A format that can say of which records in its table it knows no meaning, as sentences for a person."""

    def unknown(self, records: Iterable[Record]) -> tuple[str, ...]: ...


@runtime_checkable
class DetectedByContent(Protocol):
    """A format that only the content of a file shows, and a change may hide. `warning` is a sentence on that, "" where the file is detected as before."""

    def warning(self, changes: Sequence[Change]) -> str: ...


CRASH_FILE = "A crash file is evidence of what was refused and is never written: repair the session that it names."
CRASH_ALONE = "A crash file is evidence of what was refused and is never written, and no imported session is known to be the one that crashed: there is nothing to repair."
"""Of one without a session."""


@dataclass(frozen=True, slots=True)
class OwnProgram:
    """How a program is asked to write to its own store: `name` as it is in PATH, `variable` of the environment that names it instead.

    `import_words` and `delete_words` follow it on its command line, with {file} and {id}; `environment` is set for it, with {store}. `migrations` are the
    tables that say which shape the store has: the program would bring one of an older shape to its own. `parent_column` of the first table names the conversation that one is a
    child of, and is deleted with.
    """

    name: str
    variable: str
    import_words: tuple[str, ...]
    delete_words: tuple[str, ...]
    environment: Mapping[str, str]
    migrations: tuple[str, ...]
    parent_column: str


@runtime_checkable
class WrittenByProgram(Protocol):
    """A store that nothing but its own program writes to. A plan is one new file for the program's import, and its undo the program's deletion of what
    it imported. The program imports step by step, so that a killed one leaves a part."""

    own_program: OwnProgram

    def file_of(self, stored: Stored) -> Record:
        """A conversation of the store as the file that its import would have been, with the key `ID.json`; empty where it cannot be one."""
        ...

    def folder_in(self, file: Cell) -> str:
        """The folder that the program has to be run in to import it there."""
        ...

    def in_folder(self, file: Cell, folder: str) -> Cell:
        """The same file for another folder."""
        ...

    def is_part(self, part: Cell, whole: Cell) -> bool:
        """Whether `part` is what an import of `whole` leaves that ends in the middle."""
        ...


class WriteRefused(Exception):
    """The format cannot write this plan into these records. `reason` is a sentence that ends with what to do next."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class WriteMode:
    name: str
    summary: str
    alias: str = ""
    """`fork` or `in-place`, the words that every format shares; "" where it is neither."""
    own_risk: str = ""
    """`risk` of a mode without an alias."""
    own_merit: str = ""
    """`merit` of a mode that is no fork."""

    cost: str = ""
    """A sentence, where more than what the strategies change is another afterwards."""
    appends: bool = False
    """What changes is written again at the end, and its old rows stay."""

    @property
    def shown(self) -> str:
        return f"{self.name} ({self.alias})" if self.alias else self.name

    @property
    def risk(self) -> str:
        """What it does to the conversation that is there, in a few words; "" where only its summary says that."""
        return {"fork": "new conversation, the original stays", "in-place": "edits the original"}.get(self.alias, self.own_risk)

    @property
    def merit(self) -> str:
        """Why it is the default where it is the first of its format; "" where it is the only one, or is not."""
        return "the original stays" if self.alias == "fork" else self.own_merit

    @property
    def for_users(self) -> str:
        return {
            "fork": "Users have to go on in the new one: the old one stays damaged.",
            "in-place": "It edits the original; users go on where they are.",
        }.get(self.alias, "")


@dataclass(frozen=True, slots=True)
class Shape:
    """What `sniff` gets to see of a source: its first bytes and, for a database, tables with their columns; of a folder the keys of its files.

    `heads` are the first bytes of a few of these files, those that end in .jsonl: a name such as `<uuid>.jsonl` says nothing.
    """

    head: bytes = b""
    tables: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    name: str = ""
    files: tuple[str, ...] = ()
    heads: tuple[bytes, ...] = ()
    served: bool = False
    """The tables are those of a database server."""


def sample_of(format_: "Format") -> str:
    """Programs of other packages may have been written before formats had one."""
    return str(getattr(format_, "sample", ""))


class Format(Protocol):
    name: str
    title: str
    sample: str = ""
    """How a file of it begins, written by us; else `tables `, `files ` or `zip ` and the names by which it is recognized."""
    default_reader: str
    default_projection: str
    default_profile: str
    modes: tuple[WriteMode, ...] = ()
    table: Table = Table("", "", "")

    def sniff(self, shape: Shape) -> float: ...
    def read(self, records: Iterable[Record]) -> Iterator[Stored]: ...
    def write(self, plan: Plan, stored: Stored) -> Sequence[Change]:
        """The changes that carry out `plan`. Raises WriteRefused, EditMismatch."""
        ...

    def options(self, mode: str, stored: Stored, fresh_id: str) -> dict[str, str]:
        """What `write` cannot derive."""
        return {}

    def target(self, plan: Plan) -> str:
        """Native id of the conversation that holds the result."""
        is_fork = any(mode.name == plan.mode and mode.alias == "fork" for mode in self.modes)
        return plan.options["fork_id"] if is_fork else plan.conversation

    def bleeding(self, native_id: str, others: Iterable[str]) -> tuple[str, ...]:
        """Of `others`, those whose records the program's listing takes for records of this one."""
        return ()

    def bleeding_among(self, others: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
        """`bleeding` of one id after the other among the same others."""
        return partial(self.bleeding, others=others)

    def guard(self, stored: Stored) -> tuple[dict[str, dict[str, Cell]], dict[str, Cell | None]]:
        """What must be byte-equal when a plan is written: records by prefix of their keys, and single ones; every record here."""
        return {}, {record.key: record.value for record in stored.records}


def mode_summary(format_: Format, name: str) -> str:
    """What the mode writes, in its own words; "" for a name that the format does not have any more."""
    return next((mode.summary for mode in format_.modes if mode.name == name), "")


def mode_word(format_: Format, name: str) -> str:
    """The word that every format shares, where the mode is one of those; else its name."""
    return next((mode.alias for mode in format_.modes if mode.name == name), "") or name


def mode_risk(format_: Format, name: str) -> str:
    """`WriteMode.risk`; the name where the format says nothing more of it."""
    return next((mode.risk for mode in format_.modes if mode.name == name), "") or f"mode {name}"


def after(records: Sequence[Record], changes: Iterable[Change]) -> list[Record]:
    """The records as they will be once `changes` are written (element changes are left out: they belong to shared values)."""
    values: dict[str, Any] = {record.key: record.value for record in records}
    for change in changes:
        if change.element:
            continue
        if change.after is None:
            values.pop(change.key, None)
        else:
            values[change.key] = change.after
    return [Record(key, values[key]) for key in sorted(values, key=lambda key: key.encode("utf-8", "surrogateescape"))]
