"""The audit log: one line an act, sealed with a key outside the database, so that whatever is changed there shows."""

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from pytest_django import DjangoCaptureOnCommitCallbacks

from inspector.actions import audit, recording
from inspector.actions.apply_repair import apply_repair
from inspector.actions.problems import Refused
from inspector.actions.purge import allow_import, purge
from inspector.actions.undo_repair import undo_repair
from inspector.models import AuditEntry, Repair, RepairChange, Tombstone
from inspector.sources import audit_files
from inspector.sources.audit_files import AuditHead
from inspector.sources.problems import SourceProblem
from tests.actions.building import WHO, applied, approved, everything, imported, merged, proposed
from tests.commands.running import run, run_in_process

pytestmark = pytest.mark.django_db


def a_life(path: Path) -> None:
    undo_repair(applied(imported(path, merged()), "renumber-messages"), WHO, interactive=True)


def sentences() -> str:
    return "\n".join(problem.sentence for problem in audit.state(values=True).problems)


@pytest.fixture
def lines(django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks) -> list[AuditEntry]:
    """Five committed lines, and their head."""
    with django_capture_on_commit_callbacks(execute=True):
        entries = [audit.record("someone", "apply", source_path="/a", repair="", bytes=number) for number in range(5)]
    assert sentences() == "" and audit.state().head == AuditHead(5, entries[-1].pk, entries[-1].digest)
    return entries


@pytest.mark.parametrize(
    "change",
    [
        "detail = 'no JSON'",
        "detail = 'null'",
        "detail = '[]'",
        "at = 'never'",
        "at = '2026-02-31 00:00:00'",
        "at = 5",
        "at = x'ff'",
        "who = x'ff00'",
        "verb = x'ff00'",
    ],
)
@pytest.mark.skipif(connection.vendor != "sqlite", reason="other databases refuse values of another type")
def test_a_line_that_cannot_be_read_any_more_is_named(lines: list[AuditEntry], change: str, client: Client) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE inspector_auditentry SET {change} WHERE id = %s", (lines[1].pk,))
    assert f"Line {lines[1].pk} (" in sentences() and "was changed after it was written" in sentences()
    assert "was changed after it was written" in audit.sentence_on_start()
    for address in ("/audit/", "/audit.json"):
        assert client.get(address).status_code == 200


def test_the_log_of_a_whole_life_is_intact(tmp_path: Path) -> None:
    a_life(tmp_path / "a.db")
    verbs = list(AuditEntry.objects.order_by("id").values_list("verb", flat=True))
    assert verbs == ["import", "propose", "approve", "apply", "verify", "import", "undo", "import"]
    assert set(AuditEntry.objects.values_list("who", flat=True)) == {WHO} and audit.broken_at() is None and sentences() == ""
    applied_line = AuditEntry.objects.get(verb="apply")
    assert applied_line.detail["records"] == 4 and applied_line.detail["bytes"] > 0 and applied_line.source_path.endswith("a.db")


Change = Callable[[AuditEntry], object]
CHANGES: dict[str, Change] = {
    "another person": lambda line: AuditEntry.objects.filter(pk=line.pk).update(who="nobody"),
    "another verb": lambda line: AuditEntry.objects.filter(pk=line.pk).update(verb="reject"),
    "another time": lambda line: AuditEntry.objects.filter(pk=line.pk).update(at=line.at + timedelta(microseconds=1)),
    "another store": lambda line: AuditEntry.objects.filter(pk=line.pk).update(source_path="/elsewhere"),
    "another detail": lambda line: AuditEntry.objects.filter(pk=line.pk).update(detail={}),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_changed_line_is_named(change: Change, lines: list[AuditEntry]) -> None:
    change(lines[2])
    assert audit.broken_at() == lines[2] and "was changed after it was written" in sentences()


def test_a_removed_line_shows_at_the_one_after_it(lines: list[AuditEntry]) -> None:
    lines[1].delete()
    assert audit.broken_at() == lines[2] and "lines were removed or exchanged" in sentences()


def test_removed_lines_at_the_end_are_missed(lines: list[AuditEntry]) -> None:
    AuditEntry.objects.filter(pk__gte=lines[3].pk).delete()
    assert audit.broken_at() is None
    assert f"had 5 lines, the last of them line {lines[4].pk}, and the database has 3" in sentences()


def test_lines_that_are_written_after_the_end_was_cut_do_not_hide_it(
    lines: list[AuditEntry], django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    AuditEntry.objects.filter(pk__gte=lines[3].pk).delete()
    with django_capture_on_commit_callbacks(execute=True):
        for _ in range(3):
            audit.record("someone", "apply")
    assert "had 5 lines" in sentences()


def test_the_removal_of_all_lines_is_missed(lines: list[AuditEntry]) -> None:
    AuditEntry.objects.all().delete()
    assert "had 5 lines" in sentences()
    audit.record("someone", "import")
    assert "had 5 lines" in sentences()


def test_a_log_whose_head_is_removed_is_no_intact_one(lines: list[AuditEntry], audit_key: Path) -> None:
    audit_files.head_of(audit_key).unlink()
    audit.record("someone", "import")
    assert "is missing" in sentences()


def test_a_head_that_somebody_wrote_by_hand_is_none(lines: list[AuditEntry], audit_key: Path) -> None:
    head = audit_files.head_of(audit_key)
    facts = json.loads(head.read_bytes())
    head.write_text(json.dumps({**facts, "lines": 3, "last": lines[2].pk, "seal": lines[2].digest}))
    AuditEntry.objects.filter(pk__gte=lines[3].pk).delete()
    assert "not sealed with its key" in sentences()


def recomputed(seal: Callable[[AuditEntry], str]) -> None:
    previous = ""
    for entry in AuditEntry.objects.order_by("id"):
        entry.who, entry.previous = "nobody", previous
        previous = entry.digest = seal(entry)
        entry.save()


@pytest.mark.parametrize("seal", [
    lambda entry: hashlib.sha256(entry.content()).hexdigest(), lambda entry: audit_files.line_seal(b"x" * 32, entry.content()),
], ids=["a plain hash", "another key"])  # fmt: skip
def test_a_log_that_is_computed_again_without_the_key_is_no_intact_one(seal: Callable[[AuditEntry], str], lines: list[AuditEntry]) -> None:
    recomputed(seal)
    assert audit.broken_at() == lines[0] and audit.state().total == 6


def test_two_lines_that_changed_places_show(lines: list[AuditEntry]) -> None:
    first, second = lines[1].pk, lines[2].pk
    for old, new in ((first, -1), (second, first), (-1, second)):
        AuditEntry.objects.filter(pk=old).update(id=new)
    assert "lines were removed or exchanged" in sentences()


def test_another_approver_in_the_row_of_a_repair_shows_and_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    repair = approved(imported(path, merged()), "renumber-messages")
    before = everything(path)
    Repair.objects.filter(pk=repair.pk).update(approved_by="the boss")
    assert f"Repair {repair.oid} is not as line" in sentences() and audit.broken_at() is None
    repair.refresh_from_db()
    with pytest.raises(Refused, match="No store is written until that is settled"):
        apply_repair(repair, WHO, interactive=True)
    assert everything(path) == before and not repair.intent


def test_another_approver_shows_although_a_later_act_recorded_the_row_with_it(tmp_path: Path) -> None:
    repair = applied(imported(tmp_path / "a.db", merged()), "renumber-messages")
    Repair.objects.filter(pk=repair.pk).update(approved_by="the boss")
    recording.record_outcome(repair, WHO, Repair.State.APPLIED, "looked at again", "verify")
    assert f"Repair {repair.oid} is not as line" in sentences()


def test_a_repair_that_was_put_into_the_database_is_not_applied(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    repair = approved(imported(path, merged()), "renumber-messages")
    before = everything(path)
    repair.pk, repair.oid = None, "0" * 12
    repair.save()
    with pytest.raises(Refused, match="no line of the log says who proposed it"):
        apply_repair(repair, WHO, interactive=True)
    assert everything(path) == before


@pytest.mark.parametrize("name", ["before", "after"])
def test_a_changed_value_that_is_kept_of_a_repair_shows(tmp_path: Path, name: str) -> None:
    repair = applied(imported(tmp_path / "a.db", merged()), "renumber-messages")
    row = RepairChange.objects.filter(repair=repair, before__isnull=False, after__isnull=False).order_by("position").first()
    assert row is not None
    setattr(row, name, bytes(getattr(row, name)) + b" ")
    row.save()
    assert f"The values that are kept of repair {repair.oid}" in sentences()
    with pytest.raises(Refused, match="they were changed in the database"):
        undo_repair(repair, WHO, interactive=True)


def test_a_line_that_was_committed_when_the_process_was_killed_is_no_alarm_and_the_head_follows(
    lines: list[AuditEntry], django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    # Its callback after the commit does not run.
    late = audit.record("someone", "import")
    assert sentences() == "" and audit.state().head == AuditHead(5, lines[4].pk, lines[4].digest)
    audit.catch_up()
    assert audit.state().head == AuditHead(6, late.pk, late.digest)
    with django_capture_on_commit_callbacks(execute=True):
        audit.record("someone", "import")
    assert sentences() == "" and audit.state().head is not None and audit.state().head.lines == 7  # type: ignore[union-attr]


def test_without_its_key_nothing_is_recorded_and_no_new_one_is_made(lines: list[AuditEntry], audit_key: Path) -> None:
    audit_key.unlink()
    with pytest.raises(SourceProblem, match="is missing or cannot be read"):
        audit.record("someone", "import")
    assert AuditEntry.objects.count() == 5 and not audit_key.exists()


def test_what_is_accepted_is_recorded_with_what_is_wrong_and_later_changes_show_again(
    lines: list[AuditEntry], django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    AuditEntry.objects.filter(pk__gte=lines[3].pk).delete()
    CHANGES["another person"](lines[1])
    with django_capture_on_commit_callbacks(execute=True):
        sealed = audit.accept("ada", "restored from the backup of Monday")
    assert sentences() == "" and audit.state().sealed == sealed and sealed.detail["problem_count"] == 2
    assert sealed.detail["reason"] == "restored from the backup of Monday" and "had 5 lines" in sealed.detail["problems"][1]
    CHANGES["another verb"](lines[0])
    assert "was changed after it was written" in sentences()


def test_the_key_and_the_head_are_closed_to_others(lines: list[AuditEntry], audit_key: Path) -> None:
    assert [path.stat().st_mode & 0o777 for path in (audit_key, audit_files.head_of(audit_key), audit_key.parent)] == [0o600, 0o600, 0o700]
    for path in (audit_key, audit_files.head_of(audit_key)):
        path.chmod(0o644)
    assert sentences() == ""
    assert {path.stat().st_mode & 0o777 for path in (audit_key, audit_files.head_of(audit_key))} == {0o600}


def test_hostile_words_do_not_break_the_log() -> None:
    audit.record("who\u202e", "apply", source_path="/a\ud800\x00", outcome="\ud800\x00<b>")
    assert AuditEntry.objects.get().source_path == "/a\\ud800\\x00" and audit.broken_at() is None


@pytest.mark.slow
def test_an_older_copy_of_the_database_is_no_intact_log(tmp_path: Path) -> None:
    database, store = tmp_path / "own.sqlite3", tmp_path / "a.db"
    from tests.commands.running import incident

    incident(store)
    assert run_in_process(database, "migrate").status == 0
    assert run_in_process(database, "import_source", store).status == 0
    assert run_in_process(database, "audit", "--verify").status == 0
    older = sorted(tmp_path.glob("own.sqlite3*"))
    (tmp_path / "older").mkdir()
    for path in older:
        shutil.copy2(path, tmp_path / "older")
    assert run_in_process(database, "import_source", store).status == 0
    for name in ("own.sqlite3", "own.sqlite3-wal", "own.sqlite3-shm"):
        (tmp_path / name).unlink(missing_ok=True)
        if (tmp_path / "older" / name).exists():
            shutil.copy2(tmp_path / "older" / name, tmp_path)
    ran = run_in_process(database, "audit", "--verify")
    assert ran.status == 1 and "had 2 lines" in ran.out and "an older copy of the database was put in its place" in ran.out
    assert run_in_process(database, "audit", "--accept", "wanted the older one").status == 0
    assert run_in_process(database, "audit", "--verify").status == 0


@pytest.mark.slow
def test_the_lines_of_an_older_version_are_sealed_when_its_database_is_migrated(tmp_path: Path) -> None:
    database = tmp_path / "own.sqlite3"
    assert run_in_process(database, "migrate", "inspector", "0021").status == 0
    with closing(sqlite3.connect(database)) as own, own:
        previous = ""
        for number in range(3):
            entry = AuditEntry(who="ada", verb="import", detail={"number": number}, previous=previous)
            entry.at = AuditEntry._meta.get_field("at").to_python("2026-01-02T03:04:05+00:00")
            previous = entry.digest = hashlib.sha256(entry.content()).hexdigest()
            own.execute(
                "INSERT INTO inspector_auditentry (at, who, verb, source_path, conversation, repair, detail, previous, digest) "
                "VALUES ('2026-01-02 03:04:05', ?, ?, '', '', '', ?, ?, ?)",
                (entry.who, entry.verb, json.dumps(entry.detail), entry.previous, entry.digest),
            )
    migrated = run_in_process(database, "migrate")
    assert migrated.status == 0 and "The 3 lines of the audit log that were there had no key, and their chain was whole." in migrated.err
    assert run_in_process(database, "audit", "--verify").status == 0
    with closing(sqlite3.connect(database)) as own, own:
        own.execute("UPDATE inspector_auditentry SET who = 'eve' WHERE id = 2")
    assert run_in_process(database, "audit", "--verify").status == 1


CHANGED_TOMBSTONES = {
    "another reason": "SET reason = 'nothing happened'",
    "another reason of a finding": "SET reason = 'nothing happened' WHERE kind = 'finding'",
    "another person": "SET purged_by = 'nobody'",
    "another time": "SET purged_at = '2026-01-01 00:00:00.000000'",
    "an import allowed": "SET is_import_allowed = true",
    "a link less": "DELETE WHERE kind = 'repair'",
    "nothing left": "DELETE",
}


@pytest.mark.parametrize("change", CHANGED_TOMBSTONES.values(), ids=CHANGED_TOMBSTONES)
def test_what_is_kept_of_a_purge_is_covered_by_the_log(change: str, tmp_path: Path) -> None:
    """Whoever follows a link to it reads the reason, and imports leave it out."""
    for name in ("a", "b"):
        conversation = imported(tmp_path / f"{name}.db", merged())
        proposed(conversation, "renumber-messages")
        purge(conversation, WHO, "the customer asked for it")
    assert sentences() == ""
    with connection.cursor() as cursor:
        verb, _, rest = change.partition(" ")
        which = f"conversation = '{conversation.oid}'"
        where = f"{rest} AND {which}" if "WHERE" in rest else f"{rest} WHERE {which}"
        cursor.execute(f"{'DELETE FROM' if verb == 'DELETE' else 'UPDATE'} inspector_tombstone {'SET ' if verb == 'SET' else ''}{where}")
    assert sentences().count(conversation.oid) == 1 and len(sentences().splitlines()) == 1
    ran = run("audit", "--verify")
    assert ran.status == 1 and conversation.oid in ran.out
    run("audit", "--accept", "a test changed it")
    assert sentences() == ""


def test_a_purge_that_no_line_speaks_of_is_named(tmp_path: Path) -> None:
    conversation = imported(tmp_path / "a.db", merged())
    purge(conversation, WHO, "the customer asked for it")
    Tombstone.objects.filter(oid=conversation.oid).update(conversation="0011aabbccdd", oid="0011aabbccdd")
    assert "Conversation 0011aabbccdd is kept as purged, and no line of the log says who purged it." in sentences()


def test_a_conversation_that_is_purged_once_more_keeps_one_reason(tmp_path: Path) -> None:
    for reason in ("first", "second"):
        conversation = imported(tmp_path / "a.db", merged())
        purge(conversation, WHO, reason)
        assert sentences() == ""
        allow_import(conversation.oid, WHO)
        assert sentences() == ""
        (tmp_path / "a.db").unlink()
    assert set(Tombstone.objects.values_list("reason", flat=True)) == {"second"}


def test_what_an_older_version_recorded_of_a_purge_is_compared(tmp_path: Path) -> None:
    """It has no digest of what is kept, but who did it and why."""
    conversation = imported(tmp_path / "a.db", merged())
    line = audit.record(WHO, audit.PURGE, conversation=conversation.oid, reason="why", repairs=[], findings=0, shared=0)
    Tombstone.objects.create(
        oid=conversation.oid, kind="conversation", conversation=conversation.oid, purged_at=line.at, purged_by=WHO, reason="why"
    )
    assert sentences() == ""
    Tombstone.objects.update(reason="because")
    assert f"of the purged conversation {conversation.oid} is not as line {line.pk} (" in sentences()
