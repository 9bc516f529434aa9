"""Several writers at once on a server, which lets them: imports, lines of the trail and acts on a repair come one after the other all the same."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connection, connections
from django.test import Client

from inspector.actions import audit, writing
from inspector.actions.apply_repair import apply_repair
from inspector.actions.import_source import import_targets
from inspector.actions.problems import Refused
from inspector.actions.undo_repair import undo_repair, verify_repair
from inspector.database_problems import BUSY
from inspector.models import AuditEntry, Conversation, Payload, Repair, Revision, Source, transactions
from inspector.models.transactions import one_writer
from inspector.sources import stores
from tests.actions.building import WHO, A, Store, U, approved, bring, chunk_key, everything, imported, make, merged, put, row

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def on_a_server() -> Iterator[None]:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite lets one writer in at a time by itself: run `make test-postgres`")
    yield


def at_once(*acts: Callable[[], object]) -> list[object]:
    """What each act gave or raised, all started together, each with a connection of its own."""
    gate, given = threading.Barrier(len(acts)), dict[int, object]()

    def work(number: int) -> None:
        try:
            gate.wait(20)
            given[number] = acts[number]()
        except Exception as error:
            given[number] = error
        finally:
            connections.close_all()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(acts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return [given[number] for number in range(len(acts))]


def test_lines_of_the_trail_follow_one_another(tmp_path: Path) -> None:
    def write(who: str) -> None:
        for number in range(15):
            audit.record(who, "apply", number=number)

    assert at_once(*(lambda who=who: write(who) for who in "abcdef")) == [None] * 6
    assert AuditEntry.objects.count() == 90 and audit.broken_at() is None
    assert len(set(AuditEntry.objects.values_list("previous", flat=True))) == 90


def test_one_store_imported_by_several_is_one_source_with_one_revision(tmp_path: Path) -> None:
    path = make(tmp_path / "a.db", merged().values)
    for revision in (1, 2):
        given = at_once(*[lambda: import_targets([str(path)], WHO)[0].unchanged] * 4)
        assert sorted(map(str, given)) == ["0", "1", "1", "1"]
        assert Source.objects.count() == Conversation.objects.count() == 1 and Revision.objects.count() == revision
        put(path, chunk_key(5), row("more"))
    assert audit.broken_at() is None


def test_stores_that_share_their_rows_do_not_wait_for_each_other_for_ever(tmp_path: Path) -> None:
    """Two that insert the same payloads in another order would each hold what the other waits for."""
    paths = []
    for name, words in (("up", range(10, 50)), ("down", range(49, 9, -1))):
        store = Store()
        for number, word in enumerate(words):
            store.append(U(f"hello {word}"), A("hi there"), to=f"c{number:02d}")
        paths.append(make(tmp_path / f"{name}.db", store.values))
    given = at_once(*(lambda path=path: import_targets([str(path)], WHO)[0].conversations for path in paths))
    assert given == [40, 40] and Payload.objects.count() > 0


def test_imports_of_two_sources_write_at_once_and_any_other_writer_waits_for_both(tmp_path: Path) -> None:
    bring(make(tmp_path / "a.db", merged().values), make(tmp_path / "b.db", merged().values))
    first, second = Source.objects.order_by("pk").values_list("pk", flat=True)
    order: list[str] = []
    inside, both_write = threading.Barrier(2, timeout=60), threading.Event()

    def write(source: int) -> None:
        with one_writer(source):
            inside.wait()
            both_write.set()
            time.sleep(0.3)
            order.append("import")
            # Neither lets a waiting one in before both are noted.
            inside.wait()

    def others(source: int | None) -> None:
        assert both_write.wait(60)
        with one_writer(source):
            order.append("other")

    assert at_once(lambda: write(first), lambda: write(second), lambda: others(first), lambda: others(None)) == [None] * 4
    assert order == ["import", "import", "other", "other"]


@pytest.mark.parametrize("mode", ["in-place", "fork"])
def test_of_two_who_apply_one_writes(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "a.db"
    repair = approved(imported(path, merged()), "renumber-messages", mode=mode)
    before = everything(path)
    mine = [Repair.objects.select_related("conversation__source").get(pk=repair.pk) for _ in range(3)]
    given = at_once(*(lambda each=each: apply_repair(each, WHO, interactive=True) for each in mine))
    assert [each for each in given if each is None] == [None] and all(isinstance(each, Refused) for each in given if each is not None)
    repair = Repair.objects.get()
    assert repair.state == Repair.State.VERIFIED and AuditEntry.objects.filter(verb="apply").count() == 1
    undo_repair(repair, WHO, interactive=True)
    assert everything(path) == before and audit.broken_at() is None


def test_our_server_gone_after_the_write_the_next_apply_records_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.db"
    repair = approved(imported(path, merged()), "renumber-messages")
    before = everything(path)

    def commit(*given: Any, **named: Any) -> float:
        monkeypatch.undo()
        held = stores.commit(*given, **named)
        with connection.cursor() as cursor, pytest.raises(OperationalError):
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        return held

    monkeypatch.setattr(writing.stores, "commit", commit)
    with pytest.raises(OperationalError):
        apply_repair(repair, WHO, interactive=True)
    after = everything(path)
    connection.close()
    repair = Repair.objects.get()
    assert repair.state == Repair.State.APPROVED and after != before and repair.changes.exists()
    assert "being written at this moment" in verify_repair(repair)[1]
    with pytest.raises(Refused, match="Somebody else is at work"):
        apply_repair(repair, WHO, interactive=True)
    # As after its process ended.
    Repair.objects.update(claimed_at=None)
    repair = Repair.objects.get()
    apply_repair(repair, WHO, interactive=True)
    assert repair.state == Repair.State.VERIFIED and everything(path) == after
    undo_repair(repair, WHO, interactive=True)
    assert everything(path) == before and audit.broken_at() is None


def test_our_server_gone_in_the_middle_of_an_import_leaves_whole_conversations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from inspector.actions import import_store

    path = make(tmp_path / "a.db", merged(merged(), to="c2").values)
    write_examined, calls = import_store.write_examined, 0

    def cut(*arguments: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            # Its revision is written and what was judged of it is not.
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        write_examined(*arguments)

    monkeypatch.setattr(import_store, "BATCH_CONVERSATIONS", 1)
    monkeypatch.setattr(import_store, "write_examined", cut)
    with pytest.raises(OperationalError):
        import_targets([str(path)], WHO)
    monkeypatch.undo()
    connection.close()
    first = Conversation.objects.get()
    assert first.verdict and Revision.objects.get().conversation == first
    assert Source.objects.get().stamp == "" and not AuditEntry.objects.exists()
    (complete,) = import_targets([str(path)], WHO)
    assert (complete.conversations, complete.unchanged) == (2, 1)
    assert Revision.objects.count() == 2 and not Conversation.objects.filter(verdict="").exists()


def test_who_waits_too_long_is_told_that_it_is_busy_and_readers_go_on(
    tmp_path: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = imported(tmp_path / "a.db", merged()).source
    monkeypatch.setattr(transactions, "WAIT", "200ms")
    held, done = threading.Event(), threading.Event()

    def writes() -> None:
        with one_writer():
            held.set()
            done.wait(30)

    def asks() -> list[tuple[int, str]]:
        held.wait(30)
        answers = [client.get("/conversations/"), client.post(f"/sources/{source.oid}/write-back/", {"on": "1", "answers": "1"})]
        done.set()
        return [(answer.status_code, answer.content.decode()) for answer in answers]

    _, answers = at_once(writes, asks)
    assert isinstance(answers, list) and answers[0][0] == 200 and answers[1] == (503, BUSY + "\n")
    assert not Source.objects.get().write_enabled
