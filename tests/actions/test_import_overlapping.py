"""Two imports of one source at once, and what changes while one runs: the database ends with what the files hold, judged as the source says."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from inspector.actions.import_source import import_targets
from inspector.actions.import_store import Report
from inspector.actions.set_deployed_reader import set_deployed_reader
from inspector.models import Conversation, Finding, Revision, Source, loading
from tests.actions.test_import_streamed import session, write_sessions

pytestmark = pytest.mark.django_db(transaction=True)


def once(act: Callable[[], object]) -> Report:
    """Acts after the first conversation was read, and before it is written."""
    waiting = [act]
    return lambda progress: waiting.pop()() if waiting else None


def written_long_ago(path: Path, data: bytes) -> None:
    """A minute ago by its own time, so that its source has a stamp a second after it was really written."""
    path.write_bytes(data)
    os.utime(path, (time.time() - 60,) * 2)
    time.sleep(1.1)


def kept() -> dict[str, bytes]:
    loading.forget()
    return {row.native_id: loading.stored(row).records[0].value.data for row in Conversation.objects.filter(is_gone=False)}


@pytest.mark.parametrize("is_known", [False, True])
def test_what_a_later_import_read_is_not_overwritten_by_an_earlier_one(tmp_path: Path, is_known: bool) -> None:
    folder = write_sessions(tmp_path / "sessions", 1)
    (path,) = folder.iterdir()
    if is_known:
        import_targets([str(folder)], "test")
        path.write_bytes(session(0, 22))

    def later() -> None:
        written_long_ago(path, session(0, 25))
        import_targets([str(folder)], "test")

    import_targets([str(folder)], "test", report=once(later))
    assert kept() == {"s0000": path.read_bytes()}
    assert Revision.objects.count() == 1 + is_known
    (again,) = import_targets([str(folder)], "test")
    assert again.unchanged == 1 and kept() == {"s0000": path.read_bytes()}


def test_what_came_back_is_not_gone_for_an_import_that_began_without_it(tmp_path: Path) -> None:
    folder = write_sessions(tmp_path / "sessions", 2)
    import_targets([str(folder)], "test")
    _, path = sorted(folder.iterdir())
    data = path.read_bytes()
    path.unlink()

    def later() -> None:
        written_long_ago(path, data)
        import_targets([str(folder)], "test")

    (earlier,) = import_targets([str(folder)], "test", report=once(later))
    assert earlier.gone == 0 and len(kept()) == 2
    path.unlink()
    (last,) = import_targets([str(folder)], "test")
    assert last.gone == 1 and list(kept()) == ["s0000"]


def test_a_reader_that_is_set_while_an_import_runs_judges_what_it_writes(tmp_path: Path) -> None:
    folder = write_sessions(tmp_path / "sessions", 1)
    (path,) = folder.iterdir()
    path.write_bytes(path.read_bytes().replace(b'"role":"user"', b'"role":"assistant"'))
    import_targets([str(folder)], "test", report=once(lambda: set_deployed_reader(Source.objects.get(), "test", "verbatim")))
    assert Source.objects.get().reader == "verbatim"
    assert set(Finding.objects.filter(is_open=True).values_list("reader", flat=True)) == {"verbatim"}
