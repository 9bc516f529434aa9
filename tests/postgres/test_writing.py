"""The guarded write on a real server, and its rehearsal beside the stored rows."""

import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import psycopg
import pytest

from inspector.programs.catalogue import format_named
from inspector.programs.formats import Cell, Change
from inspector.programs.gbrain.tables import EXECUTIONS, MESSAGES, RELATIONS
from inspector.programs.relation_rows import cell_of, key_of, row_of
from inspector.sources import postgres, reading, stores
from inspector.sources.dsn import Dsn
from inspector.sources.places import place
from inspector.sources.postgres_problems import HiddenRows, NoRight, ReadOnly
from inspector.sources.problems import Busy, Moved, NotKept, SourceProblem
from tests.postgres.making import asked, dangling, run
from tests.postgres.server import Server

GBRAIN = format_named("gbrain")
Guard = dict[str, dict[str, Cell]]
PUT_IN = '[{"text": "put in", "type": "text"}]'


def at(dsn: str) -> Dsn:
    found = place(dsn)
    assert isinstance(found, Dsn)
    return found


def everything(dsn: str, *hidden: str) -> list[object]:
    """Every row of the tables with the transaction that wrote it and its place on the disk."""
    return [asked(dsn, f"SELECT xmin::text, ctid::text, * FROM {relation.name} ORDER BY ctid") for relation in RELATIONS]


def planned(dsn: str) -> tuple[Guard, list[Change]]:
    """A row at a free index and other blocks in a row that is there, with what they rest on."""
    stored = reading.read_one(at(dsn), GBRAIN, "1")
    assert stored is not None
    held = {record.key: record.value for record in stored.records if record.key.startswith(MESSAGES)}
    last = row_of(held[max(held)])
    new = {**last, "message_idx": "2", "role": "user", "content_blocks": PUT_IN}
    changed = {**last, "content_blocks": PUT_IN}
    guard, _ = GBRAIN.guard(stored)
    return guard, [
        Change(key_of(RELATIONS[1], new), None, cell_of(new)),
        Change(key_of(RELATIONS[1], last), held[max(held)], cell_of(changed)),
    ]


def commit(dsn: str, guard: Guard, changes: list[Change]) -> float:
    return stores.commit(at(dsn), GBRAIN, guard, {}, changes)


def back(changes: list[Change]) -> list[Change]:
    return [change.reversed() for change in reversed(changes)]


@contextmanager
def another(dsn: str, statement: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """Another session in the middle of a transaction."""
    with closing(psycopg.connect(dsn)) as connection:
        connection.execute(statement)  # type: ignore[call-overload]
        yield connection


def test_a_write_and_its_undo_give_back_every_value(database: str) -> None:
    dangling(database)
    before = stores.records(at(database), GBRAIN)
    guard, changes = planned(database)
    assert commit(database, guard, changes) >= 0
    assert asked(
        database, f"SELECT message_idx, jsonb_typeof(content_blocks) FROM {MESSAGES} WHERE content_blocks = %s ORDER BY 1", PUT_IN
    ) == [
        (1, "array"),
        (2, "array"),
    ]
    stored = reading.read_one(at(database), GBRAIN, "1")
    assert stored is not None
    commit(database, GBRAIN.guard(stored)[0], back(changes))
    assert stores.records(at(database), GBRAIN) == before


MOVES = [
    (f"UPDATE {MESSAGES} SET tokens_in = 7 WHERE message_idx = 0", "subagent_messages:0000000001:0000000000 has another value"),
    (f"INSERT INTO {MESSAGES} (job_id, message_idx, role, content_blocks) VALUES (1, 3, 'user', '[]')", "0000000003 is new"),
    (f"DELETE FROM {MESSAGES} WHERE message_idx = 0", "subagent_messages:0000000001:0000000000 is gone"),
    (f"UPDATE {EXECUTIONS} SET status = 'failed' WHERE ordinal = 0", "has another value"),
    (f"DELETE FROM {EXECUTIONS} WHERE ordinal = 1", "is gone"),
    ("UPDATE minion_jobs SET status = 'waiting'", "minion_jobs:0000000001 has another value"),
    ("INSERT INTO subagent_rate_leases (key, owner_job_id, expires_at) VALUES ('k', 1, now())", "is new"),
    ("DELETE FROM minion_jobs", "is gone"),
]


@pytest.mark.parametrize(("statement", "said"), MOVES)
def test_what_moved_since_the_preview_is_named_and_nothing_is_written(database: str, statement: str, said: str) -> None:
    dangling(database)
    guard, changes = planned(database)
    run(database, statement)
    before = everything(database)
    for act in (lambda: commit(database, guard, changes), lambda: stores.rehearse(at(database), GBRAIN, guard, changes, lambda _: True)):
        with pytest.raises(Moved) as caught:
            act()
        assert said in str(caught.value) and "nothing was written" in str(caught.value)
    assert everything(database) == before


def test_an_index_that_was_taken_meanwhile_is_not_written_over(database: str) -> None:
    """Not in the guard of the plan: another program's row of another shape at the index that was free."""
    dangling(database)
    guard, changes = planned(database)
    run(database, f"INSERT INTO {MESSAGES} (job_id, message_idx, role, content_blocks) VALUES (1, 2, 'user', '[]')")
    with pytest.raises(Moved):
        commit(database, guard, changes)
    assert asked(database, f"SELECT content_blocks FROM {MESSAGES} WHERE message_idx = 2") == [([],)]


LOCKS = [
    "SELECT 1 FROM minion_jobs WHERE id = 1 FOR UPDATE",
    f"UPDATE {MESSAGES} SET tokens_in = 7 WHERE message_idx = 1",
    f"LOCK TABLE {MESSAGES}",
]


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_of_another_session_is_not_waited_for_longer_than_two_seconds(database: str, lock: str) -> None:
    dangling(database)
    guard, changes = planned(database)
    before = everything(database)
    with another(database, lock):
        start = time.monotonic()
        with pytest.raises(Busy) as caught:
            commit(database, guard, changes)
        # Far from any other limit: nothing else here ends within minutes.
        assert time.monotonic() - start < 60
        assert "not free within 2000 ms, so nothing was written" in str(caught.value)
    assert everything(database) == before
    assert commit(database, guard, changes) >= 0


def test_a_lock_that_is_let_go_in_time_is_waited_for_and_what_it_wrote_is_seen(database: str) -> None:
    dangling(database)
    guard, changes = planned(database)
    with another(database, f"UPDATE {MESSAGES} SET tokens_in = 7 WHERE message_idx = 1") as other:
        timer = threading.Timer(0.5, other.commit)
        timer.start()
        with pytest.raises(Moved):
            commit(database, guard, changes)
        timer.join()
    assert asked(database, f"SELECT count(*) FROM {MESSAGES}") == [(2,)]


def test_while_it_is_written_no_other_session_adds_a_message(database: str) -> None:
    """The row of the job is locked as the program locks it; a new message waits for it by its foreign key."""
    dangling(database)
    guard, changes = planned(database)
    waited: list[str] = []

    def look(_: object) -> bool:
        return True

    run(
        database,
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(1.5); RETURN NEW; END $$",
        f"CREATE TRIGGER slow BEFORE INSERT ON {MESSAGES} FOR EACH ROW WHEN (NEW.message_idx = 2) EXECUTE FUNCTION slow()",
    )
    writer = threading.Thread(target=lambda: waited.append(f"{commit(database, guard, changes) >= 0}"))
    writer.start()
    time.sleep(0.6)
    with closing(psycopg.connect(database, autocommit=True)) as other, pytest.raises(psycopg.errors.LockNotAvailable):
        other.execute("SET lock_timeout = 100")
        other.execute(f"INSERT INTO {MESSAGES} (job_id, message_idx, role, content_blocks) VALUES (1, 9, 'user', '[]')")
    writer.join()
    assert waited == ["True"]


KEEPERS = [
    ("a trigger that changes it", "NEW.content_blocks = '[]'; RETURN NEW;", NotKept),
    ("a trigger that drops it", "RETURN NULL;", NotKept),
    (
        "a trigger that adds another row",
        f"IF NEW.message_idx = 2 THEN INSERT INTO {MESSAGES} (job_id, message_idx, role, content_blocks) VALUES (1, 7, 'user', '[]'); END IF; RETURN NEW;",
        NotKept,
    ),
    ("a trigger that refuses", "RAISE EXCEPTION 'no such thing'; RETURN NEW;", SourceProblem),
]


@pytest.mark.parametrize(("body", "problem"), [keeper[1:] for keeper in KEEPERS], ids=[keeper[0] for keeper in KEEPERS])
def test_a_database_that_does_not_keep_what_is_written(database: str, body: str, problem: type[SourceProblem]) -> None:
    dangling(database)
    guard, changes = planned(database)
    before = everything(database)
    run(
        database,
        f"CREATE FUNCTION keeps() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$",
        f"CREATE TRIGGER keeps BEFORE INSERT ON {MESSAGES} FOR EACH ROW EXECUTE FUNCTION keeps()",
    )
    with pytest.raises(problem) as caught:
        commit(database, guard, changes)
    assert "\n" not in str(caught.value)
    run(database, f"DROP TRIGGER keeps ON {MESSAGES}")
    assert everything(database) == before


@pytest.mark.parametrize(
    "setting", ["SET datestyle = 'German, DMY'", "SET timezone = 'Asia/Kathmandu'", "SET default_transaction_read_only = 'on'"]
)
def test_what_is_written_does_not_depend_on_the_settings_of_the_role(database: str, setting: str) -> None:
    dangling(database)
    guard, changes = planned(database)
    name = asked(database, "SELECT current_database()")[0][0]
    run(database, f"ALTER DATABASE {name} {setting}")
    commit(database, guard, changes)
    run(database, "SET default_transaction_read_only = off", f"ALTER DATABASE {name} RESET ALL")
    assert asked(
        database, f"SELECT a.ended_at = b.ended_at FROM {MESSAGES} a, {MESSAGES} b WHERE a.message_idx = 2 AND b.message_idx = 1"
    ) == [(True,)]


def test_a_role_without_the_right_to_write_is_told_so(server: Server, database: str) -> None:
    dangling(database)
    stranger = server.dsn(asked(database, "SELECT current_database()")[0][0], "stranger")
    guard, changes = planned(stranger)
    before = everything(database)
    with pytest.raises(NoRight) as caught:
        commit(stranger, guard, changes)
    assert "permission denied for table minion_jobs" in str(caught.value) and "nothing was written" in str(caught.value)
    assert everything(database) == before


def test_rows_that_are_hidden_are_no_reason_to_write(server: Server, database: str) -> None:
    dangling(database)
    guard, changes = planned(database)
    run(database, f"ALTER TABLE {MESSAGES} ENABLE ROW LEVEL SECURITY")
    stranger = server.dsn(asked(database, "SELECT current_database()")[0][0], "stranger")
    for act in (lambda: commit(stranger, guard, changes), lambda: stores.rehearse(at(stranger), GBRAIN, guard, changes, lambda _: True)):
        with pytest.raises(HiddenRows):
            act()


# Rehearsal ------------------------------------------------------------------------------------------------------------------------


def sequences(dsn: str) -> list[tuple[object, ...]]:
    return asked(dsn, "SELECT sequencename, last_value FROM pg_sequences ORDER BY 1")


def written_rows(dsn: str) -> list[tuple[object, ...]]:
    run(dsn, "SELECT pg_stat_force_next_flush()")
    return asked(dsn, "SELECT relname, n_tup_ins, n_tup_upd, n_tup_del FROM pg_stat_user_tables WHERE schemaname = 'public' ORDER BY 1")


@pytest.mark.parametrize("path", ["public", "public, pg_temp", "pg_catalog, public"])
def test_a_rehearsal_touches_no_stored_row_and_draws_from_no_sequence(database: str, path: str) -> None:
    dangling(database)
    run(database, f"ALTER DATABASE {asked(database, 'SELECT current_database()')[0][0]} SET search_path = {path}")
    guard, changes = planned(database)
    seen: list[int] = []
    before = everything(database), sequences(database), written_rows(database)

    def look(records: object) -> bool:
        assert isinstance(records, list)
        seen.append(sum(PUT_IN in (row_of(record.value).get("content_blocks") or "") for record in records))
        # Another session sees nothing of it, and is not kept waiting.
        run(
            database,
            f"SET lock_timeout = '1s'; UPDATE minion_jobs SET status = status WHERE false; LOCK TABLE {MESSAGES} IN ROW EXCLUSIVE MODE",
        )
        assert asked(database, f"SELECT count(*) FROM {MESSAGES}") == [(2,)]
        return True

    milliseconds, good, is_back = stores.rehearse(at(database), GBRAIN, guard, changes, look)
    assert (good, is_back, seen) == (True, True, [2]) and milliseconds >= 0
    assert (everything(database), sequences(database), written_rows(database)) == before
    assert commit(database, guard, changes) >= 0


def test_a_rehearsal_says_where_it_reads_back_otherwise(database: str) -> None:
    dangling(database)
    guard, changes = planned(database)
    _, good, is_back = stores.rehearse(at(database), GBRAIN, guard, changes, lambda _: False)
    assert (good, is_back) == (False, True)


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("role", "tool", "violates check constraint"),
        ("content_blocks", "not json", "invalid input syntax for type json"),
        ("message_idx", "1", "duplicate key"),
    ],
)
def test_a_rehearsal_knows_the_checks_of_the_real_table(database: str, column: str, value: str, said: str) -> None:
    dangling(database)
    guard, changes = planned(database)
    assert changes[0].after is not None
    row = {**row_of(changes[0].after), column: value}
    wrong = [Change(key_of(RELATIONS[1], row), None, cell_of(row))]
    before = everything(database)
    for act in (lambda: stores.rehearse(at(database), GBRAIN, guard, wrong, lambda _: True), lambda: commit(database, guard, wrong)):
        with pytest.raises(SourceProblem) as caught:
            act()
        assert said in str(caught.value)
    assert everything(database) == before


def test_a_rehearsal_on_identity_and_generated_columns(database: str) -> None:
    run(
        database,
        f"ALTER TABLE {MESSAGES} DROP COLUMN id",
        f"ALTER TABLE {MESSAGES} ADD COLUMN id bigint GENERATED ALWAYS AS IDENTITY, ADD COLUMN size int GENERATED ALWAYS AS (length(role)) STORED",
    )
    dangling(database)
    guard, changes = planned(database)
    before = everything(database), sequences(database)
    assert stores.rehearse(at(database), GBRAIN, guard, changes, lambda _: True)[1:] == (True, True)
    assert (everything(database), sequences(database)) == before


def test_a_role_that_may_make_no_temporary_tables_is_told_so(server: Server, database: str) -> None:
    dangling(database)
    name = asked(database, "SELECT current_database()")[0][0]
    run(database, f"REVOKE TEMPORARY ON DATABASE {name} FROM PUBLIC")
    stranger = server.dsn(name, "stranger")
    guard, changes = planned(stranger)
    with pytest.raises(NoRight) as caught:
        stores.rehearse(at(stranger), GBRAIN, guard, changes, lambda _: True)
    assert "permission denied to create temporary tables" in str(caught.value)


def test_a_server_that_only_reads_is_told_from_one_that_refuses(database: str) -> None:
    """As a standby answers: with the code of a read-only transaction."""
    dangling(database)
    guard, changes = planned(database)
    run(
        database,
        "CREATE FUNCTION standby() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'in recovery' USING ERRCODE = '25006'; END $$",
        f"CREATE TRIGGER standby BEFORE INSERT ON {MESSAGES} FOR EACH ROW EXECUTE FUNCTION standby()",
    )
    with pytest.raises(ReadOnly) as caught:
        commit(database, guard, changes)
    assert "name the primary server" in str(caught.value)


# Sessions of a pooler -------------------------------------------------------------------------------------------------------------


class Pooled(psycopg.Connection[tuple[object, ...]]):
    """The one session of a pool: closing it only gives it back, and it may not be given back in the middle of a transaction."""

    def close(self) -> None:
        assert self.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


def test_nothing_is_left_behind_in_a_session(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pooler gives the session to somebody else after each transaction: no setting, prepared statement, temporary table or lock may stay in it."""
    dangling(database)
    assert postgres._connected(at(database)).prepare_threshold is None
    kept = Pooled.connect(database, autocommit=True, prepare_threshold=None)
    left = [
        "SELECT name, setting FROM pg_settings ORDER BY 1",
        "SELECT name FROM pg_prepared_statements",
        "SELECT name FROM pg_cursors",
        "SELECT relname FROM pg_class WHERE relnamespace = pg_my_temp_schema()",
        "SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'",
    ]
    clean = [kept.execute(each).fetchall() for each in left]
    monkeypatch.setattr(postgres, "_connected", lambda where: kept)
    guard, changes = planned(database)
    assert stores.rehearse(at(database), GBRAIN, guard, changes, lambda _: True)[1:] == (True, True)
    commit(database, guard, changes)
    with pytest.raises(Moved):
        commit(database, guard, changes)
    found = reading.streamed(at(database), GBRAIN)
    next(found)
    found.close()
    assert [kept.execute(each).fetchall() for each in left] == clean
    psycopg.Connection.close(kept)
