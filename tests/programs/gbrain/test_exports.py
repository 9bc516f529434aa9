"""An export is read as the database that it came from: the same records, whichever program wrote it; what is missing or torn is said, and nothing is guessed."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector.demo import gbrain_incident
from inspector.programs.catalogue import FORMATS, READ_ONLY, format_named
from inspector.programs.formats import Cell, NotAnExport, Record, Shape, Unpacked
from inspector.programs.gbrain import exports as gbrain_exports
from inspector.programs.gbrain.exports import GBRAIN_EXPORT
from inspector.programs.gbrain.tables import EXECUTIONS, IN_FULL, JOBS, LEASES, MESSAGES
from inspector.programs.relation_rows import row_of
from inspector.readers.catalogue import reader
from inspector.sources import reading, stores
from inspector.sources.places import place
from inspector.sources.problems import THE_FILE, SourceProblem
from tests.postgres.fixtures import SCHEMA, _postgres, database, empty  # noqa: F401
from tests.postgres.making import dangling, job, run, text
from tests.postgres.server import Server

TABLES = (JOBS, MESSAGES, EXECUTIONS, LEASES)
ODD = "tab\there \\ back\\n\nnew 'q' ''qq'' \"dq\" é 日本 😀 \\N \\. , ; $$ -- /* \r\n end"
Writer = Callable[[str, Server, Path], Path]


@pytest.fixture
def filled(database: str) -> str:  # noqa: F811
    """Jobs that hold what an export could lose: quotes of every kind, NULL beside "", numbers with many digits, odd times, a second queue."""
    dangling(database)
    job(database, 2, [(0, "user", [text(ODD)]), (-1, "user", []), (-2, "assistant", [text("")])])
    job(database, 10, [(0, "user", [{"type": "text", "text": "x", "n": 1.50, "big": 10**30, "small": 1e-7, "no": None, "bool": False}])])
    run(
        database,
        "INSERT INTO minion_jobs (id, name) VALUES (20, 'embed'), (21, 'embed')",
        "INSERT INTO subagent_rate_leases (key, owner_job_id, acquired_at, expires_at) VALUES ('k', 1, now(), 'infinity')",
        "UPDATE minion_jobs SET error_text = '', lock_until = '0044-03-15 BC', started_at = '2026-08-01 10:00:00.123450' WHERE id = 1",
        "UPDATE minion_jobs SET error_text = E'\\x01\\x7f\\t\\\\', result = '\"[1]\"', finished_at = '12026-01-01' WHERE id = 2",
        """UPDATE subagent_messages SET content_blocks = '"[{\\"type\\": \\"text\\", \\"text\\": \\"twice \\\\\\"said\\\\\\"\\"}]"' WHERE job_id = 2 AND message_idx = -1""",
        'UPDATE subagent_messages SET content_blocks = \'"bare, \\"words\\""\' WHERE job_id = 2 AND message_idx = -2',
        "UPDATE subagent_tool_executions SET output = 'null', gbrain_tool_use_id = '0190AAAA-0000-7000-8000-00000000000F' WHERE ordinal = 0",
        "UPDATE subagent_tool_executions SET output = NULL, error = E'no\\n\"way\"', status = 'failed' WHERE ordinal = 1",
        "INSERT INTO subagent_messages (job_id, message_idx, role, content_blocks) VALUES (21, 0, 'user', jsonb_build_array(repeat('[', 900)))",
        f"INSERT INTO subagent_messages (job_id, message_idx, role, content_blocks) VALUES (21, 1, 'user', '{'[' * 900}{']' * 900}')",
        f"INSERT INTO subagent_messages (job_id, message_idx, role, content_blocks) VALUES (21, 2, 'user', '[{'9' * 5000}]')",
    )
    return database


def dump(*options: str) -> Writer:
    def write(dsn: str, server: Server, folder: Path) -> Path:
        program = str(server.programs / "pg_dump") if server.programs else shutil.which("pg_dump")
        if program is None:
            pytest.skip("no pg_dump beside the server that was given")
        out = folder / "gbrain.sql"
        # A session in another zone than ours, as on anybody's machine.
        done = subprocess.run(
            [program, *options, "--dbname", dsn], env={**os.environ, "PGTZ": "Asia/Kathmandu"}, capture_output=True, timeout=60
        )
        if b"server version mismatch" in done.stderr:
            pytest.skip("this pg_dump is older than the server")
        assert done.returncode == 0, done.stderr
        out.write_bytes(done.stdout)
        return out

    return write


def copied(suffix: str, statement: str) -> Writer:
    """A folder with a file for each table, as COPY writes it."""

    def write(dsn: str, server: Server, folder: Path) -> Path:
        (folder / "tables").mkdir()
        with closing(psycopg.connect(dsn)) as connection:
            connection.execute("SET timezone = 'America/St_Johns'")
            for table in TABLES:
                with connection.cursor().copy(statement.format(table)) as copy:  # type: ignore[call-overload]
                    (folder / "tables" / f"{table}{suffix}").write_bytes(b"".join(bytes(part) for part in copy))
        return folder / "tables"

    return write


def selected(name: str, make: Callable[[dict[str, list[str]]], str]) -> Writer:
    """One file made of every table's rows as row_to_json gives them."""

    def write(dsn: str, server: Server, folder: Path) -> Path:
        with closing(psycopg.connect(dsn)) as connection:
            connection.execute("SET timezone = 'America/St_Johns'")
            rows = {table: [row[0] for row in connection.execute(f"SELECT row_to_json(t)::text FROM {table} t")] for table in TABLES}
        (folder / name).write_text(make(rows))
        return folder / name

    return write


def textual(dsn: str, server: Server, folder: Path) -> Path:
    """As programs that fetch every column as text."""
    with closing(psycopg.connect(dsn)) as connection, (folder / "rows.jsonl").open("w") as out:
        for table in TABLES:
            columns = [
                row[0]
                for row in connection.execute("SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0", (table,))
            ]
            for row in connection.execute(f"SELECT {', '.join(f'{name}::text' for name in columns)} FROM {table}"):
                out.write(json.dumps({"table": table, **dict(zip(columns, row, strict=True))}) + "\n")
    return folder / "rows.jsonl"


def lines(rows: dict[str, list[str]]) -> str:
    return "".join(f'{{"table": "public.{table}", "row": {row}}}\n' for table in rows for row in rows[table])


def arrays(rows: dict[str, list[str]]) -> str:
    return "{" + ", ".join(f'"{table}": [{", ".join(rows[table])}]' for table in rows) + "}"


EXACT: dict[str, Writer] = {
    "data-only": dump("--data-only"),
    "whole": dump(),
    "inserts-with-schema": dump("--inserts"),
    "inserts": dump("--inserts", "--data-only", "--rows-per-insert=2"),
    "column-inserts": dump("--column-inserts", "--data-only", "--on-conflict-do-nothing"),
    "four-tables": dump("--data-only", "-t", "minion_jobs", "-t", "subagent_*"),
    "csv": copied(".csv", "COPY {} TO STDOUT CSV HEADER"),
    "csv-quoted": copied("_rows.csv", "COPY {} TO STDOUT (FORMAT csv, HEADER, FORCE_QUOTE *)"),
    "csv-semicolons": copied(".csv", "COPY {} TO STDOUT (FORMAT csv, HEADER, DELIMITER ';')"),
    "textual": textual,
}
# In JSON a jsonb that is null and an absent one are one.
SPELLED: dict[str, Writer] = {
    "copied-json": copied(".jsonl", "COPY (SELECT row_to_json(t) FROM {} t) TO STDOUT"),
    "copied-array": copied(".json", "COPY (SELECT coalesce(json_agg(t), '[]') FROM {} t) TO STDOUT"),
    "lines": selected("rows.jsonl", lines),
    "arrays": selected("all.json", arrays),
    "one-array": selected("all.json", lambda rows: "[" + ",\n".join(row for table in rows for row in rows[table]) + "]"),
    "over-lines": selected("all.json", lambda rows: "".join(row.replace("{", "{\n  ", 1) + "\n" for table in rows for row in rows[table])),
}


def live(dsn: str) -> list[Record]:
    return stores.records(place(dsn), format_named("gbrain"))


def comparable(records: list[Record], json_nulls: bool = False) -> dict[str, dict[str, str | None]]:
    rows = {record.key: row_of(record.value) for record in records}
    if json_nulls:
        for row in rows.values():
            row.update({name: None for name in ("output", "result") if row.get(name) == "null"})
    return rows


@pytest.mark.parametrize("kind", [*EXACT, *SPELLED])
def test_an_export_reads_as_its_database(kind: str, filled: str, _postgres: Server, tmp_path: Path) -> None:  # noqa: F811
    path = {**EXACT, **SPELLED}[kind](filled, _postgres, tmp_path)
    exported = reading.read_store(path)
    assert exported.format.name == "gbrain-export"
    served = reading.read_store(place(filled))
    assert [stored.conversation.native_id for stored in served.conversations] == ["1", "2", "10", "21"]
    held = [record for stored in exported.conversations for record in stored.records]
    wanted = [record for stored in served.conversations for record in stored.records]
    assert comparable(held, kind in SPELLED) == comparable(wanted, kind in SPELLED)
    if kind in EXACT:
        assert held == wanted
    for left, right in zip(exported.conversations, served.conversations, strict=True):
        assert [(chunk.key, chunk.role, chunk.payload, chunk.reason) for chunk in left.conversation.chunks] == [
            (chunk.key, chunk.role, chunk.payload, chunk.reason) for chunk in right.conversation.chunks
        ]
        assert left.conversation.ledger == right.conversation.ledger
        assert left.conversation.facts == right.conversation.facts


words = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8)
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | words
values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3), max_leaves=6)
runs = st.tuples(words, words, st.sampled_from(["pending", "complete", "failed"]), values, st.none() | values, st.none() | words)
jobs = st.tuples(
    st.dictionaries(st.integers(-(2**31), 2**31 - 1), st.tuples(st.sampled_from(["user", "assistant"]), values), max_size=4),
    st.lists(runs, max_size=3),
    st.none() | words,
)


def fill(dsn: str, made: list[tuple[dict[int, tuple[str, Any]], list[tuple[Any, ...]], str | None]]) -> None:
    with closing(psycopg.connect(dsn, autocommit=True)) as connection:
        connection.execute("TRUNCATE minion_jobs CASCADE")
        for number, (messages, ledger, error) in enumerate(made, start=1):
            connection.execute("INSERT INTO minion_jobs (id, name, error_text) VALUES (%s, 'subagent', %s)", (number, error))
            for index, (role, content) in messages.items():
                connection.execute(
                    "INSERT INTO subagent_messages (job_id, message_idx, role, content_blocks) VALUES (%s, %s, %s, %s)",
                    (number, index, role, json.dumps(content)),
                )
            for place_, (call_id, name, status, given_, output, said) in enumerate(ledger):
                connection.execute(
                    """INSERT INTO subagent_tool_executions (job_id, message_idx, tool_use_id, tool_name, input, status, output, error, ordinal)
                       VALUES (%s, 1, %s, %s, %s, %s, %s, %s, %s)""",
                    (number, call_id, name, json.dumps(given_), status, None if output is None else json.dumps(output), said, place_),
                )


@pytest.mark.parametrize("kind", ["copy", "csv", "json"])
@given(made=st.lists(jobs, min_size=1, max_size=3))
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_random_jobs_read_the_same_from_the_server_and_from_an_export(kind: str, made: Any, database: str) -> None:  # noqa: F811
    fill(database, made)
    files = []
    with closing(psycopg.connect(database)) as connection:
        for table in TABLES:
            columns = ", ".join(IN_FULL[table])
            statement, name, before, behind = {
                "copy": (f"COPY {table} TO STDOUT", f"{table}.sql", f"COPY public.{table} ({columns}) FROM stdin;\n", "\\.\n"),
                "csv": (f"COPY {table} TO STDOUT CSV HEADER", f"{table}.csv", "", ""),
                "json": (
                    f"COPY (SELECT row_to_json(t) FROM {table} t) TO STDOUT (FORMAT csv, QUOTE E'\\x01', DELIMITER E'\\x02')",
                    f"{table}.jsonl",
                    "",
                    "",
                ),
            }[kind]
            with connection.cursor().copy(statement) as copy:  # type: ignore[call-overload]
                files.append((f"x/{name}", before + b"".join(bytes(part) for part in copy).decode() + behind))
    found = unpack(*files)
    # Of a text whose backslashes all stand in pairs nobody can tell, and that is said.
    assert [note for note in found.notes if not note.startswith("Every backslash")] == []
    assert comparable(list(found.records), kind == "json") == comparable(live(database), kind == "json")


# Without a server.

HEAD = "--\n-- PostgreSQL database dump\n--\n\n\\restrict abc\n\nSET client_encoding = 'UTF8';\nSET standard_conforming_strings = on;\n\n"
TAIL = "--\n-- PostgreSQL database dump complete\n--\n\n\\unrestrict abc\n"
COPY_MESSAGES = "COPY public.subagent_messages (id, job_id, message_idx, role, content_blocks, ended_at) FROM stdin;\n"
ROW = '1\t1\t0\tuser\t[{"text": "go", "type": "text"}]\t2026-08-01 12:00:00+02\n'
CSV = "job_id,message_idx,role,content_blocks\n"


def unpack(*files: tuple[str, str | bytes]) -> Unpacked:
    return GBRAIN_EXPORT.unpack([Record(key, Cell(data if isinstance(data, bytes) else data.encode(), "file")) for key, data in files])


def refused(*files: tuple[str, str | bytes]) -> str:
    with pytest.raises(NotAnExport) as caught:
        unpack(*files)
    assert "\n" not in caught.value.reason
    return caught.value.reason


def rows(found: Unpacked, table: str = MESSAGES) -> list[dict[str, str | None]]:
    return [row_of(record.value) for record in found.records if record.key.startswith(f"{table}:")]


def insert(values: str, columns: str = "(job_id, message_idx, role, content_blocks) ") -> str:
    return f"INSERT INTO public.subagent_messages {columns}VALUES {values};\n"


def test_rows_are_those_of_the_server() -> None:
    found = unpack(("dump.sql", f"{HEAD}{COPY_MESSAGES}{ROW}\\.\n\n{TAIL}"))
    assert rows(found) == [
        {
            "job_id": "1",
            "message_idx": "0",
            "role": "user",
            "content_blocks": '[{"text": "go", "type": "text"}]',
            "ended_at": "2026-08-01 10:00:00+00",
        }
    ]
    assert [record.key for record in found.records] == ["subagent_messages:0000000001:0000000000"]


def test_messages_alone_are_read_and_what_is_missing_is_said() -> None:
    found = unpack(("m.csv", f'{CSV}1,0,user,"[]"\n'))
    assert len(found.records) == 1
    assert [note.split(":")[0] for note in found.notes] == [
        "The export holds no subagent_tool_executions",
        "The export holds no minion_jobs",
    ]


@pytest.mark.parametrize("end", ["INSERT INTO sub", "INSERT INTO subagent_tool_executions (", "CREATE TABLE subagent_me", "'user', '[{"])
def test_a_script_that_was_cut_in_a_statement_says_so(end: str) -> None:
    script = gbrain_incident.script()
    assert unpack(("jobs.sql", script)).notes == ()
    at = script.rindex(end) + len(end)
    try:
        notes: tuple[str, ...] = unpack(("jobs.sql", script[:at])).notes
    except NotAnExport as problem:
        notes = (problem.reason,)
    assert any("cut off" in note or "holds no table" in note for note in notes), notes


def test_a_dump_that_was_cut_off_gives_the_rows_that_are_whole() -> None:
    whole = f"{HEAD}{COPY_MESSAGES}{ROW}{ROW.replace('0', '1', 1).replace('user', 'assistant')}"
    torn = unpack(("dump.sql", whole[:-10]))
    assert len(rows(torn)) == 1
    assert any("cut off" in note and "COPY has no end" in note for note in torn.notes)
    assert any("ends before its end" in note for note in torn.notes)
    assert any(
        note.startswith("1 line of subagent_messages has") or note.startswith("1 line of subagent_messages have") for note in torn.notes
    )
    between = unpack(("dump.sql", f"{HEAD}{COPY_MESSAGES}{ROW}\\.\n"))
    assert any("Tables and rows that came later are missing" in note for note in between.notes)


@pytest.mark.parametrize(
    "data",
    [
        ("x/d.sql", f"{COPY_MESSAGES}{ROW}\\.\n{insert('(2, 0, ' + chr(39) + 'user')}"),
        ("x/m.csv", f'{CSV}1,0,user,[]\n1,1,user,"[{{""type'),
        ("x/m.csv", f"{CSV}1,0,user,[]\n1,1,us"),
        ("x/m.jsonl", '{"job_id":1,"message_idx":0,"role":"user","content_blocks":[]}\n{"job_id":1,"message_idx":1,"role":"us'),
        ("x/m.json", '[{"job_id":1,"message_idx":0,"role":"user","content_blocks":[]},\n {"job_id":1,"message_idx":1,"ro'),
    ],
)
def test_a_last_row_that_is_torn_is_left_out_and_counted(data: tuple[str, str]) -> None:
    found = unpack((data[0].replace("m.", "subagent_messages."), data[1]))
    assert len(rows(found)) == 1
    assert sum("left out" in note for note in found.notes) == 1


def test_an_array_that_is_cut_off_between_rows_is_said() -> None:
    found = unpack(("x/subagent_messages.json", '[{"job_id":1,"message_idx":0,"role":"user","content_blocks":[]},'))
    assert len(rows(found)) == 1
    assert any("cut off" in note for note in found.notes)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("'it''s'", "it's"),
        (r"'a\nb'", r"a\nb"),
        (r"E'a\nb\\c\'d\x41\102\u00e9\U0001F600'", "a\nb\\c'dABé😀"),
        (r"e'\xc3\xa9'", "é"),
        ("'x'::text", "x"),
        ("'x' :: character varying(20)", "x"),
        ("NULL", None),
        ("DEFAULT", None),
        ("'; COPY public.pages (id) FROM stdin; --'", "; COPY public.pages (id) FROM stdin; --"),
        ("'-- $$ /* '", "-- $$ /* "),
    ],
)
def test_values_of_inserts(value: str, wanted: str | None) -> None:
    found = unpack(("d.sql", insert(f"(1, 0, {value}, '[]'::jsonb), (-1, -5, 'user', '{{}}')")))
    assert [row["role"] for row in rows(found)] == ["user", wanted]
    assert [record.key for record in found.records] == [
        "subagent_messages:-000000001:-000000005",
        "subagent_messages:0000000001:0000000000",
    ]


def test_statements_that_are_no_rows_are_stepped_over_whatever_they_hold() -> None:
    around = (
        "CREATE FUNCTION f() RETURNS text LANGUAGE sql AS $_$ INSERT INTO subagent_messages VALUES ('x;'); $_$;\n"
        "COMMENT ON TABLE x IS 'it''s; INSERT INTO subagent_messages VALUES (1);';\n/* COPY public.subagent_messages FROM stdin; */\n"
        "CREATE TABLE \"odd;name\" (a text DEFAULT E'\\';');\nCOPY public.pages (id, body) FROM stdin;\n1\tINSERT INTO subagent_messages\n\\.\n"
    )
    found = unpack(
        ("d.sql", f"{around}{insert(chr(40) + '1, 0, ' + chr(39) + 'user' + chr(39) + ', ' + chr(39) + '[]' + chr(39) + ')')}{around}")
    )
    assert len(rows(found)) == 1
    assert found.notes[0] == "Left out, since they are no tables of subagent runs: pages."


def test_many_foreign_tables_are_counted() -> None:
    dump_ = "".join(f"COPY public.t{n:02} (a) FROM stdin;\n1\n2\n\\.\n" for n in range(30))
    found = unpack(("d.sql", f"{dump_}{COPY_MESSAGES}{ROW}\\.\n"))
    assert found.notes[0].endswith("t00, t01, t02, t03, t04, t05, t06, t07 and 22 more.")


def test_the_schema_public_goes_before_others() -> None:
    other = COPY_MESSAGES.replace("public", '"Old Copy"')
    found = unpack(("d.sql", f"{other}{ROW.replace('go', 'old')}\\.\n{COPY_MESSAGES}{ROW}\\.\n"))
    assert '"go"' in (rows(found)[0]["content_blocks"] or "")
    assert "Old Copy.subagent_messages" in found.notes[0]
    assert "several schemas (Old Copy, third)" in refused(("d.sql", f"{other}\\.\n{COPY_MESSAGES.replace('public', 'third')}\\.\n"))


def test_columns_without_names_are_taken_only_where_they_fit() -> None:
    values_ = ["1", "7", "0", "'user'", "'[]'", "1", *["NULL"] * 6, "'2026-08-01 10:00:00+00'"]
    found = unpack(("d.sql", insert(f"({', '.join(values_)})", "")))
    assert rows(found)[0]["job_id"] == "7"
    assert any("does not name the columns" in note for note in found.notes)
    swapped = [*values_[:3], "'[]'", "'user'", *values_[5:]]
    assert "--column-inserts" in refused(("d.sql", insert(f"({', '.join(swapped)})", "")))
    assert "--column-inserts" in refused(("d.sql", insert("(1, 2, 3)", "")))


def test_columns_of_an_older_database_are_those_of_its_own_create_table() -> None:
    made = "CREATE TABLE public.subagent_messages (\n    role text NOT NULL,\n    job_id bigint,\n    message_idx integer,\n    content_blocks jsonb,\n    CONSTRAINT c CHECK (role = 'user'::text)\n);\n"
    found = unpack(("d.sql", made + insert("('user', 1, 0, '[]')", "")))
    assert rows(found) == [{"job_id": "1", "message_idx": "0", "role": "user", "content_blocks": "[]"}]


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ([("d.sql", f"{HEAD}COPY public.pages (id) FROM stdin;\n1\n\\.\n{TAIL}")], "holds no table subagent_messages"),
        ([("d.sql", "")], "holds no table subagent_messages"),
        ([("d.dump", b"PGDMP\x01\x0e\x00")], "pg_restore --data-only"),
        ([("d.sql", "SET x;".encode("utf-16"))], "UTF-16"),
        ([("d.sql.gz", b"\x1f\x8b\x08\x00")], "gunzip"),
        ([("d.sql", HEAD.replace("UTF8", "LATIN1"))], "--encoding=UTF8"),
        ([("d.sql", f"{COPY_MESSAGES}".encode() + ROW.replace("go", "gö").encode("latin-1") + b"\\.\n")], "0xf6 in subagent_messages"),
        ([("m.csv", f"{CSV}1,0,user,".encode() + b'"\xff"\n')], "0xff in row 1"),
        ([("x/subagent_messages.json", b'[{"job_id":1,"x":"\xe9"}]')], "0xe9 in a row of JSON"),
        ([("x/subagent_messages.csv", "1,0,user,[]\n")], "CSV HEADER"),
        ([("x/subagent_messages.csv", "job_id,role\n1,user\n")], "without message_idx, content_blocks"),
        (
            [("x/subagent_messages.csv", CSV), ("x/subagent_tool_executions.jsonl", '{"job_id":1,"message_idx":1}')],
            "without tool_use_id, tool_name, status",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_sentence(files: list[tuple[str, str | bytes]], said: str) -> None:
    assert said in refused(*files)


def test_null_and_an_empty_text_are_two_things_in_csv() -> None:
    found = unpack(("m.csv", 'job_id,message_idx,role,content_blocks,model\n1,0,"","[]",\n1,1,,"[]",""\n1,2,"a""b\n,c","[]",x\n\n'))
    assert [(row["role"], row["model"]) for row in rows(found)] == [("", None), (None, ""), ('a"b\n,c', "x")]


def test_lines_may_end_as_windows_ends_them() -> None:
    wanted = rows(unpack(("d.sql", f"{COPY_MESSAGES}{ROW}\\.\n")))
    for data in (f"{COPY_MESSAGES}{ROW}\\.\n", f"{HEAD}{COPY_MESSAGES}{ROW}\\.\n{TAIL}"):
        assert rows(unpack(("d.sql", data.replace("\n", "\r\n")))) == wanted
    assert len(rows(unpack(("m.csv", f"\ufeff{CSV}1,0,user,[]\n1,1,user,[]".replace("\n", "\r\n"))))) == 2


def test_json_tells_by_a_column_of_four_bytes_whether_a_text_is_json_once_more() -> None:
    typed = {"job_id": "1", "message_idx": 0, "role": "user", "content_blocks": "[1]"}
    spelled = {"job_id": "1", "message_idx": "1", "role": "user", "content_blocks": "[1]"}
    found = unpack(("m.jsonl", f"{json.dumps(typed)}\n{json.dumps(spelled)}"))
    assert [row["content_blocks"] for row in rows(found)] == ['"[1]"', "[1]"]


def test_doubled_backslashes_are_halved_where_one_file_tells_that_copy_wrote_them_all() -> None:
    row = {"job_id": 1, "message_idx": 0, "role": "user", "content_blocks": ["a\nb"]}
    run_ = {"id": 1, "job_id": 1, "message_idx": 1, "tool_use_id": "a", "tool_name": "head", "status": "failed", "error": 'no "way"'}
    doubled, telling = (json.dumps(each).replace("\\", "\\\\") for each in (row, run_))
    found = unpack(("x/subagent_messages.jsonl", doubled), ("x/subagent_tool_executions.jsonl", telling))
    assert (rows(found)[0]["content_blocks"], rows(found, EXECUTIONS)[0]["error"]) == ('["a\\nb"]', 'no "way"')
    assert not any("backslash" in note for note in found.notes)
    alone = unpack(("subagent_messages.jsonl", doubled))
    assert rows(alone)[0]["content_blocks"] == '["a\\\\nb"]'
    assert any("Every backslash" in note for note in alone.notes)


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("2026-08-01T10:00:00.120Z", "2026-08-01 10:00:00.12+00"),
        ("2026-08-01T15:45:00+05:45", "2026-08-01 10:00:00+00"),
        ("2026-08-01 10:00:00", "2026-08-01 10:00:00+00"),
        ("2026-01-01 00:30:00.000001+01", "2025-12-31 23:30:00.000001+00"),
        ("1901-01-01 05:53:28+05:53:28", "1901-01-01 00:00:00+00"),
        ("infinity", "infinity"),
        ("0044-03-15 00:00:00+00 BC", "0044-03-15 00:00:00+00 BC"),
        ("0001-01-01 00:00:00.5+01", "0001-12-31 23:00:00.5+00 BC"),
        ("10000-01-01 00:30:00+01", "9999-12-31 23:30:00+00"),
        ("12026-02-29 00:00:00+01", "12026-02-29 00:00:00+01"),
        ("2026-13-01 00:00:00+00", "2026-13-01 00:00:00+00"),
        ("yesterday", "yesterday"),
    ],
)
def test_times_are_printed_as_the_server_prints_them(written: str, printed: str) -> None:
    row = {"job_id": 1, "message_idx": 0, "role": "user", "content_blocks": [], "ended_at": written}
    assert rows(unpack(("m.jsonl", json.dumps(row))))[0]["ended_at"] == printed


def test_a_row_that_stands_twice_is_read_once() -> None:
    data = f"{CSV}1,0,user,[]\n"
    found = unpack(("x/subagent_messages.csv", data), ("x/subagent_messages_rows.csv", data))
    assert len(rows(found)) == 1
    assert any("twice: read once" in note for note in found.notes)
    found = unpack(("x/subagent_messages.csv", data), ("x/subagent_messages_rows.csv", data.replace("[]", "[1]")))
    assert [row["content_blocks"] for row in rows(found)] == ["[]"]
    assert any("second, other content" in note for note in found.notes)


RUN = {"job_id": 1, "message_idx": 1, "tool_use_id": "a", "tool_name": "head", "status": "complete", "ordinal": 0, "output": "one"}
SECOND = RUN | {"tool_use_id": "b", "ordinal": 1, "output": "two"}
CALLS = [{"type": "tool-call", "toolCallId": name, "toolName": "head", "input": {}} for name in ("a", "b")]
JOB = "".join(
    json.dumps({"job_id": 1, "message_idx": index, "role": role, "content_blocks": blocks}) + "\n"
    for index, role, blocks in [(0, "user", [{"type": "text", "text": "go"}]), (1, "assistant", CALLS)]
)


@pytest.mark.parametrize("number", [{}, {"id": None}, {"id": ""}, {"id": "0190aaaa-0000-7000-8000-00000000000f"}])
def test_runs_without_a_number_are_read_and_told_apart(number: dict[str, str | None]) -> None:
    ledger = "".join(json.dumps(each | number) + "\n" for each in (SECOND, RUN, SECOND))
    found = unpack(("x/subagent_messages.jsonl", JOB), ("x/subagent_tool_executions.jsonl", ledger))
    (stored,) = GBRAIN_EXPORT.read(found.records)

    assert [(each.call_id, each.output) for each in stored.conversation.ledger] == [("a", "one"), ("b", "two")]
    assert "3 rows of subagent_tool_executions without a number in id: distinguished by message_idx, ordinal, tool_use_id." in found.notes
    assert any("in the export twice: read once" in note for note in found.notes)
    assert not any("id" in row for row in rows(found, EXECUTIONS))


def test_a_run_without_a_number_takes_no_place_of_one_with_a_number() -> None:
    ledger = json.dumps(RUN | {"id": 1}) + "\n" + json.dumps(SECOND)
    found = unpack(("x/subagent_messages.jsonl", JOB), ("x/subagent_tool_executions.jsonl", ledger))
    assert [row.get("id") for row in rows(found, EXECUTIONS)] == ["1", None]


def test_two_runs_of_one_call_without_a_number_are_one_and_the_other_is_counted() -> None:
    ledger = json.dumps(RUN) + "\n" + json.dumps(RUN | {"output": "other"})
    found = unpack(("x/subagent_messages.jsonl", JOB), ("x/subagent_tool_executions.jsonl", ledger))
    assert [row["output"] for row in rows(found, EXECUTIONS)] == ['"one"']
    assert any("second, other content" in note for note in found.notes)


def test_a_script_for_runs_without_a_number_compares_what_is_known_of_them() -> None:
    ledger = json.dumps(RUN) + "\n" + json.dumps(SECOND)
    found = unpack(("x/subagent_messages.jsonl", JOB), ("x/subagent_tool_executions.jsonl", ledger))
    (stored,) = GBRAIN_EXPORT.read(found.records)
    script = GBRAIN_EXPORT.script(stored, (), ("about",))
    assert "WITH wanted (message_idx, ordinal, tool_use_id, tool_name, status, output)" in script


def test_leases_without_a_number_are_read() -> None:
    lease = {"key": "k", "owner_job_id": 1, "acquired_at": "2026-08-01T10:00:00Z", "expires_at": "infinity"}
    found = unpack(("x/subagent_messages.jsonl", JOB), ("x/subagent_rate_leases.jsonl", json.dumps(lease)))
    assert [row["key"] for row in rows(found, LEASES)] == ["k"]


@pytest.mark.parametrize("number", ["", "x", "1.5", "١", "1_0", "9" * 30, "--1", " 1"])
def test_rows_without_a_number_are_left_out_and_counted(number: str) -> None:
    found = unpack(("m.csv", f'{CSV}1,0,user,[]\n"{number}",0,user,[]\n1,"{number}",user,[]\n'))
    assert len(found.records) == 1
    assert found.notes[0].startswith("2 rows of subagent_messages without a number in job_id or message_idx")


def test_jobs_of_other_queues_are_left_out_as_the_server_leaves_them_out() -> None:
    jobs_ = "id,name,queue,status,data\n" + "".join(
        f"{n},{name},default,failed,{{}}\n" for n, name in [(1, "embed"), (2, "embed"), (3, "subagent")]
    )
    found = unpack(("x/subagent_messages.csv", f"{CSV}1,0,user,[]\n"), ("x/minion_jobs.csv", jobs_))
    assert [row["id"] for row in rows(found, JOBS)] == ["1", "3"]


@pytest.mark.parametrize(
    "data",
    [
        '{"job_id":1,"message_idx":0,"role":"user","content_blocks":' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"job_id":1,"message_idx":0,"role":"user","content_blocks":[' + "9" * 10_000 + "]}",
        '{"job_id":1,"message_idx":0,"role":"user","content_blocks":[1e999999999]}',
        '{"job_id":1,"message_idx":0,"role":"user","content_blocks":[1e9999999999999999999]}',
        '{"job_id":1,"message_idx":0,"role":"user","content_blocks":["\\u0000","\\ud800"]}',
        '{"job_id":1,"message_idx":0,"role":"user","content_blocks":[NaN]}',
        "[" * 200_000,
        "{" * 200_000,
        '{"a":' * 100_000,
        '[{"job_id":' + '"' * 200_001,
        f"{COPY_MESSAGES}1\t1\t0\tuser\t{'[' * 200_000}\t\\N\n\\.\n",
        f"{COPY_MESSAGES}1\t1\t0\tuser\t1e999999999\t\\N\n\\.\n",
        insert("(1, 0, 'user', '" + "''" * 200_000 + "')"),
        "INSERT INTO subagent_messages VALUES (" * 20_000,
        "/*" * 100_000,
        "'" * 200_001,
        "$a$" * 100_001,
        f'{CSV}1,0,user,"' + '""' * 100_000,
        "COPY " * 50_000,
        "CREATE TABLE subagent_messages (" + "a text, " * 50_000,
    ],
    ids=range(20),
)
@pytest.mark.parametrize("name", ["x/subagent_messages.json", "x/subagent_messages.csv", "d.sql"])
def test_hostile_exports_end_in_rows_or_a_sentence(data: str, name: str) -> None:
    try:
        found = unpack((name, data))
    except NotAnExport as problem:
        assert problem.reason
    else:
        assert all(len(row) <= 6 for row in rows(found))
        for stored in GBRAIN_EXPORT.read(found.records):
            assert stored.conversation.format == "gbrain-export"


def test_more_bytes_than_are_read_are_refused_before_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "dump.sql"
    with path.open("wb") as file:
        file.write(f"{HEAD}{COPY_MESSAGES}".encode())
        file.truncate(gbrain_exports.LIMIT + 1)
    with pytest.raises(SourceProblem, match="200 MiB at most") as caught:
        reading.read(path)
    assert "pg_dump --data-only" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("a.sql", HEAD),
        ("a.txt", COPY_MESSAGES),
        ("a", insert("(1)")),
        ("x.csv", CSV),
        ("x.csv", "id,key,owner_job_id,acquired_at,expires_at\n"),
        ("x.json", '[{"id":1,"name":"subagent","queue":"default","status":"failed","priority":0,"data":{}}]'),
        ("x.json", ' {"job_id":1,"message_idx":0,"role":"user","content_blocks":[]}'),
        ("subagent_messages.json", "[]"),
        ("a.dump", "PGDMP"),
    ],
)
def test_an_export_is_recognized_by_its_beginning(name: str, head: str) -> None:
    scores = {found.name: found.sniff(Shape(head.encode(), {}, name)) for found in FORMATS}
    assert max(scores, key=lambda each: scores[each]) == "gbrain-export"


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("a.json", '{"messages":[{"role":"user","content":"job_id and message_idx"}]}'),
        ("a.csv", "id,role,content\n1,user,x\n"),
        ("a.jsonl", '{"type":"session","version":3,"id":"x","cwd":"/"}'),
        ("a.sql", "CREATE TABLE chunks (id text);"),
        ("a", ""),
    ],
)
def test_other_files_are_not_taken_for_one(name: str, head: str) -> None:
    assert GBRAIN_EXPORT.sniff(Shape(head.encode(), {}, name)) == 0.0


def test_of_a_folder_only_dumps_and_files_named_after_a_table_are_read(tmp_path: Path) -> None:
    (tmp_path / "subagent_messages.csv").write_text(f"{CSV}1,0,user,[]\n")
    (tmp_path / "pages.csv").write_bytes(b"\xff\xfe")
    (tmp_path / "notes.txt").write_bytes(b"\xff")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "dump.sql").write_text("SET client_encoding = 'LATIN1';")
    found = reading.read_store(tmp_path)
    assert (found.format.name, len(found.conversations)) == ("gbrain-export", 1)
    assert {problem.where for problem in found.problems} == {THE_FILE}


def test_nothing_is_written_into_an_export() -> None:
    (stored,) = GBRAIN_EXPORT.read(unpack(("m.csv", f"{CSV}1,0,user,[]\n")).records)
    assert READ_ONLY["gbrain-export"] == gbrain_exports.READ_ONLY
    assert "name the database itself" in gbrain_exports.READ_ONLY
    assert GBRAIN_EXPORT.guard(stored) == ({}, {record.key: record.value for record in stored.records})
    assert reader(GBRAIN_EXPORT.default_reader).name == "gbrain-naive"


def test_the_columns_that_are_known_are_those_of_the_schema() -> None:
    for table in TABLES:
        made = SCHEMA.split(f"CREATE TABLE {table} (", 1)[1].split(");\n", 1)[0]
        places = [made.find(name) for name in IN_FULL[table]]
        assert -1 not in places
        assert len(set(IN_FULL[table])) == len(places)
