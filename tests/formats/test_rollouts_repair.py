"""A rollouts folder imported, repaired, read back and given back, through the same actions as every other store."""

import json
from pathlib import Path

import pytest

from inspector.actions.apply_repair import apply_repair
from inspector.actions.decide_repair import approve_repair
from inspector.actions.import_source import import_targets
from inspector.actions.planning import request_for
from inspector.actions.problems import Refused
from inspector.actions.propose_repair import propose_repair
from inspector.actions.undo_repair import undo_repair, verify_repair
from inspector.models import Conversation, Repair, Source, loading
from inspector.seeds.rollouts_incident import CRASH, SESSION, incident_files
from tests.formats.rollouts_files import everything, write

pytestmark = pytest.mark.django_db
INSERT = "insert-interrupted-result"
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
    approve_repair(repair, WHO, repair.plan_digest, knows_server_is_unfixed=True)
    return repair


def test_it_is_imported_with_its_crash(root: Path) -> None:
    conversation = imported(root)
    crash = Conversation.objects.get(native_id=f"crash:{CRASH}")
    assert conversation.source.format == "rollouts" and conversation.title.startswith("Find out why")
    assert crash.title.startswith("Crash: Error code: 400") and crash.last_activity == 1766505314201
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
    approve_repair(repair, WHO, repair.plan_digest, knows_server_is_unfixed=True)
    apply_repair(repair, WHO, at_the_keyboard=True)
    assert repair.state == Repair.State.VERIFIED
    now = everything(root)
    changed = {key for key in before.keys() | now.keys() if before.get(key) != now.get(key)}
    own = f"sessions/{SESSION}" if mode == "in-place" else f"sessions/{repair.options['fork_id']}"
    assert changed == ({f"{own}/messages.jsonl"} if mode == "in-place" else {f"{own}/", f"{own}/messages.jsonl", f"{own}/session.json"})
    lines = now[f"{own}/messages.jsonl"].split(b"\n")
    assert lines[:16] + lines[17:] == before[f"sessions/{SESSION}/messages.jsonl"].split(b"\n")
    assert json.loads(lines[16])["tool_call_id"] == "toolu_03roles"
    assert verify_repair(repair)[0]
    undo_repair(repair, WHO, at_the_keyboard=True)
    assert repair.state == Repair.State.UNDONE and everything(root) == before


def test_a_child_is_listed_with_its_parent_as_what_it_came_from(root: Path) -> None:
    repair = approved(imported(root), "child", INSERT)
    apply_repair(repair, WHO, at_the_keyboard=True)
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
        apply_repair(repair, WHO, at_the_keyboard=True)
        children.append(repair.options["fork_id"])
    assert len(set(children)) == 3 and all((root / "sessions" / child / "session.json").exists() for child in children)
    unknown = Source(format="rollouts", reader="rollouts", projection="rollouts-anthropic", profile="anthropic-2026-07")
    asked = request_for(unknown, loading.stored(conversation), (INSERT,), "child", held=children[:2])
    assert asked.options["fork_id"] == children[2]


def test_a_store_that_moved_is_not_written(root: Path) -> None:
    repair = approved(imported(root), "child", INSERT)
    place = root / "sessions" / SESSION / "messages.jsonl"
    place.write_bytes(place.read_bytes() + b'{"role": "user", "content": "more"}\n')
    before = everything(root)
    with pytest.raises(Refused):
        apply_repair(repair, WHO, at_the_keyboard=True)
    assert everything(root) == before


def test_undo_is_refused_once_the_child_went_on(root: Path) -> None:
    repair = approved(imported(root), "child", INSERT)
    apply_repair(repair, WHO, at_the_keyboard=True)
    place = root / "sessions" / repair.options["fork_id"] / "messages.jsonl"
    place.write_bytes(place.read_bytes() + b'{"role": "user", "content": "more"}\n')
    with pytest.raises(Refused, match="the store went on"):
        undo_repair(repair, WHO, at_the_keyboard=True)
    assert place.exists()


def test_a_crash_file_is_never_written(root: Path) -> None:
    imported(root)
    with pytest.raises(Refused):
        proposed(Conversation.objects.select_related("source").get(native_id=f"crash:{CRASH}"), "in-place", INSERT)
