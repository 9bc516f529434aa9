"""The process may end between any two steps: what is found afterwards is explained, and can be carried on or taken back."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from inspector.actions import apply_repair as applying
from inspector.actions import audit, import_source, proving, writing
from inspector.actions.apply_repair import apply_repair
from inspector.actions.decide_repair import reject_repair
from inspector.actions.problems import Refused
from inspector.actions.settling import settle_all
from inspector.actions.undo_repair import undo_repair, verify_repair
from inspector.models import AuditEntry, Repair
from inspector.sources import stores
from inspector.sources.problems import Busy
from tests.actions.building import WHO, again, applied, approved, approved_merge, chunk_key, everything, imported, merged, pairs, put, row
from tests.commands.running import run
from tests.kept import Kept

pytestmark = pytest.mark.django_db

RENUMBER = "renumber-messages"
BOTH = pytest.mark.parametrize("mode", ["in-place", "fork"])


class Killed(BaseException):
    """Stands for the end of the process: no `except` of ours may see it."""


def killed_at_commit(monkeypatch: pytest.MonkeyPatch, after: bool) -> None:
    def commit(*given: Any, **named: Any) -> float:
        monkeypatch.undo()
        if after:
            stores.commit(*given, **named)
        raise Killed

    monkeypatch.setattr(writing.stores, "commit", commit)


def dies(act: Callable[..., None], repair: Repair) -> Repair:
    with pytest.raises(Killed):
        act(repair, WHO, interactive=True)
    return Repair.objects.get()


@BOTH
def test_killed_after_the_intent_and_before_the_write_it_is_still_approved(kept: Kept, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path, repair = approved_merge(kept, mode)
    before = everything(path)
    killed_at_commit(monkeypatch, after=False)
    repair = dies(apply_repair, repair)
    assert repair.state == Repair.State.APPROVED and repair.intent == Repair.Intent.APPLY and everything(path) == before
    assert verify_repair(repair) == (False, "This repair is approved: nothing of it is in the store.") and not repair.intent
    apply_repair(repair, WHO, interactive=True)
    undo_repair(repair, WHO, interactive=True)
    assert repair.state == Repair.State.UNDONE and everything(path) == before


@BOTH
@pytest.mark.parametrize("imported_since", [False, True])
def test_killed_after_the_write_the_next_look_records_it_and_it_can_be_undone(
    kept: Kept, mode: str, imported_since: bool, monkeypatch: pytest.MonkeyPatch, client: Client
) -> None:
    path, repair = approved_merge(kept, mode)
    before = everything(path)
    killed_at_commit(monkeypatch, after=True)
    repair = dies(apply_repair, repair)
    after = everything(path)
    assert repair.state == Repair.State.APPROVED and after != before
    if imported_since:
        again(path)
    assert "before it was recorded" in client.get(f"/repairs/{repair.oid}/").content.decode()
    repair = Repair.objects.get()
    assert repair.state == Repair.State.VERIFIED and repair.applied_by == WHO and not repair.intent and everything(path) == after
    assert [entry.verb for entry in AuditEntry.objects.filter(repair=repair.oid).order_by("id")][-2:] == ["apply", "verify"]
    assert verify_repair(repair)[0]
    with pytest.raises(Refused, match="This repair is verified"):
        reject_repair(repair, WHO)
    undo_repair(repair, WHO, interactive=True)
    assert repair.state == Repair.State.UNDONE and everything(path) == before


@BOTH
@pytest.mark.parametrize("act", [apply_repair, undo_repair])
def test_killed_after_the_write_apply_and_undo_settle_it_themselves(
    kept: Kept, mode: str, act: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, repair = approved_merge(kept, mode)
    before = everything(path)
    killed_at_commit(monkeypatch, after=True)
    repair = dies(apply_repair, repair)
    after = everything(path)
    act(repair, WHO, interactive=True)
    assert (repair.state, everything(path)) == ((Repair.State.VERIFIED, after) if act is apply_repair else (Repair.State.UNDONE, before))


@BOTH
def test_killed_after_the_write_and_written_on_since_it_is_recorded_and_undo_says_what_moved(
    kept: Kept, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, repair = approved_merge(kept, mode)
    killed_at_commit(monkeypatch, after=True)
    repair = dies(apply_repair, repair)
    native = repair.options["fork_id"] if mode == "fork" else "c1"
    put(path, chunk_key(5, native), row("and on it goes"))
    apply_repair(repair, WHO, interactive=True)
    assert repair.state == Repair.State.APPLIED and "what came since is not ours" in repair.outcome
    with pytest.raises(Refused, match=f"{chunk_key(5, native)} is new"):
        undo_repair(repair, WHO, interactive=True)


@BOTH
def test_killed_before_it_was_proved_it_is_applied_and_can_be_undone(kept: Kept, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path, repair = approved_merge(kept, mode)
    before = everything(path)

    def look(*_: Any) -> None:
        monkeypatch.undo()
        raise Killed

    monkeypatch.setattr(proving, "look", look)
    repair = dies(apply_repair, repair)
    assert repair.state == Repair.State.APPLIED and verify_repair(repair)[0]
    undo_repair(repair, WHO, interactive=True)
    assert everything(path) == before


@BOTH
def test_killed_after_an_undo_the_next_undo_records_it(tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.db"
    conversation = imported(path, merged())
    before = everything(path)
    repair = applied(conversation, RENUMBER, mode=mode)
    killed_at_commit(monkeypatch, after=True)
    repair = dies(undo_repair, repair)
    assert repair.state == Repair.State.VERIFIED and everything(path) == before
    holds, sentence = verify_repair(repair)
    assert not holds and "This repair is undone" in sentence and "before it was recorded" in sentence
    assert repair.state == Repair.State.UNDONE and repair.undone_by == WHO and everything(path) == before


@BOTH
def test_a_store_that_another_program_overwrote_with_its_old_copy_is_not_called_undone(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "a.db"
    conversation = imported(path, merged())
    old = path.read_bytes()
    repair = applied(conversation, RENUMBER, mode=mode)
    path.write_bytes(old)
    holds, sentence = verify_repair(repair)
    assert not holds and sentence.startswith("Another program overwrote this repair") and "undone, though" not in sentence
    undo_repair(repair, WHO, interactive=True)
    assert repair.state == Repair.State.OVERWRITTEN and "Another program overwrote" in repair.outcome and path.read_bytes() == old


@BOTH
def test_a_forged_value_from_before_the_repair_is_not_written(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "a.db"
    repair = applied(imported(path, merged()), RENUMBER, mode=mode)
    after = everything(path)
    forged = repair.changes.filter(element="").first()
    assert forged is not None
    forged.before, forged.before_type = b'{"forged":true}', "text"
    forged.save()
    audit.accept(WHO, "somebody with the key of the audit log did it")
    with pytest.raises(Refused, match="were changed in Inspector's own database"):
        undo_repair(repair, WHO, interactive=True)
    assert everything(path) == after and Repair.objects.get().state == Repair.State.VERIFIED


@pytest.mark.parametrize("forgery", ["another conversation's row", "another conversation in the list"])
def test_a_forged_change_of_another_conversation_is_not_undone(tmp_path: Path, forgery: str) -> None:
    """What the base of the repair does not cover is compared with the plan that was approved."""
    path = tmp_path / "a.db"
    conversation = imported(path, {**merged(merged(), to="c2").values, "conv-index": '["c1","c2"]'})
    repair = applied(conversation, RENUMBER, mode="fork")
    after = everything(path)
    forged = repair.changes.get(element="string") if "list" in forgery else repair.changes.filter(before=None, element="").last()
    assert forged is not None
    if "list" in forgery:
        forged.after = b"c2"
    else:
        key = chunk_key(2, "c2")
        forged.pk, forged.position, forged.key, forged.after = None, 99, key.encode(), pairs(path)[key]
    forged.save()
    audit.accept(WHO, "somebody with the key of the audit log did it")
    with pytest.raises(Refused, match=r"changed in Inspector's own database: .*Nothing was written"):
        undo_repair(repair, WHO, interactive=True)
    assert everything(path) == after and Repair.objects.get().state == Repair.State.VERIFIED


def other_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules find less in what was written than in the preview."""
    look = proving.look

    def surprising(*given: Any) -> Any:
        side = look(*given)
        empty = look(side.case.with_conversation(replace(side.case.conversation, chunks=())), *given[1:])
        assert len(empty.findings) < len(side.findings)
        return empty

    monkeypatch.setattr(proving, "look", surprising)


@BOTH
def test_a_surprise_after_the_write_is_undone_at_once(tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.db"
    values = {**merged().values, chunk_key(5): "{broken", "conv:c1:seq": "5"}
    repair = approved(imported(path, values), RENUMBER, mode=mode)
    before = everything(path)
    other_findings(monkeypatch)
    with pytest.raises(Refused, match="the rules find something else than previewed; it was undone at once"):
        apply_repair(repair, WHO, interactive=True)
    repair = Repair.objects.get()
    assert repair.state == Repair.State.FAILED and "undone at once" in repair.outcome and everything(path) == before
    assert AuditEntry.objects.latest("id").verb == "fail"


def test_a_surprise_that_cannot_be_undone_stays_applied_until_it_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.db"
    values = {**merged().values, chunk_key(5): "{broken", "conv:c1:seq": "5"}
    repair = approved(imported(path, values), RENUMBER)
    before = everything(path)
    other_findings(monkeypatch)
    write = applying.write

    def once(*given: Any) -> float:
        def busy(*_: Any) -> float:
            raise Busy(path, 2000)

        monkeypatch.setattr(applying, "write", busy)
        return write(*given)

    monkeypatch.setattr(applying, "write", once)
    with pytest.raises(Refused, match="undoing it failed: The write lock"):
        apply_repair(repair, WHO, interactive=True)
    repair = Repair.objects.get()
    assert repair.state == Repair.State.APPLIED and "It is still in the store" in repair.outcome and everything(path) != before
    undo_repair(repair, WHO, interactive=True)
    assert everything(path) == before


def test_a_store_that_cannot_be_read_again_after_the_write_is_still_repaired(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    path, repair = approved_merge(kept)

    def read(*_: Any) -> None:
        raise Busy(path, 0)

    monkeypatch.setattr(import_source, "read", read)
    apply_repair(repair, WHO, interactive=True)
    assert repair.state == Repair.State.VERIFIED and b'"msgIdx":1' in pairs(path)[chunk_key(1)]
    undo_repair(repair, WHO, interactive=True)
    assert repair.state == Repair.State.UNDONE


@BOTH
def test_undo_outlives_the_strategies_that_it_takes_back(tmp_path: Path, mode: str, client: Client) -> None:
    path = tmp_path / "a.db"
    conversation = imported(path, merged())
    before = everything(path)
    applied(conversation, RENUMBER, mode=mode)
    Repair.objects.update(strategies=["of-another-version"], reader="of-another-version")
    repair = Repair.objects.get()
    assert verify_repair(repair)[0]
    pages = [client.get(f"/repairs/{repair.oid}{end}") for end in ("/", ".json", ".md")]
    assert [page.status_code for page in pages] == [200, 409, 409]
    assert all("There is no reader" in page.content.decode() for page in pages)
    undo_repair(repair, WHO, interactive=True)
    assert everything(path) == before


def test_pages_and_commands_about_stores_settle_and_catalogues_open_no_store(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, client: Client
) -> None:
    path, repair = approved_merge(kept, "fork")
    killed_at_commit(monkeypatch, after=True)
    dies(apply_repair, repair)
    for page in ("/rules/", "/rules/MSG101/", "/strategies/renumber-messages/", "/formats/", "/explain/", "/check/"):
        assert client.get(page).status_code == 200
    for command in ("rules", "strategies", "formats", "readers", "profiles", "projections"):
        assert run(command).status == 0
    assert Repair.objects.get().intent == Repair.Intent.APPLY
    assert run("scan", path).status in (0, 1)
    assert Repair.objects.get().state == Repair.State.VERIFIED and not Repair.objects.get().intent


@pytest.mark.parametrize("look", ["start", "/", "/conversations/", "/sources/", "/repairs/", "/repairs.json", "/index.json", "id"])
def test_every_look_at_the_store_settles(kept: Kept, look: str, monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
    _, repair = approved_merge(kept)
    killed_at_commit(monkeypatch, after=True)
    dies(apply_repair, repair)
    if look == "start":
        assert settle_all() == []
    elif look == "id":
        run("show", repair.conversation.oid)
    else:
        assert client.get(look).status_code == 200
    assert Repair.objects.get().state == Repair.State.VERIFIED


def test_a_write_that_ends_while_a_page_looks_for_open_ones_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repair = approved(imported(tmp_path / "a.db", merged()), RENUMBER)
    killed_at_commit(monkeypatch, after=True)
    repair = dies(apply_repair, repair)
    asked: list[str] = []

    def ends(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("SELECT") and '"intent" IN' in sql:
            asked.append(sql)
            if len(asked) == 2:
                Repair.objects.filter(pk=repair.pk).update(intent="", state=Repair.State.APPLIED)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(ends):
        assert settle_all() == []
    assert len(asked) == 2 and Repair.objects.get().state == Repair.State.APPLIED


def test_a_write_at_work_is_not_settled_by_a_page(kept: Kept, monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
    _, repair = approved_merge(kept)
    commit, states = stores.commit, []

    def watched(*given: Any) -> float:
        milliseconds = commit(*given)
        client.get(f"/repairs/{repair.oid}/")
        states.append((Repair.objects.get().state, Repair.objects.get().intent))
        return milliseconds

    monkeypatch.setattr(writing.stores, "commit", watched)
    apply_repair(repair, WHO, interactive=True)
    assert states == [(Repair.State.APPROVED, Repair.Intent.APPLY)] and repair.state == Repair.State.VERIFIED
    assert AuditEntry.objects.filter(verb="apply").count() == 1
