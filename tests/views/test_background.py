"""Pages about a repair of a large conversation start the work and show it when it is done: no request plans, reads the conversation or writes a store."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.utils import timezone

from inspector import background, large_pages
from inspector.actions import shown_previews
from inspector.actions.planning import preview_of
from inspector.models import BackgroundTask, Conversation, Repair, Source, StoredPreview, loading, previews
from inspector.models import background as background_models
from inspector.models.background import judged_since
from inspector.presentation.conversation import examined
from inspector.presentation.repair.preview_part import preview_part
from inspector.sources import unchanged
from inspector.sources.processes import this_process
from inspector.sources.reading import read_one
from inspector.views.tasks import WAITED
from tests.actions.building import again, broken, chunk_key, imported, put
from tests.actions.building import row as row_of
from tests.commands.running import run
from tests.counting import counted
from tests.programs.claude_code import session_lines as session
from tests.programs.pi_openclaw.session_files import a, header, lines, text, u
from tests.views.test_repairs import seen

pytestmark = pytest.mark.django_db
CHOSEN = {"strategy": "insert-interrupted-result", "mode": "in-place"}
COMPUTED = "The preview is being computed ("


@pytest.fixture(autouse=True)
def _all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (shown_previews, background, background_models, large_pages, examined):
        monkeypatch.setattr(module, "LARGE", 1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.db"


@pytest.fixture
def conversation(path: Path) -> Conversation:
    row = imported(path, broken())
    Source.objects.update(write_enabled=True)
    return row


@contextmanager
def light() -> Iterator[None]:
    """Inside, requests plan nothing and load no record, of a server that has nothing in memory."""
    loading.forget()
    with counted(preview_of, preview_part, loading.read_records, read_one) as counts:
        yield
    assert not any(counts.values()), counts


def done() -> BackgroundTask:
    """The newest task, after a process did it."""
    task = BackgroundTask.objects.order_by("-pk")[0]
    assert task.ended_at is None
    loading.forget()
    background.run(task.pk)
    loading.forget()
    task.refresh_from_db()
    assert task.ended_at is not None
    return task


def new(row: Conversation) -> str:
    return f"/conversations/{row.oid}/repairs/new/"


def shown(client: Client, address: str, query: dict[str, str] | None = None) -> str:
    answer = client.get(address, query)
    assert answer.status_code == 200, answer.status_code
    return answer.content.decode()


def test_the_first_preview_is_computed_elsewhere_and_then_shown(client: Client, conversation: Conversation) -> None:
    with light():
        page = shown(client, new(conversation), CHOSEN)
    assert f"{COMPUTED}{conversation.chunk_count:,} chunks)" in page and "insert-interrupted-result" in page
    assert 'http-equiv="refresh"' in page and "Propose this repair" not in page
    task = done()
    assert (task.kind, task.error, task.answer) == ("preview", "", "")
    with light():
        page = shown(client, new(conversation), CHOSEN)
    assert "Propose this repair" in page and COMPUTED not in page


def test_two_who_look_at_once_wait_for_one_task(client: Client, conversation: Conversation) -> None:
    for _ in range(2):
        shown(client, new(conversation), CHOSEN)
    assert BackgroundTask.objects.count() == 1
    shown(client, new(conversation), {**CHOSEN, "strategy": "renumber-messages"})
    assert BackgroundTask.objects.count() == 2


def test_htmx_asks_for_the_task_and_loads_the_page_again_when_it_ended(client: Client, conversation: Conversation) -> None:
    shown(client, new(conversation), CHOSEN)
    address, part = f"/tasks/{BackgroundTask.objects.get().key}/", {"HX-Request": "true"}
    answer = client.get(address, headers=part)
    assert COMPUTED in answer.content.decode() and "<html" not in answer.content.decode()
    assert "<html" in shown(client, address)
    done()
    assert client.get(address, headers=part).headers["HX-Refresh"] == "true"
    assert client.get(address).headers["Location"].startswith(new(conversation) + "?strategy=insert-interrupted-result")


def test_what_failed_says_so_and_is_tried_again_when_asked(client: Client, conversation: Conversation) -> None:
    shown(client, new(conversation), CHOSEN)
    BackgroundTask.objects.update(kind="preview", arguments={})
    assert "fault of Inspector" in done().error
    page = shown(client, new(conversation), CHOSEN)
    assert "fault of Inspector" in page and COMPUTED not in page and "http-equiv" not in page
    assert BackgroundTask.objects.count() == 1
    answer = client.get(new(conversation), {**CHOSEN, "again": "1"})
    assert answer.status_code == 302 and "again" not in answer.headers["Location"]
    assert COMPUTED in shown(client, new(conversation), CHOSEN)
    assert not done().error


def test_a_task_whose_process_was_killed_is_not_waited_for(client: Client, conversation: Conversation) -> None:
    shown(client, new(conversation), CHOSEN)
    name = "from inspector.sources.processes import this_process; print(this_process(), end='')"
    ended = subprocess.run([sys.executable, "-c", name], check=True, capture_output=True, text=True, cwd=Path.cwd(), env=os.environ)
    BackgroundTask.objects.update(by=ended.stdout)
    page = shown(client, new(conversation), CHOSEN)
    assert "was ended in the middle" in page and COMPUTED not in page
    client.get(new(conversation), {**CHOSEN, "again": "1"})
    assert COMPUTED in shown(client, new(conversation), CHOSEN)


def test_a_task_of_another_machine_is_waited_for_an_hour(client: Client, conversation: Conversation) -> None:
    shown(client, new(conversation), CHOSEN)
    BackgroundTask.objects.update(by="elsewhere boot 1 2")
    assert COMPUTED in shown(client, new(conversation), CHOSEN)
    BackgroundTask.objects.update(started_at=timezone.now() - background.LONGEST)
    assert "was ended in the middle" in shown(client, new(conversation), CHOSEN)


def test_another_revision_has_a_preview_of_its_own(client: Client, conversation: Conversation, path: Path) -> None:
    shown(client, new(conversation), CHOSEN)
    done()
    put(path, chunk_key(20), row_of("a new one", msg_idx=20))
    again(path)
    assert COMPUTED in shown(client, new(conversation), CHOSEN)


def test_the_same_revision_read_again_keeps_its_preview(client: Client, conversation: Conversation, path: Path) -> None:
    shown(client, new(conversation), CHOSEN)
    done()
    again(path)
    with light():
        assert "Propose this repair" in shown(client, new(conversation), CHOSEN)


def test_one_that_is_too_large_to_be_kept_is_computed_by_its_page(
    client: Client, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(previews, "MOST_BYTES", 100)
    shown(client, new(conversation), CHOSEN)
    done()
    assert not StoredPreview.objects.exists()
    assert "Propose this repair" in shown(client, new(conversation), CHOSEN)


def test_a_dropped_preview_is_computed_again(client: Client, conversation: Conversation) -> None:
    shown(client, new(conversation), CHOSEN)
    done()
    StoredPreview.objects.all().delete()
    assert COMPUTED in shown(client, new(conversation), CHOSEN)


def acted(client: Client, address: str, fields: dict[str, str]) -> str:
    """The page to which a button leads in the end."""
    with light():
        answer = client.post(address, fields)
        progress = answer.headers["Location"]
        assert progress.startswith("/tasks/") and "chunks)" in shown(client, progress)
    done()
    return client.get(progress).headers["Location"]


def test_a_repair_from_its_proposal_to_its_undo(
    client: Client, conversation: Conversation, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unchanged, "SETTLED_NS", 0)
    stored = path.read_bytes()
    shown(client, new(conversation), CHOSEN)
    done()
    page = acted(client, seen(client, conversation, **CHOSEN), CHOSEN)
    repair = Repair.objects.get()
    assert page == f"/repairs/{repair.oid}/" and repair.state == Repair.State.PROPOSED and repair.rehearsal["ok"]
    with light():
        assert "Approve plan" in shown(client, page)
        client.post(f"{page}approve/", {"digest": repair.plan_digest, "statement": "fixed"})
        assert "Apply:" in shown(client, page)
    repair.refresh_from_db()
    assert repair.approved_digest == repair.plan_digest and path.read_bytes() == stored
    assert acted(client, f"{page}apply/", {}) == page
    with light():
        # Whether the store still holds it is compared after the write as well.
        assert "Read back from the store" in (content := shown(client, page)) and "is being compared" in content
        assert "disabled>Undo" in " ".join(content.split())
    assert "it can be undone" in done().answer
    with light():
        assert "it can be undone" in (content := shown(client, page)) and "disabled>Undo" not in " ".join(content.split())
    assert acted(client, f"{page}undo/", {}) == page
    repair.refresh_from_db()
    assert repair.state == Repair.State.UNDONE


def test_an_act_that_is_refused_says_why_and_leads_back(client: Client, conversation: Conversation, path: Path) -> None:
    shown(client, new(conversation), CHOSEN)
    done()
    address = seen(client, conversation, **CHOSEN)
    put(path, chunk_key(20), row_of("a new one", msg_idx=20))
    with light():
        progress = client.post(address, CHOSEN).headers["Location"]
    task = done()
    assert client.get(progress, headers={"HX-Request": "true"}).headers["HX-Refresh"] == "true"
    page = shown(client, progress)
    assert "The store moved since" in page and ">failed</span>" in page and "http-equiv" not in page
    assert task.back.startswith(new(conversation)) and "Try again where it was asked for" in page
    assert not Repair.objects.exists()


def test_a_task_that_ended_a_while_ago_says_how_and_leads_to_what_came_of_it(client: Client, conversation: Conversation) -> None:
    shown(client, new(conversation), CHOSEN)
    done()
    with light():
        progress = client.post(seen(client, conversation, **CHOSEN), CHOSEN).headers["Location"]
    ended = done().ended_at
    assert ended is not None
    assert client.get(progress).headers["Location"] == f"/repairs/{Repair.objects.get().oid}/"
    BackgroundTask.objects.update(ended_at=ended - 2 * WAITED, started_at=ended - 2 * WAITED - timedelta(seconds=3))
    page = shown(client, progress)
    assert ">done</span>" in page and "after <b>3 s</b>" in page
    assert f'href="/repairs/{Repair.objects.get().oid}/">Open the repair</a>' in re.sub(r"\s+", " ", page)


def test_the_list_says_what_each_task_is_about_and_how_it_ended_and_can_be_narrowed_by_state(
    client: Client, conversation: Conversation
) -> None:
    now = timezone.now()
    for key, kind, answer, error in (
        ("a", "group apply", "13 of 14 repairs were applied.", ""),
        ("b", "import", "", "There is no file at /srv/a.db."),
        ("c", "apply", "", ""),
    ):
        BackgroundTask.objects.create(
            key=key,
            kind=kind,
            conversation=conversation if kind == "apply" else None,
            source=conversation.source if kind == "group apply" else None,
            arguments={"total": 14} if kind == "group apply" else {"path": "/srv/a.db"},
            started_at=now,
            ended_at=None if kind == "apply" else now,
            by=this_process(),
            answer=answer,
            error=error,
        )
    page = shown(client, "/tasks/")
    assert (
        "Apply repairs</a>" in page
        and f"14 conversations of {conversation.source.name}" in page
        and "13 of 14 repairs were applied." in page
    )
    assert "There is no file at /srv/a.db." in page and f">{conversation.title}</a>" in page
    counts = re.findall(r'>(\w+) <span class="count">(\d+)<', page)
    assert counts == [("All", "3"), ("Running", "1"), ("Failed", "1"), ("Done", "1")]
    for state, key in (("done", "a"), ("failed", "b"), ("running", "c")):
        assert re.findall(r'href="/tasks/(\w)/"', shown(client, f"/tasks/?state={state}")) == [key], state


def test_a_removal_says_how_far_it_is(client: Client, conversation: Conversation) -> None:
    source = conversation.source
    BackgroundTask.objects.create(
        key="k", kind="remove", arguments={"source": source.oid, "total": 3}, back="/sources/", started_at=timezone.now(), by=this_process()
    )
    assert "2 of 3 are done." in shown(client, "/tasks/k/")


def test_another_plan_than_was_signed_is_not_approved(client: Client, conversation: Conversation) -> None:
    shown(client, new(conversation), CHOSEN)
    done()
    page = acted(client, seen(client, conversation, **CHOSEN), CHOSEN)
    signed = {"digest": Repair.objects.get().plan_digest, "statement": "fixed"}
    with light():
        client.post(f"{page}approve/", {**signed, "digest": "0" * 64})
        assert "This is not the plan that you looked at" in shown(client, page)
        StoredPreview.objects.update(basis="another")
        client.post(f"{page}approve/", signed)
        assert "has to be computed again" in (content := shown(client, page)) and COMPUTED in content and "Approve plan" not in content
    assert Repair.objects.get().state == Repair.State.PROPOSED
    done()
    with light():
        client.post(f"{page}approve/", signed)
    assert Repair.objects.get().state == Repair.State.APPROVED


def test_the_import_prepares_the_preview_that_the_page_suggests(client: Client, path: Path) -> None:
    begun = timezone.now()
    row = imported(path, broken())
    background.prepare_ahead(judged_since(begun, [row.source]), waits=True)
    task = BackgroundTask.objects.get()
    assert task.ended_at and not task.error and StoredPreview.objects.count() == 1
    suggested = re.findall(r'name="strategy"[^>]* value="([^"]+)" checked', " ".join(shown(client, new(row)).split()))
    assert suggested
    with light():
        page = shown(client, new(row) + "?" + urlencode({"strategy": suggested}, doseq=True))
    assert "Propose this repair" in page
    # What an import finds unchanged has it already.
    later = timezone.now()
    again(path)
    assert not judged_since(later, [row.source]).exists()


def test_the_import_prepares_nothing_for_a_small_or_a_sound_conversation(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = path.with_name("sound.jsonl")
    sound.write_bytes(lines(header(), u("u0", None, "go"), a("a0", "u0", text("done"))))
    assert run("import_source", str(sound)).status == 0
    # Nothing is damaged where the last call is pending, and nobody asks for its repair.
    pending = path.with_name("pending.jsonl")
    pending.write_bytes(session.lines(session.u("u0", None), session.a("a0", "u0", "m0", session.call("c1"))))
    assert run("import_source", str(pending)).status == 0 and Conversation.objects.get(native_id="pending").worst == "note"
    monkeypatch.setattr(background_models, "LARGE", 10_000)
    imported(path, broken())
    assert run("import_source", str(path)).status == 0
    assert Conversation.objects.count() == 3 and not BackgroundTask.objects.exists()
