"""Evidence bundles as zip files: packed so that the same members give the same bytes, opened within limits that a zip bomb does not fit."""

import errno
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from inspector.bundle import BrokenBundle, Members, Sealed, unseal
from inspector.sources import files
from inspector.sources.problems import SourceProblem

MAX_TOTAL = 1 << 30
"""Bytes, all members unpacked."""
MAX_MEMBERS = 20_000
_MAX_DIRECTORY = 4 << 20
_END, _END64 = b"PK\5\6", b"PK\6\7"
_END_SIZE, _END64_SIZE = 22, 20
_FIRST_DAY = (1980, 1, 1, 0, 0, 0)
_LIMITS = f"holds {MAX_MEMBERS:,} members and {MAX_TOTAL >> 20:,} MiB unpacked at most"


@dataclass(eq=False)
class NotABundle(SourceProblem):
    reason: str
    template = "{place} is no sound evidence bundle ({reason}), so nothing was read; ask for it again, or make a new one with `bundle`."
    text_limit = 300


@dataclass(eq=False)
class TooLargeToSeal(SourceProblem):
    contents: str
    template = f"The conversation in {{place}} with its trace holds {{contents}}, and a bundle {_LIMITS}; hand over copies of the store and its traces instead."


def pack(members: Mapping[str, bytes], source: Path) -> bytes:
    """A zip of `members` in their order, without clock, names or permissions of this machine. Raises TooLargeToSeal."""
    total = sum(map(len, members.values()))
    if len(members) > MAX_MEMBERS or total > MAX_TOTAL:
        raise TooLargeToSeal(source, f"{len(members):,} members and {total >> 20:,} MiB")
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name, _FIRST_DAY)
            info.compress_type, info.create_system, info.external_attr = zipfile.ZIP_DEFLATED, 3, 0o600 << 16
            archive.writestr(info, data)
    return out.getvalue()


def open_bundle(path: Path) -> Sealed:
    """What `path` seals, verified. Raises NotABundle and what `files.regular` raises."""
    try:
        with files.opened(path) as file:
            return unseal(_members(path, file))
    except BrokenBundle as problem:
        raise NotABundle(path, problem.reason) from None
    except (
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        zlib.error,
        struct.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
        ValueError,
    ) as e:
        raise NotABundle(path, f"its zip structure is damaged: {e}") from None
    except OSError as error:
        # A directory that says it begins before the file does: zipfile seeks there.
        if error.errno == errno.EINVAL:
            raise NotABundle(path, "its zip structure is damaged: a place outside the file is named") from None
        raise files.problem(error, path) from error


def _members(path: Path, file: BinaryIO) -> Members:
    _refuse_large_directory(path, file)
    with zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
        total = sum(entry.file_size for entry in entries)
        if len(entries) > MAX_MEMBERS or total > MAX_TOTAL:
            raise NotABundle(path, f"it would unpack to {len(entries):,} members and {total >> 20:,} MiB, and a bundle {_LIMITS}")
        if len({entry.filename for entry in entries}) < len(entries):
            raise NotABundle(path, "it holds two members of one name")
        if any(entry.flag_bits & 1 or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for entry in entries):
            raise NotABundle(path, "a member is encrypted or packed in a way that no bundle is")
        # ZipExtFile gives no more than the size that its entry states, so what was added up is what is unpacked.
        return {entry.filename: archive.read(entry) for entry in entries if not entry.is_dir()}


def _refuse_large_directory(path: Path, file: BinaryIO) -> None:
    """Before zipfile reads it: a directory of millions of entries is a bomb of its own, and ours are at the end without a comment."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _END_SIZE - _END64_SIZE))
    tail = file.read()
    end = tail[-_END_SIZE:]
    if len(end) < _END_SIZE or not end.startswith(_END):
        raise NotABundle(path, "it does not end as a bundle does: it is cut short, or something follows it")
    if tail.startswith(_END64) or struct.unpack("<I", end[12:16])[0] > _MAX_DIRECTORY:
        raise NotABundle(path, f"its list of members is longer than that of any bundle, which {_LIMITS}")
