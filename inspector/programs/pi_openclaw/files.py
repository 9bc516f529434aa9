"""Sessions that are files with a tree of entries in them, as pi began them and OpenClaw went on."""

from collections.abc import Iterable, Iterator, Sequence

from inspector.conversation.edits import Plan
from inspector.programs.formats import Change, Format, Head, Listed, Record, Shape, Stored, WriteMode, read_grouped
from inspector.programs.pi_openclaw import folder as session_folder
from inspector.programs.pi_openclaw import listing as session_listing
from inspector.programs.pi_openclaw import writing as session_writing
from inspector.programs.pi_openclaw.detection import of_head, of_heads, of_names


class SessionFiles(Format):
    default_projection = "anthropic"
    default_profile = "anthropic-2026-07"
    keeps_times = True
    # OpenClaw takes one. pi takes none, and a file of OpenClaw's that is named alone may be detected as one of pi's.
    lock_suffix = ".lock"

    def __init__(self, name: str, title: str, sample: str, default_reader: str, control_rows: bool = False) -> None:
        """`control_rows`: whether it knows leaf and reset rows."""
        self.name, self.title, self.sample, self.default_reader = name, title, sample, default_reader
        self._control_rows = control_rows
        self._folders = session_folder.SessionFolders(name, control_rows)
        self.modes: tuple[WriteMode, ...] = session_writing.LISTED_MODES if control_rows else session_writing.MODES

    def sniff(self, shape: Shape) -> float:
        if shape.tables:
            return 0.0
        if not shape.files:
            name, sure = of_head(shape.head)
        else:
            name, sure = max(of_names(shape.files), of_heads(shape.heads), key=lambda guess: guess[1])
        return sure if name == self.name else 0.0

    def wants(self, key: str) -> bool:
        return session_folder.is_wanted(key)

    def read(self, records: Iterable[Record]) -> Iterator[Stored]:
        """Every session file, whole: all its branches in the order of the file."""
        return read_grouped(self, records)

    def group_of(self, key: str) -> str | None:
        return self._folders.group_of(key)

    def listed(self, groups: Sequence[str], shared: Sequence[Record], head: Head) -> Sequence[Listed]:
        return self._folders.listed(groups, shared, head)

    def read_group(self, listed: Listed, records: Sequence[Record]) -> Stored:
        return self._folders.read_group(listed, records)

    def copies(self, keys: Sequence[str]) -> str:
        return session_folder.counted(session_folder.copies(keys))

    def unread(self, keys: Sequence[str]) -> tuple[str, ...]:
        return tuple(session_folder.unread(keys, self.name))

    def options(self, mode: str, stored: Stored, fresh_id: str) -> dict[str, str]:
        return session_writing.options(mode, stored, fresh_id)

    def write(self, plan: Plan, stored: Stored) -> Sequence[Change]:
        """The changes that carry out `plan`. Raises WriteRefused, EditMismatch."""
        return session_writing.write(plan, stored)

    def listing(self, mode: str, stored: Stored, now: int) -> dict[str, str]:
        """pi lists every file of a folder; OpenClaw what its sessions.json names."""
        return session_listing.options(mode, now) if self._control_rows else {}

    def follow_up(self, plan: Plan, stored: Stored) -> tuple[str, ...]:
        if not self._control_rows or plan.mode != session_writing.NEW or not stored.records:
            return ()
        return (session_listing.follow_up(plan, stored.conversation, stored.records[0].key),)

    def target(self, plan: Plan) -> str:
        """Native id of the conversation that holds the result."""
        return session_writing.target(plan)
