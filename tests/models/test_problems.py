"""What becomes of a problem: open, repaired, regressed, ignored until it occurs again; and a conversation that a fork replaced."""

import json
import time
from datetime import datetime, tzinfo
from importlib import import_module
from pathlib import Path

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client

from inspector.actions import decide_problem
from inspector.actions.decide_problem import Decision
from inspector.actions.import_source import import_targets
from inspector.actions.purge import purge
from inspector.actions.set_deployed_reader import set_deployed_reader
from inspector.actions.undo_repair import undo_repair
from inspector.models import (
    Conversation,
    ConversationCount,
    ConversationRule,
    Finding,
    Occurrence,
    Problem,
    ProblemDay,
    Repair,
    RuleCount,
    Source,
    counting,
)
from inspector.models.problem import ProblemState, in_states
from inspector.models.transactions import one_writer
from tests.actions.building import U, again, applied, approved, broken, imported, merged, put
from tests.models.test_counting import assert_true, stored, written_again
from tests.views.imported import HEALTHY, MERGED, rows, store

pytestmark = pytest.mark.django_db
State = Occurrence.State
DAY = 86_400_000
AT = 1782000000000


def problem() -> Problem:
    return Problem.objects.get(code="MSG101")


def state_of(native_id: str) -> tuple[int, bool]:
    row = Occurrence.objects.get(problem__code="MSG101", conversation__native_id=native_id)
    return row.state, row.regressed_at is not None


def damaged() -> int:
    return sum(ConversationCount.objects.filter(is_damaged=True, is_gone=False).values_list("conversations", flat=True))


def events() -> list[str]:
    return list(problem().events.order_by("pk").values_list("verb", flat=True))


def test_of_what_is_imported_once(tmp_path: Path) -> None:
    store(tmp_path / "a.db", rows("one", MERGED) + rows("two", MERGED, at=AT + DAY) + rows("fine", HEALTHY, at=AT + 9 * DAY))
    row = problem()
    assert (row.conversations, row.total, row.state, row.repaired_at, row.severity, row.silent) == (2, 2, "open", None, "error", True)
    assert (row.first_seen, row.last_seen) == (AT, AT + DAY)
    assert [(str(day), number) for day, number in row.days.order_by("day").values_list("day", "occurrences")] == [
        ("2026-06-21", 1), ("2026-06-22", 1),
    ]  # fmt: skip
    assert events() == []


def test_an_import_that_brings_nothing_new_changes_nothing(tmp_path: Path) -> None:
    source = store(tmp_path / "a.db", rows("one", MERGED))
    before = stored()
    import_targets([source.path], "tester")
    assert stored() == before and events() == []


def test_without_an_occurrence_it_is_repaired_and_with_the_next_regressed(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store(path, rows("one", MERGED))
    written_again(path, rows("one", HEALTHY))
    assert problem().state == "repaired" and problem().regressed_at is None and state_of("one") == (State.REPAIRED, False)
    written_again(path, rows("one", HEALTHY), rows("two", MERGED, at=AT + DAY))
    assert problem().state == "regressed" and problem().repaired_at is None
    assert state_of("one") == (State.REPAIRED, False) and state_of("two") == (State.OPEN, False)
    written_again(path, rows("one", HEALTHY), rows("two", HEALTHY, at=AT + DAY))
    assert problem().state == "repaired" and problem().regressed_at is None
    assert events() == ["repaired", "occurred again", "repaired"]
    assert_true()


def test_a_conversation_that_had_been_repaired_and_is_damaged_again_is_a_regression(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store(path, rows("one", MERGED) + rows("other", MERGED))
    written_again(path, rows("one", HEALTHY), rows("other", MERGED))
    assert (problem().state, problem().conversations, problem().total) == ("open", 1, 2), "the other is still open"
    written_again(path, rows("one", MERGED, at=AT + DAY), rows("other", MERGED))
    assert problem().state == "regressed" and state_of("one") == (State.OPEN, True) and problem().total == 2
    assert sum(problem().days.values_list("occurrences", flat=True)) == 3, "it is a new occurrence on its day"
    assert_true()


def test_another_conversation_of_an_open_problem_is_no_regression(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store(path, rows("one", MERGED))
    written_again(path, rows("one", MERGED), rows("two", MERGED))
    assert problem().state == "open" and events() == []


def test_what_is_gone_and_comes_back_is_no_regression(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store(path, rows("one", MERGED) + rows("other", HEALTHY))
    written_again(path, rows("other", HEALTHY))
    assert state_of("one") == (State.GONE, False) and problem().state == "repaired"
    written_again(path, rows("one", MERGED), rows("other", HEALTHY))
    assert state_of("one") == (State.OPEN, False) and problem().state == "open" and events() == ["repaired", "opened again"]
    assert_true()


def test_another_reader_and_back_is_no_regression(tmp_path: Path) -> None:
    source = store(tmp_path / "a.db", rows("one", MERGED))
    set_deployed_reader(source, "tester", "dispatch-role-split")
    assert problem().state == "repaired"
    set_deployed_reader(Source.objects.get(), "tester", "dispatch-legacy")
    assert problem().state == "open" and state_of("one") == (State.OPEN, False)
    assert_true()


def test_a_repair_is_named_and_its_undo_is_no_regression(tmp_path: Path) -> None:
    repair = applied(imported(tmp_path / "a.db", merged()), "renumber-messages")
    assert problem().state == "repaired" and Occurrence.objects.get(problem=problem()).repair == repair
    undo_repair(repair, "tester", interactive=True)
    assert problem().state == "open" and Occurrence.objects.get(problem=problem()).repair is None
    assert events() == ["repaired", "opened again"]
    assert_true()


def test_a_repair_that_its_program_overwrites_is_a_regression(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    applied(imported(path, merged()), "renumber-messages")
    for key, value in merged().values.items():
        put(path, key, value)
    again(path)
    assert problem().state == "regressed" and state_of("c1") == (State.OPEN, True)
    assert_true()


@pytest.fixture
def forked(tmp_path: Path) -> Repair:
    return applied(imported(tmp_path / "a.db", merged()), "renumber-messages", mode="fork")


def test_what_a_fork_replaced_counts_as_repaired(forked: Repair) -> None:
    original, fork = Conversation.objects.get(native_id="c1"), Conversation.objects.get(native_id=forked.options["fork_id"])
    assert (original.is_replaced, original.is_damaged, fork.is_replaced, fork.is_damaged, fork.forked_by) == (
        True,
        False,
        False,
        False,
        forked,
    )
    assert original.findings.filter(is_open=True).exists(), "it is still in the original"
    assert (
        damaged() == 0
        and not RuleCount.objects.filter(conversations__gt=0).exists()
        and not RuleCount.objects.filter(findings__gt=0).exists()
    )
    assert not ConversationRule.objects.filter(is_worst=True).exists()
    row = Occurrence.objects.get(problem=problem())
    assert (row.state, row.repair, problem().state) == (State.REPLACED, forked, "repaired")
    assert_true()


def test_undoing_the_fork_brings_it_back(forked: Repair) -> None:
    undo_repair(forked, "tester", interactive=True)
    assert damaged() == 1 and problem().state == "open" and state_of("c1") == (State.OPEN, False)
    assert RuleCount.objects.get(code="MSG101").conversations == 1
    assert_true()


def test_a_client_that_writes_on_in_the_original_brings_it_back_as_a_regression(forked: Repair, tmp_path: Path) -> None:
    values = merged()
    values.append(U("and one more"))
    for key, value in values.values.items():
        if key != "conv-index":
            put(tmp_path / "a.db", key, value)
    again(tmp_path / "a.db")
    assert damaged() == 1 and problem().state == "regressed" and state_of("c1") == (State.OPEN, True)
    assert_true()


def test_a_fork_that_is_deleted_replaces_nothing(forked: Repair, tmp_path: Path) -> None:
    (tmp_path / "a.db").unlink()
    values = merged().values
    imported(tmp_path / "a.db", values)
    assert damaged() == 1 and problem().state == "open"
    assert_true()


def test_a_fork_that_still_has_the_rule_is_no_new_occurrence(tmp_path: Path, client: Client) -> None:
    original = imported(tmp_path / "a.db", broken())
    days = sum(ProblemDay.objects.values_list("occurrences", flat=True))
    repair = applied(original, "renumber-messages", mode="fork")
    fork = Conversation.objects.get(native_id=repair.options["fork_id"])
    rest = Occurrence.objects.filter(conversation=fork, state=State.OPEN)
    assert rest and fork.is_damaged and damaged() == 1
    assert not Problem.objects.filter(regressed_at__isnull=False).exists()
    assert sum(ProblemDay.objects.values_list("occurrences", flat=True)) == days
    assert_true()
    of_both = Problem.objects.filter(pk__in=rest.values("problem"), occurrences__conversation=original)
    assert of_both
    for still in of_both:
        assert (still.state, still.repaired_at, still.events.count()) == ("open", None, 0), "it was never repaired, nor opened again"
        page, twin = (client.get(f"/problems/{still.oid}{ending}") for ending in ("/", ".json"))
        assert "carried on in a fork, which has it too" in page.content.decode() and "repaired by a fork" not in page.content.decode()
        assert {row["state"] for row in twin.json()["occurrences"]} == {"open", "carried on in a fork, which has it too"}
        finding = Finding.objects.get(conversation=original, code=still.code)
        assert "the fork has it too" in client.get(f"/findings/{finding.oid}.json").json()["fate"]


def test_an_approved_fork_replaces_nothing_yet(tmp_path: Path) -> None:
    approved(imported(tmp_path / "a.db", merged()), "renumber-messages", mode="fork")
    again(tmp_path / "a.db")
    assert damaged() == 1 and problem().state == "open"


def decide(**fields: object) -> None:
    Problem.objects.filter(code="MSG101").update(**fields)


def test_acknowledged_it_stays_so_until_it_regresses(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store(path, rows("one", MERGED))
    decide(decision="acknowledged")
    written_again(path, rows("one", MERGED), rows("two", MERGED))
    assert problem().state == "acknowledged"
    written_again(path, rows("one", HEALTHY), rows("two", HEALTHY))
    written_again(path, rows("one", MERGED), rows("two", HEALTHY))
    assert problem().state == "regressed"


@pytest.mark.parametrize(
    ("fields", "after"),
    [
        pytest.param({}, "ignored", id="for good"),
        pytest.param({"until_occurs": True}, "open", id="until it occurs again"),
        pytest.param({"ignored_until": "2999-01-01"}, "ignored", id="until a later day"),
        pytest.param({"ignored_until": "2026-01-01"}, "open", id="until a day that was"),
    ],
)
def test_ignored_it_stays_so_as_long_as_was_decided(tmp_path: Path, fields: dict[str, object], after: str) -> None:
    path = tmp_path / "a.db"
    store(path, rows("one", MERGED))
    decide(decision="ignored", **fields)
    written_again(path, rows("one", MERGED), rows("two", MERGED))
    assert problem().state == after and problem().conversations == 2


def test_the_end_of_ignoring_is_a_day_in_utc_however_the_clock_jumps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forth, back and across the end, in the last second of a day and with a zone of the process that is a day ahead: the state and each query say the same."""
    path = tmp_path / "a.db"
    store(path, rows("one", MERGED))
    decide(decision="ignored", ignored_until="2026-12-01")
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    time.tzset()
    moments = ("2026-11-30T23:59:59", "2026-12-01T00:00:00", "2026-11-30T12:00:00", "2199-01-01T00:00:00", "1970-01-01T00:00:00")
    try:
        for moment in moments:
            monkeypatch.setattr("inspector.models.problem.datetime", clock(moment))
            is_over = moment >= "2026-12-01"
            assert problem().state == ("open" if is_over else "ignored"), moment
            found = [name for name, which in in_states().items() if Problem.objects.filter(which).exists()]
            assert found == [ProblemState.OPEN if is_over else ProblemState.IGNORED], moment
            # An import that brings nothing changes no decision, whatever the clock says.
            written_again(path, rows("one", MERGED))
            assert (problem().decision, str(problem().ignored_until)) == ("ignored", "2026-12-01")
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()


def clock(moment: str) -> type[datetime]:
    class Stopped(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> "Stopped":
            return cls.fromisoformat(f"{moment}+00:00").astimezone(tz)

    return Stopped


def test_ignored_until_it_occurs_again_it_stays_so_while_a_known_one_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store(path, rows("one", MERGED))
    decide(decision="ignored", until_occurs=True)
    written_again(path, rows("one", (*MERGED, *MERGED), at=AT + DAY))
    assert problem().state == "ignored" and problem().last_seen == AT + DAY


def test_each_state_is_chosen_by_the_query_of_it(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store(path, rows("one", MERGED))
    cases = [
        {}, {"decision": "acknowledged"}, {"regressed_at": "2026-01-01T00:00Z"}, {"decision": "ignored"}, {"conversations": 0},
        {"decision": "ignored", "ignored_until": "2026-01-01"}, {"decision": "ignored", "ignored_until": "2999-01-01"},
    ]  # fmt: skip
    reset = {"decision": "", "regressed_at": None, "ignored_until": None, "conversations": 1}
    for case in cases:
        decide(**{**reset, **case})
        state = problem().state
        expected = state if state in in_states() else ProblemState.OPEN
        assert [name for name, which in in_states().items() if Problem.objects.filter(which).exists()] == [expected], case


def test_a_purge_takes_the_occurrence_along_and_the_problem_with_the_last(tmp_path: Path) -> None:
    store(tmp_path / "a.db", rows("one", MERGED) + rows("two", MERGED, at=AT + DAY))
    purge(Conversation.objects.get(native_id="one"), "ada", "asked for")
    assert (problem().conversations, problem().total, problem().first_seen, problem().last_seen) == (1, 1, AT + DAY, AT + DAY)
    assert [day.occurrences for day in problem().days.all()] == [1]
    assert_true()
    purge(Conversation.objects.get(native_id="two"), "ada", "asked for")
    assert not Problem.objects.exists() and not ProblemDay.objects.exists() and not Occurrence.objects.exists()


def test_problems_go_with_their_source(tmp_path: Path) -> None:
    store(tmp_path / "a.db", rows("one", MERGED))
    store(tmp_path / "b.db", rows("one", MERGED))
    Source.objects.get(path__endswith="a.db").delete()
    assert [row.source.name for row in Problem.objects.all()] == [Source.objects.get().name]


def rollout(folder: Path, number: int, version: str, at: str = "2026-08-01T10:00:00.000Z", kind: str = "function_call_output") -> None:
    """A thread that a client of this version wrote, with a result without its call."""
    thread = f"019c0000-0000-7000-8000-{number:012d}"
    payload = {"id": thread, "timestamp": at, "cwd": "/r", "originator": "o", "cli_version": version}
    lines = [
        {"timestamp": at, "type": "session_meta", "payload": payload},
        {"timestamp": at, "type": "response_item", "payload": {"type": kind, "call_id": "c", "output": "x"}},
    ]
    path = folder / f"rollout-2026-08-01T10-00-00-{thread}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize(
    ("fixed_in", "version", "at", "state"),
    [
        pytest.param("0.146.0", "0.146.0", "2026-08-01T10:00:00.000Z", "regressed", id="of the version"),
        pytest.param("0.146.0", "0.150.1", "2026-08-01T10:00:00.000Z", "regressed", id="of a later version, whenever it was active"),
        pytest.param("0.146.0", "0.99.0", "2999-08-01T10:00:00.000Z", "open", id="of an older version, which is still in use"),
        pytest.param("0.146.0", "", "2999-08-01T10:00:00.000Z", "regressed", id="of an unknown version, active after it was said"),
        pytest.param("0.146.0", "", "2026-08-01T10:00:00.000Z", "open", id="of an unknown version, active before"),
        pytest.param("", "0.99.0", "2999-08-01T10:00:00.000Z", "regressed", id="without a version, active after it was said"),
        pytest.param("", "0.99.0", "2026-08-01T10:00:00.000Z", "open", id="without a version, active before"),
    ],
)
@pytest.mark.parametrize("is_repaired", [False, True], ids=["with old ones that are open", "with none that is open"])
def test_after_it_is_marked_as_fixed_a_new_occurrence_of_that_version_is_a_regression(
    tmp_path: Path, fixed_in: str, version: str, at: str, state: str, is_repaired: bool
) -> None:
    rollout(tmp_path, 1, "0.90.0")
    import_targets([str(tmp_path)], "tester")
    row = Problem.objects.get(code="TOOL202")
    decide_problem.decide([row.oid], Decision("fix", version=fixed_in), "ann")
    if is_repaired:
        rollout(tmp_path, 1, "0.90.0", kind="ghost_snapshot")
        import_targets([str(tmp_path)], "tester")
    rollout(tmp_path, 2, version, at)
    import_targets([str(tmp_path)], "tester")
    row.refresh_from_db()
    assert (row.state, row.total, row.fixed_at is None) == (state, 2, state == "regressed")
    assert [event.detail for event in row.events.filter(verb="occurred again")] == (
        [{"version": version, "fixed_in": fixed_in}] if state == "regressed" else []
    )
    before = row.regressed_at
    rollout(tmp_path, 3, version, at)
    import_targets([str(tmp_path)], "tester")
    row.refresh_from_db()
    assert row.total == 3 and row.regressed_at == before, "what was no fix is one no more"


def test_the_version_of_the_client_and_the_model_are_those_of_the_conversation(tmp_path: Path) -> None:
    meta = {"timestamp": "2026-08-01T10:00:00.000Z", "type": "session_meta"}
    payload = {
        "id": "019c0000-0000-7000-8000-000000000001",
        "timestamp": meta["timestamp"],
        "cwd": "/r",
        "originator": "o",
        "cli_version": "0.146.0\u202e" + "x" * 99,
    }
    lines = [
        {**meta, "payload": payload},
        {"timestamp": "2026-08-01T10:00:01.000Z", "type": "turn_context", "payload": {"cwd": "/r", "model": "gpt-5"}},
        {"timestamp": "2026-08-01T10:00:02.000Z", "type": "response_item", "payload": {"type": "function_call_output", "call_id": "c", "output": "x"}},
    ]  # fmt: skip
    path = tmp_path / "rollout-2026-08-01T10-00-00-019c0000-0000-7000-8000-000000000001.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    import_targets([str(path)], "tester")
    day = ProblemDay.objects.all()[0]
    assert day.model == "gpt-5" and day.client_version.startswith("0.146.0\\u202e") and len(day.client_version) == 60
    assert Conversation.objects.get().client_version == day.client_version


def test_the_migration_fills_what_an_import_would_have_written(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store(path, rows("leaves", MERGED) + rows("stays", MERGED) + rows("repaired", MERGED))
    written_again(path, rows("stays", MERGED), rows("repaired", HEALTHY))
    applied(imported(tmp_path / "b.db", merged()), "renumber-messages", mode="fork")
    repair = applied(imported(tmp_path / "c.db", merged()), "renumber-messages")
    before = stored()
    assert {row[2] for row in before["occurrences"]} == set(State.values)
    with_fork = Conversation.objects.get(is_replaced=True)
    Problem.objects.all().delete()
    Conversation.objects.update(forked_by=None)
    # As it was before a fork counted as a repair: nothing looked at it.
    Repair.objects.filter(options__contains="fork_id").update(state="proposed")
    with one_writer():
        counting.renew([with_fork.pk])
    Problem.objects.all().delete()
    Repair.objects.filter(state="proposed").update(state="verified")
    assert not Occurrence.objects.exists() and damaged() == 2
    import_module("inspector.migrations.0028_problems_filled").fill(apps, connection.schema_editor())
    assert stored() == before
    assert Occurrence.objects.get(conversation=repair.conversation).repair == repair
    assert_true()
