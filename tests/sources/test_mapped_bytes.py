"""Bytes of a large file that are in a copy without a name: used as bytes, and in memory only while they are looked at."""

import pickle
from pathlib import Path

import pytest

from inspector.sources import files, spool
from inspector.sources.problems import TooLarge
from inspector.sources.spool import MappedBytes

CONTENT = b"first line\nsecond line\n\xef\xbb\xbfthird"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_bytes(CONTENT)
    return path


def test_they_are_used_as_bytes(path: Path) -> None:
    data = files.read_mapped(path)
    assert isinstance(data, MappedBytes) and len(data) == len(CONTENT)
    assert data[6:10] == b"line" and data[0] == CONTENT[0] and data[-5:] == b"third"
    assert (data.find(b"\n"), data.find(b"\n", 11), data.rfind(b"\n"), data.find(b"missing")) == (10, 22, 22, -1)
    assert data.startswith(b"first") and data.endswith(b"third") and not data.endswith(b"line") and not data.endswith(CONTENT + b"more")
    assert data == CONTENT and data == CONTENT and data != CONTENT + b"x" and data != CONTENT[:-1] + b"x"
    assert data + b"x" == CONTENT + b"x" and b"second" in data and data.count(b"\n") == 2 and list(data) == list(CONTENT)
    assert pickle.loads(pickle.dumps(data)) == CONTENT and hash(data) == hash(CONTENT)


def test_another_program_that_cuts_the_file_off_changes_nothing(path: Path) -> None:
    data = files.read_mapped(path)
    path.write_bytes(b"")
    assert data[:] == CONTENT


def test_what_was_looked_at_is_let_go(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = files.read_mapped(path)
    assert isinstance(data, MappedBytes)
    released: list[int] = []
    monkeypatch.setattr(spool, "_LOOKED_AT", 20)
    monkeypatch.setattr(MappedBytes, "release", lambda self: released.append(len(self)))
    _ = data[:10], data[10:20]
    assert not released
    _ = data[20:30]
    assert released == [len(CONTENT)]


def test_the_limit_is_that_of_a_file_in_memory(path: Path) -> None:
    with pytest.raises(TooLarge):
        files.read_mapped(path, len(CONTENT) - 1)
    assert files.read_mapped(path, len(CONTENT)) == CONTENT


def test_an_empty_file_is_empty(path: Path) -> None:
    path.write_bytes(b"")
    assert files.read_mapped(path) == b""
