"""A page is of one moment: whatever is committed while it is made shows wholly or not at all, and a page that only shows writes nothing."""

import re
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.db import DatabaseError, connection, connections
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.utils import timezone
from pytest_django import Settings

from inspector.actions import audit
from inspector.database_problems import BUSY
from inspector.demo.rollouts_incident import ERROR, SESSION, incident_files
from inspector.demo.stream_incident import capture_files
from inspector.middleware import read_one_snapshot
from inspector.models import (
    AuditEntry,
    BackgroundTask,
    Conversation,
    Finding,
    Notifier,
    Payload,
    Problem,
    Repair,
    RepairGroup,
    Revision,
    Source,
    SourceGroup,
    Stream,
    StreamPart,
    TraceRecord,
    comparing,
    loading,
)
from inspector.models.transactions import one_snapshot, one_writer
from inspector.urls import urlpatterns
from inspector.views import analysis, streams
from tests.actions.building import bring, imported, make, merged, proposed
from tests.commands.running import run
from tests.views.imported import INCIDENT, MERGED, example, rows, store
from tests.views.reaching import group_of_a_problem, notifier

pytestmark = pytest.mark.django_db(transaction=True)

Act = Callable[[], object]


@pytest.fixture(autouse=True)
def in_a_file(tmp_path: Path, transactional_db: None) -> Iterator[None]:
    """Our database as people have it: the one of the tests is in memory, where there is no WAL and a reader keeps writers out."""
    if connection.vendor != "sqlite":
        yield
        return
    in_memory, path = connections["default"], tmp_path / "own" / "inspector.sqlite3"
    in_memory.ensure_connection()
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as file:
        in_memory.connection.backup(file)
    name, in_memory.settings_dict["NAME"] = in_memory.settings_dict["NAME"], str(path)
    connections["default"] = connections.create_connection("default")
    try:
        yield
    finally:
        connections["default"].close()
        connections["default"] = in_memory
        in_memory.settings_dict["NAME"] = name


def by_another(act: Act) -> None:
    """Does `act` on a connection of its own, to its end."""
    problems: list[Exception] = []

    def work() -> None:
        try:
            act()
        except Exception as problem:
            problems.append(problem)
        finally:
            connections.close_all()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)
    assert not thread.is_alive() and not problems, problems


@contextmanager
def in_the_gap(act: Act, after: int = 1, marker: str = "") -> Iterator[list[str]]:
    """`act` happens once, right after the query number `after` of those that read in a transaction and contain `marker`. Gives those queries.

    What a page writes before it is shown is no part of it, and neither are the queries for that.
    """
    seen: list[str] = []

    def wrapper(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        answer = execute(sql, params, many, context)
        if sql.startswith("SELECT") and marker in sql and connection.in_atomic_block:
            seen.append(sql)
            if len(seen) == after:
                by_another(act)
        return answer

    with connection.execute_wrapper(wrapper):
        yield seen


def forget() -> None:
    for cached in (loading._stored, loading._trace, loading.body, loading._analysis, analysis._analysis, streams._viewed):
        cached.cache_clear()
    comparing._DIFFERENCES.clear()
    comparing._WITH_FINDINGS.clear()


def test_the_inbox_is_shown_while_an_import_finds_a_rule_that_was_not_there(client: Client, tmp_path: Path) -> None:
    """Several queries read the counts of rules: a later one knew a rule that the first did not, and the page answered 500."""
    store(tmp_path / "a.db", rows("here", MERGED))
    make(tmp_path / "b.db", merged().values | {"conv:c1:seq": "9"})
    before = client.get("/index.json").json()
    forget()
    with in_the_gap(lambda: bring(tmp_path / "b.db"), marker="inspector_rulecount"):
        answer = client.get("/index.json")
    assert answer.status_code == 200 and answer.json() == before
    after = client.get("/index.json").json()
    assert after != before and {each["code"] for each in before["rules"]} < {each["code"] for each in after["rules"]}


def everything_imported(folder: Path) -> None:
    """Every kind of source, and a repair that is proposed."""
    example(folder)
    for key, data in incident_files().items():
        place = folder / "rollouts" / key
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    for name, data in capture_files().items():
        (folder / name).write_bytes(data)
    bring(folder / "rollouts", *(folder / name for name in capture_files()))
    incident = Conversation.objects.select_related("source").get(native_id=INCIDENT)
    proposed(incident, "renumber-messages")
    group_of_a_problem()
    notifier()
    now = timezone.now()
    BackgroundTask.objects.create(conversation=incident, key="a" * 64, kind="preview", back="/", started_at=now, ended_at=now)


def addresses() -> dict[str, str]:
    """An address for every route, those that only take POST left out."""
    incident = Conversation.objects.get(native_id=INCIDENT)
    crash = Conversation.objects.filter(native_id__startswith="crash:").latest("pk")
    other = Conversation.objects.filter(source=incident.source).exclude(pk=incident.pk).latest("pk")
    trace = TraceRecord.objects.exclude(body=None).latest("pk")
    oids = {
        "conversations": incident.oid,
        "findings": Finding.objects.filter(conversation=incident).latest("pk").oid,
        "streams": Stream.objects.latest("pk").oid,
        "problems": Problem.objects.get(source=incident.source, code="MSG101").oid,
        "repairs": Repair.objects.earliest("pk").oid,
        "repair-groups": RepairGroup.objects.get().oid,
        "sources": incident.source.oid,
        "new-link": incident.oid,
        "notifications": Notifier.objects.get().oid,
    }
    values = {
        "position": "3",
        "digest": str(trace.body),
        "side": "client",
        "number": "1",
        "old": "1",
        "new": "1",
        "code": "MSG101",
        "name": "renumber-messages",
        "kind": "conversation",
        "key": BackgroundTask.objects.get().key,
        "pk": str(get_user_model()._default_manager.get(username="somebody").pk),
        "uidb64": "MQ",
        "token": "none",
    }
    queries = {
        "/explain/": f"?error=messages.5.content.3&target={crash.oid}",
        "/explain.json": f"?error=messages.5.content.3&target={crash.oid}",
        "/diff/": f"?with={other.oid}",
        "/diff.json": f"?with={other.oid}",
        "/live/": "?of=everything&seen=0.0.0.0.0.0",
        "repairs/new/": "?strategy=renumber-messages",
        "repairs/new.json": "?strategy=renumber-messages",
    }
    found = {}
    for pattern in urlpatterns:
        route = str(pattern.pattern)
        if getattr(pattern.callback, "writes", False) or route in POSTED:
            continue
        values["oid"] = oids.get(route.partition("/")[0], "")
        address = "/" + re.sub(r"<\w+:(\w+)>", lambda match: values[match[1]], route)
        found[route] = address + next((query for end, query in queries.items() if address.endswith(end)), "")
    return found


POSTED = {
    *(f"repairs/<slug:oid>/{act}/" for act in ("approve", "reject", "apply", "undo")),
    *(f"repair-groups/<slug:oid>/{act}/" for act in ("approve", "reject", "reviewers", "apply", "undo", "again")),
    *("problems/decide/", "problems/views/", "repairs/decide/"),
    *("notifications/<slug:oid>/test/", "notifications/<slug:oid>/remove/"),
    *("sources/<slug:oid>/import/", "sources/<slug:oid>/write-back/", "sources/<slug:oid>/watch/", "logout/"),
    *(f"users/<int:pk>/{act}/" for act in ("roles", "state", "link", "tokens")),
    *("users/roles/", "account/tokens/", "account/tokens/<int:pk>/revoke/"),
    *("account/sessions/end/", "account/sessions/<int:pk>/end/"),
    *("sources/demo/", "sources/watch/", "links/<slug:oid>/revoke/"),
}


OF_PEOPLE = ("account", "password")
"""Not there in local mode."""


def body(answer: Any) -> tuple[int, bytes]:
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    # Of the metrics, what is of this process and no row of a database.
    content = re.sub(rb"(?m)^(?:process_|inspector_request|inspector_responses|\w+_oldest_seconds).*\n", b"", content)
    # The audit log says to the second when it was checked.
    content = re.sub(rb"checked at [0-9:]{8}", b"checked", content)
    return answer.status_code, re.sub(rb"[A-Za-z0-9]{64}", b"token", content)


@pytest.mark.slow
def test_every_page_and_twin_is_as_it_was_at_its_first_query_whatever_is_committed_later(client: Client, tmp_path: Path) -> None:
    """All rows are taken away after the first query, but for payloads, which no act of ours removes."""
    if connection.vendor != "sqlite":
        pytest.skip("the rows are put back as SQLite copies a file; the other tests of this file run on every database")
    everything_imported(tmp_path)
    somebody = get_user_model()._default_manager.create_user("somebody")
    SourceGroup.objects.create(pk=somebody.pk, name="ours")
    own = Path(connection.settings_dict["NAME"])
    kept = sqlite3.connect(":memory:")
    with closing(sqlite3.connect(own)) as file:
        file.backup(kept)

    def take_away() -> None:
        with closing(sqlite3.connect(own, timeout=1)) as file, file:
            for model in apps.get_app_config("inspector").get_models():
                if model is not Payload:
                    file.execute(f"DELETE FROM {model._meta.db_table}")

    several = 0
    for route, address in addresses().items():
        forget()
        before = body(client.get(address))
        forget()
        with in_the_gap(take_away) as queries:
            meanwhile = body(client.get(address))
        is_there = before[0] in (200, 302, 405) or route.startswith(OF_PEOPLE)
        assert is_there and meanwhile == before, route
        several += len(queries) > 1
        connection.close()
        with closing(sqlite3.connect(own)) as file:
            kept.backup(file)
    kept.close()
    assert several > 40 and Conversation.objects.exists()


def test_a_text_that_is_posted_to_be_explained_is_looked_for_in_one_snapshot(client: Client, tmp_path: Path) -> None:
    everything_imported(tmp_path)
    crash = Conversation.objects.filter(native_id__startswith="crash:").latest("pk")
    form = {"error": f"messages.5.content.3 {'x' * 3000}", "target": crash.oid}
    before = body(client.post("/explain/", form))
    forget()
    with in_the_gap(lambda: Conversation.objects.update(title="another", revision=7)):
        assert body(client.post("/explain/", form)) == before
    assert before[0] == 200 and Conversation.objects.filter(revision=7).exists()


@pytest.mark.parametrize(
    "command", [["show"], ["scan"], ["whatif", "--reader", "exact", "--reader", "dispatch-legacy"]], ids=lambda words: words[0]
)
def test_a_command_on_an_imported_conversation_reads_one_snapshot(tmp_path: Path, command: list[str]) -> None:
    oid = imported(tmp_path / "a.db", merged()).oid
    words = [command[0], oid, *command[1:], "--json"]
    before = run(*words)
    forget()
    with in_the_gap(lambda: Conversation.objects.update(revision=7)):
        assert run(*words) == before
    assert before.out and Conversation.objects.get().revision == 7


def test_whatif_over_everything_counts_one_snapshot(tmp_path: Path) -> None:
    for name in "ab":
        imported(tmp_path / f"{name}.db", merged())
    words = ("whatif", "--reader", "exact", "--reader", "dispatch-legacy", "--json")
    before = run(*words)
    forget()
    with in_the_gap(lambda: Revision.objects.update(number=7)):
        assert run(*words) == before
    assert before.json["conversations"] == 2 and Revision.objects.filter(number=7).count() == 2


def test_an_error_is_explained_on_one_snapshot_of_a_session_and_its_crash(tmp_path: Path) -> None:
    everything_imported(tmp_path)
    session = Conversation.objects.get(native_id=SESSION)
    words = ("explain", ERROR, "--target", session.oid)
    before = run(*words)
    forget()
    with in_the_gap(lambda: Conversation.objects.exclude(native_id=SESSION).update(revision=7), after=3):
        assert run(*words) == before
    assert Conversation.objects.filter(revision=7).exists() and "Stored in session" in before.out


def test_a_bundle_is_of_one_snapshot_and_the_trail_says_that_it_was_taken(client: Client, tmp_path: Path) -> None:
    oid = imported(tmp_path / "a.db", merged()).oid
    before = body(client.get(f"/conversations/{oid}/bundle.zip"))
    forget()
    with in_the_gap(lambda: Revision.objects.update(number=7)):
        assert body(client.get(f"/conversations/{oid}/bundle.zip")) == before
    assert before[0] == 200 and AuditEntry.objects.filter(verb="seal").count() == 2 and Revision.objects.get().number == 7


def test_a_download_that_has_begun_is_not_cut_by_another_import_of_its_capture(client: Client, tmp_path: Path) -> None:
    (name, data), *_ = capture_files().items()
    (tmp_path / name).write_bytes(data)
    bring(tmp_path / name)
    address = f"/streams/{Stream.objects.get().oid}/capture.jsonl"
    before = body(client.get(address))
    answer = client.get(address)
    by_another(StreamPart.objects.all().delete)
    assert body(answer) == before and len(before[1]) > 1000


def test_nothing_is_written_in_a_snapshot_and_writing_goes_on_after_it(tmp_path: Path) -> None:
    source = imported(tmp_path / "a.db", merged()).source
    for written in (lambda: Source.objects.update(came_from="x"), lambda: audit.record("me", "look")):
        with pytest.raises(DatabaseError), one_snapshot():
            written()
    with pytest.raises(KeyError), one_snapshot():
        raise KeyError
    with one_snapshot(), one_snapshot():
        assert Source.objects.count() == 1
        by_another(lambda: Source.objects.update(came_from="of another"))
        source.refresh_from_db()
        assert source.came_from == ""
    source.refresh_from_db()
    assert source.came_from == "of another"
    with one_writer():
        Source.objects.update(came_from="ours")
    assert audit.record("me", "look").pk and Source.objects.get().came_from == "ours"


def test_a_page_that_would_write_is_refused_in_one_sentence(tmp_path: Path) -> None:
    """It would fail only where another wrote meanwhile; so it fails always, and no such page is shipped."""
    middleware = read_one_snapshot(lambda request: HttpResponse())
    request = RequestFactory().get("/")
    answer = middleware.process_view(request, lambda request: audit.record("me", "look"), (), {})  # type: ignore[attr-defined]
    assert (answer.status_code, answer.content.decode()) == (503, BUSY + "\n")
    assert middleware.process_view(RequestFactory().post("/"), None, (), {}) is None  # type: ignore[attr-defined]


def note_the_visit(get_response: Any) -> Any:
    """A middleware that writes before every page, as one that settles what was left open does."""

    def middleware(request: HttpRequest) -> HttpResponse:
        audit.record("me", "visit")
        return get_response(request)  # type: ignore[no-any-return]

    return middleware


def test_what_a_middleware_writes_before_a_page_shows_on_it(client: Client, settings: Settings) -> None:
    settings.MIDDLEWARE = [*settings.MIDDLEWARE[:-1], f"{__name__}.note_the_visit", settings.MIDDLEWARE[-1]]
    assert settings.MIDDLEWARE[-1] == "inspector.middleware.read_one_snapshot"
    for count in (1, 2):
        assert [entry["verb"] for entry in client.get("/audit.json").json()["entries"]] == ["visit"] * count
