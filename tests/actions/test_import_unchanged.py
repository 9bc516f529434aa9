"""Files that nobody wrote since their last import are not read again; whatever could have been written is."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import inspector
from inspector.actions.import_source import import_targets
from inspector.actions.import_store import Imported
from inspector.demo.branch_incident import pi_files
from inspector.demo.creation import write_dispatch_store
from inspector.demo.dispatch_incident import store_rows
from inspector.models import Conversation, Source
from inspector.presentation.visible import visible
from inspector.sources import unchanged
from inspector.sources.problems import NotShown
from tests.views.reaching import below, watched, write_files

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def times_without_grain(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests write once, and need not wait until a second write would show another time."""
    monkeypatch.setattr(unchanged, "SETTLED_NS", -(10**18))


@pytest.fixture(params=["sessions", "session", "database"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "database":
        write_dispatch_store(tmp_path / "dispatch.db", store_rows())
        return tmp_path / "dispatch.db"
    folder = write_files(tmp_path / "sessions", pi_files())
    return folder if request.param == "sessions" else next(path for path in sorted(folder.rglob("*.jsonl")))


def opened(store: Path) -> tuple[Imported, list[str]]:
    with watched() as names:
        (imported,) = import_targets([str(store)], "tester")
    files = {str(path) for path in ([store] if store.is_file() else store.rglob("*")) if path.is_file()}
    return imported, sorted(files & set(below(names, store.parent)))


def test_what_is_as_it_was_is_not_opened(store: Path) -> None:
    first, read = opened(store)
    assert read and first.conversations > 0
    again, read = opened(store)
    assert read == []
    assert (again.conversations, again.unchanged, again.chunks) == (first.conversations, first.conversations, first.chunks)
    assert Source.objects.get().read_at >= first.source.read_at


def test_another_byte_in_a_file_of_the_same_size_and_time_is_read(store: Path) -> None:
    opened(store)
    file = store if store.is_file() else next(path for path in sorted(store.rglob("*.jsonl")))
    times, data = file.stat(), file.read_bytes()
    changed = data.replace(b"the", b"THE", 1) if b"the" in data else data.replace(b"e", b"E", 1)
    assert changed != data and len(changed) == len(data)
    file.write_bytes(changed)
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    again, read = opened(store)
    assert str(file) in read and again.unchanged < again.conversations


def test_a_row_that_is_only_in_the_log_of_a_database_is_read(tmp_path: Path) -> None:
    path = tmp_path / "dispatch.db"
    write_dispatch_store(path, store_rows())
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA wal_autocheckpoint=0")
        opened(path)
        connection.execute("DELETE FROM kv WHERE key LIKE 'conv:1a997b08%'")
        connection.commit()
        again, read = opened(path)
    assert read and again.unchanged == again.conversations - 1


def test_a_new_file_and_a_lost_one_are_seen(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "sessions", pi_files())
    first, _ = opened(folder)
    name, data = sorted(pi_files().items())[0]
    (folder / name).unlink()
    lost, _ = opened(folder)
    assert (lost.conversations, lost.gone) == (first.conversations - 1, 1)
    (folder / name).write_bytes(data)
    back, _ = opened(folder)
    assert back.conversations == first.conversations and not Conversation.objects.filter(is_gone=True).exists()


def test_rules_of_another_version_read_again(store: Path) -> None:
    opened(store)
    Conversation.objects.update(judged_by="0")
    assert opened(store)[1]


def test_a_format_that_is_named_now_or_was_named_then_reads_again(store: Path) -> None:
    first, _ = opened(store)
    with watched() as names:
        import_targets([str(store)], "tester", first.source.format)
    assert below(names, store.parent)
    assert opened(store)[1], "what was named then is detected now"


def test_another_code_reads_again(store: Path) -> None:
    """A correction of a reader must show without a touch of the store."""
    opened(store)
    module = Path(inspector.__file__).parent / "installation.py"
    times = module.stat()
    os.utime(module, ns=(times.st_atime_ns, times.st_mtime_ns + 1))
    unchanged.code.cache_clear()
    try:
        assert opened(store)[1]
    finally:
        os.utime(module, ns=(times.st_atime_ns, times.st_mtime_ns))
        unchanged.code.cache_clear()


@pytest.mark.parametrize("name", ["pi\u200bx", "pi\x07x"])
def test_a_path_that_is_not_shown_as_it_is_is_not_imported(tmp_path: Path, name: str) -> None:
    """Another folder may have the path that is shown, and a repair of the one would be written to the other."""
    folder = write_files(tmp_path / name, pi_files())
    write_files(tmp_path / visible(name), pi_files())
    with pytest.raises(NotShown, match="would mistake it for another file"):
        import_targets([str(folder)], "tester")
    assert import_targets([str(tmp_path / visible(name))], "tester")[0].source.path == str(tmp_path / visible(name))
    with pytest.raises(NotShown):
        import_targets([str(folder)], "tester")


def test_what_was_written_a_moment_ago_is_read_again(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within the grain of its times a file may be written once more and show none of it."""
    monkeypatch.setattr(unchanged, "SETTLED_NS", 10**12)
    opened(store)
    assert Source.objects.get().stamp == ""
    assert opened(store)[1]
