"""A server that goes away in the middle: one sentence, and both sides are as they were; in the middle of COMMIT only the server knows, and `verify` asks it."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from inspector.actions.apply_repair import apply_repair
from inspector.actions.import_source import import_targets
from inspector.actions.problems import Refused
from inspector.actions.undo_repair import undo_repair, verify_repair
from inspector.models import AuditEntry, Conversation, Repair, Source
from inspector.programs.catalogue import format_named
from inspector.programs.formats import Change
from inspector.programs.gbrain.tables import MESSAGES, RELATIONS
from inspector.programs.relation_rows import cell_of, key_of, row_of
from inspector.sources import postgres_writing, reading, stores
from inspector.sources.dsn import Dsn
from inspector.sources.places import place
from inspector.sources.postgres_problems import LostConnection, ServerRefused, UnknownOutcome
from tests.actions.building import WHO, approved
from tests.postgres.cutting import line_to
from tests.postgres.making import asked, call, dangling, job, many, run, text
from tests.postgres.server import Server

GBRAIN = format_named("gbrain")
REPAIR = "insert-interrupted-result"


def at(dsn: str) -> Dsn:
    found = place(dsn)
    assert isinstance(found, Dsn)
    return found


def everything(dsn: str) -> list[object]:
    return [asked(dsn, f"SELECT * FROM {relation.name} ORDER BY 1") for relation in RELATIONS]


def insertion(dsn: str) -> tuple[dict[str, dict[str, object]], list[Change]]:
    """The guard of job 1 and a row after its last one."""
    stored = reading.read_one(at(dsn), GBRAIN, "1")
    assert stored is not None
    like = row_of(next(record for record in stored.records if record.key.startswith(MESSAGES)).value)
    row = {**like, "message_idx": "2", "content_blocks": '[{"text": "put in", "type": "text"}]'}
    guard, _ = GBRAIN.guard(stored)
    return guard, [Change(key_of(RELATIONS[1], row), None, cell_of(row))]


def ends_itself(dsn: str, table: str, when: str) -> None:
    """A view in place of the table, in which reading the row where `when` holds ends the session of whoever reads."""
    columns = ", ".join(
        row[0] for row in asked(dsn, "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0", table)
    )
    run(
        dsn,
        f"ALTER TABLE {table} RENAME TO {table}_kept",
        f"""CREATE VIEW {table} AS SELECT {columns} FROM {table}_kept
            WHERE CASE WHEN {when} THEN pg_terminate_backend(pg_backend_pid()) ELSE true END""",
    )


# In the middle of a read ----------------------------------------------------------------------------------------------------------


def test_a_session_that_is_ended_in_the_middle_of_a_read(database: str) -> None:
    many(database, 300)
    found = reading.streamed(at(database), GBRAIN)
    next(found)
    run(
        database,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'inspector' AND datname = current_database()",
    )
    with pytest.raises(LostConnection) as caught:
        list(found)
    assert str(caught.value).endswith("was lost; check the server, then try again.")
    assert len(list(reading.streamed(at(database), GBRAIN))) == 300


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_server_that_is_stopped_in_the_middle_of_a_read(server: Server, database: str, mode: str) -> None:
    many(database, 300)
    found = reading.streamed(at(database), GBRAIN)
    next(found)
    server.stop(mode)
    try:
        with pytest.raises(LostConnection):
            list(found)
    finally:
        server.start()
    assert len(list(reading.streamed(at(database), GBRAIN))) == 300


@pytest.mark.django_db
@pytest.mark.parametrize("command", [["scan"], ["scan", "--json"], ["import_source"]])
def test_a_command_says_one_sentence_and_an_import_goes_on_later(database: str, command: list[str]) -> None:
    many(database, 300)
    before = everything(database)
    ends_itself(database, MESSAGES, "job_id = 250")
    out = StringIO()
    with pytest.raises(CommandError) as caught:
        call_command(command[0], database, *command[1:], stdout=out, stderr=StringIO())
    assert str(caught.value).startswith("The connection to ") and "was lost" in str(caught.value) and "\n" not in str(caught.value)
    assert out.getvalue() == ""
    kept = Conversation.objects.count()
    assert not AuditEntry.objects.exists() and not Conversation.objects.filter(verdict="").exists()
    assert kept < 250 if command[0] == "import_source" else not Source.objects.exists()
    run(database, f"DROP VIEW {MESSAGES}", f"ALTER TABLE {MESSAGES}_kept RENAME TO {MESSAGES}")
    assert everything(database) == before
    if command[0] == "import_source":
        call_command("import_source", database, stdout=out)
        assert AuditEntry.objects.count() == 1 and Conversation.objects.filter(revision=1).count() == Conversation.objects.count() > 250


@pytest.mark.django_db
def test_what_was_imported_before_stays_when_the_next_read_is_lost(database: str) -> None:
    many(database, 30)
    import_targets([database], WHO)
    run(database, "UPDATE minion_jobs SET status = 'dead'")
    ends_itself(database, MESSAGES, "job_id = 20")
    with pytest.raises(LostConnection):
        import_targets([database], WHO)
    assert set(Conversation.objects.values_list("revision", "is_gone")) == {(1, False)}


# In the middle of a write ---------------------------------------------------------------------------------------------------------


def test_a_session_that_is_ended_before_the_commit_leaves_nothing(database: str) -> None:
    dangling(database)
    guard, changes = insertion(database)
    before = everything(database)
    run(
        database,
        "CREATE FUNCTION ends() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$",
        f"CREATE TRIGGER ends AFTER INSERT ON {MESSAGES} FOR EACH ROW EXECUTE FUNCTION ends()",
    )
    with pytest.raises(LostConnection):
        stores.commit(at(database), GBRAIN, guard, {}, changes)
    assert everything(database) == before


def test_a_session_that_is_ended_during_the_commit_has_an_unknown_outcome(database: str) -> None:
    dangling(database)
    guard, changes = insertion(database)
    before = everything(database)
    run(
        database,
        "CREATE FUNCTION ends() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$",
        f"CREATE CONSTRAINT TRIGGER ends AFTER INSERT ON {MESSAGES} DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ends()",
    )
    with pytest.raises(UnknownOutcome) as caught:
        stores.commit(at(database), GBRAIN, guard, {}, changes)
    assert "run `verify` on the repair" in str(caught.value) and "nothing was written" not in str(caught.value).lower()
    assert everything(database) == before


def test_a_constraint_that_speaks_at_the_commit_leaves_nothing(database: str) -> None:
    dangling(database)
    guard, changes = insertion(database)
    before = everything(database)
    run(
        database,
        "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not today'; END $$",
        f"CREATE CONSTRAINT TRIGGER no AFTER INSERT ON {MESSAGES} DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION no()",
    )
    with pytest.raises(ServerRefused) as caught:
        stores.commit(at(database), GBRAIN, guard, {}, changes)
    assert "not today" in str(caught.value) and "nothing was written" in str(caught.value)
    assert everything(database) == before


def test_a_line_that_is_cut_when_the_server_has_committed(server: Server, database: str) -> None:
    dangling(database)
    with line_to(server.port) as line:
        through = database.replace(f":{server.port}/", f":{line.port}/").replace("localhost", "127.0.0.1")
        guard, changes = insertion(through)
        line.cut_at = b"COMMIT\0"
        with pytest.raises(UnknownOutcome):
            postgres_writing.commit(at(through), RELATIONS, guard, changes)
    assert asked(database, f"SELECT count(*) FROM {MESSAGES} WHERE message_idx = 2") == [(1,)]


@pytest.mark.django_db
@pytest.mark.parametrize("is_cut", [True, False])
def test_a_write_of_unknown_outcome_is_settled_once_the_server_answers(server: Server, database: str, is_cut: bool) -> None:
    job(database, 1, [(0, "user", [text("q")]), (1, "assistant", [call("a")])])
    before = everything(database)
    with line_to(server.port) as line:
        through = database.replace(f":{server.port}/", f":{line.port}/").replace("localhost", "127.0.0.1")
        import_targets([through], WHO)
        repair = approved(Conversation.objects.get(), REPAIR)
        if is_cut:
            line.cut_at = b"COMMIT\0"
        else:
            run(
                database,
                "CREATE FUNCTION ends() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$",
                f"CREATE CONSTRAINT TRIGGER ends AFTER INSERT ON {MESSAGES} DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ends()",
            )
        with pytest.raises(Refused) as caught:
            apply_repair(repair, WHO, interactive=True)
        unknown = "whether it was written is not known" in str(caught.value) and "othing was written" not in str(caught.value)
        assert unknown if is_cut else "the store was compared, and nothing was written" in str(caught.value)
        line.cut_at = b""
        line.reached.clear()
        repair = Repair.objects.get()
        assert repair.state == Repair.State.APPROVED
        holds, said = verify_repair(repair)
        assert holds is is_cut
        if is_cut:
            assert "exactly what this repair wrote" in said and "before it was recorded" in repair.outcome
        else:
            assert everything(database) == before and "nothing of it is in the store" in said
            run(database, f"DROP TRIGGER ends ON {MESSAGES}")
            apply_repair(repair, WHO, interactive=True)
        assert Repair.objects.get().state == Repair.State.VERIFIED
        undo_repair(Repair.objects.get(), WHO, interactive=True)
    assert everything(database) == before
