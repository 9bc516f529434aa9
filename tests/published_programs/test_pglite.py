"""gbrain's tables in a folder of PGLite, served from a copy as the sentence for such a folder says: read, rehearsed, written and undone over the wire."""

import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from inspector.programs.catalogue import format_named
from inspector.sources import reading, stores
from inspector.sources.clusters import DataFolder
from inspector.sources.dsn import Dsn
from inspector.sources.places import place
from inspector.sources.postgres_problems import LostConnection, NoServer
from tests.postgres.fixtures import SCHEMA
from tests.postgres.making import dangling, run
from tests.postgres.test_writing import planned
from tests.published_programs.running import FOLDER

PACKAGE = FOLDER / "pglite-0.4.3"
pytestmark = [
    pytest.mark.programs,
    pytest.mark.skipif(not shutil.which("node"), reason="there is no node here: install node 20"),
    pytest.mark.skipif(not (PACKAGE / "package.json").exists(), reason=f"{PACKAGE} is not there: `make programs` installs it"),
]
GBRAIN = format_named("gbrain")


@contextmanager
def served(folder: Path) -> Iterator[str]:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = subprocess.Popen(
        [PACKAGE / "node_modules" / ".bin" / "pglite-server", f"--db={folder}", f"--port={port}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        assert program.stdout is not None
        for line in program.stdout:
            if b"listening" in line:
                break
        yield f"postgresql://postgres@127.0.0.1:{port}/postgres?sslmode=disable"
    finally:
        program.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            program.wait(20)
        program.kill()


def at(dsn: str) -> Dsn:
    found = place(dsn)
    assert isinstance(found, Dsn)
    return found


def patiently(act: Callable[[], None]) -> None:
    """One session at a time: the next one is let in when the server has noticed that the last is over."""
    for _ in range(50):
        with suppress(psycopg.OperationalError):
            return act()
        time.sleep(0.1)
    raise AssertionError("PGLite let nobody in")


def test_a_copy_is_read_and_repaired_over_the_wire(tmp_path: Path) -> None:
    with served(tmp_path / "brain.pglite") as dsn:
        patiently(lambda: run(dsn, SCHEMA))
        patiently(lambda: dangling(dsn))
    with pytest.raises(DataFolder) as caught:
        reading.read(tmp_path / "brain.pglite")
    assert re.search(r"pglite-socket@0\.1\.3 pglite-server --db=COPY", str(caught.value))
    shutil.copytree(tmp_path / "brain.pglite", tmp_path / "copy")
    with served(tmp_path / "copy") as dsn:
        where = at(dsn)
        assert reading.format_of(where).name == "gbrain"
        before = stores.records(where, GBRAIN)
        assert [len(stored.conversation.chunks) for stored in reading.streamed(where, GBRAIN)] == [3]
        guard, changes = planned(dsn)
        assert stores.rehearse(where, GBRAIN, guard, changes, lambda _: True)[1:] == (True, True)
        assert stores.records(where, GBRAIN) == before
        stores.commit(where, GBRAIN, guard, {}, changes)
        written = reading.read_one(where, GBRAIN, "1")
        assert written is not None and [chunk.text for chunk in written.conversation.chunks][-1] == "put in"
        stores.commit(where, GBRAIN, GBRAIN.guard(written)[0], {}, [change.reversed() for change in reversed(changes)])
        assert stores.records(where, GBRAIN) == before
        found = reading.streamed(where, GBRAIN)
        next(found)
        found.close()
    with pytest.raises((NoServer, LostConnection)):
        reading.format_of(where)
