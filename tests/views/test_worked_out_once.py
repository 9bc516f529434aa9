"""What a step of a repair works out: a session is parsed, read and judged no more often than the step needs."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from django.http import HttpResponse
from django.test import Client

from inspector.actions.apply_repair import apply_repair
from inspector.actions.kept_previews import known_side
from inspector.actions.planning import request_for
from inspector.models import Conversation, Repair, Source, loading
from inspector.models.analysis import StoredAnalysis
from inspector.planning.preview import look, preview
from inspector.presentation.repair.preview_part import preview_part
from inspector.programs.pi_openclaw.entries import _read_on as parsed
from inspector.programs.pi_openclaw.writing import write
from inspector.rules.base import _read_case as read_case
from inspector.rules.base import findings
from tests.actions.building import WHO, A, U, approved, bring, broken, imported, merged
from tests.counting import counted
from tests.programs.pi_openclaw.session_files import a, call, header, lines, r, text, u

pytestmark = pytest.mark.django_db
CHOSEN = {"strategy": "insert-interrupted-result", "mode": "replay-suffix"}


@pytest.fixture
def session(tmp_path: Path) -> Conversation:
    """The second of three calls has no result."""
    data = [header(), u("u0", None, "look")]
    for number in range(3):
        data += [a(f"a{number}", f"{'u' if number == 0 else 'd'}{max(0, number - 1)}", call(f"c{number}", path=f"file {number}"))]
        data += [r(f"r{number}", f"a{number}", f"c{number}", f"words {number}")] if number != 1 else []
        data += [a(f"d{number}", f"{'a' if number == 1 else 'r'}{number}", text(f"done {number}"))]
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "a.jsonl").write_bytes(lines(*data))
    bring(tmp_path / "s")
    Source.objects.update(write_enabled=True)
    loading.forget()
    return Conversation.objects.select_related("source").get()


def shown(client: Client, row: Conversation) -> HttpResponse:
    return client.get(f"/conversations/{row.oid}/repairs/new/", CHOSEN)


def proposed(client: Client, row: Conversation) -> Repair:
    address = re.search(r'formaction="(\?seen[^"]*)"', shown(client, row).content.decode())
    assert address is not None
    client.post(f"/conversations/{row.oid}/repairs/new/{address[1]}", CHOSEN)
    return Repair.objects.latest("pk")


def test_an_applied_repair_is_planned_once_and_what_was_written_is_judged_once(client: Client, session: Conversation) -> None:
    repair = proposed(client, session)
    client.post(f"/repairs/{repair.oid}/approve/", {"digest": repair.plan_digest, "statement": "fixed"})
    loading.forget()
    with counted(preview, write, parsed, read_case, findings) as counts:
        client.post(f"/repairs/{repair.oid}/apply/")
    repair.refresh_from_db()
    assert repair.state == Repair.State.VERIFIED
    # The file as it is, and the lines after it. The case before, as it is planned, after, and that of the import, which is read at another moment.
    assert counts == {"preview": 1, "write": 1, "_read_on": 2, "_read_case": 4, "findings": 1}


def test_a_first_preview_reads_the_records_of_a_large_conversation_once(
    client: Client, session: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is larger than its cache is in memory as long as the page is worked out."""
    monkeypatch.setattr(loading._stored.kept, "most_bytes", 0)
    with counted(loading.read_records) as counts:
        shown(client, session)
    assert counts == {"read_records": 1}


def test_an_undo_does_not_plan_the_repair_again(client: Client, session: Conversation) -> None:
    repair = proposed(client, session)
    client.post(f"/repairs/{repair.oid}/approve/", {"digest": repair.plan_digest, "statement": "fixed"})
    client.post(f"/repairs/{repair.oid}/apply/")
    with counted(preview) as counts:
        client.post(f"/repairs/{repair.oid}/undo/")
    repair.refresh_from_db()
    assert repair.state == Repair.State.UNDONE
    assert counts == {"preview": 0}


def test_the_page_of_a_repair_is_the_same_plan_after_each_step(client: Client, session: Conversation) -> None:
    """The store is read again after a write, and nothing of the revision before it depends on when."""
    repair = proposed(client, session)
    for step, data in (("approve", {"digest": repair.plan_digest, "statement": "fixed"}), ("apply", {}), ("undo", {})):
        client.post(f"/repairs/{repair.oid}/{step}/", data)
        with counted(preview_part) as counts:
            page = client.get(f"/repairs/{repair.oid}/").content.decode()
        assert counts == {"preview_part": 0} and repair.plan_digest[:12] in page, step
    repair.refresh_from_db()
    assert repair.state == Repair.State.UNDONE


def test_a_preview_of_a_turn_that_seemed_to_run_is_worked_out_again(client: Client, tmp_path: Path) -> None:
    """Whether it still runs depends on when the store was read."""
    values = merged().values
    row = imported(tmp_path / "a.db", {**values, "conv:c1:meta": str(values["conv:c1:meta"]).replace('"idle"', '"active"')})
    chosen = {"strategy": "renumber-messages", "mode": "in-place"}
    client.get(f"/conversations/{row.oid}/repairs/new/", chosen)
    for is_read_again in (False, True):
        if is_read_again:
            Source.objects.update(read_at=Source.objects.get().read_at.replace(year=2001))
        with counted(preview_part) as counts:
            client.get(f"/conversations/{row.oid}/repairs/new/", chosen)
        assert counts == {"preview_part": is_read_again}


def test_a_command_reads_and_judges_a_store_no_more_often_than_a_page(tmp_path: Path) -> None:
    row = imported(tmp_path / "a.db", merged())
    repair = approved(row, "renumber-messages")
    with counted(preview, read_case, findings) as counts:
        apply_repair(repair, WHO, interactive=True)
    # As above, and whether a turn seems to run.
    assert counts == {"preview": 1, "_read_case": 5, "findings": 1}


def test_of_a_large_conversation_only_what_is_after_the_repair_is_examined_and_judged(client: Client, tmp_path: Path) -> None:
    """What is before it was examined and judged at the import, and that is what the page says."""
    store = broken()
    for number in range(1000):
        store.append(U(f"number {number:06}")), store.append(A(f"answer {number:06}"))
    row = imported(tmp_path / "a.db", store)
    loading.forget()
    chosen = {"strategy": "insert-interrupted-result", "mode": "in-place"}
    with counted(preview, findings) as counts:
        page = client.get(f"/conversations/{row.oid}/repairs/new/", chosen).content.decode()
    assert counts["preview"] == 1 and counts["findings"] == 1 and "insert-interrupted-result" in page
    request = request_for(row.source, loading.stored(row), ["insert-interrupted-result"], "in-place")
    known = known_side(row, row.revision, request)
    computed = look(loading.case(row, request.reader), request.projection, request.profile)
    assert known is not None and known.counts == computed.counts and len(known.counts) > 1
    verdict = computed.judgement
    assert known.judgement == replace(verdict, violations=verdict.violations[:1]) and not verdict.sendable


def test_what_an_import_worked_out_is_known_only_of_the_same_question(tmp_path: Path) -> None:
    store = broken()
    for number in range(1000):
        store.append(U(f"number {number:06}")), store.append(A(f"answer {number:06}"))
    row = imported(tmp_path / "a.db", store)
    request = request_for(row.source, loading.stored(row), ["insert-interrupted-result"], "in-place")
    assert known_side(row, row.revision, request) is not None
    assert known_side(row, row.revision, replace(request, reader="exact")) is None
    assert known_side(row, row.revision, replace(request, profile="mistral-2026-07")) is None
    assert known_side(row, row.revision - 1, request) is None
    # Other rules.
    StoredAnalysis.objects.update(basis="another")
    assert known_side(row, row.revision, request) is None
