"""Everything that can be wrong with a source, each as a condition with its data and one sentence that ends in what to do next."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from inspector.programs.formats import Element
from inspector.sources.dsn import Place
from inspector.text import limits

THE_FILE = "the file"
"""The place of damage that SQLite finds."""
CONVERSATIONS = "its conversations"
"""The place of a problem with many of them."""
NOT_OPENED = "files and folders"
"""The place of a problem with files and folders that may hold sessions: what was read is not all that is there."""

NAMED = 20
"""How many moved records a sentence and `Moved.changed` name; `Moved.total` counts all."""


DATABASES = (".db", ".sqlite", ".sqlite3")
"""How names of databases end, which keep a part of their content in a file next to them."""


# An address that was typed where a path or an id belongs; as a path it has one slash less.
_PASSWORD = re.compile(r"(postgres(?:ql)?:/+[^\s:/@]*:)[^\s@]+(?=@)|(\bpassword\s*=\s*)[^\s&]+", re.IGNORECASE)


def without_password(text: str) -> str:
    return _PASSWORD.sub(lambda match: f"{match.group(1) or match.group(2)}...", text)


def shown(text: str, limit: int = 120) -> str:
    """`text` fit for a sentence: keys and error texts come from hostile files, so control characters and lone surrogates are escaped, and a password is masked."""
    text = without_password(text)
    cut = text if len(text) <= limit else text[:limit] + "…"
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in cut)


@dataclass(eq=False)
class SourceProblem(Exception):
    """Base of all conditions of this package. `str(problem)` is its sentence: `template`, with the fields; texts are escaped, and cut at `text_limit`."""

    path: Place
    template: ClassVar[str]
    text_limit: ClassVar[int] = 120

    @property
    def sentence(self) -> str:
        fields = {name: shown(value, self.text_limit) if isinstance(value, str) else value for name, value in vars(self).items()}
        return self.template.format(place=self.place, **fields)

    @property
    def place(self) -> str:
        return shown(str(self.path), 4096)

    def __str__(self) -> str:
        return self.sentence


class Missing(SourceProblem):
    template = "{place} does not exist; check the path and try again."


class NoFolder(SourceProblem):
    """A new file in a folder that is not there, or with a name that none can have."""

    template = (
        "{place} cannot be made, since its folder does not exist or no file can have that name; make the folder, or choose another name."
    )


class SideName(SourceProblem):
    """A new file under a name that SQLite would take for a part of the database next to it."""

    template = "{place} is the name of a file that SQLite keeps next to a database, and the database would be damaged; choose another name."


@dataclass(eq=False)
class NotAFile(SourceProblem):
    kind: str
    """`folder`, or what else it is: `pipe, socket or device`."""
    template = "{place} is a {kind}, not a file; give the path of the file itself."


class Empty(SourceProblem):
    template = "{place} is empty (0 bytes); give the file that the agent really writes to."


@dataclass(eq=False)
class NotReadable(SourceProblem):
    detail: str

    @property
    def sentence(self) -> str:
        return f"{self.place} may not be read ({shown(self.detail)}); run as a user who may read it, or open a copy of it{' together with its -wal file' if Path(str(self.path)).suffix in DATABASES else ''}."


class NotShown(SourceProblem):
    """Sources are known by their paths as they are shown, and another file may have just that path."""

    template = "{place} has characters in its path that are not shown as they are, or bytes that are not UTF-8, and Inspector would mistake it for another file: give it another name, or copy it to one, and import that."


@dataclass(eq=False)
class NotWritable(SourceProblem):
    detail: str
    template = "{place} may not be written ({detail}) and is unchanged; run as a user who may write the file and its folder."


@dataclass(eq=False)
class NotFollowed(SourceProblem):
    """Links in a folder, by their paths below it: what they lead to may be anywhere, and may be read already."""

    links: Sequence[str]

    @property
    def sentence(self) -> str:
        is_one = len(self.links) == 1
        named = ", ".join(shown(link) for link in self.links[:NAMED]) + (", …" if len(self.links) > NAMED else "")
        return f"{'1 link' if is_one else f'{len(self.links):,} links'} in {self.place} {'was' if is_one else 'were'} not followed ({named}): name what {'it leads' if is_one else 'they lead'} to, to have that read as well."


@dataclass(eq=False)
class NotADatabase(SourceProblem):
    head: bytes

    @property
    def sentence(self) -> str:
        start = shown(self.head[:16].decode("utf-8", "backslashreplace"))
        return f"{self.place} is not a SQLite database (it starts with {start!r}); check the path, an encrypted database must be decrypted first."


@dataclass(eq=False)
class Damaged(SourceProblem):
    detail: str
    template = (
        "{place} is damaged ({detail}); restore it from a backup, or save what is left with `sqlite3 FILE .recover` and open the result."
    )


class Unfinished(SourceProblem):
    """A hot rollback journal: the bytes in the file are half of a transaction, and reading may not finish or undo it."""

    template = (
        "{place} holds a half-finished write (its -journal file is not rolled back); "
        "start and stop the program that owns it, then try again."
    )


class Locked(SourceProblem):
    template = "{place} is locked exclusively by another process; stop it or wait until it is done, then try again."


class Changing(SourceProblem):
    """The file was written while it was read: whatever was read must be thrown away."""

    template = "{place} kept changing while it was read; wait until its writer is idle, then try again."


@dataclass(eq=False)
class Busy(SourceProblem):
    milliseconds: int
    template = (
        "The write lock of {place} was not free within {milliseconds} ms, so nothing was written; "
        "wait until the program that holds it is idle, then try again."
    )


@dataclass(eq=False)
class Moved(SourceProblem):
    """The store is not as previewed. `changed` = (key, what happened), at most NAMED of them; `total` counts all."""

    changed: Sequence[tuple[str, str]]
    total: int

    @property
    def sentence(self) -> str:
        named = ", ".join(f"{shown(key)} {what}" for key, what in self.changed)
        more = f" and {self.total - len(self.changed)} more" if self.total > len(self.changed) else ""
        return f"{self.place} changed since the preview ({named}{more}), so nothing was written; import it again and make a new preview."


@dataclass(eq=False)
class NoTable(SourceProblem):
    table: str
    columns: Sequence[str] = ()

    @property
    def sentence(self) -> str:
        columns = f" with columns {', '.join(shown(name) for name in self.columns)}" if self.columns else ""
        return f"{self.place} has no table {shown(self.table)}{columns}; check that the path and the format belong together."


@dataclass(eq=False)
class NotAList(SourceProblem):
    """A record that conversations share is no JSON text into which one of them can be put."""

    key: str
    element: Element = Element.STRING

    @property
    def sentence(self) -> str:
        shape = "JSON object" if self.element is Element.MEMBER else "JSON array of strings"
        return f"{shown(self.key)} in {self.place} is not a {shape}, so nothing was written; repair that record, then try again."


@dataclass(eq=False)
class NotKept(SourceProblem):
    """The database did not end up with the bytes it was given (a trigger, a column type, a constraint)."""

    detail: str
    template = (
        "{place} does not keep what is written to it ({detail}), so the write was rolled back; look at its triggers and column types."
    )


@dataclass(eq=False)
class Linked(SourceProblem):
    """A database with more than one name in the file system."""

    names: int
    template = (
        "{place} has {names} names (hard links), and SQLite keeps what is not in the file yet next to the name by which it was opened, "
        "so that a write by another name than the program's damages the database. Nothing was written: find the other names with "
        "`find FOLDER -samefile FILE`, move or remove them, then try again."
    )


class AlreadyThere(SourceProblem):
    template = "{place} already exists and is left as it is; choose another name."


class InsideStore(SourceProblem):
    """A copy of a folder that would be in that folder."""

    template = "{place} is inside the store, which would then hold every conversation twice; choose a place outside of it."


@dataclass(eq=False)
class TooMany(SourceProblem):
    limit: int
    template = "{place} holds more than {limit:,} files; give the folder of one store, or of one session."


@dataclass(eq=False)
class TooLarge(SourceProblem):
    what: str
    limit: int
    """In bytes."""
    template = (
        "{what} of {place} is over the limit of {limit:,} bytes; check that it is the right file, split it, "
        f"or set {limits.FILE_NAME} to the megabytes that a file may have."
    )


@dataclass(eq=False)
class LargeValue(SourceProblem):
    megabytes: int
    variable: str
    template = "{place} holds a value of more than {megabytes} MB, which is over what is read here; set {variable} to the megabytes that it may have."


class OverLimit(SourceProblem):
    """The system lets this process write no file of that size (RLIMIT_FSIZE), or the file system none."""

    template = (
        "{place} would become larger than the system lets a file be, so nothing was written; "
        "raise the limit (`ulimit -f`), or work on a disk that holds files of that size."
    )


class NoRoom(SourceProblem):
    template = "There is no room on the disk to work on {place}; free some space, then try again."


@dataclass(eq=False)
class Utf16(SourceProblem):
    encoding: str
    template = (
        "{place} stores its text as {encoding}, which no known agent does and whose bytes are not read here; "
        "convert it to UTF-8 with `sqlite3 FILE .dump` into a new database."
    )


@dataclass(eq=False)
class Failed(SourceProblem):
    """What SQLite or the system refused for a reason without a name of its own here."""

    detail: str
    template = "{place} could not be used ({detail}); check it with `sqlite3 FILE 'PRAGMA integrity_check'`."
