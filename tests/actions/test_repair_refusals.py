"""When a repair is refused, nothing is written, its state says where it stands, and the sentence says what to do."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_django import Settings

from inspector.actions import audit, recording
from inspector.actions import propose_repair as proposing
from inspector.actions.apply_repair import apply_repair
from inspector.actions.decide_repair import approve_repair, reject_repair
from inspector.actions.problems import Refused, Stale
from inspector.actions.undo_repair import undo_repair, verify_repair
from inspector.models import Repair, Source
from tests.accounts import account
from tests.actions.building import (
    WHO,
    U,
    Value,
    again,
    applied,
    approved,
    approved_merge,
    broken,
    chunk_key,
    drop,
    everything,
    imported,
    merged,
    pairs,
    proposed,
    put,
    row,
    run,
)  # fmt: skip
from tests.kept import Kept
from tests.sources.stores import other_process

pytestmark = pytest.mark.django_db

RENUMBER = "renumber-messages"
STATES = [str(state) for state in Repair.State]
Act = Callable[[Repair], None]
ACTS: dict[str, tuple[Act, set[str]]] = {
    "approve": (lambda repair: approve_repair(repair, WHO, repair.plan_digest, "unfixed"), {"proposed"}),
    "reject": (lambda repair: reject_repair(repair, WHO), {"proposed", "approved"}),
    "apply": (lambda repair: apply_repair(repair, WHO, interactive=True), {"approved"}),
    "undo": (lambda repair: undo_repair(repair, WHO, interactive=True), {"applied", "verified"}),
}


@pytest.mark.parametrize(("act", "right"), ACTS.values(), ids=ACTS)
def test_an_act_out_of_order_is_refused(tmp_path: Path, act: Act, right: set[str]) -> None:
    path = tmp_path / "a.db"
    repair = proposed(imported(path, merged()), RENUMBER)
    before = everything(path)
    for state in STATES:
        if state in right:
            continue
        Repair.objects.update(state=state)
        repair.refresh_from_db()
        with pytest.raises(Refused, match=f"This repair is {state}; only"):
            act(repair)
        repair.refresh_from_db()
        assert repair.state == state
    assert everything(path) == before


def test_approval_needs_the_digest_that_was_shown_and_the_tick(tmp_path: Path) -> None:
    repair = proposed(imported(tmp_path / "a.db", merged()), RENUMBER)
    for digest in ("", repair.base_digest, repair.plan_digest[:-1], repair.plan_digest.upper()):
        with pytest.raises(Refused, match="not the plan that you looked at"):
            approve_repair(repair, WHO, digest, statement="unfixed")
    with pytest.raises(Refused, match="Nothing was stated about the program"):
        approve_repair(repair, WHO, repair.plan_digest, statement="")
    repair.refresh_from_db()
    assert repair.state == Repair.State.PROPOSED


def test_a_plan_that_comes_out_otherwise_cannot_be_approved_or_applied(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    conversation = imported(path, merged())
    waiting, ready = proposed(conversation, RENUMBER, who="grace"), approved(conversation, RENUMBER)
    Repair.objects.update(options={**ready.options, "title": "another"})
    audit.accept(WHO, "somebody with the key of the audit log did it")
    before = everything(path)
    for repair in (waiting, ready):
        repair.refresh_from_db()
    with pytest.raises(Refused, match="not the plan"):
        approve_repair(waiting, WHO, waiting.plan_digest, "unfixed")
    with pytest.raises(Refused, match="comes out otherwise than approved"):
        apply_repair(ready, WHO, interactive=True)
    assert everything(path) == before


def test_with_a_second_approver_required_nobody_approves_their_own(tmp_path: Path, settings: Settings) -> None:
    settings.INSPECTOR_REQUIRE_SECOND_APPROVER = True
    repair = proposed(imported(tmp_path / "a.db", merged()), RENUMBER)
    with pytest.raises(Refused, match="A second person must approve"):
        approve_repair(repair, WHO, repair.plan_digest, "unfixed")
    approve_repair(repair, "the second", repair.plan_digest, "unfixed")
    assert repair.state == Repair.State.APPROVED


MOVES: dict[str, tuple[Value, Value | None, str]] = {
    "a row": (chunk_key(2), row("else", "assistant"), "chunk:0000000002 has another value"),
    "a row more": (chunk_key(5), row("new"), "chunk:0000000005 is new"),
    "a row less": (chunk_key(4), None, "chunk:0000000004 is gone"),
    "the counter": ("conv:c1:seq", "9", "conv:c1:seq has another value"),
    "the counter, gone": ("conv:c1:seq", None, "conv:c1:seq is gone"),
    "the meta row": ("conv:c1:meta", '{"createdAt":1,"lastActivityAt":2,"title":"t","status":"idle"}', "conv:c1:meta has another value"),
    "a hostile key": (b"conv:c1:chunk:\x1b\xed\xa0\x80", row("x"), r"chunk:\x1b\udced\udca0\udc80 is new"),
}


def move(path: Path, key: Value, value: Value | None) -> None:
    if value is None:
        drop(path, key)
    else:
        put(path, key, value)


@pytest.mark.parametrize("mode", ["in-place", "fork"])
@pytest.mark.parametrize(("key", "value", "said"), MOVES.values(), ids=MOVES)
def test_a_store_that_moved_since_the_approval_makes_it_stale(kept: Kept, key: Value, value: Value | None, said: str, mode: str) -> None:
    path, repair = approved_merge(kept, mode)
    move(path, key, value)
    before = everything(path)
    with pytest.raises(Stale) as refusal:
        apply_repair(repair, WHO, interactive=True)
    repair.refresh_from_db()
    assert said in str(refusal.value) and said in repair.outcome and "propose again" in repair.outcome
    assert repair.state == Repair.State.STALE and everything(path) == before
    assert refusal.value.moved and not repair.changes.exists()


@pytest.mark.parametrize(("key", "value", "said"), MOVES.values(), ids=MOVES)
def test_a_store_that_moved_since_its_import_is_not_proposed_on(tmp_path: Path, key: Value, value: Value | None, said: str) -> None:
    conversation = imported(tmp_path / "a.db", merged())
    move(tmp_path / "a.db", key, value)
    with pytest.raises(Stale, match="Import the source again") as refusal:
        proposed(conversation, RENUMBER)
    assert said in str(refusal.value) and not Repair.objects.exists()


def test_a_move_between_proposal_and_approval_shows_when_it_is_applied(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    conversation = imported(path, merged())
    repair = proposed(conversation, RENUMBER)
    put(path, chunk_key(5), row("new"))
    again(path)
    approve_repair(repair, WHO, repair.plan_digest, "unfixed")
    with pytest.raises(Stale, match="0000000005 is new"):
        apply_repair(repair, WHO, interactive=True)


def test_a_move_between_the_last_look_and_the_write_is_seen_inside_the_write(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    path, repair = approved_merge(kept)
    written = recording.keep
    monkeypatch.setattr(recording, "keep", lambda *given: (written(*given), put(path, chunk_key(5), row("just now"))))
    with pytest.raises(Stale, match="0000000005 is new"):
        apply_repair(repair, WHO, interactive=True)
    assert repair.state == Repair.State.STALE and b'"msgIdx":1' not in pairs(path)[chunk_key(1)]


def test_a_store_that_is_gone_or_no_store_any_more_is_told(kept: Kept, tmp_path: Path) -> None:
    path, repair = approved_merge(kept)
    path.rename(tmp_path / "elsewhere.db")
    with pytest.raises(Refused, match="does not exist"):
        apply_repair(repair, WHO, interactive=True)
    path.write_bytes(b"no database")
    with pytest.raises(Refused, match="is not a SQLite database"):
        apply_repair(repair, WHO, interactive=True)
    assert Repair.objects.get().state == Repair.State.APPROVED


@pytest.mark.slow
def test_a_store_that_another_process_writes_is_refused_and_can_be_applied_later(kept: Kept) -> None:
    path, repair = approved_merge(kept)
    before = everything(path)
    with other_process(path, "BEGIN IMMEDIATE"), pytest.raises(Refused, match=r"write lock .* was not free.*nothing was written"):
        apply_repair(repair, WHO, interactive=True)
    repair.refresh_from_db()
    assert repair.state == Repair.State.APPROVED and everything(path) == before
    apply_repair(repair, WHO, interactive=True)
    assert repair.state == Repair.State.VERIFIED
    with other_process(path, "BEGIN IMMEDIATE"), pytest.raises(Refused, match="Nothing was undone"):
        undo_repair(repair, WHO, interactive=True)
    assert verify_repair(repair)[0]


@pytest.mark.parametrize(
    ("status", "ago", "said"),
    [
        ("active", 0, "A turn of this conversation is running"),
        ("active", 600, "A turn of this conversation is running"),
        ("idle", 5, "written to less than a minute ago"),
        ("idle", 61, None),
        # A clock that was set back, or runs slower than that of the program.
        ("idle", -5, "written to less than a minute ago"),
        ("idle", -3600, None),
        ("active", 3600, None),
    ],
)
def test_a_conversation_in_use_is_left_alone(tmp_path: Path, status: str, ago: int, said: str | None) -> None:
    path = tmp_path / "a.db"
    meta = {"createdAt": 1, "lastActivityAt": int((time.time() - ago) * 1000), "title": "t", "status": status}
    repair = approved(imported(path, {**merged().values, "conv:c1:meta": json.dumps(meta)}), RENUMBER)
    before = everything(path)
    if said is None:
        apply_repair(repair, WHO, interactive=True)
        assert repair.state == Repair.State.VERIFIED
        return
    with pytest.raises(Refused, match=said):
        apply_repair(repair, WHO, interactive=True)
    assert Repair.objects.get().state == Repair.State.APPROVED and everything(path) == before


LATER: dict[str, tuple[str, str, Value, str]] = {
    "rows on top": ("in-place", "conv:{}:chunk:0000000005", row("new"), "chunk:0000000005 is new"),
    "rows on top of the fork": ("fork", "conv:{}:chunk:0000000005", row("new"), "chunk:0000000005 is new"),
    "another title": (
        "fork",
        "conv:{}:meta",
        '{"createdAt":1,"lastActivityAt":2,"title":"mine","status":"idle"}',
        ":meta has another value",
    ),
    "another model": ("fork", "conv:{}:model", "x/y", ":model is new"),
    "a row edited": ("in-place", "conv:{}:chunk:0000000001", row("x"), "chunk:0000000001 has another value"),
}


@pytest.mark.parametrize(("mode", "key", "value", "said"), LATER.values(), ids=LATER)
def test_undo_is_refused_where_the_store_went_on(tmp_path: Path, mode: str, key: str, value: Value, said: str) -> None:
    path = tmp_path / "a.db"
    repair = applied(imported(path, merged()), RENUMBER, mode=mode)
    put(path, key.format(repair.options["fork_id"] if mode == "fork" else "c1"), value)
    before = everything(path)
    with pytest.raises(Refused, match="the store went on after the repair") as refusal:
        undo_repair(repair, WHO, interactive=True)
    assert said in str(refusal.value) and repair.state == Repair.State.VERIFIED and everything(path) == before
    holds, sentence = verify_repair(repair)
    assert not holds and said in sentence


def test_a_counter_that_moved_on_refuses_the_undo_of_an_insert(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    repair = applied(imported(path, broken()), "insert-interrupted-result")
    put(path, "conv:c1:seq", "12")
    with pytest.raises(Refused, match="conv:c1:seq has another value"):
        undo_repair(repair, WHO, interactive=True)


@pytest.mark.parametrize("verb", ["apply", "undo"])
@pytest.mark.parametrize(
    ("local", "demo", "switched", "master", "may"),
    [
        (True, False, False, False, False),
        (True, True, False, False, True),
        (True, False, True, False, True),
        (True, False, False, True, True),
        (False, True, False, False, False),
        (False, False, True, False, False),
        (False, False, False, True, False),
        (False, True, False, True, False),
        (False, False, True, True, True),
    ],
)
def test_the_pages_write_only_where_that_is_switched_on_and_commands_always(
    kept: Kept, settings: Settings, verb: str, local: bool, demo: bool, switched: bool, master: bool, may: bool
) -> None:
    path, repair = approved_merge(kept)
    account(WHO)
    act = apply_repair
    if verb == "undo":
        apply_repair(repair, WHO, interactive=True)
        act = undo_repair
    settings.INSPECTOR_LOCAL, settings.INSPECTOR_WRITE_BACK = local, master
    Source.objects.update(is_demo=demo, write_enabled=switched)
    before = everything(path)
    repair = Repair.objects.get()
    if may:
        act(repair, WHO)
        assert everything(path) != before
        return
    with pytest.raises(Refused, match=r"a\.db is switched off: switch it on on the page of the source first"):
        act(repair, WHO)
    assert everything(path) == before
    act(repair, WHO, interactive=True)
    assert everything(path) != before


def test_a_rehearsal_that_fails_blocks_the_proposal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.db"
    conversation = imported(path, merged())
    monkeypatch.setattr(proposing, "rehearse", lambda *_: {"ok": False, "sentence": "On a copy, undo did not restore every byte."})
    with pytest.raises(Refused, match="did not restore every byte"):
        proposed(conversation, RENUMBER)
    repair = Repair.objects.get()
    assert repair.state == Repair.State.FAILED and "every byte" in repair.outcome
    with pytest.raises(Refused, match="only a proposed one"):
        approve_repair(repair, WHO, repair.plan_digest, "unfixed")


def test_a_store_with_a_trigger_fails_its_rehearsal_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    imported(path, merged())
    run(path, "CREATE TRIGGER t AFTER UPDATE ON kv BEGIN UPDATE kv SET value = value || ' ' WHERE key = 'conv-index'; END")
    before = everything(path)
    with pytest.raises(Refused, match=r"The rehearsal failed: .* does not keep what is written"):
        proposed(again(path), RENUMBER)
    assert everything(path) == before and Repair.objects.get().state == Repair.State.FAILED


def test_an_index_that_came_since_the_import_refuses_the_fork(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    values = merged().values
    del values["conv-index"]
    conversation = imported(path, values)
    repair = approved(conversation, RENUMBER, mode="fork")
    put(path, "conv-index", '["c1"]')
    before = everything(path)
    with pytest.raises(Refused, match="comes out otherwise than approved"):
        apply_repair(repair, WHO, interactive=True)
    assert everything(path) == before


def test_the_same_repair_twice_the_second_finds_nothing_to_write(tmp_path: Path) -> None:
    """Two people open the same approved repair; the second must not call stale what the first has written."""
    path = tmp_path / "a.db"
    first = approved(imported(path, merged()), RENUMBER)
    second = Repair.objects.get(pk=first.pk)
    apply_repair(first, WHO, interactive=True)
    after = everything(path)
    try:
        apply_repair(second, "another", interactive=True)
    except Refused as refusal:
        assert "moment ago" in str(refusal)
    assert Repair.objects.get().state == Repair.State.VERIFIED and everything(path) == after


def test_an_append_in_the_meantime_does_not_disturb_a_neighbour(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store = merged(merged(), to="c2")
    repair = approved(imported(path, store), RENUMBER)
    for key, value in store.append(U("meanwhile"), to="c2").values.items():
        put(path, key, value)
    apply_repair(repair, WHO, interactive=True)
    assert repair.state == Repair.State.VERIFIED and chunk_key(5, "c2") in pairs(path)
