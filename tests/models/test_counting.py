"""The stored counts of the lists are those that counting everything would give, after whatever was written."""

from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.db.models import Min
from django.test.utils import CaptureQueriesContext

from inspector.actions.import_source import import_targets
from inspector.actions.set_deployed_reader import set_deployed_reader
from inspector.actions.undo_repair import undo_repair
from inspector.demo.creation import write_dispatch_store
from inspector.models import (
    Conversation,
    ConversationCount,
    ConversationRule,
    Finding,
    Occurrence,
    Problem,
    ProblemDay,
    RuleCount,
    Source,
    Stream,
    StreamFinding,
    TraceRecord,
    counting,
)
from inspector.models.problem import rank_of
from inspector.models.transactions import one_writer
from tests.actions.building import applied, imported, merged
from tests.views.imported import HEALTHY, MERGED, many, rows, store
from tests.views.test_one_snapshot import everything_imported

pytestmark = pytest.mark.django_db
_FLAGS = ("source_id", "is_gone", "is_damaged", "has_silent", "refused", "is_crash", "is_replaced")
_OF_RULE = ("conversation_id", "code", "severity", "silent", "rule", "findings", "first_id", "is_worst", "is_gone", "place")


def stored() -> dict[str, Any]:
    """What is stored for the lists, without what is zero."""
    return {
        "conversations": sorted(ConversationCount.objects.filter(conversations__gt=0).values_list(*_FLAGS, "conversations", "chunks")),
        "rules": sorted(RuleCount.objects.filter(findings__gt=0).values_list("source_id", "code", "severity", "conversations", "findings")),
        "of conversations": sorted(ConversationRule.objects.values_list(*_OF_RULE)),
        "places": sorted(Conversation.objects.values_list("pk", "place", "is_damaged", "is_crash", "counted_chunks")),
        "sources": sorted(
            Source.objects.values_list("pk", "trace_record_count", "stream_count", "damaged_stream_count", "gone_stream_count")
        ),
        "streams": sorted(Stream.objects.values_list("pk", "rank")),
        "problems": sorted(
            Problem.objects.values_list("oid", "code", "rank", "conversations", "findings", "total", "first_seen", "last_seen")
        ),
        "occurrences": sorted(
            Occurrence.objects.values_list(
                "problem__oid", "conversation_id", "state", "rank", "place", "findings", "first_at", "closed_revision", "stream_id"
            )
        ),
        "days": sorted(ProblemDay.objects.values_list("problem__oid", "day", "model", "occurrences")),
    }


def assert_true() -> None:
    """Against a count of every row, in Python."""
    conversations = {row.pk: row for row in Conversation.objects.select_related("source", "counted")}
    counts: Counter[Any] = Counter()
    chunks: Counter[Any] = Counter()
    for row in conversations.values():
        assert row.is_damaged == ((row.worst in ("error", "warning") or row.refused) and not row.is_replaced)
        assert row.is_crash == row.native_id.startswith("crash:")
        assert row.counted is not None
        flags = tuple(getattr(row, name) for name in _FLAGS)
        assert tuple(getattr(row.counted, name) for name in _FLAGS) == flags
        counts[flags] += 1
        chunks[flags] += row.chunk_count
    assert stored()["conversations"] == sorted((*flags, number, chunks[flags]) for flags, number in counts.items())
    findings: dict[tuple[int, str], list[Finding | StreamFinding]] = {}
    for finding in Finding.objects.filter(is_open=True).order_by("pk"):
        findings.setdefault((finding.conversation_id, finding.code), []).append(finding)
    of_rules: Counter[Any] = Counter()
    number_of_findings: Counter[Any] = Counter()
    for (pk, code), of_rule in findings.items():
        if not conversations[pk].is_gone and not conversations[pk].is_replaced:
            worst = min(of_rule, key=lambda finding: ("error", "warning", "note").index(finding.severity))
            of_rules[conversations[pk].source_id, code, worst.severity] += 1
            number_of_findings.update((conversations[pk].source_id, code, finding.severity) for finding in of_rule)
    expected = sorted((*key, of_rules[key], number) for key, number in number_of_findings.items())
    assert stored()["rules"] == expected
    assert ConversationRule.objects.filter(is_worst=True).count() == sum(not conversations[pk].is_replaced for pk, _ in findings)
    of_streams: dict[tuple[int, str], list[Finding | StreamFinding]] = {}
    for of_stream in StreamFinding.objects.all():
        of_streams.setdefault((of_stream.stream_id, of_stream.code), []).append(of_stream)
    streams = Stream.objects.in_bulk()
    for row in Occurrence.objects.select_related("problem__source"):
        assert row.problem.is_of_streams == (row.stream_id is not None) != (row.conversation_id is not None)
    assert_occurrences_true(
        {(row.conversation_id, row.problem.code): row for row in Occurrence.objects.filter(stream=None).select_related("problem")},
        {pk: (row.source_id, row.place, not row.is_gone and not row.is_replaced) for pk, row in conversations.items()},
        findings,
    )
    assert_occurrences_true(
        {(row.stream_id, row.problem.code): row for row in Occurrence.objects.filter(conversation=None).select_related("problem")},
        {pk: (row.source_id, row.position, not row.is_gone) for pk, row in streams.items()},
        of_streams,
    )
    assert_problems_true()
    for source in Source.objects.all():
        assert source.trace_record_count == TraceRecord.objects.filter(source=source).count()
        assert source.stream_count == source.streams.filter(is_gone=False).count()
        assert source.damaged_stream_count == source.streams.filter(is_gone=False, worst__in=("error", "warning")).count()
        assert source.gone_stream_count == source.streams.filter(is_gone=True).count()


def assert_occurrences_true(
    by_key: Mapping[tuple[int | None, str], Occurrence],
    subjects: Mapping[int, tuple[int, int, bool]],
    findings: Mapping[tuple[int, str], Sequence[Finding | StreamFinding]],
) -> None:
    """`subjects`: (source, place, whether what is found in it is open) of each; `findings` are the open ones of each and rule."""
    assert {key for key, row in by_key.items() if row.state == Occurrence.State.OPEN} == {key for key in findings if subjects[key[0]][2]}
    for (pk, code), row in by_key.items():
        assert pk is not None and (row.problem.source_id, row.place) == subjects[pk][:2]
        if row.state == Occurrence.State.OPEN:
            nobody_is_told = row.conversation is not None and row.conversation.is_silent
            ranks = [rank_of(finding.severity, finding.silent or nobody_is_told) for finding in findings[pk, code]]
            assert (row.rank, row.findings, row.closed_at, row.repair) == (min(ranks), len(ranks), None, None)


def assert_problems_true() -> None:
    occurrences = list(Occurrence.objects.all())
    for problem in Problem.objects.all():
        of_problem = [row for row in occurrences if row.problem_id == problem.pk]
        opened = [row for row in of_problem if row.state == Occurrence.State.OPEN]
        assert (problem.conversations, problem.findings, problem.total) == (
            len(opened), sum(row.findings for row in opened), len(of_problem),
        )  # fmt: skip
        assert problem.total and problem.rank == min((row.rank for row in opened), default=problem.rank)
        assert (problem.repaired_at is None) == bool(opened)
        assert problem.first_seen == min(row.first_at for row in of_problem)
        ours = Conversation.objects.filter(forked_by__isnull=False, occurrences__problem=problem).count()
        assert sum(day.occurrences for day in problem.days.all()) >= len(of_problem) - ours


def written_again(path: Path, *conversations: list[tuple[str, str, str]]) -> None:
    path.unlink()
    write_dispatch_store(path, [row for conversation in conversations for row in conversation])
    import_targets([str(path)], "tester")


def test_of_every_kind_of_source(tmp_path: Path) -> None:
    everything_imported(tmp_path)
    assert_true()
    assert Conversation.objects.filter(is_crash=True).exists() and Source.objects.filter(trace_record_count__gt=0).exists()
    assert Source.objects.filter(stream_count__gt=0).exists() and RuleCount.objects.count() > 5


def test_of_what_changes_leaves_and_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store(path, rows("changes", MERGED) + rows("leaves", MERGED) + rows("stays", HEALTHY))
    present = stored()
    assert_true()
    written_again(path, rows("changes", HEALTHY), rows("stays", HEALTHY))
    assert_true()
    assert not RuleCount.objects.filter(findings__gt=0).exists() and ConversationRule.objects.get().is_gone
    written_again(path, rows("changes", MERGED), rows("leaves", MERGED), rows("stays", HEALTHY))
    assert_true()
    assert [stored()[name] for name in ("conversations", "rules")] == [present[name] for name in ("conversations", "rules")]


def test_of_a_repair_and_its_undo(tmp_path: Path) -> None:
    conversation = imported(tmp_path / "a.db", merged())
    assert_true()
    before = stored()
    repair = applied(conversation, "renumber-messages")
    assert_true()
    assert stored()["rules"] != before["rules"]
    undo_repair(repair, "tester", interactive=True)
    assert_true()
    assert [stored()[name] for name in ("conversations", "rules")] == [before[name] for name in ("conversations", "rules")]


def test_of_another_reader(tmp_path: Path) -> None:
    source = many(tmp_path / "a.db", 6)
    before = stored()
    set_deployed_reader(source, "tester", "dispatch-role-split")
    assert_true()
    assert stored()["rules"] != before["rules"]


def test_the_demo_s_conversations_move_when_another_store_is_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    source = store(path, rows("one", MERGED))
    own = Conversation.objects.get().place
    import_targets([source.path], "tester", demo=True)
    demo = Conversation.objects.get().place
    assert demo > counting.NO_ACTIVITY > own and ConversationRule.objects.filter(place=demo).exists()
    written_again(path, rows("another", MERGED))
    assert not Source.objects.get().is_demo
    assert {row.place for row in Conversation.objects.all()} == {own}
    assert_true()


def test_what_is_counted_again_does_not_change(tmp_path: Path) -> None:
    everything_imported(tmp_path)
    before = stored()
    with one_writer():
        counting.renew(Conversation.objects.values_list("pk", flat=True))
    assert stored() == before


def test_an_import_counts_what_it_touched_however_much_there_is(tmp_path: Path) -> None:
    path = tmp_path / "a.db"

    def queries_for_one(number: int) -> int:
        many(path, number)
        pk = Conversation.objects.filter(native_id="conversation-001").values_list("pk", flat=True)
        with one_writer(), CaptureQueriesContext(connection) as queries:
            counting.renew(list(pk))
        path.unlink()
        return len(queries)

    assert queries_for_one(4) == queries_for_one(30)


def test_the_migration_fills_what_an_import_would_have_written(tmp_path: Path) -> None:
    everything_imported(tmp_path)
    path = tmp_path / "a.db"
    store(path, rows("leaves", MERGED) + rows("stays", MERGED))
    written_again(path, rows("stays", MERGED))
    source = store(tmp_path / "b.db", rows("demo", MERGED))
    import_targets([source.path], "tester", demo=True)
    before = stored()
    ConversationRule.objects.all().delete()
    RuleCount.objects.all().delete()
    Conversation.objects.update(counted=None, counted_chunks=0, place=counting.NO_ACTIVITY, is_damaged=False, is_crash=False)
    ConversationCount.objects.all().delete()
    Source.objects.update(trace_record_count=0, stream_count=0, damaged_stream_count=0, gone_stream_count=0)
    Stream.objects.update(rank=2)
    import_module("inspector.migrations.0020_lists_filled").fill(apps, connection.schema_editor())
    assert stored() == before
    assert_true()


def test_the_migration_ranks_what_nothing_reports_as_an_import_would(tmp_path: Path) -> None:
    everything_imported(tmp_path)
    occurrences = Occurrence.objects.order_by("pk")
    before = list(occurrences.values_list("pk", "rank")), list(Problem.objects.order_by("pk").values_list("pk", "rank"))
    for row in occurrences.filter(conversation__isnull=False, state=Occurrence.State.OPEN):
        opened = Finding.objects.filter(conversation=row.conversation, code=row.problem.code, is_open=True)
        Occurrence.objects.filter(pk=row.pk).update(rank=min(rank_of(one.severity, one.silent) for one in opened))
    for problem in Problem.objects.filter(conversations__gt=0):
        problem.rank = problem.occurrences.filter(state=Occurrence.State.OPEN).aggregate(Min("rank"))["rank__min"]
        problem.save()
    older = list(occurrences.values_list("pk", "rank")), list(Problem.objects.order_by("pk").values_list("pk", "rank"))
    assert all(now != then for now, then in zip(before, older, strict=True)), "the demo has some of both kinds"
    import_module("inspector.migrations.0056_silent_occurrences").fill(apps, connection.schema_editor())
    assert (list(occurrences.values_list("pk", "rank")), list(Problem.objects.order_by("pk").values_list("pk", "rank"))) == before
