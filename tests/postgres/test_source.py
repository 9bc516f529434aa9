"""A database as a source of Inspector: imported, read again, shown, sealed, explained and compared; and scanned without holding it."""

import json
import os
import sys
import tracemalloc
from collections.abc import Callable
from functools import partial
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from inspector.models import AuditEntry, Conversation, Record, Revision, Source
from inspector.programs.catalogue import format_named
from inspector.sources import postgres, reading
from inspector.sources.dsn import Dsn
from inspector.sources.places import place
from tests.postgres.making import asked, call, dangling, job, many, run, text
from tests.postgres.server import Server

GBRAIN = format_named("gbrain")


def at(dsn: str) -> Dsn:
    found = place(dsn)
    assert isinstance(found, Dsn)
    return found


def said(*command: str) -> str:
    """What a command prints; whatever it ends with."""
    out = StringIO()
    try:
        call_command(*command, stdout=out, stderr=StringIO())
    except SystemExit:
        pass
    return out.getvalue()


# Imported -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_it_is_imported_and_read_again(database: str) -> None:
    for number in (1, 2, 3):
        dangling(database, number)
    assert "3 conversations, 9 chunks (gbrain)" in said("import_source", database)
    source = Source.objects.get()
    assert (source.path, source.format, source.reader) == (database, "gbrain", "gbrain-naive")
    assert source.name == f"{database.rpartition('/')[2]} at localhost:{at(database).name.rpartition(':')[2].partition('/')[0]}"
    assert source.written_at is None
    assert "3 as they were" in said("import_source", database)
    assert set(Revision.objects.values_list("number", flat=True)) == {1}

    run(
        database,
        """INSERT INTO subagent_messages (job_id, message_idx, role, content_blocks, ended_at) VALUES
           (1, 2, 'user', '[{"type":"text","text":"more"}]', '2026-08-01')""",
        "DELETE FROM minion_jobs WHERE id = 2",
        "UPDATE minion_jobs SET error_text = 'dead' WHERE id = 3",
    )
    assert "2 conversations, 7 chunks (gbrain), 1 no longer there" in said("import_source", database)
    found = {row.native_id: row for row in Conversation.objects.all()}
    assert {native_id: (row.revision, row.is_gone) for native_id, row in found.items()} == {
        "1": (2, False),
        "2": (1, True),
        "3": (2, False),
    }
    # Rows that are as they were are kept once.
    assert Record.objects.filter(conversation=found["1"], since=2).count() == 1
    assert [entry.verb for entry in AuditEntry.objects.all()] == ["import"] * 3


@pytest.mark.django_db
def test_the_same_database_by_another_spelling_is_the_same_source(database: str) -> None:
    dangling(database)
    said("import_source", database)
    said("import_source", database.replace("postgresql://", "postgres://"))
    said("import_source", database.replace("postgresql://", "postgresql://").replace("@localhost", ":unused@localhost"))
    assert Source.objects.count() == 1


@pytest.mark.django_db
def test_a_format_that_is_none_of_a_server_is_refused(database: str, tmp_path: Path) -> None:
    dangling(database)
    with pytest.raises(CommandError, match="is a database server, and the format that was named reads files"):
        said("scan", database, "--format", "pi")
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(CommandError, match="is no place for this format"):
        said("scan", str(tmp_path / "x.json"), "--format", "gbrain")


# Asked of by commands -------------------------------------------------------------------------------------------------------------


def test_a_job_is_picked_by_its_number_or_our_id(database: str) -> None:
    for number in (1, 10, 11):
        dangling(database, number)
    for wanted in ("10",):
        assert json.loads(said("scan", database, "--conversation", wanted, "--json"))["conversations"][0]["native_id"] == "10"
    oid = json.loads(said("scan", database, "--conversation", "10", "--json"))["conversations"][0]["id"]
    assert json.loads(said("scan", database, "--conversation", oid, "--json"))["conversations"][0]["native_id"] == "10"
    with pytest.raises(CommandError, match="holds no conversation '7'; it holds 3 conversations"):
        said("scan", database, "--conversation", "7")
    with pytest.raises(CommandError, match="pick one with --conversation"):
        said("show", database)


def test_json_of_a_scan_is_one_document(database: str) -> None:
    assert json.loads(said("scan", database, "--json"))["conversations"] == []
    many(database, 30)
    document = json.loads(said("scan", database, "--json"))
    assert [each["native_id"] for each in document["conversations"]] == [str(number) for number in range(1, 31)]
    assert document["source"]["path"] == database and document["streams"] == []
    assert said("scan", database, "--json") == json.dumps(document, indent=2) + "\n"


def test_a_scan_lists_the_worst_first_and_counts_the_healthy(database: str) -> None:
    many(database, 30)
    lines = said("scan", database).splitlines()
    assert lines[-1].startswith("Healthy: 27 of 30 conversations")
    shown = [line for line in lines if " be resumed" in line]
    assert len(shown) == 3 and "cannot be resumed" in shown[0], lines


@pytest.mark.django_db
def test_show_whatif_and_explain_answer_for_a_job_and_its_bundle_is_read_without_the_server(database: str, tmp_path: Path) -> None:
    dangling(database, 7)
    assert "look both up" in said("show", database, "--conversation", "7")
    assert said("whatif", database, "--conversation", "7", "--reader", "gbrain-naive", "--reader", "gbrain-head")
    told = said("explain", "Tool results are missing for tool calls a, b.", "--target", database, "--conversation", "7")
    assert "SDK-1" in told
    bundle = tmp_path / "evidence.zip"
    said("bundle", database, "--conversation", "7", "--out", str(bundle))
    run(database, "DELETE FROM subagent_messages")
    assert "look both up" in said("show", str(bundle)) and "TOOL" in said("scan", str(bundle))


@pytest.mark.django_db
def test_the_pages_of_such_a_source(database: str, client: Client) -> None:
    dangling(database, 7)
    said("import_source", database)
    source, conversation = Source.objects.get(), Conversation.objects.get()
    assert source.name in client.get("/sources/").content.decode()
    page = client.get(f"/sources/{source.oid}/").content.decode()
    assert database in page and "gbrain" in page
    for ending in ("/", ".json", ".md", "/prompt/", "/repairs/new/"):
        assert client.get(f"/conversations/{conversation.oid}{ending}").status_code == 200, ending
    run(database, "UPDATE minion_jobs SET status = 'dead'")
    again = client.post(f"/sources/{source.oid}/import/", follow=True).content.decode()
    assert "Read again: 1 conversation, 1 of them new or changed" in again
    assert Conversation.objects.get().status == "dead"


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["/sources/", "/explain/", "/check/", "/whatif/", "/"])
def test_no_page_opens_an_address_that_it_is_given(server: Server, database: str, client: Client, address: str) -> None:
    dangling(database)
    given = dict.fromkeys(("path", "target", "source", "dsn", "store", "q", "error", "body"), database)
    client.get(address, given)
    client.post(address, given)
    assert not Source.objects.exists()
    assert asked(
        database, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'inspector' AND datname = current_database()"
    ) == [(0,)]


# Without holding it ---------------------------------------------------------------------------------------------------------------


def grown(work: Callable[[], object]) -> int:
    """The most bytes that Python held at once during `work`, beyond what it held before."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        work()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def test_reading_holds_no_more_for_more_jobs(database: str) -> None:
    """Four times the jobs, the same memory: what is held is one job and one parcel of rows of each table."""
    where = at(database)
    many(database, 100)
    small = grown(lambda: sum(1 for _ in reading.streamed(where, GBRAIN)))
    run(database, "TRUNCATE minion_jobs CASCADE")
    many(database, 400)
    assert postgres.BATCH < 100 * 20
    large = grown(lambda: sum(1 for _ in reading.streamed(where, GBRAIN)))
    assert large < small * 1.3


def test_a_scan_holds_what_it_says_on_the_disk(database: str) -> None:
    """Every job is damaged, so that all of them are told of: what stays of each is a few hundred bytes, whatever is said of it."""
    jobs = [100, 400]
    found = []
    said("scan", database)
    for count in jobs:
        run(database, "TRUNCATE minion_jobs CASCADE")
        many(database, count, odd=1)
        with Path(os.devnull).open("w") as nowhere:
            found.append(grown(partial(_quietly, database, nowhere)))
    assert (found[1] - found[0]) / (jobs[1] - jobs[0]) < 2500


def _quietly(dsn: str, out: object) -> None:
    try:
        call_command("scan", dsn, stdout=out, stderr=StringIO())
    except SystemExit:
        pass


def test_one_job_is_found_by_the_index(database: str) -> None:
    """`--conversation` does not read the other jobs: the plan of the server goes by the number."""
    many(database, 200)
    relation = GBRAIN.relations[1]
    with postgres.snapshot(at(database)) as store:
        statement = postgres._selected(relation, store.require(relation), "77")
        plan = "\n".join(str(row[0]) for row in store.connection.execute(b"EXPLAIN " + statement.as_bytes(store.connection)).fetchall())
    assert "Index Scan" in plan and "Seq Scan" not in plan


def test_a_job_with_very_many_messages_is_read(database: str) -> None:
    many(database, 1, messages=4001)
    found = reading.read_one(at(database), GBRAIN, "1")
    assert found is not None and len(found.conversation.chunks) == 4001
    assert sys.getrecursionlimit() < 4001


def test_hostile_content_is_read_and_shown_safely(database: str) -> None:
    job(database, 1, [(0, "user", [text("\x1b[31m\u202e" + "x" * 100_000)]), (1, "assistant", [call("\x1b]0;a")])])
    run(database, "UPDATE minion_jobs SET error_text = E'\\u001b[2Jgone', data = '[1,2]'")
    told = said("scan", database)
    assert "\x1b" not in told and "\u202e" not in told
