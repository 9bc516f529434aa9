"""A database of opencode is read one session after the other, and each session is what reading all of it at once gives."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from inspector.programs.opencode.format import OPENCODE
from inspector.sources import reading, stores
from inspector.sources.streaming import OpenStore
from tests.actions.building import bring
from tests.programs.opencode.stores import ID, KILLED, database

SECOND, THIRD = ID.replace("dfed", "dfee"), ID.replace("dfed", "dfef")
EXAMPLES = Path(__file__).parents[4] / "shared" / "examples" / "stores" / "opencode"


@contextmanager
def changed(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path)) as connection:
        yield connection
        connection.commit()


def three(folder: Path) -> Path:
    """Three sessions; the third is named by a message and a part alone, which is of no message."""
    path = Path(database(folder, KILLED))
    with changed(path) as connection:
        connection.execute(
            f"INSERT INTO session SELECT '{SECOND}', project_id, parent_id, slug, directory, title, version, agent, 1, 2, NULL FROM session"
        )
        connection.execute(f"INSERT INTO message SELECT 'msg_x' || substr(id, 6), '{SECOND}', time_created, 0, data FROM message")
        connection.execute(
            f"INSERT INTO part SELECT 'prt_x' || substr(id, 6), 'msg_x' || substr(message_id, 6), '{SECOND}', 0, 0, data FROM part"
        )
        connection.execute("INSERT INTO message VALUES ('msg_lone', ?, 5, 0, '{\"role\":\"user\"}')", (THIRD,))
        connection.execute('INSERT INTO part VALUES (\'prt_lone\', \'msg_gone\', ?, 0, 0, \'{"type":"text","text":"lost"}\')', (THIRD,))
        # Of the message, whatever its own column says.
        connection.execute('INSERT INTO part VALUES (\'prt_moved\', \'msg_lone\', ?, 0, 0, \'{"type":"text","text":"go"}\')', (ID,))
    return path


def both(path: Path) -> tuple[list[object], list[object]]:
    """Sessions read one by one, and all at once."""
    with reading.opened(path) as store:
        assert isinstance(store, OpenStore)
        streamed = [store.read(listed) for listed in store.listed]
    return list(streamed), list(OPENCODE.read(stores.records(path, OPENCODE)))


def test_each_session_is_as_all_at_once_gives_it(tmp_path: Path) -> None:
    streamed, whole = both(three(tmp_path))
    assert streamed == whole and len(streamed) == 3


def test_only_the_rows_of_one_session_are_read(tmp_path: Path) -> None:
    path = three(tmp_path)
    with reading.opened(path) as store:
        assert isinstance(store, OpenStore)
        assert [listed.native_id for listed in store.listed] == [ID, SECOND, THIRD]
        assert [record.key for record in store.records(store.listed[2])] == [
            f"message:{THIRD}:msg_lone",
            "part:msg_gone:prt_lone",
            "part:msg_lone:prt_moved",
        ]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE session SET id = NULL WHERE rowid = 1",
        "UPDATE message SET session_id = NULL WHERE rowid = 1",
        "UPDATE message SET session_id = x'00ff' WHERE rowid = 1",
        "UPDATE part SET message_id = ''",
        "UPDATE part SET id = 3.5 WHERE rowid = 1",
    ],
)
def test_ids_that_no_program_writes_are_read_all_at_once(tmp_path: Path, statement: str) -> None:
    path = three(tmp_path)
    with changed(path) as connection:
        connection.execute(statement)
    streamed, whole = both(path)
    assert streamed == whole and streamed


def test_a_message_id_that_two_sessions_have(tmp_path: Path) -> None:
    path = three(tmp_path)
    with changed(path) as connection:
        connection.executescript("CREATE TABLE copy AS SELECT * FROM message; DROP TABLE message; ALTER TABLE copy RENAME TO message;")
        connection.execute(f"INSERT INTO message SELECT id, '{SECOND}', time_created, 0, data FROM message WHERE session_id = '{ID}'")
    streamed, whole = both(path)
    assert streamed == whole


@pytest.mark.django_db
def test_an_import_and_one_after_it(tmp_path: Path) -> None:
    path = three(tmp_path)
    assert bring(path)[0].conversations == 3
    assert bring(path)[0].unchanged == 3


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason="the stores that the program itself wrote are not here")
def test_the_programs_own_stores(tmp_path: Path) -> None:
    for name in ("clean", "killed"):
        path = tmp_path / f"{name}.db"
        path.write_bytes((EXAMPLES / f"{name}.db").read_bytes())
        streamed, whole = both(path)
        assert streamed == whole and streamed
