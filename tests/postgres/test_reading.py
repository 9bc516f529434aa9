"""What a database is read as: one moment, the same text whoever looks, the tables that a plain name finds, and none that are not ours to read."""

import json
import threading

import psycopg
import pytest

from inspector.programs.catalogue import format_named
from inspector.programs.gbrain.tables import EXECUTIONS, JOBS, MESSAGES
from inspector.programs.relation_rows import row_of
from inspector.sources import postgres, reading, stores
from inspector.sources.dsn import Dsn
from inspector.sources.places import place
from inspector.sources.problems import SourceProblem
from inspector.text import limits
from tests.postgres.making import asked, call, dangling, job, many, result, run, text
from tests.postgres.server import Server

GBRAIN = format_named("gbrain")


def at(dsn: str) -> Dsn:
    found = place(dsn)
    assert isinstance(found, Dsn)
    return found


def sentence(dsn: str) -> str:
    """What is said instead of an answer."""
    with pytest.raises(SourceProblem) as caught:
        where = at(dsn)
        list(reading.streamed(where, reading.format_of(where)))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def rows(dsn: str, table: str) -> list[dict[str, str | None]]:
    found = stores.records(at(dsn), GBRAIN)
    return [row_of(record.value) for record in found if record.key.startswith(f"{table}:")]


def numbers(dsn: str) -> list[str]:
    where = at(dsn)
    return [stored.conversation.native_id for stored in reading.streamed(where, reading.format_of(where))]


def test_jobs_come_whole_and_in_the_order_of_their_numbers(database: str) -> None:
    for number in (2, 10, 1, 9, 100):
        dangling(database, number)
    assert numbers(database) == ["1", "2", "9", "10", "100"]
    assert stores.native_ids(at(database), GBRAIN) == ["1", "2", "9", "10", "100"]
    assert all(
        len(stored.conversation.chunks) == 3 and len(stored.conversation.ledger) == 2 for stored in reading.streamed(at(database), GBRAIN)
    )


def test_a_job_of_another_queue_is_none_of_ours(database: str) -> None:
    dangling(database)
    run(database, "INSERT INTO minion_jobs (id, name) VALUES (2, 'embed')", "INSERT INTO minion_jobs (id, name) VALUES (3, 'subagent')")
    assert numbers(database) == ["1", "3"]
    found = reading.read_one(at(database), GBRAIN, "1")
    assert found is not None and found.conversation.native_id == "1"


@pytest.mark.parametrize("wanted", ["7", "-1", "x", "1 OR 1=1", "", "٣", "99999999999999999999999"])
def test_one_that_is_not_there_is_none(database: str, wanted: str) -> None:
    dangling(database)
    assert reading.read_one(at(database), GBRAIN, wanted) is None


def test_what_is_committed_in_the_middle_of_a_read_is_not_seen(database: str) -> None:
    many(database, 300)
    found = reading.streamed(at(database), GBRAIN)
    first = next(found)
    run(
        database,
        "DELETE FROM subagent_messages WHERE job_id = 300",
        "UPDATE minion_jobs SET status = 'dead' WHERE id = 299",
        "INSERT INTO minion_jobs (id, name) VALUES (301, 'subagent')",
    )
    rest = list(found)
    assert len([first, *rest]) == 300
    assert rest[-2].conversation.fact("status") == "completed"
    assert len(rest[-1].conversation.chunks) == 20
    assert len(numbers(database)) == 301


def test_nothing_can_be_written_in_the_transaction_of_a_read(database: str) -> None:
    dangling(database)
    with postgres.snapshot(at(database)) as store, pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        store.connection.execute("UPDATE minion_jobs SET status = 'waiting'")


def test_a_view_that_writes_while_it_is_read_is_said(database: str) -> None:
    dangling(database)
    run(
        database,
        "ALTER TABLE subagent_messages RENAME TO messages",
        """CREATE FUNCTION seen(n bigint) RETURNS bigint VOLATILE LANGUAGE plpgsql AS
           $$ BEGIN UPDATE minion_jobs SET stalled_counter = stalled_counter + 1 WHERE id = n; RETURN n; END $$""",
        "CREATE VIEW subagent_messages AS SELECT seen(job_id) AS job_id, message_idx, role, content_blocks FROM messages",
    )
    assert "a view or function of the database tries to write" in sentence(database)
    assert asked(database, "SELECT stalled_counter FROM minion_jobs") == [(0,)]


SETTINGS = [
    "SET datestyle = 'German, DMY'",
    "SET timezone = 'Asia/Kathmandu'",
    "SET intervalstyle = 'iso_8601'",
    "SET extra_float_digits = -5",
    "SET bytea_output = 'escape'",
    "SET client_encoding = 'LATIN1'",
    "SET default_transaction_isolation = 'serializable'",
    "SET default_transaction_read_only = 'on'",
    "SET search_path = public, pg_catalog",
    "SET quote_all_identifiers = 'on'",
    "SET enable_indexscan = 'off'",
]


@pytest.mark.parametrize("setting", SETTINGS)
def test_records_are_the_same_whatever_the_settings_of_the_role_are(database: str, setting: str) -> None:
    job(
        database,
        1,
        [(0, "user", [text("Grüße, 世界 \u2028 \U0001f600")]), (1, "assistant", [call("a")])],
        [(1, 0, "a", "complete", {"n": 1.50})],
    )
    before = stores.records(at(database), GBRAIN)
    name = asked(database, "SELECT current_database()")[0][0]
    run(database, f"ALTER DATABASE {name} {setting}")
    assert stores.records(at(database), GBRAIN) == before


def test_a_built_in_name_is_never_that_of_the_database(database: str) -> None:
    dangling(database)
    before = stores.records(at(database), GBRAIN)
    name = asked(database, "SELECT current_database()")[0][0]
    run(
        database,
        "CREATE SCHEMA evil",
        "CREATE DOMAIN evil.text AS pg_catalog.text CHECK (false)",
        "CREATE FUNCTION evil.row_security_active(oid) RETURNS boolean LANGUAGE sql AS 'SELECT true'",
        "CREATE FUNCTION evil.set_config(pg_catalog.text, pg_catalog.text, boolean) RETURNS pg_catalog.text LANGUAGE sql AS 'SELECT 1/0'",
        f"ALTER DATABASE {name} SET search_path = evil, pg_catalog, public",
    )
    assert stores.records(at(database), GBRAIN) == before


# The tables of older and other databases ------------------------------------------------------------------------------------------


def test_a_database_from_before_schema_36_is_read(database: str) -> None:
    dangling(database)
    for table in (MESSAGES, EXECUTIONS):
        run(database, f"ALTER TABLE {table} DROP COLUMN schema_version, DROP COLUMN provider_id")
    found = reading.read_one(at(database), GBRAIN, "1")
    assert found is not None and len(found.conversation.chunks) == 3
    assert "schema_version" not in rows(database, MESSAGES)[0]


def test_a_database_from_before_schema_82_is_read(database: str) -> None:
    dangling(database)
    run(database, "ALTER TABLE subagent_tool_executions DROP COLUMN ordinal, DROP COLUMN gbrain_tool_use_id")
    found = reading.read_one(at(database), GBRAIN, "1")
    assert found is not None
    assert [(run.call_id, run.ordinal, run.output) for run in found.conversation.ledger] == [("a", None, {"h": 3}), ("b", None, {"b": 1})]


def test_a_database_without_leases_is_read(database: str) -> None:
    dangling(database)
    run(database, "DROP TABLE subagent_rate_leases")
    assert numbers(database) == ["1"]


@pytest.mark.parametrize("table", [JOBS, EXECUTIONS])
def test_a_missing_table_is_named(database: str, table: str) -> None:
    run(database, f"DROP TABLE {table} CASCADE")
    assert f"has no table {table}" in sentence(database)


def test_a_missing_column_is_named(database: str) -> None:
    run(database, "ALTER TABLE subagent_messages DROP COLUMN content_blocks")
    said = sentence(database)
    assert "has no table subagent_messages with columns" in said and "content_blocks" in said


def test_an_empty_database_is_not_recognised(empty: str) -> None:
    assert "that Inspector knows" in sentence(empty)


def test_a_table_of_the_same_name_with_other_numbers_is_refused(database: str) -> None:
    run(
        database,
        "DROP TABLE subagent_messages",
        "CREATE TABLE subagent_messages (job_id uuid, message_idx int, role text, content_blocks jsonb)",
        "INSERT INTO subagent_messages VALUES (gen_random_uuid(), 0, 'user', '[]')",
    )
    assert "The column job_id of subagent_messages" in sentence(database)


def test_tables_in_a_schema_that_no_plain_name_finds_are_said(database: str) -> None:
    dangling(database)
    run(database, "ALTER SCHEMA public RENAME TO brain", "CREATE SCHEMA public")
    said = sentence(database)
    assert "in the schema brain" in said and "?options=-csearch_path%3Dbrain" in said
    assert numbers(f"{database}?options=-csearch_path%3Dbrain") == ["1"]


def test_tables_of_two_schemas_are_not_mixed(database: str) -> None:
    dangling(database)
    name = asked(database, "SELECT current_database()")[0][0]
    run(
        database,
        "CREATE SCHEMA other",
        "CREATE TABLE other.subagent_messages (LIKE public.subagent_messages)",
        f"ALTER DATABASE {name} SET search_path = other, public",
    )
    said = sentence(database)
    assert "public.minion_jobs" in said and "other.subagent_messages" in said
    assert numbers(f"{database}?options=-csearch_path%3Dpublic") == ["1"]


def test_a_schema_with_an_odd_name_is_found(database: str) -> None:
    dangling(database)
    name = asked(database, "SELECT current_database()")[0][0]
    run(database, """ALTER SCHEMA public RENAME TO "o""dd, {}" """, f'''ALTER DATABASE {name} SET search_path = "o""dd, {{}}"''')
    assert numbers(database) == ["1"]


def test_views_are_read_as_tables_are(database: str) -> None:
    dangling(database)
    before = stores.records(at(database), GBRAIN)
    for table in (JOBS, MESSAGES, EXECUTIONS):
        run(database, f"ALTER TABLE {table} RENAME TO {table}_kept", f"CREATE VIEW {table} AS SELECT * FROM {table}_kept")
    assert stores.records(at(database), GBRAIN) == before


# Row level security ---------------------------------------------------------------------------------------------------------------


def secured(server: Server, dsn: str, *more: str) -> str:
    """The address for a role that may read all and owns nothing, with row level security on as gbrain turns it on."""
    dangling(dsn)
    run(dsn, *(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY" for table in (JOBS, MESSAGES, EXECUTIONS, "subagent_rate_leases")), *more)
    return server.dsn(asked(dsn, "SELECT current_database()")[0][0], "stranger")


def test_a_role_that_rows_are_hidden_from_is_told_so(server: Server, database: str) -> None:
    stranger = secured(server, database)
    assert asked(stranger, "SELECT count(*) FROM subagent_messages") == [(0,)]
    said = sentence(stranger)
    assert "Row level security hides rows of minion_jobs, subagent_messages" in said and "the role stranger" in said and "BYPASSRLS" in said
    assert numbers(database) == ["1"]


def test_a_policy_that_shows_a_part_is_no_answer_either(server: Server, database: str) -> None:
    stranger = secured(
        server,
        database,
        "CREATE TABLE seen (at timestamptz)",
        "GRANT INSERT ON seen TO stranger",
        "CREATE FUNCTION shown() RETURNS boolean VOLATILE LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen VALUES (now()); RETURN true; END $$",
        *(f"CREATE POLICY part ON {table} TO stranger USING (shown())" for table in (JOBS, MESSAGES, EXECUTIONS)),
    )
    assert "Row level security hides rows" in sentence(stranger)
    assert asked(database, "SELECT count(*) FROM seen") == [(0,)]


def test_a_role_with_bypassrls_reads_all(server: Server, database: str) -> None:
    stranger = secured(server, database)
    server.run("ALTER ROLE stranger BYPASSRLS")
    try:
        assert numbers(stranger) == ["1"]
    finally:
        server.run("ALTER ROLE stranger NOBYPASSRLS")


def test_forced_row_security_hides_from_the_owner_too(server: Server, database: str) -> None:
    stranger = secured(server, database, f"ALTER TABLE {MESSAGES} OWNER TO stranger", "GRANT ALL ON SCHEMA public TO stranger")
    assert "subagent_messages" not in sentence(stranger).partition("from the role")[0]
    run(database, f"ALTER TABLE {MESSAGES} FORCE ROW LEVEL SECURITY")
    assert "subagent_messages" in sentence(stranger).partition("from the role")[0]


def test_a_view_whose_owner_is_kept_from_rows_is_noticed(server: Server, database: str) -> None:
    stranger = secured(
        server,
        database,
        *(f"ALTER TABLE {table} RENAME TO {table}_kept" for table in (JOBS, MESSAGES, EXECUTIONS)),
        *(f"CREATE VIEW {table} WITH (security_invoker) AS SELECT * FROM {table}_kept" for table in (JOBS, MESSAGES, EXECUTIONS)),
        "DROP TABLE subagent_rate_leases",
    )
    assert "Row level security hides rows from the role" in sentence(stranger)


def test_a_role_that_may_not_read_a_table_is_told_so(server: Server, database: str) -> None:
    dangling(database)
    server.run("CREATE ROLE nothing LOGIN")
    try:
        said = sentence(server.dsn(asked(database, "SELECT current_database()")[0][0], "nothing"))
    finally:
        server.run("DROP ROLE nothing")
    assert "may not do this (permission denied for table" in said


# What values are ------------------------------------------------------------------------------------------------------------------


def test_values_are_the_text_that_the_server_prints(database: str) -> None:
    run(
        database,
        "INSERT INTO minion_jobs (id, name) VALUES (1, 'subagent')",
        """INSERT INTO subagent_messages (job_id, message_idx, role, content_blocks, ended_at) VALUES
           (1, 0, 'user', '[{"b":1.50,"a":1e400,"aa":-0,"n":12345678901234567890123456789}]', 'infinity')""",
    )
    found = rows(database, MESSAGES)[0]
    assert found["content_blocks"] == '[{"a": 1' + "0" * 400 + ', "b": 1.50, "n": 12345678901234567890123456789, "aa": 0}]'
    assert (found["ended_at"], found["provider_id"]) == ("infinity", None)


def test_several_readers_at_once_do_not_disturb_each_other(database: str) -> None:
    many(database, 40)
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(len(numbers(database)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [40] * 4


def test_a_result_row_answers_its_call(database: str) -> None:
    job(database, 1, [(0, "user", [text("q")]), (1, "assistant", [call("a")]), (2, "user", [result("a", {"k": [1, None]})])])
    found = reading.read_one(at(database), GBRAIN, "1")
    assert found is not None
    assert json.loads(found.conversation.chunks[2].payload["content"]) == {"k": [1, None]}


def test_of_a_value_over_the_limit_one_job_is_not_read_and_the_others_are(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    job(database, 1, [(0, "user", [text("go")])])
    job(database, 2, [(0, "user", [text("x" * 10_000)])])
    job(database, 3, [(0, "user", [text("y" * 9_000)])])
    monkeypatch.setattr(limits, "LARGEST_VALUE", 10_000)
    first, large, last = reading.streamed(at(database), GBRAIN)
    assert [len(stored.conversation.chunks) for stored in (first, large, last)] == [1, 0, 1]
    assert large.conversation.native_id == "2" and not large.records
    assert "INSPECTOR_LARGEST_VALUE" in (large.conversation.fact("unread") or "")
    assert first.conversation.fact("unread") is last.conversation.fact("unread") is None
