"""gbrain's jobs on a real PostgreSQL, repaired as people do it: written, read back, taken back, refused while somebody is at work, and as a script for a DBA."""

import json
import re
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.test import Client

from inspector.models import AuditEntry, Conversation, Repair, RepairChange, Source
from inspector.programs.gbrain.readers import VERSIONS
from tests.commands.running import Ran, run
from tests.postgres.fixtures import _postgres, database, server  # noqa: F401
from tests.postgres.making import asked
from tests.postgres.making import run as sql
from tests.programs.gbrain.conformance_rows import AB, ASKED, ROWS, A, Case, Run, call, text
from tests.programs.gbrain.strategies.repaired_jobs import DAMAGED

pytestmark = [pytest.mark.django_db]
TABLES = ("minion_jobs", "subagent_messages", "subagent_tool_executions", "subagent_rate_leases", "config")
LEDGER = ("--strategy", "insert-ledger-results")
SEVEN, ONE = 7, 1


def put(dsn: str, row: Case, job: int = SEVEN, status: str = "failed") -> None:
    """A row of the table as the program writes it, with whatever else its columns hold."""
    with closing(psycopg.connect(dsn, autocommit=True)) as connection:
        connection.execute(
            "INSERT INTO minion_jobs (id, name, status, data, error_text, attempts_made, attempts_started) VALUES (%s, 'subagent', %s, %s, %s, 3, 3)",
            (job, status, json.dumps({"prompt": "go"}), row.refusal or None),
        )
        for index, (role, blocks) in row.messages.items():
            connection.execute(
                "INSERT INTO subagent_messages (job_id, message_idx, role, content_blocks, tokens_in, model, ended_at) VALUES (%s, %s, %s, %s, 7, 'glm:glm-4.6', %s)",
                (job, index, role, json.dumps(blocks), f"2026-06-07 10:{index:02}:00.123456+02"),
            )
        for run_ in row.ledger:
            output = json.dumps(run_.output) if run_.status == "complete" and run_.output is not None else None
            connection.execute(
                """INSERT INTO subagent_tool_executions (job_id, message_idx, tool_use_id, tool_name, input, status, output, error, ordinal, started_at, ended_at)
                   VALUES (%s, %s, %s, %s, '{}', %s, %s, %s, %s, '2026-06-07 10:00:01+00', '2026-06-07 10:00:02.5+00')""",
                (job, run_.index, run_.call, run_.tool, run_.status, output, run_.error, run_.ordinal),
            )


def everything(dsn: str) -> dict[str, list[tuple[Any, ...]]]:
    """Every column of every row as the server prints it."""
    return {table: asked(dsn, f"SELECT t::text FROM {table} t ORDER BY 1") for table in TABLES}


def indexes(dsn: str, job: int = SEVEN) -> list[int]:
    return [row[0] for row in asked(dsn, "SELECT message_idx FROM subagent_messages WHERE job_id = %s ORDER BY 1", job)]


def repair(dsn: str, *how: object, job: int = SEVEN) -> Ran:
    return run("repair", dsn, "--conversation", job, *how)


def applied(dsn: str, *how: object, job: int = SEVEN) -> Any:
    ran = repair(dsn, *(how or LEDGER), "--apply", "--json", job=job)
    assert ran.status == 0, ran.err
    assert ran.json["state"] == "verified"
    return ran.json


@pytest.fixture
def store(database: str) -> str:  # noqa: F811
    """Job 7 as #2820 found them (0, 1, 3, 5), and another job that nobody may touch."""
    put(database, DAMAGED["a job from before #2820"])
    put(database, DAMAGED["row 1"], job=ONE)
    return database


def test_a_gapped_job_is_filled_in_one_transaction_and_undo_gives_every_value_back(store: str) -> None:
    before = everything(store)
    done = applied(store, "--for", "ai-sdk-6")
    assert indexes(store) == [0, 1, 2, 3, 4, 5, 6]
    assert asked(store, "SELECT DISTINCT jsonb_typeof(content_blocks) FROM subagent_messages") == [("array",)]
    assert asked(store, "SELECT content_blocks FROM subagent_messages WHERE job_id = 7 AND message_idx = 6") == [
        (
            [
                {"type": "tool-result", "toolCallId": "a", "toolName": "head", "output": 1},
                {"type": "tool-result", "toolCallId": "b", "toolName": "body", "output": 2},
            ],
        )
    ]
    assert asked(store, "SELECT count(DISTINCT xmin::text) FROM subagent_messages WHERE job_id = 7 AND message_idx IN (2, 4, 6)") == [(1,)]
    now = everything(store)
    assert all(set(before[table]) <= set(now[table]) for table in TABLES) and now["minion_jobs"] == before["minion_jobs"]
    assert run("verify", done["repair"]).status == 0
    assert run("undo", done["repair"]).status == 0
    assert everything(store) == before
    assert [entry.verb for entry in AuditEntry.objects.filter(repair=done["repair"]).order_by("id")] == [
        "propose",
        "approve",
        "apply",
        "verify",
        "undo",
    ]


def test_rows_that_were_there_get_their_every_column_back(database: str) -> None:  # noqa: F811
    put(database, DAMAGED["only the second is answered"])
    sql(database, "UPDATE subagent_messages SET content_blocks = to_jsonb(content_blocks::text) WHERE message_idx = 1")
    before = everything(database)
    done = applied(database, "--strategy", "decode-double-encoded", "insert-ledger-results")
    assert asked(database, "SELECT DISTINCT jsonb_typeof(content_blocks) FROM subagent_messages") == [("array",)]
    assert asked(database, "SELECT count(*) FROM subagent_messages WHERE tokens_in = 7") == [(3,)]
    assert run("undo", done["repair"]).status == 0 and everything(database) == before


def test_what_stood_there_is_kept_before_anything_is_written(store: str) -> None:
    done = applied(store)
    kept = RepairChange.objects.filter(repair__oid=done["repair"])
    assert [(bytes(each.key).decode(), each.before) for each in kept] == [
        (f"subagent_messages:0000000007:{index:010}", None) for index in (2, 4, 6)
    ]
    assert all(b"toolCallId" in bytes(each.after or b"") for each in kept)


def test_planning_and_proposing_touch_no_stored_row_and_draw_no_number(store: str) -> None:
    before = everything(store)
    numbers = asked(store, "SELECT last_value, is_called FROM subagent_messages_id_seq")
    plan = repair(store, *LEDGER, "--plan", "--json")
    assert plan.status == 0 and plan.json["profiles"]["ai-sdk-6"]["after"] == "passes all known rules"
    assert everything(store) == before and asked(store, "SELECT last_value, is_called FROM subagent_messages_id_seq") == numbers


AT_WORK = {
    "a lock of a worker": (
        "UPDATE minion_jobs SET status = 'waiting', lock_until = now() + interval '1 minute' WHERE id = 7",
        "lock of a worker",
    ),
    "a lock on a failed job": ("UPDATE minion_jobs SET lock_until = now() + interval '1 minute' WHERE id = 7", "lock of a worker"),
    "a lease": (
        "INSERT INTO subagent_rate_leases (key, owner_job_id, expires_at) VALUES ('k', 7, now() + interval '1 minute')",
        "lease of a call",
    ),
    "active": ("UPDATE minion_jobs SET status = 'active' WHERE id = 7", "The job is active"),
    "delayed": ("UPDATE minion_jobs SET status = 'delayed' WHERE id = 7", "The job is delayed"),
}


@pytest.mark.parametrize("what", AT_WORK)
def test_a_job_that_somebody_holds_is_not_written_to(store: str, what: str) -> None:
    statement, words = AT_WORK[what]
    sql(store, statement)
    before = everything(store)
    ran = repair(store, *LEDGER, "--apply")
    assert ran.status == 2 and words in ran.err and ran.err.count("\n") == 1, ran.err
    assert everything(store) == before


@pytest.mark.parametrize("what", AT_WORK)
def test_a_repair_is_not_taken_back_under_a_worker(store: str, what: str) -> None:
    done = applied(store)
    statement, words = AT_WORK[what]
    sql(store, statement)
    before = everything(store)
    ran = run("undo", done["repair"])
    assert ran.status == 2 and words in ran.err and ran.err.count("\n") == 1, ran.err
    assert everything(store) == before


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE minion_jobs SET status = 'waiting', lock_until = now() - interval '1 minute' WHERE id = 7",
        "INSERT INTO subagent_rate_leases (key, owner_job_id, expires_at) VALUES ('k', 7, now() - interval '1 minute')",
    ],
)
def test_what_ran_out_holds_nobody_back(store: str, statement: str) -> None:
    sql(store, statement)
    assert applied(store)["state"] == "verified"


def test_undo_is_refused_once_the_job_went_on(store: str) -> None:
    done = applied(store)
    sql(
        store,
        """INSERT INTO subagent_messages (job_id, message_idx, role, content_blocks) VALUES (7, 7, 'assistant', '[{"type": "text", "text": "done"}]')""",
    )
    before = everything(store)
    ran = run("undo", done["repair"])
    assert ran.status == 2 and "went on after the repair" in ran.err and everything(store) == before
    assert run("verify", done["repair"]).status == 1


def test_a_job_that_moved_between_plan_and_write_is_refused(store: str, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(repair(store, *LEDGER, "--plan", "--json").out)
    sql(store, "UPDATE subagent_tool_executions SET output = '3' WHERE job_id = 7 AND message_idx = 3")
    before = everything(store)
    ran = run("repair", store, "--apply-plan", plan)
    assert ran.status == 2 and "other rows" in ran.err and everything(store) == before


def test_a_plan_file_names_the_database_without_its_password_and_covers_every_row_of_the_job(store: str, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    secret = store.replace("postgres@", "postgres:hidden@") if "postgres@" in store else store
    plan.write_text(repair(secret, *LEDGER, "--plan", "--json").out)
    said = json.loads(plan.read_text())
    assert "hidden" not in plan.read_text() and said["request"]["source"].startswith("postgresql://")
    assert run("repair", "--apply-plan", plan).status == 0 and indexes(store) == [0, 1, 2, 3, 4, 5, 6]


def test_a_plan_whose_row_texts_were_changed_is_refused(store: str, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(
        repair(store, *LEDGER, "--plan", "--json").out.replace('"value": 1', '"value": 9').replace('"content": "x"', '"content": "y"')
    )
    before = everything(store)
    ran = run("repair", store, "--apply-plan", plan)
    assert ran.status == 2 and "comes out otherwise" in ran.err and everything(store) == before


@pytest.mark.parametrize("row", [row for row in ROWS if row.repairable and row.refusal], ids=lambda row: row.number)
def test_every_row_of_the_table_that_can_be_repaired_passes_all_readers_and_both_versions_of_the_sdk(database: str, row: Case) -> None:  # noqa: F811
    put(database, row)
    before = everything(database)
    done = applied(database, "--for", "ai-sdk-6")
    for version in VERSIONS:
        ran = run("scan", database, "--reader", version.name, "--profile", "ai-sdk-6", "--profile", "ai-sdk-7", "--json")
        (found,) = ran.json["conversations"]
        assert {name: judged["sendable"] for name, judged in found["profiles"].items()} == {"ai-sdk-6": True, "ai-sdk-7": True}, (
            version.name
        )
    assert run("undo", done["repair"]).status == 0 and everything(database) == before


@pytest.mark.parametrize("name", [name for name in DAMAGED if not name.startswith("row")])
def test_what_is_recommended_is_written_or_refused_in_one_sentence(database: str, name: str) -> None:  # noqa: F811
    put(database, DAMAGED[name])
    before = everything(database)
    ran = repair(database, "--for", "ai-sdk-6", "--apply", "--json")
    if ran.status == 0:
        assert ran.json["profiles"]["ai-sdk-6"]["after"] == "passes all known rules"
        assert run("undo", ran.json["repair"]).status == 0
    else:
        assert ran.status in (1, 2) and ran.err.count("\n") == 1 and "Traceback" not in ran.err
    assert everything(database) == before


def test_what_is_left_to_the_operator_is_said_at_the_keyboard(store: str) -> None:
    ran = repair(store, *LEDGER, "--apply")
    assert ran.status == 0
    said = [line.strip() for line in ran.out.partition("Follow-up:\n")[2].splitlines()]
    assert "never puts a job back into the queue" in said[0] and "3 of 3 attempts" in said[0]
    assert said[1:] == [f"{version.name} runs no tool again and asks the model for the next turn at index 7." for version in VERSIONS]


def test_a_tool_that_would_run_again_is_named(database: str) -> None:  # noqa: F811
    put(database, Case("", "", {0: ASKED, 1: A, 3: AB}, (Run(1, 0, "a", "head", output=1), Run(3, 0, "a", "head", "pending"))))
    remains = applied(database)["remains"]
    assert any("gbrain-head runs tools 'head', 'body' again" in sentence for sentence in remains)


def test_a_repair_that_is_not_enough_says_so_by_reader(database: str) -> None:  # noqa: F811
    put(database, DAMAGED["row 2"])
    remains = applied(database)["remains"]
    assert [sentence.split()[0] for sentence in remains if "this repair alone is not enough" in sentence] == ["gbrain-naive"]


def test_the_page_writes_says_what_remains_and_takes_back(store: str, client: Client, settings: Any) -> None:
    settings.INSPECTOR_WRITE_BACK = True
    before = everything(store)
    assert run("import_source", store).status == 0
    oid = next(each["id"] for each in run("scan", store, "--json").json["conversations"] if each["native_id"] == "7")
    chosen = {"strategy": "insert-ledger-results", "mode": "fill-rows"}
    page = client.get(f"/conversations/{oid}/repairs/new/", chosen).content.decode()
    (action,) = re.findall(r'formaction="(\?seen[^"]*)"', page)
    answer = client.post(f"/conversations/{oid}/repairs/new/{action}", chosen)
    where = answer["Location"]
    found = Repair.objects.get()
    assert found.rehearsal["ok"] and "temporary tables" in found.rehearsal["sentence"] and everything(store) == before
    client.post(f"{where}approve/", {"digest": found.plan_digest, "statement": "unfixed"})
    client.post(f"{where}apply/")
    found.refresh_from_db()
    assert found.state == Repair.State.VERIFIED, found.outcome
    shown = client.get(where).content.decode()
    assert "never puts a job back into the queue" in shown and "gbrain-head runs no tool again" in shown
    client.post(f"{where}undo/")
    assert everything(store) == before


def psql(dsn: str, script: Path) -> str:
    """Runs the script as one query, as any driver would; what the server refused, or nothing."""
    with closing(psycopg.connect(dsn, autocommit=True)) as connection:
        try:
            connection.execute(script.read_text())  # type: ignore[call-overload]
        except psycopg.Error as error:
            return str(error.diag.message_primary)
    return ""


def scripted(dsn: str, out: Path, *how: object) -> Path:
    before = everything(dsn)
    ran = repair(dsn, *(how or LEDGER), "--out", out)
    assert ran.status == 0, ran.err
    assert everything(dsn) == before
    return out


def test_a_script_writes_what_apply_would_and_its_undo_takes_it_back(store: str, tmp_path: Path) -> None:
    before = everything(store)
    out = scripted(store, tmp_path / "repair.sql")
    assert psql(store, out) == ""
    by_script = asked(
        store,
        "SELECT message_idx, role, content_blocks, schema_version, model, ended_at FROM subagent_messages WHERE job_id = 7 ORDER BY 1",
    )
    assert psql(store, tmp_path / "repair.undo.sql") == "" and everything(store) == before
    applied(store)
    assert by_script == asked(
        store,
        "SELECT message_idx, role, content_blocks, schema_version, model, ended_at FROM subagent_messages WHERE job_id = 7 ORDER BY 1",
    )


MOVED = {
    "another row": "INSERT INTO subagent_messages (job_id, message_idx, role, content_blocks) VALUES (7, 2, 'user', '[]')",
    "other blocks": "UPDATE subagent_messages SET content_blocks = content_blocks || '[1]' WHERE job_id = 7 AND message_idx = 1",
    "a row less": "DELETE FROM subagent_messages WHERE job_id = 7 AND message_idx = 5",
    "another output": "UPDATE subagent_tool_executions SET output = '9' WHERE job_id = 7 AND message_idx = 3",
    "another run": "INSERT INTO subagent_tool_executions (job_id, message_idx, tool_use_id, tool_name, input, status) VALUES (7, 9, 'z', 'z', '{}', 'pending')",
    "no job": "DELETE FROM minion_jobs WHERE id = 7",
}


@pytest.mark.parametrize("what", [*MOVED, *AT_WORK])
def test_a_script_writes_nothing_where_anything_moved_or_somebody_is_at_work(store: str, tmp_path: Path, what: str) -> None:
    out = scripted(store, tmp_path / "repair.sql")
    sql(store, MOVED[what] if what in MOVED else AT_WORK[what][0])
    before = everything(store)
    assert "nothing was written" in psql(store, out)
    assert everything(store) == before


def test_a_script_may_be_run_once(store: str, tmp_path: Path) -> None:
    out = scripted(store, tmp_path / "repair.sql")
    assert "nothing was written" in psql(store, tmp_path / "repair.undo.sql")
    assert psql(store, out) == ""
    assert "rows of subagent_messages of job 7 changed" in psql(store, out).lower()


def test_the_undo_script_is_refused_once_the_job_went_on(store: str, tmp_path: Path) -> None:
    out = scripted(store, tmp_path / "repair.sql")
    assert psql(store, out) == ""
    sql(store, """INSERT INTO subagent_messages (job_id, message_idx, role, content_blocks) VALUES (7, 7, 'assistant', '[]')""")
    before = everything(store)
    assert "message_idx 7" in psql(store, tmp_path / "repair.undo.sql") and everything(store) == before


HOSTILE = "$$ $inspector$ '); DROP TABLE config; -- \\ \\' E'\\x41' :name \\gset\n\t\u202e\u0007 ä 漢 😀 \u2028 $inspectorx$"


@pytest.mark.parametrize("conforming", ["on", "off"])
def test_hostile_content_is_quoted_exactly_whatever_the_session_is_set_to(database: str, tmp_path: Path, conforming: str) -> None:  # noqa: F811
    put(database, hostile())
    sql(database, f"ALTER ROLE CURRENT_USER IN DATABASE {database_of(database)} SET standard_conforming_strings = {conforming}")
    before = everything(database)
    out = scripted(database, tmp_path / "repair.sql")
    assert all(sign.isprintable() or sign == "\n" for sign in out.read_text())
    assert psql(database, out) == ""
    assert asked(database, "SELECT content_blocks->0->'output'->>'said' FROM subagent_messages WHERE message_idx = 2") == [(HOSTILE,)]
    assert psql(database, tmp_path / "repair.undo.sql") == "" and everything(database) == before


def hostile() -> Case:
    return Case(
        "",
        "",
        {0: ("user", [text(HOSTILE)]), 1: ("assistant", [call("a'\\$$", "he'ad")])},
        (Run(1, 0, "a'\\$$", "he'ad", output={"said": HOSTILE}),),
    )


def database_of(dsn: str) -> str:
    return psycopg.conninfo.conninfo_to_dict(dsn)["dbname"]  # type: ignore[return-value]


def test_the_script_runs_in_psql(store: str, tmp_path: Path, _postgres: Any) -> None:  # noqa: F811
    program = next((path for path in (_postgres.programs / "psql",) if path.exists()), None) if _postgres.programs else None
    if program is None:
        pytest.skip("the server that was given brings no psql along")
    put(store, hostile(), job=9)
    before = everything(store)
    for job in (SEVEN, 9):
        ran = repair(store, *LEDGER, "--out", tmp_path / f"{job}.sql", job=job)
        assert ran.status == 0, ran.err
    names = [f"{job}{end}" for end in (".sql", ".undo.sql") for job in (SEVEN, 9)]
    for name in names:
        done = subprocess.run(
            [str(program), "-X", "-v", "ON_ERROR_STOP=1", "-d", store, "-f", str(tmp_path / name)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        if name == "9.sql":
            assert indexes(store) == [0, 1, 2, 3, 4, 5, 6] and indexes(store, 9) == [0, 1, 2]
    assert everything(store) == before


@pytest.mark.parametrize("name", ["repair.db", "repair"])
def test_no_copy_is_made_of_a_server(store: str, tmp_path: Path, name: str) -> None:
    ran = repair(store, *LEDGER, "--out", tmp_path / name)
    assert ran.status == 2 and ".sql" in ran.err and ran.err.count("\n") == 1 and not list(tmp_path.iterdir())


@pytest.mark.parametrize("taken", ["repair.sql", "repair.undo.sql"])
def test_a_file_that_is_there_is_left_alone(store: str, tmp_path: Path, taken: str) -> None:
    (tmp_path / taken).write_text("mine")
    ran = repair(store, *LEDGER, "--out", tmp_path / "repair.sql")
    assert ran.status == 2 and "already exists" in ran.err
    assert [path.name for path in tmp_path.iterdir()] == [taken] and (tmp_path / taken).read_text() == "mine"


def exported(dsn: str, folder: Path) -> Path:
    """CSV with a header line, as COPY writes it."""
    folder.mkdir()
    with closing(psycopg.connect(dsn)) as connection:
        for table in TABLES[:4]:
            with connection.cursor().copy(f"COPY {table} TO STDOUT WITH (FORMAT csv, HEADER)") as rows:  # type: ignore[call-overload]
                (folder / f"{table}.csv").write_bytes(b"".join(bytes(part) for part in rows))
    return folder


@pytest.mark.parametrize("how", [LEDGER, ("--for", "ai-sdk-6")])
def test_a_script_that_is_made_on_an_export_repairs_the_database(store: str, tmp_path: Path, how: tuple[str, ...]) -> None:
    put(store, hostile(), job=9)
    before = everything(store)
    folder = exported(store, tmp_path / "export")
    for job in (SEVEN, 9):
        ran = run("repair", folder, "--conversation", job, *how, "--out", tmp_path / f"{job}.sql")
        assert ran.status == 0, ran.err
        assert psql(store, tmp_path / f"{job}.sql") == ""
    assert indexes(store) == [0, 1, 2, 3, 4, 5, 6] and indexes(store, 9) == [0, 1, 2]
    assert asked(store, "SELECT content_blocks->0->'output'->>'said' FROM subagent_messages WHERE job_id = 9 AND message_idx = 2") == [
        (HOSTILE,)
    ]
    for job in (SEVEN, 9):
        assert psql(store, tmp_path / f"{job}.undo.sql") == ""
    assert everything(store) == before


def test_a_script_that_is_made_on_an_old_export_is_refused(store: str, tmp_path: Path) -> None:
    folder = exported(store, tmp_path / "export")
    sql(store, MOVED["another output"])
    before = everything(store)
    assert run("repair", folder, "--conversation", SEVEN, *LEDGER, "--out", tmp_path / "repair.sql").status == 0
    assert "nothing was written" in psql(store, tmp_path / "repair.sql") and everything(store) == before


def test_nothing_is_written_into_an_export(store: str, tmp_path: Path) -> None:
    folder = exported(store, tmp_path / "export")
    held = {path.name: path.read_bytes() for path in folder.iterdir()}
    ran = run("repair", folder, "--conversation", SEVEN, *LEDGER, "--apply")
    assert ran.status == 2 and "--out FILE.sql" in ran.err and ran.err.count("\n") == 1
    assert run("repair", folder, "--conversation", SEVEN, *LEDGER, "--plan").status == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == held and not Repair.objects.exists()


def test_only_the_job_that_is_repaired_is_read_and_no_other_is_taken_for_gone(store: str) -> None:
    applied(store)
    assert [each.native_id for each in Conversation.objects.all()] == ["7"]
    assert run("import_source", store).status == 0
    applied(store, job=ONE)
    assert {each.native_id: each.is_gone for each in Conversation.objects.all()} == {"1": False, "7": False}


def test_the_page_of_a_server_offers_a_script_and_no_copy_of_a_file(store: str, client: Client) -> None:
    assert run("import_source", store).status == 0
    found = Source.objects.get()
    shown = client.get(f"/sources/{found.oid}/").content.decode()
    assert "--out repair.sql</code> gives a repair as a script" in shown and "Switch writes on" in shown
    assert ".backup" not in shown and "cp -a" not in shown and "--from HOST" not in shown
