"""The two files of the audit log outside the database: the key that seals its lines, and its head, the last line that was committed.

Who can write to the database alone can neither make a line nor take the newest ones away without the head showing it.
"""

import hmac
import json
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from inspector.sources.problems import SourceProblem
from inspector.sources.replacing import fill, sync

try:
    import fcntl
except ImportError:  # not POSIX
    fcntl = None  # type: ignore[assignment]

LEAST = 32
"""Bytes of a key."""
_HEAD = b"inspector audit head 1\n"
_LINE = b"inspector audit line 1\n"


class AuditKeyProblem(SourceProblem):
    """Without the key no act can be recorded."""


class NoAuditKey(AuditKeyProblem):
    template = (
        "{place}, the key of the audit log, is missing or cannot be read, so nothing can be recorded: restore it from a backup, "
        "or go on with a new key: the command audit --accept REASON records that and why."
    )


class ClosedAuditKey(AuditKeyProblem):
    template = (
        "{place}, the key of the audit log, cannot be read by this user, or others may read or write it: "
        "make it a file of the user who runs Inspector with the mode 0600."
    )


class ShortAuditKey(AuditKeyProblem):
    template = "{place}, the key of the audit log, is shorter than 32 bytes: write a longer one, such as that of `openssl rand -hex 32`."


class AuditHead(NamedTuple):
    """The last line that was known to be committed: how many lines there were with it, its row id, and its seal (hex). An empty log has (0, 0, "")."""

    lines: int
    line: int
    seal: str


EMPTY = AuditHead(0, 0, "")


def head_of(key_file: Path) -> Path:
    return key_file.with_name(f"{key_file.name}.head")


def line_seal(key: bytes, content: bytes) -> str:
    """HMAC-SHA-256 (hex)."""
    return hmac.new(key, _LINE + content, sha256).hexdigest()


def begin(key_file: Path) -> None:
    """For a log without lines: makes the key and the head where they are missing. A key is never made next to a head that another one sealed. Raises OSError."""
    key_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not key_file.exists() and not head_of(key_file).exists():
        new_key(key_file)
    with suppress(FileNotFoundError), locked(key_file):
        if not head_of(key_file).exists():
            write_head(key_file, EMPTY)


def new_key(key_file: Path) -> None:
    """A key of 32 random bytes (hex) where there is none. Raises OSError."""
    # Linked when it is whole: two processes that start at the same moment both read the same key.
    new = key_file.with_name(f".{key_file.name}.{secrets.token_hex(8)}")
    try:
        _fill_new(new, secrets.token_hex(LEAST).encode() + b"\n")
        with suppress(FileExistsError):
            os.link(new, key_file)
        sync(key_file.parent)
    finally:
        new.unlink(missing_ok=True)


def key(key_file: Path) -> bytes:
    """Raises NoAuditKey, ClosedAuditKey, ShortAuditKey."""
    try:
        with key_file.open("rb") as file:
            status = os.fstat(file.fileno())
            if not _close(file.fileno()) and status.st_mode & 0o037:
                # The group may read it: so a secret of root is given to the account of a service.
                raise ClosedAuditKey(key_file)
            content = file.read(1 << 16).strip()
    except PermissionError as error:
        raise ClosedAuditKey(key_file) from error
    except OSError as error:
        raise NoAuditKey(key_file) from error
    if len(content) < LEAST:
        raise ShortAuditKey(key_file)
    return content


def _close(descriptor: int) -> bool:
    """Mode 0600, of a file of this user; False for one of another."""
    status = os.fstat(descriptor)
    is_own = status.st_uid == os.geteuid()
    if is_own and stat.S_IMODE(status.st_mode) & 0o077:
        os.fchmod(descriptor, 0o600)
    return is_own


def head(key_file: Path) -> AuditHead | None:
    """None where there is none, or none that this key sealed. Raises NoAuditKey, ClosedAuditKey, ShortAuditKey."""
    own_key = key(key_file)
    try:
        with head_of(key_file).open("rb") as file:
            _close(file.fileno())
            facts = json.loads(file.read(1 << 16))
        read = AuditHead(int(facts["lines"]), int(facts["last"]), str(facts["seal"]))
        return read if hmac.compare_digest(str(facts["sealed"]), _head_seal(own_key, read)) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_head(key_file: Path, new: AuditHead) -> None:
    """On the disk before it takes the place of the old one. For who holds `locked`. Raises OSError and what `key` raises."""
    place = head_of(key_file)
    facts = {"lines": new.lines, "last": new.line, "seal": new.seal, "sealed": _head_seal(key(key_file), new)}
    temporary = place.with_name(f".{place.name}.new")
    temporary.unlink(missing_ok=True)
    _fill_new(temporary, json.dumps(facts).encode() + b"\n")
    temporary.replace(place)
    sync(place.parent)


@contextmanager
def locked(key_file: Path) -> Iterator[None]:
    """One process at a time moves the head. Raises OSError."""
    descriptor = os.open(key_file, os.O_RDONLY)
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _head_seal(own_key: bytes, of: AuditHead) -> str:
    return hmac.new(own_key, _HEAD + json.dumps(of).encode(), sha256).hexdigest()


def _fill_new(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        fill(descriptor, data)
    finally:
        os.close(descriptor)
