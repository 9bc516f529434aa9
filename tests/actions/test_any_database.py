"""What a store may hold and a database may refuse: the same on SQLite and on PostgreSQL (`make test-postgres`)."""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, connections
from django.db.migrations.executor import MigrationExecutor
from django.test import Client

from inspector.actions import audit
from inspector.actions.import_source import import_targets
from inspector.demo.creation import write_journal
from inspector.demo.dispatch_incident import CONVERSATION, trace_records
from inspector.models import AuditEntry, Conversation, Record, Source, TraceRecord, loading
from inspector.readers.catalogue import UnknownReader, reader
from tests.actions.building import WHO, bring, imported, merged
from tests.programs.dispatch.appended_stores import Store, U

# Of letters in no order: an index packs what repeats, and takes it then.
LONG = "".join(random.Random(6).choices("0123456789abcdefghijklmnopqrstuvwxyz", k=100_000))
NUL = "a\x00b\u202e"


@pytest.mark.django_db
def test_an_id_that_no_index_takes_is_imported_found_and_joined_to_its_trace(tmp_path: Path, client: Client) -> None:
    conversation = imported(tmp_path / "a.db", merged(to=LONG), LONG)
    write_journal(tmp_path / "t.ndjson", [{**each, "conversationId": LONG} for each in trace_records()[:5] if "conversationId" in each])
    bring(tmp_path / "t.ndjson")
    assert conversation.native_id == LONG and conversation.source.traces.count() == 1
    held = loading.trace(conversation, LONG)
    assert held is not None and TraceRecord.objects.exclude(conversation_id="").exists()
    assert client.get(f"/conversations/{conversation.oid}/").status_code == 200
    [again] = bring(tmp_path / "a.db")
    assert (again.unchanged, again.gone) == (1, 0) and Conversation.objects.count() == 1


@pytest.mark.django_db
def test_two_long_ids_that_begin_alike_are_two_conversations_with_a_trace_each(tmp_path: Path) -> None:
    first, second = f"{LONG}1", f"{LONG}2"
    imported(tmp_path / "a.db", merged(merged(to=first), to=second), first)
    start = {"kind": "span-open", "name": "turn", "turnId": "turn-1782600000000-abcdef", "timestamp": 1782600000000, "extensionId": "x"}
    write_journal(tmp_path / "t.ndjson", [{**start, "spanId": "s1", "conversationId": first}])
    bring(tmp_path / "t.ndjson")
    rows = {row.native_id: row for row in Conversation.objects.all()}
    seen = {native_id: len(getattr(loading.trace(row, native_id), "turns", ())) for native_id, row in rows.items()}
    assert seen == {first: 1, second: 0}


@pytest.mark.django_db
def test_an_archive_is_found_by_its_exact_id(tmp_path: Path) -> None:
    store = merged(merged(to=NUL), to="c2")
    key = "conv:c2:meta"
    store.values[key] = json.dumps({**json.loads(store.values[key]), "compactedFrom": NUL})
    row = imported(tmp_path / "a.db", store, "c2")
    found = loading.archive(row.source, loading.stored(row).conversation)
    assert found is not None and found.native_id == NUL


@pytest.mark.django_db
def test_a_source_in_the_deepest_folder_is_known_by_its_whole_path(tmp_path: Path) -> None:
    folder = tmp_path
    while len(str(folder)) < 3500:
        folder /= LONG[:200] if folder == tmp_path else "é" + LONG[len(str(folder)) : len(str(folder)) + 150]
    folder.mkdir(parents=True)
    # SQLite itself opens no path that long, so the source is a journal.
    path = folder / "t.ndjson"
    write_journal(path, trace_records()[:3])
    first, second = (import_targets([str(path)], WHO)[0] for _ in range(2))
    assert first.source == second.source and Source.objects.get().path == str(path) and TraceRecord.objects.count() == 3


HOSTILE = {
    "nul": "a\x00b",
    "lone": "\ud800 and \udfff",
    "million": 1e22,
    "zero": -0.0,
    "none": float("inf"),
    "tiny": 1e-400,
    "big": 10**300,
    "z": 1,
    "aa": [{"b": 1, "a": 2}],
    "\x00": None,
}


@pytest.mark.django_db
def test_the_trail_gives_back_what_was_put_in_and_its_hash_holds() -> None:
    for _ in range(2):
        audit.record(WHO, "apply", source_path="/a\x00", **{"detail": HOSTILE, "lock": 12.0})
    found = AuditEntry.objects.order_by("id").first()
    assert found is not None and json.dumps(found.detail) == json.dumps({"detail": HOSTILE, "lock": 12.0})
    assert audit.broken_at() is None


@pytest.mark.django_db
def test_attributes_of_a_trace_come_back_as_they_were(tmp_path: Path) -> None:
    attributes = {key: value for key, value in HOSTILE.items() if key not in ("none", "tiny")}
    record = {
        "kind": "log",
        "timestamp": 5,
        "extensionId": "x",
        "level": "info",
        "msg": "m",
        "conversationId": "c1",
        "attributes": attributes,
    }
    write_journal(tmp_path / "t.ndjson", [record])
    bring(tmp_path / "t.ndjson")
    assert json.dumps(TraceRecord.objects.get().fields["attributes"]) == json.dumps(attributes)


@pytest.mark.django_db
def test_what_has_no_time_stands_last(tmp_path: Path) -> None:
    store = Store()
    for name in ("c1", "c2", "c3"):
        store.append(U("hi"), to=name, now=int(name[1]))
    del store.values["conv:c3:meta"]
    imported(tmp_path / "a.db", store)
    assert [row.native_id for row in Conversation.objects.all()] == ["c2", "c1", "c3"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "path",
    [
        "/conversations/?q=%00",
        "/conversations/?rule=%00&source=%00&state=%00",
        "/explain/?target=%00%ED%A0%80&error=%00",
        "/whatif/?a=%00&b=%00",
    ],
)
def test_what_a_database_cannot_hold_is_looked_for_in_vain(client: Client, tmp_path: Path, path: str) -> None:
    imported(tmp_path / "a.db", merged())
    assert client.get(path).status_code in (200, 400, 404)


@pytest.mark.django_db
def test_no_address_of_a_conversation_breaks_on_it(client: Client, tmp_path: Path) -> None:
    oid = imported(tmp_path / "a.db", merged()).oid
    for query in ("at", "leaf", "reader", "profile", "q", "turn", "step", "rev", "page", "rule", "strategy", "mode"):
        for page in ("", "trace/", "prompt/", "repairs/new/"):
            for value in ("%00", "%ED%A0%80", "9" * 30):
                address = f"/conversations/{oid}/{page}?{query}={value}"
                assert client.get(address).status_code in (200, 302, 404), address


@pytest.mark.django_db
def test_order_goes_by_the_bytes_of_the_keys_and_not_by_the_words_of_a_language(tmp_path: Path) -> None:
    """Rows that came later follow all others in the database: keys tell the order, and no collation."""
    conversation = imported(tmp_path / "a.db", merged().append(U("and"), U("on")))
    keys = [record.key for record in loading.stored(conversation).records]
    assert keys == sorted(keys, key=str.encode) and len(keys) == Record.objects.count() > 6


@pytest.fixture
def old(tmp_path: Path, transactional_db: None) -> Iterator[str]:
    """The alias of a database that begins with any version: an empty file, since all versions would have to be taken back from the one of the tests,
    which it is on a server."""
    if connection.vendor != "sqlite":
        yield "default"
        last = MigrationExecutor(connection)
        last.migrate(last.loader.graph.leaf_nodes())
        return
    connections.databases["old"] = {**connection.settings_dict, "NAME": tmp_path / "old.sqlite3"}
    connections["old"].connect()
    yield "old"
    connections["old"].close()
    del connections["old"], connections.databases["old"]


def test_rows_of_the_versions_before_are_kept(old: str) -> None:
    """JSON columns become text, the longest ids find room, and a change of one string of a list is still one after members came."""

    def rows_of(version: str) -> Callable[[str], Any]:
        executor = MigrationExecutor(connections[old])
        executor.migrate([("inspector", version)])
        apps = executor.loader.project_state([("inspector", version)]).apps
        return lambda name: apps.get_model("inspector", name).objects.using(old)

    rows = rows_of("0004_conversation_judges")
    at = "2026-02-01T00:00:00Z"
    source = rows("Source").create(oid="s" * 12, path="/a", format="dispatch", read_at=at, problems=[{"where": "a", "reason": "é"}])
    row = rows("Conversation").create(oid="c" * 12, source=source, native_id="c1", revision=1)
    rows("Revision").create(conversation=row, number=1, digest="d", seen_at=at, shared_facts={"f": None})
    rows("TraceRecord").create(
        source=source, record_id="r", kind="log", timestamp=1, order=1, conversation_id=CONVERSATION, fields={"links": [1, {"a": 1.5}]}
    )
    rows = rows_of("0006_streams")
    times = {"proposed_at": at, "revision": 1, "strategies": [], "options": {}, "rehearsal": {}}
    repair = rows("Repair").create(oid="r" * 12, conversation_id=row.pk, **times)
    for position, element in enumerate((True, False)):
        rows("RepairChange").create(repair=repair, position=position, key=b"conv-index", element=element)
    rows = rows_of("0007_change_of_a_member")
    assert rows("Source").get().problems == [{"where": "a", "reason": "é"}]
    assert rows("Revision").get().shared_facts == {"f": None} and rows("TraceRecord").get().fields == {"links": [1, {"a": 1.5}]}
    assert rows("TraceRecord").get().conversation_id == CONVERSATION
    assert [row.element for row in rows("RepairChange").all()] == ["string", ""]
    rows("Conversation").create(oid="e" * 12, source=rows("Source").get(), native_id=LONG)


def test_a_reader_has_no_name_without_end() -> None:
    """A column has room for the longest, in which each word stands once."""
    assert len(reader("dispatch-global-index+r1+r2+keep-thinking+new-rows").name) <= 80
    with pytest.raises(UnknownReader):
        reader("dispatch-global-index" + "+r1" * 50)
