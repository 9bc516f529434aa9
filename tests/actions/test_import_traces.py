"""Traces find their stores: those of the same call, and else the ones that know one of their ids; several sources are one trace."""

from pathlib import Path
from typing import Any

import pytest

from inspector.demo import dispatch_incident
from inspector.demo.creation import write_journal, write_trace_store
from inspector.models import Conversation, Source, TraceRecord, loading
from inspector.traces.model import Trace
from tests.actions.building import bring, imported, make, merged

pytestmark = pytest.mark.django_db

RECORDS = dispatch_incident.trace_records()
ID = dispatch_incident.CONVERSATION


def store(path: Path, native_id: str = ID) -> Path:
    return make(path, merged(to=native_id).values)


def trace(path: Path) -> Path:
    write_trace_store(path, RECORDS)
    return path


def seen(native_id: str = ID) -> Trace | None:
    loading._trace.cache_clear()
    conversation = Conversation.objects.get(native_id=native_id)
    return loading.trace(conversation, native_id)


def shape(found: Trace | None) -> list[tuple[str, int]]:
    assert found is not None
    return [(turn.turn_id, len(turn.steps)) for turn in found.turns]


def test_traces_of_one_call_belong_to_its_stores_whatever_they_hold(tmp_path: Path) -> None:
    bring(store(tmp_path / "a.db", "of-another-id"), trace(tmp_path / "traces.db"))
    assert [source.path.rsplit("/", 1)[1] for source in Source.objects.get(path__endswith="a.db").traces.all()] == ["traces.db"]
    found = seen("of-another-id")
    assert found is not None and found.turns == []


def test_traces_that_come_later_find_the_store_by_id(tmp_path: Path) -> None:
    bring(store(tmp_path / "mine.db"))
    bring(store(tmp_path / "other.db", "other"))
    assert seen() is None
    bring(trace(tmp_path / "traces.db"))
    assert [steps for _, steps in shape(seen())] == [1, 1, 2]
    assert not Source.objects.get(path__endswith="other.db").traces.exists()


def test_a_trace_that_comes_later_is_judged_with_and_makes_no_new_revision(tmp_path: Path) -> None:
    conversation = imported(tmp_path / "mine.db", merged(to=ID), ID)
    Conversation.objects.update(verdict="as judged without a trace")
    bring(trace(tmp_path / "traces.db"))
    conversation.refresh_from_db()
    assert conversation.revision == 1 and conversation.verdict != "as judged without a trace"


def test_the_same_trace_twice_adds_no_record(tmp_path: Path) -> None:
    bring(store(tmp_path / "mine.db"), trace(tmp_path / "traces.db"))
    count = TraceRecord.objects.count()
    bring(tmp_path / "traces.db")
    assert TraceRecord.objects.count() == count == len(RECORDS)


def test_journal_its_rotated_part_and_the_database_are_one_trace(tmp_path: Path) -> None:
    third = len(RECORDS) // 3
    write_journal(tmp_path / "dispatch.ndjson.1", RECORDS[:third])
    write_journal(tmp_path / "dispatch.ndjson", RECORDS[third : 2 * third])
    write_trace_store(tmp_path / "traces.db", RECORDS[third // 2 :])
    bring(store(tmp_path / "mine.db"), tmp_path / "dispatch.ndjson", tmp_path / "traces.db")
    assert Source.objects.filter(is_trace=True).count() == 2
    merged_trace = seen()
    Source.objects.all().delete()
    bring(store(tmp_path / "whole.db"), trace(tmp_path / "whole-traces.db"))
    whole = seen()
    assert shape(merged_trace) == shape(whole) and merged_trace is not None and whole is not None
    assert [step.step_id for step in merged_trace.steps()] == [step.step_id for step in whole.steps()]


HOSTILE: dict[str, Any] = {
    "kind": "\ud800" * 40,
    "extensionId": "\ud800\x00",
    "timestamp": 5,
    "msg": "\ud800",
    "conversationId": ID,
    "turnId": "turn\ud800\x00",
    "spanId": "\udfff",
}


def test_records_of_hostile_text_are_kept(tmp_path: Path) -> None:
    write_journal(tmp_path / "dispatch.ndjson", [HOSTILE, *RECORDS])
    bring(store(tmp_path / "mine.db"), tmp_path / "dispatch.ndjson")
    assert TraceRecord.objects.count() == len(RECORDS) + 1
    assert len(shape(seen())) == 4
