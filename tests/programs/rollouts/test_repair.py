"""A rollouts folder imported, repaired, read back and given back, through the same actions as every other store."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import Client

from inspector.actions.apply_repair import apply_repair
from inspector.actions.decide_repair import approve_repair, reject_repair
from inspector.actions.import_source import import_targets
from inspector.actions.planning import request_for
from inspector.actions.problems import Refused
from inspector.actions.propose_repair import propose_repair
from inspector.actions.undo_repair import undo_repair, verify_repair
from inspector.demo.rollouts_incident import CRASH, SESSION, incident_files
from inspector.models import Conversation, Repair, Source, loading
from inspector.sources import folders
from tests.programs.rollouts.session_files import everything, write

pytestmark = pytest.mark.django_db
INSERT = "insert-interrupted-result"
BOTH_FILES = (INSERT, "migrate-endpoint")
WHO = "tester"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write(tmp_path, incident_files())


def imported(root: Path, native_id: str = SESSION) -> Conversation:
    import_targets([str(root)], WHO)
    return Conversation.objects.select_related("source").get(native_id=native_id)


def proposed(conversation: Conversation, mode: str, *strategies: str) -> Repair:
    return propose_repair(conversation, request_for(conversation.source, loading.stored(conversation), strategies, mode), WHO)


def approved(conversation: Conversation, mode: str, *strategies: str) -> Repair:
    repair = proposed(conversation, mode, *strategies)
    approve_repair(repair, WHO, repair.plan_digest, statement="unfixed")
    return repair


def test_it_is_imported_with_its_crash(root: Path) -> None:
    conversation = imported(root)
    crash = Conversation.objects.get(native_id=f"crash:{CRASH}")
    assert conversation.source.format == "rollouts" and conversation.title.startswith("Find out why")
    assert crash.title.startswith("Crash: messages.5.content.3: ") and crash.last_activity == 1766505314201
    loading._stored.cache_clear()
    assert loading.stored(conversation).conversation.fact("crashes") == f"crash:{CRASH}"
    assert loading.stored(crash).conversation.fact("session") == SESSION
    assert import_targets([str(root)], WHO)[0].unchanged == 2


@pytest.mark.parametrize("mode", ["child", "fork", "in-place"])
def test_there_and_back(root: Path, mode: str) -> None:
    conversation = imported(root)
    before = everything(root)
    repair = proposed(conversation, mode, INSERT)
    assert "Rehearsed on a copy" in repair.rehearsal["sentence"] and everything(root) == before
    approve_repair(repair, WHO, repair.plan_digest, statement="unfixed")
    apply_repair(repair, WHO, interactive=True)
    assert repair.state == Repair.State.VERIFIED
    now = everything(root)
    changed = {key for key in before.keys() | now.keys() if before.get(key) != now.get(key)}
    own = f"sessions/{SESSION}" if mode == "in-place" else f"sessions/{repair.options['fork_id']}"
    assert changed == ({f"{own}/messages.jsonl"} if mode == "in-place" else {f"{own}/", f"{own}/messages.jsonl", f"{own}/session.json"})
    lines = now[f"{own}/messages.jsonl"].split(b"\n")
    assert lines[:16] + lines[17:] == before[f"sessions/{SESSION}/messages.jsonl"].split(b"\n")
    assert json.loads(lines[16])["tool_call_id"] == "toolu_03roles"
    assert verify_repair(repair)[0]
    undo_repair(repair, WHO, interactive=True)
    assert repair.state == Repair.State.UNDONE and everything(root) == before


def test_a_child_is_listed_with_its_parent_as_what_it_came_from(root: Path) -> None:
    repair = approved(imported(root), "child", INSERT)
    apply_repair(repair, WHO, interactive=True)
    child = Conversation.objects.select_related("source").get(native_id=repair.options["fork_id"])
    archive = loading.archive(child.source, loading.stored(child).conversation)
    assert archive is not None and archive.native_id == SESSION
    assert loading.stored(child).conversation.fact("branchPoint") == "16"
    # The crash stays with the session that it happened in, though the child holds the same ids and signatures.
    assert loading.stored(child).conversation.fact("crashes") is None
    assert loading.stored(imported(root)).conversation.fact("crashes") == f"crash:{CRASH}"


def test_the_same_repair_again_is_another_child(root: Path) -> None:
    conversation = imported(root)
    children = []
    for _ in range(3):
        repair = approved(conversation, "child", INSERT)
        apply_repair(repair, WHO, interactive=True)
        children.append(repair.options["fork_id"])
    assert len(set(children)) == 3 and all((root / "sessions" / child / "session.json").exists() for child in children)
    unknown = Source(format="rollouts", reader="rollouts", projection="rollouts-anthropic", profile="anthropic-2026-07")
    asked = request_for(unknown, loading.stored(conversation), (INSERT,), "child", native_ids=children[:2])
    assert asked.options["fork_id"] == children[2]


def test_a_store_that_moved_is_not_written(root: Path) -> None:
    repair = approved(imported(root), "child", INSERT)
    place = root / "sessions" / SESSION / "messages.jsonl"
    place.write_bytes(place.read_bytes() + b'{"role": "user", "content": "more"}\n')
    before = everything(root)
    with pytest.raises(Refused):
        apply_repair(repair, WHO, interactive=True)
    assert everything(root) == before


def test_undo_is_refused_once_the_child_went_on(root: Path) -> None:
    repair = approved(imported(root), "child", INSERT)
    apply_repair(repair, WHO, interactive=True)
    place = root / "sessions" / repair.options["fork_id"] / "messages.jsonl"
    place.write_bytes(place.read_bytes() + b'{"role": "user", "content": "more"}\n')
    with pytest.raises(Refused, match="the store went on"):
        undo_repair(repair, WHO, interactive=True)
    assert place.exists()


def test_a_crash_file_is_never_written(root: Path) -> None:
    imported(root)
    with pytest.raises(Refused):
        proposed(Conversation.objects.select_related("source").get(native_id=f"crash:{CRASH}"), "in-place", INSERT)


@pytest.fixture
def unloadable(root: Path) -> Path:
    session = root / "sessions" / SESSION / "session.json"
    session.write_text(session.read_text().replace('"status": "', '"status": "was-'))
    return root


CHANGED = pytest.mark.parametrize("mode", ["child", "in-place"])


def both_files(repair: Repair) -> list[Path]:
    """The files that the repair wrote, those of a child session or those of the session itself."""
    base = Path(repair.conversation.source.path).parent
    return [base / bytes(change.key).decode() for change in repair.changes.all()]


def applied(unloadable: Path, mode: str) -> Repair:
    """Both files of the session change: its messages, and a status that today's program does not load."""
    repair = approved(imported(unloadable), mode, *BOTH_FILES)
    apply_repair(repair, WHO, interactive=True)
    assert repair.state == Repair.State.VERIFIED and len(both_files(repair)) == 2
    return repair


@CHANGED
def test_verify_looks_at_every_file_that_the_repair_wrote(unloadable: Path, mode: str) -> None:
    repair = applied(unloadable, mode)
    for path, change in zip(both_files(repair), repair.changes.all(), strict=True):
        written = path.read_bytes()
        for data in (written + b"\n", None, change.before):
            path.unlink() if data is None else path.write_bytes(bytes(data))
            after = everything(unloadable)
            holds, sentence = verify_repair(repair)
            assert not holds and path.name in sentence, data
            with pytest.raises(Refused, match="Undo is refused, since the store went on after the repair"):
                undo_repair(repair, WHO, interactive=True)
            assert everything(unloadable) == after
            path.write_bytes(written)
        assert verify_repair(repair)[0]


class Killed(BaseException):
    """Stands for the end of the process: no `except` of ours may see it."""


def killed_between(act: Callable[..., None], repair: Repair) -> Repair:
    """As a kill after the first of two files leaves it: nothing is recorded."""

    def sync(folder: Path) -> None:
        raise Killed

    with pytest.MonkeyPatch.context() as patched, pytest.raises(Killed):
        patched.setattr(folders, "sync", sync)
        act(repair, WHO, interactive=True)
    return Repair.objects.select_related("conversation__source").get()


def torn(unloadable: Path, mode: str) -> Repair:
    return killed_between(apply_repair, approved(imported(unloadable), mode, *BOTH_FILES))


@CHANGED
def test_a_write_that_ended_between_two_files_is_finished_by_apply(unloadable: Path, mode: str, client: Client) -> None:
    before = everything(unloadable)
    repair = torn(unloadable, mode)
    halfway = everything(unloadable)
    page = client.get(f"/repairs/{repair.oid}/").content.decode()
    assert "was interrupted while it was written" in page and "1 of 2 values are as repaired" in page and "Take back" in page
    assert "was interrupted while it was written" in client.get("/").content.decode()
    assert not verify_repair(repair)[0] and everything(unloadable) == halfway
    with pytest.raises(Refused, match="was interrupted"):
        reject_repair(repair, WHO)
    apply_repair(repair, WHO, interactive=True)
    assert repair.state == Repair.State.VERIFIED and verify_repair(repair)[0]
    undo_repair(repair, WHO, interactive=True)
    assert everything(unloadable) == before


@CHANGED
def test_a_write_that_ended_between_two_files_is_taken_back_by_undo(unloadable: Path, mode: str) -> None:
    before = everything(unloadable)
    repair = torn(unloadable, mode)
    undo_repair(repair, WHO, interactive=True)
    assert repair.state == Repair.State.UNDONE and everything(unloadable) == before


@CHANGED
def test_an_undo_that_ended_between_two_files_is_finished_by_either(unloadable: Path, mode: str) -> None:
    before = everything(unloadable)
    repair = killed_between(undo_repair, applied(unloadable, mode))
    apply_repair(repair, WHO, interactive=True)
    assert repair.state == Repair.State.VERIFIED and verify_repair(repair)[0]
    repair = killed_between(undo_repair, repair)
    undo_repair(repair, WHO, interactive=True)
    assert repair.state == Repair.State.UNDONE and everything(unloadable) == before


@CHANGED
def test_a_write_that_was_interrupted_and_written_over_since_is_left_as_it_is(unloadable: Path, mode: str) -> None:
    repair = torn(unloadable, mode)
    first = both_files(repair)[0]
    first.write_bytes(b'{"role": "user", "content": "somebody else"}\n')
    after = everything(unloadable)
    Repair.objects.update(intent=Repair.Intent.APPLY)
    for act in (apply_repair, undo_repair):
        repair = Repair.objects.select_related("conversation__source").get()
        with pytest.raises(Refused):
            act(repair, WHO, interactive=True)
        assert everything(unloadable) == after
