"""A source is removed with all that was derived from it: links say so, counts are right, what is interrupted goes on, and the store stays as it was."""

from pathlib import Path

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from inspector import background
from inspector.actions import audit, remove_source
from inspector.actions.import_source import BeingRemoved, import_targets
from inspector.actions.problems import Refused
from inspector.actions.purge import purge
from inspector.actions.remove_source import begin_removal, finish_removal, what_goes
from inspector.demo.stream_incident import capture_files
from inspector.models import (
    AuditEntry,
    Conversation,
    ConversationCount,
    Finding,
    Payload,
    Problem,
    Source,
    Stream,
    Tombstone,
    TraceRecord,
    searching,
)
from inspector.models.visible import Visible
from tests.accounts import account
from tests.actions.building import WHO, U, again, applied, bring, everything, imported, merged, proposed
from tests.commands.running import run
from tests.views.imported import INCIDENT, example, many

pytestmark = pytest.mark.django_db


def gone(source: Source, reason: str = "no longer ours") -> None:
    begin_removal(source, "ada", reason, with_repairs=True)
    finish_removal(source)


def test_everything_of_it_goes_and_every_link_says_when_and_why(tmp_path: Path, client: Client) -> None:
    row, other = imported(tmp_path / "a.db", merged()), imported(tmp_path / "b.db", merged())
    repair, finding, problem = (
        proposed(row, "renumber-messages"),
        Finding.objects.filter(conversation=row)[0],
        row.source.rule_problems.all()[0],
    )
    before = everything(tmp_path / "a.db")
    searching.index_texts()
    goes = what_goes(row.source)
    assert (goes.conversations, goes.repairs, goes.undoable, goes.is_upload) == (1, 1, 0, False) and goes.findings
    oid = row.source.oid
    gone(row.source)
    assert everything(tmp_path / "a.db") == before, "the store is as it was"
    for model in apps.get_app_config("inspector").get_models():
        manager = model._default_manager
        if isinstance(manager, Visible) and model is not Tombstone and manager.path:
            assert not model._base_manager.exclude(**{manager.path: other.source.pk}).exists(), model
    links = {"conversations": row.oid, "findings": finding.oid, "repairs": repair.oid, "problems": problem.oid, "sources": oid}
    for kind, link in links.items():
        page, twin = client.get(f"/{kind}/{link}/"), client.get(f"/{kind}/{link}.json")
        assert (page.status_code, twin.status_code) == (410, 410), kind
        text = page.content.decode()
        assert "no longer ours" in text and " by ada: " in twin.json()["error"], kind
        assert "An import of its store brings it back." in text and "allow-import" not in text, kind
        # The log names what is gone, for who may read it: which store, how much, and the way back.
        assert str(tmp_path / "a.db") in text and "Import the source again" in text and "1 conversation, " in text, kind
    assert [count.conversations for count in ConversationCount.objects.all() if count.conversations] == [1]
    assert {each.conversations for each in Problem.objects.all()} == {1}
    assert [line.verb for line in AuditEntry.objects.exclude(verb__in=("import", "propose")).order_by("pk")] == [
        "begin removal",
        "purge",
        "remove source",
    ]
    lines = " ".join(client.get("/audit/").content.decode().split())
    assert f'<span class="quiet">source</span> <span class="mono">{oid}</span>' in lines
    assert "an import of its store brings it back" in lines and "is import allowed" not in lines
    assert audit.state(values=True).total == 0
    # It is no purge: who imports the store again has it again.
    back = again(tmp_path / "a.db")
    assert back.oid == row.oid and client.get(f"/conversations/{row.oid}/").status_code == 200 and audit.state().total == 0
    gone(back.source, "")
    assert audit.state().total == 0 and "nobody said why" in client.get(f"/sources/{oid}.json").json()["error"]


def test_what_was_purged_for_good_does_not_come_back_with_its_source(tmp_path: Path) -> None:
    row = imported(tmp_path / "a.db", merged())
    source = row.source
    purge(row, WHO, "a secret")
    gone(source)
    bring(tmp_path / "a.db")
    assert not Conversation.objects.exists() and audit.state().total == 0


def test_a_trace_goes_with_its_last_store_and_those_that_it_judged_are_judged_again(tmp_path: Path) -> None:
    first, other = example(tmp_path), imported(tmp_path / "b.db", merged())
    trace = first.traces.get()
    other.source.traces.add(trace)
    assert not what_goes(first).traces
    gone(first)
    assert TraceRecord.objects.filter(source=trace).count() == trace.trace_record_count > 0
    assert what_goes(other.source).traces == (trace.name,)
    gone(other.source)
    assert not Source.objects.exists() and not TraceRecord.objects.exists() and not Payload.objects.exists()
    assert Tombstone.objects.filter(kind="source").count() == 3 and audit.state().total == 0


def test_without_its_trace_a_conversation_is_judged_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = example(tmp_path).conversations.get(native_id=INCIDENT)
    judged: list[set[int]] = []
    monkeypatch.setattr(remove_source, "examine_all", judged.append)
    gone(row.source.traces.get())
    assert row.pk in judged[0] and not row.source.traces.exists() and Conversation.objects.filter(pk=row.pk).exists()


def test_streams_go_with_their_capture(tmp_path: Path, client: Client) -> None:
    name, data = next(iter(capture_files().items()))
    (tmp_path / name).write_bytes(data)
    source = import_targets([str(tmp_path / name)], WHO)[0].source
    stream, problems = source.streams.all()[0], list(Problem.objects.values_list("oid", flat=True))
    gone(source)
    assert not Stream.objects.exists() and not Payload.objects.exists() and not Problem.objects.exists()
    assert [client.get(f"/streams/{stream.oid}.json").status_code, *(client.get(f"/problems/{oid}/").status_code for oid in problems)] == [
        410
    ] * (1 + len(problems))


@pytest.mark.django_db(transaction=True)
def test_a_removal_that_was_interrupted_goes_on_and_nothing_is_imported_meanwhile(
    tmp_path: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = imported(tmp_path / "a.db", merged())
    monkeypatch.setattr(background, "_begin", lambda pk, kind: None)
    begin_removal(row.source, "ada", "")
    work = background.remove(row.source, "ada")
    assert "being removed" in client.get("/sources/").content.decode()
    with pytest.raises(BeingRemoved, match="is being removed from Inspector"):
        bring(tmp_path / "a.db")
    assert background.remove(row.source, "bob").task.pk == work.task.pk, "it runs already"
    monkeypatch.setattr(background, "_begin", lambda pk, kind: background.run(pk))
    type(work.task).objects.update(by="1 0 elsewhere", started_at="2026-01-01T00:00:00Z")
    client.get("/sources/")
    assert not Source.objects.exists() and audit.state().total == 0
    assert again(tmp_path / "a.db").oid == row.oid


def test_one_that_was_ended_between_two_steps_leaves_right_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = merged(merged(), to="c2")
    row = imported(tmp_path / "a.db", store)
    monkeypatch.setattr(remove_source, "CHUNKS_AT_ONCE", 0)
    begin_removal(row.source, "ada", "")
    row.source.refresh_from_db()
    assert remove_source._purge_some(row.source, "x")
    assert (
        [count.conversations for count in ConversationCount.objects.all() if count.conversations] == [1] == [Conversation.objects.count()]
    )
    finish_removal(row.source)
    finish_removal(row.source)
    assert not Source.objects.exists() and audit.state().total == 0 and AuditEntry.objects.filter(verb="remove source").count() == 1


def kept() -> tuple[list[object], list[object]]:
    """What a removal leaves behind, without moments and what they are digested into."""
    about = Tombstone.objects.order_by("oid").values("oid", "kind", "conversation", "source", "native", "reason", "is_import_allowed")
    lines = AuditEntry.objects.filter(verb="purge").order_by("conversation", "-pk").values_list("conversation", "detail")
    newest = {conversation: {**detail, "tombstones": ""} for conversation, detail in reversed(lines)}
    return list(about), sorted(newest.items())


def test_many_at_once_leave_what_one_after_the_other_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three of which have the same content: what they share is gone with the last of them."""
    store = merged(merged(merged(), to="c2"), to="c3")
    for name in ("c2", "c3"):
        store.append(U("only here"), to=name)
    copy = imported(tmp_path / "copy.db", merged())
    monkeypatch.setattr(remove_source, "AT_ONCE", 1)
    gone(imported(tmp_path / "a.db", store).source)
    one_by_one = kept()
    assert len(one_by_one[1]) == 3 and len({detail["shared"] for _, detail in one_by_one[1]}) > 1
    monkeypatch.setattr(remove_source, "AT_ONCE", 500)
    bring(tmp_path / "a.db")
    gone(Source.objects.exclude(pk=copy.source.pk).get())
    assert kept() == one_by_one and audit.state(values=True).total == 0
    assert [count.conversations for count in ConversationCount.objects.all() if count.conversations] == [1]
    gone(copy.source)
    assert not Payload.objects.exists() and audit.state().total == 0


def test_a_removal_takes_as_many_statements_for_many_conversations_as_for_few(tmp_path: Path) -> None:
    numbers = []
    for name, count in (("few.db", 5), ("many.db", 60)):
        source = many(tmp_path / name, count)
        begin_removal(source, "ada", "")
        source.refresh_from_db()
        # As the whole removal does first.
        Problem.objects.all().delete()
        with CaptureQueriesContext(connection) as queries:
            assert remove_source._purge_some(source, "x")
        assert not source.conversations.exists()
        numbers.append(len(queries))
        # Links that both share would be handed over one by one.
        Tombstone.objects.all().delete()
    assert numbers[1] <= numbers[0] + 3, numbers


def test_the_undo_of_a_repair_in_the_store_is_not_lost_by_mistake(tmp_path: Path) -> None:
    repair = applied(imported(tmp_path / "a.db", merged()), "renumber-messages")
    source = repair.conversation.source
    with pytest.raises(Refused, match="their undo would be lost"):
        begin_removal(source, WHO, "")
    assert not Source.objects.get().removed_by
    type(repair).objects.update(claimed_at="2026-01-01T00:00:00Z")
    with pytest.raises(Refused, match="is being written, or was interrupted"):
        begin_removal(source, WHO, "", with_repairs=True)
    type(repair).objects.update(claimed_at=None)
    gone(source)
    assert not Source.objects.exists()


def test_the_command_says_what_would_go_and_removes_it(tmp_path: Path) -> None:
    row = imported(tmp_path / "a.db", merged())
    asked = run("purge", "--source", str(tmp_path / "a.db"))
    assert asked.status == 0 and "Nothing was removed" in asked.out and "1 conversations" in asked.out and Source.objects.exists()
    assert run("purge", "--source", "nowhere").status == 2
    done = run("purge", "--source", row.source.oid, "--yes", "--reason", "moved")
    assert done.status == 0 and "Removed the source" in done.out and not Source.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_person_types_the_name_and_has_the_role(
    tmp_path: Path, client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.INSPECTOR_LOCAL = False
    monkeypatch.setattr(background, "_begin", lambda pk, kind: background.run(pk))
    row = imported(tmp_path / "a.db", merged())
    address = f"/sources/{row.source.oid}/remove/"
    client.force_login(account("ann", "approver"))
    assert (client.get(address).status_code, client.post(address, {"confirm": row.source.name}).status_code) == (403, 403)
    assert "See what goes" not in client.get(f"/sources/{row.source.oid}/").content.decode()
    client.force_login(account("ada", "admin", source=row.source))
    page = client.get(address).content.decode()
    assert "is not touched" in page and client.get(f"/sources/{row.source.oid}/remove.json").json()["conversations"] == 1
    answer = client.post(address, {"confirm": "b.db", "reason": "moved away"})
    wrong = answer.content.decode()
    assert answer.status_code == 409 and 'id="remove-confirm-problem">Nothing was removed' in wrong and Source.objects.exists()
    assert 'value="moved away"' in wrong and 'value="b.db"' in wrong
    client.post(address, {"confirm": row.source.name, "reason": "moved"})
    assert not Source.objects.exists() and AuditEntry.objects.get(verb="remove source").who == "ada"
