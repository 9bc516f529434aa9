"""Captured streams in problems: what is new, repaired, gone and regressed by what imports of a capture find; nothing is ever written to one."""

import os
from importlib import import_module
from pathlib import Path

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from inspector.actions.import_source import import_targets
from inspector.models import AuditEntry, Conversation, Occurrence, Problem, ProblemDay, Source, Stream, StreamFinding, occurrences
from tests.actions.test_import_streams import WHOLE, brought, har
from tests.models.test_counting import assert_true, stored
from tests.streams.spoken import ROLE, sse, text
from tests.views.imported import MERGED, rows, store

pytestmark = pytest.mark.django_db
State = Occurrence.State
CUT = sse(ROLE, text("Hi"))
OTHER_CUT = sse(ROLE, text("Hello"))
CODE = "STREAM106"
AT, DAY = 1782000000, 86_400


def written(path: Path, *bodies: bytes, at: int = AT) -> None:
    har(path, *bodies)
    os.utime(path, (at, at))
    brought(path)


def problem() -> Problem:
    return Problem.objects.select_related("source").get(code=CODE)


def states() -> list[tuple[int, bool]]:
    of_streams = Occurrence.objects.filter(problem__code=CODE).order_by("place")
    return [(row.state, row.regressed_at is not None) for row in of_streams]


def events() -> list[str]:
    return list(problem().events.order_by("pk").values_list("verb", flat=True))


def test_a_rule_in_a_capture_is_one_problem_of_its_streams(tmp_path: Path) -> None:
    written(tmp_path / "x.har", WHOLE, CUT, CUT)
    row = problem()
    assert (row.conversations, row.total, row.state, row.severity, row.is_of_streams, row.noun) == (2, 2, "open", "error", True, "stream")
    assert (row.first_seen, row.last_seen) == (AT * 1000, AT * 1000), "a capture is as old as its file"
    assert [(str(day), number) for day, number in row.days.values_list("day", "occurrences")] == [("2026-06-21", 2)]
    assert row.findings == sum(stream.findings.filter(code=CODE).count() for stream in Stream.objects.all()) and events() == []
    assert_true()


def test_a_healthy_capture_is_none(tmp_path: Path) -> None:
    written(tmp_path / "x.har", WHOLE, WHOLE)
    assert not Problem.objects.exists() and not Occurrence.objects.exists()


def test_the_same_bytes_again_change_nothing_whatever_the_file_says_of_its_age(tmp_path: Path) -> None:
    written(tmp_path / "x.har", WHOLE, CUT)
    before = stored()
    written(tmp_path / "x.har", WHOLE, CUT, at=AT + DAY)
    assert stored() == before and events() == []


def test_repaired_when_no_longer_found_and_regressed_when_found_in_other_bytes(tmp_path: Path) -> None:
    path = tmp_path / "x.har"
    written(path, CUT, CUT)
    written(path, WHOLE, CUT, at=AT + DAY)
    assert states() == [(State.REPAIRED, False), (State.OPEN, False)] and problem().state == "open"
    written(path, WHOLE, WHOLE, at=AT + DAY)
    assert problem().state == "repaired" and problem().conversations == 0
    assert_true()
    written(path, OTHER_CUT, WHOLE, at=AT + 2 * DAY)
    assert problem().state == "regressed" and states() == [(State.OPEN, True), (State.REPAIRED, False)]
    assert problem().last_seen == (AT + 2 * DAY) * 1000 and events() == ["repaired", "occurred again"]
    assert sum(problem().days.values_list("occurrences", flat=True)) == 3, "it is a new occurrence on its day"
    assert_true()


def test_other_bytes_that_show_it_still_are_no_regression(tmp_path: Path) -> None:
    written(tmp_path / "x.har", CUT)
    written(tmp_path / "x.har", OTHER_CUT, at=AT + DAY)
    assert Stream.objects.get().revision == 2 and problem().state == "open" and states() == [(State.OPEN, False)] and events() == []
    assert_true()


def test_another_verdict_on_the_same_bytes_is_no_regression(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.har"
    written(path, CUT)
    Stream.objects.get().findings.filter(code=CODE).delete()
    # As a version without the rule would have left it.
    occurrences.renew_streams([Stream.objects.get().pk])
    assert problem().state == "repaired"
    monkeypatch.setattr("inspector.__version__", "99")
    written(path, CUT)
    assert problem().state == "open" and states() == [(State.OPEN, False)] and events() == ["repaired", "opened again"]


def test_gone_and_back_is_no_regression(tmp_path: Path) -> None:
    path = tmp_path / "x.har"
    written(path, WHOLE, CUT)
    written(path, WHOLE)
    assert states() == [(State.GONE, False)] and problem().state == "repaired"
    written(path, WHOLE, CUT)
    assert states() == [(State.OPEN, False)] and problem().state == "open" and events() == ["repaired", "opened again"]
    assert_true()


def test_an_occurrence_is_of_a_conversation_or_of_a_stream(tmp_path: Path) -> None:
    store(tmp_path / "a.db", rows("one", MERGED))
    written(tmp_path / "x.har", CUT)
    conversation, stream = Conversation.objects.get(), Stream.objects.get()
    of_one = {"problem": Problem.objects.exclude(code=CODE)[0], "state": 0, "rank": 0, "place": 0, "findings": 1, "first_at": 0}
    for ids in ({}, {"conversation": conversation, "stream": stream}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Occurrence.objects.create(**of_one, **ids)
    Occurrence.objects.filter(stream=None).delete()
    Occurrence.objects.create(**of_one, conversation=conversation)


def test_problems_go_with_their_capture_and_its_streams(tmp_path: Path) -> None:
    written(tmp_path / "x.har", CUT)
    Source.objects.get().delete()
    assert not Problem.objects.exists() and not ProblemDay.objects.exists()


def test_an_import_asks_as_often_however_many_streams_show_the_rule(tmp_path: Path) -> None:
    def asked(name: str, number: int) -> int:
        har(tmp_path / name, *[CUT] * number)
        with CaptureQueriesContext(connection) as queries:
            brought(tmp_path / name)
        tables = ("inspector_problem", "inspector_occurrence")
        return sum(any(f'FROM "{table}' in query["sql"] for table in tables) for query in queries.captured_queries)

    assert asked("few.har", 2) == asked("many.har", 40)


def test_the_migration_fills_what_an_import_would_have_written(tmp_path: Path) -> None:
    path = tmp_path / "x.har"
    written(path, CUT, WHOLE, CUT)
    written(path, CUT, WHOLE)
    store(tmp_path / "a.db", rows("one", MERGED))
    # What the migration cannot know without reading the capture again.
    ProblemDay.objects.filter(problem__source__is_trace=True).update(model="")
    before = stored()
    assert {row.state for row in Occurrence.objects.filter(conversation=None)} == {State.OPEN, State.GONE}
    Problem.objects.filter(source__is_trace=True).delete()
    import_module("inspector.migrations.0038_stream_occurrences_filled").fill(apps, connection.schema_editor())
    assert stored() == before
    assert_true()


def test_the_migration_renames_what_is_kept_of_older_names(tmp_path: Path) -> None:
    written(tmp_path / "x.har", CUT)
    findings, problems = StreamFinding.objects.filter(code=CODE), Problem.objects.filter(code=CODE)
    assert findings.update(rule="missing_terminal") and problems.update(rule="missing_terminal")
    import_module("inspector.migrations.0045_stream_rule_names").rename(apps, connection.schema_editor())
    assert {*findings.values_list("rule", flat=True), *problems.values_list("rule", flat=True)} == {"missing-terminal"}


@pytest.fixture
def captured(tmp_path: Path) -> Problem:
    store(tmp_path / "a.db", rows("one", MERGED, "One"))
    written(tmp_path / "x.har", WHOLE, CUT, CUT)
    return problem()


def listed(client: Client, query: str = "") -> dict[str, tuple[int, int]]:
    report = client.get(f"/index.json{query}").json()
    return {row["code"]: (row["conversations"], row["streams"]) for row in report["problems"]}


def test_the_inbox_lists_it_and_chooses_it_by_kind_source_words_and_severity(client: Client, captured: Problem) -> None:
    every = listed(client)
    assert every[CODE] == (0, 2) and every["MSG101"] == (1, 0)
    of_streams = {code for code in every if code.startswith("STREAM")}
    assert set(listed(client, "?kind=streams")) == set(listed(client, f"?source={captured.source.oid}")) == of_streams
    assert set(listed(client, "?kind=conversations")) == set(every) - of_streams
    assert CODE in listed(client, f"?q={captured.rule}") and CODE in listed(client, "?q=x.har") and CODE not in listed(client, "?q=a.db")
    assert listed(client, "?kind=zzz") == every and CODE not in listed(client, "?kind=streams&severity=note")
    page = client.get("/?kind=streams").content.decode()
    assert (
        page.count('aria-label="Remove the filter:') == 1
        and f"/problems/{captured.oid}/" in page
        and f'value="{captured.source.oid}"' in page
    )


def test_one_starts_with_a_stream_where_nothing_worse_is_in_a_conversation(client: Client, tmp_path: Path) -> None:
    written(tmp_path / "x.har", WHOLE, CUT)
    page = client.get("/").content.decode()
    start = page[page.index("Start here") :][:600]
    assert f"/streams/{Stream.objects.get(position=1).oid}/" in start and "No conversation is damaged; 1 captured" in page


def test_the_page_of_it_has_its_streams_and_what_to_do_but_no_repair(client: Client, captured: Problem) -> None:
    page = client.get(f"/problems/{captured.oid}/").content.decode()
    for stream in Stream.objects.filter(position__gt=0):
        assert f'href="/streams/{stream.oid}/' in page and f'href="/streams/{stream.oid}/corrected/"' in page
        assert client.get(f"/streams/{stream.oid}/corrected/").status_code == 200
    assert "Nothing is written to a capture" in page and "2 of 2 streams" in page and "/repair/" not in page
    report = client.get(f"/problems/{captured.oid}.json").json()
    assert [(row["stream"], row["state"]) for row in report["occurrences"]] == [
        (stream.oid, "open") for stream in Stream.objects.filter(position__gt=0).order_by("position")
    ]
    assert (report["streams"], report["streams_ever"], report["conversations"], report["conversations_ever"]) == (2, 2, 0, 0)
    text = client.get(f"/problems/{captured.oid}.md").content.decode()
    assert "open in 2 of 2 streams" in text and "| stream |" in text
    assert client.get(f"/problems/{captured.oid}/repair/", follow=True).content.decode().count("is never written") == 1
    assert client.get(f"/problems/{captured.oid}/repair.json").status_code == 400
    refused = client.post(f"/problems/{captured.oid}/repair/", {"conversation": "x"}, follow=True).content.decode()
    assert "is never written" in refused


def test_it_is_decided_about_with_others(client: Client, captured: Problem) -> None:
    other = Problem.objects.get(code="MSG101")
    client.post("/problems/decide/", {"problem": [captured.oid, other.oid], "action": "ignore", "reason": "known", "end": "occurs"})
    assert problem().state == "ignored" and Problem.objects.get(pk=other.pk).state == "ignored"
    assert AuditEntry.objects.filter(verb="ignore problem").count() == 2
    written(Path(captured.source.path), CUT, CUT, CUT)
    assert problem().state == "open", "it occurred in another stream"


def test_trends_have_it_by_rule_and_source(client: Client, captured: Problem) -> None:
    def keys(query: str) -> dict[str, int]:
        return {row["key"]: row["total"] for row in client.get(f"/trends.json?{query}").json()["rows"]}

    assert keys("by=rule")[CODE] == 2 and keys(f"by=source&rule={CODE}") == {captured.source.oid: 2}
    assert captured.rule in client.get("/trends/").content.decode()


def test_trends_say_how_many_occurrences_are_in_streams_and_how_many_in_conversations(client: Client, captured: Problem) -> None:
    report = client.get("/trends.json").json()
    streams, conversations = (
        sum(problem.conversations for problem in Problem.objects.filter(source__is_trace=is_trace)) for is_trace in (True, False)
    )
    assert streams >= 2 and conversations
    assert (report["total"], report["in_streams"]) == (report["open"], report["open_in_streams"]) == (streams + conversations, streams)
    assert client.get("/trends/").content.decode().count(f": {conversations} in conversations, {streams} in streams") == 2
    assert "2</b> new occurrences: in streams" in client.get(f"/trends/?rule={CODE}").content.decode()


def test_the_model_of_an_occurrence_is_that_of_the_answer(tmp_path: Path) -> None:
    written(tmp_path / "x.har", CUT.replace(b'"model": "m"', b'"model": "gpt-5\\u202e"'))
    assert Stream.objects.get().model == "gpt-5\\u202e" == ProblemDay.objects.filter(problem__code=CODE)[0].model


def test_a_second_import_of_the_folder_keeps_its_decisions(captured: Problem) -> None:
    Problem.objects.filter(pk=captured.pk).update(decision="acknowledged", assigned_to="ada")
    import_targets([captured.source.path], "tester")
    assert (problem().state, problem().assigned_to) == ("acknowledged", "ada")
