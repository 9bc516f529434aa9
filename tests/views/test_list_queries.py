"""How the pages of lists ask the database: as often, and through the same indexes, however much there is."""

import re
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from inspector.actions import audit
from inspector.models import Conversation, Finding, Problem, Repair, Source, Stream, StreamFinding, counting, occurrences
from inspector.models.transactions import one_writer
from tests.kept import Kept
from tests.views.imported import MERGED, rows, store

pytestmark = pytest.mark.django_db

PAGES = (
    "/",
    "/index.json",
    "/?tab=repaired",
    "/?tab=review",
    "/?q=MSG101&silent=1&severity=error&sort=-seen",
    "/problems/PROBLEM/",
    "/problems/PROBLEM/?page=2",
    "/?kind=streams",
    "/?next_request=rejected",
    "/?next_request=wrong-silently&sort=-seen",
    "/problems/CAPTURED/",
    "/problems/CAPTURED/?page=2",
    "/trends/",
    "/trends/?by=source",
    "/trends/?by=version&rule=MSG101",
    "/conversations/",
    "/conversations.json",
    "/conversations/?page=2",
    "/conversations/?after=-1~1&page=2",
    "/conversations/?before=-1~1&page=2",
    "/conversations/?sort=active&page=2",
    "/conversations/?sort=-chunks",
    "/conversations/?sort=chunks&page=2",
    "/conversations/?state=damaged",
    "/conversations/?state=silent",
    "/conversations/?state=refused",
    "/conversations/?state=healthy",
    "/conversations/?since=2026-06-01",
    "/conversations/?until=2026-06-01&page=2",
    "/conversations/?rule=MSG101",
    "/conversations/?rule=MSG101&page=2",
    "/conversations/?source=SOURCE",
    "/conversations/?source=SOURCE&page=2",
    "/conversations/?gone=1",
    "/sources/",
    "/sources.json",
    "/streams/",
    "/streams.json",
    "/streams/?page=2",
    "/streams/?sort=-severity&page=2",
    "/streams/?sort=events",
    "/streams/?sort=-events&page=2",
    "/streams/?sort=-captured&page=2",
    "/repairs/",
    "/repairs/?page=2",
    "/repairs/?sort=when&page=2",
    "/rules/MSG101/",
)
LARGE = ("conversation", "conversationrule", "occurrence", "finding", "record", "revision", "payload", "stream", "tracerecord", "repair")
"""Tables of which no page of a list may look at every row."""


def filled(tmp_path: Path) -> Source:
    """A source with a conversation that was imported, which all others are like."""
    return store(tmp_path / "a.db", rows("first", MERGED))


def _many(folder: Path) -> Source:
    source = filled(folder)
    more(source, 0, 120)
    return source


def more(source: Source, start: int, count: int) -> None:
    """`count` conversations with two findings each, streams with one, repairs, and lines of the trail."""
    first, finding, now = Conversation.objects.earliest("pk"), Finding.objects.earliest("pk"), timezone.now()
    numbers = range(start, start + count)
    capture, _ = Source.objects.get_or_create(
        oid="5" * 12, defaults={"path": "/captures/a", "format": "capture", "is_trace": True, "read_at": now}
    )
    conversations = [
        Conversation(
            oid=f"{number:012d}", source=source, native_id=f"n{number}", title="One more", last_activity=1782000000000 + number // 2,
            revision=1, chunk_count=2, worst="error" if number % 2 else "", has_silent=bool(number % 2), refused=bool(number % 2),
            is_gone=number % 10 == 0, verdict="merged", projection=first.projection, profile=first.profile,
        )
        for number in numbers
    ]  # fmt: skip
    fields = {
        field.name: getattr(finding, field.name)
        for field in Finding._meta.concrete_fields
        if field.name not in ("id", "oid", "conversation")
    }
    with one_writer():
        Conversation.objects.bulk_create(conversations)
        Finding.objects.bulk_create(
            Finding(**fields, oid=f"{row.oid[1:]}{letter}", conversation=row) for row in conversations if row.worst for letter in "ab"
        )
        counting.renew(row.pk for row in conversations)
        Stream.objects.bulk_create(
            Stream(oid=f"{number:012d}", source=capture, native_id=f"{number}", sides="client", seen_at=now, digest="", rank=number % 3)
            for number in numbers
        )
        StreamFinding.objects.bulk_create(
            StreamFinding(
                oid=row.oid, stream=row, code="STR101", rule="x", severity="error", silent=True, origin="client", message="", side="client"
            )
            for row in Stream.objects.filter(oid__in=[f"{number:012d}" for number in numbers])
        )
        occurrences.renew_streams(Stream.objects.filter(oid__in=[f"{number:012d}" for number in numbers]).values_list("pk", flat=True))
        Source.objects.filter(pk=capture.pk).update(stream_count=start + count, damaged_stream_count=(start + count) // 2)
        Repair.objects.bulk_create(
            Repair(
                oid=f"{number:012d}", conversation=first, revision=1, strategies=["renumber-messages"], state="proposed", proposed_at=now
            )
            for number in numbers
        )
    for number in numbers:
        audit.record("ada", f"act {number}", source_path=source.path)


def named(address: str, source: Source) -> str:
    captured = Problem.oid_of("5" * 12, "STR101")
    return address.replace("SOURCE", source.oid).replace("PROBLEM", Problem.objects.get(code="MSG101").oid).replace("CAPTURED", captured)


def queries_of(client: Client, address: str) -> list[str]:
    with CaptureQueriesContext(connection) as queries:
        assert client.get(address).status_code == 200, address
    return [query["sql"] for query in queries.captured_queries]


def test_the_number_of_queries_of_a_page_does_not_grow(client: Client, tmp_path: Path) -> None:
    source = filled(tmp_path)
    more(source, 0, 120)
    pages = [named(page, source) for page in (*PAGES, "/repairs/?sort=-who&page=2", "/audit/", f"/sources/{source.oid}/", "/rules/")]
    few = {page: len(queries_of(client, page)) for page in pages}
    more(source, 120, 200)
    many = {page: len(queries_of(client, page)) for page in pages}
    assert many == few
    assert max(few.values()) <= 26, "one of them is for crash files"


OF_FEW = ('SELECT COUNT(*) AS "__count" FROM "inspector_repair"', 'SELECT DISTINCT "inspector_repair"."proposed_by"')


@pytest.mark.skipif(
    connection.vendor != "sqlite", reason="The plan of PostgreSQL depends on statistics: with these few rows it reads them all."
)
@pytest.mark.parametrize("address", PAGES)
def test_a_page_looks_at_no_more_rows_than_it_shows(client: Client, kept: Kept, address: str) -> None:
    source = kept("lists", _many)
    for sql in queries_of(client, named(address, source)):
        # People propose repairs one by one: these are counted, and so are the people.
        if not sql.startswith("SELECT") or sql.startswith(OF_FEW):
            continue
        with connection.cursor() as cursor:
            cursor.execute("EXPLAIN QUERY PLAN " + sql.replace("%", "%%"))
            plan = [str(row[-1]) for row in cursor.fetchall()]
        for step in plan:
            scanned = re.match(r"SCAN (?:inspector_)?(\w+)(?: USING (?:COVERING )?INDEX (\w+))?", step)
            # In the order of an index, or of the ids, it ends with the page.
            in_order = scanned is not None and ("listed" in (scanned[2] or "") or scanned[1] == "repair")
            is_cut = in_order and " LIMIT " in sql and not any("TEMP B-TREE" in other for other in plan)
            assert scanned is None or is_cut or scanned[1] not in LARGE, (step, sql)
