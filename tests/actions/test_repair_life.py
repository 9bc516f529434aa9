"""A repair from proposal to undo, in place and as a new conversation: what is written, what stays, and that undo gives back every byte."""

import json
import re
from pathlib import Path

import pytest

from inspector.actions.apply_repair import apply_repair
from inspector.actions.decide_repair import approve_repair, reject_repair
from inspector.actions.problems import NothingToRepair, Refused
from inspector.actions.undo_repair import undo_repair, verify_repair
from inspector.models import AuditEntry, Conversation, Repair, loading
from tests.actions.building import (
    WHO,
    A,
    Store,
    U,
    again,
    applied,
    approved,
    bring,
    broken,
    chunk_key,
    drop,
    everything,
    imported,
    indexes,
    make,
    merged,
    pairs,
    proposed,
    put,
    row,
)  # fmt: skip

pytestmark = pytest.mark.django_db

RENUMBER, STRIP, INSERT, COUNTER = "renumber-messages", "strip-error-chunks", "insert-interrupted-result", "fix-counter"
ALL = (STRIP, INSERT, RENUMBER, COUNTER)
IN_PLACE, FORK = "in-place", "fork"


def with_everything_wrong(path: Path) -> Conversation:
    """`c1` with every fault that a strategy repairs, a neighbor beside it, and records of other kinds."""
    store = merged(broken(), to="c2")
    extra = {"conv:c1:metrics:0000000001": "{}", "conv:c1:cwd": "/home/x", "workspace:default": '{"title":"d"}', "vision-settings": "{}"}
    return imported(path, {**store.values, **extra, "conv:c1:seq": "7"})


@pytest.mark.parametrize("mode", [IN_PLACE, FORK])
@pytest.mark.parametrize(
    "strategies",
    [
        *((name,) for name in ALL),
        *(pytest.param(pair, marks=pytest.mark.slow) for pair in ((STRIP, RENUMBER), (INSERT, COUNTER), (RENUMBER, COUNTER))),
        ALL,
    ],
    ids=" + ".join,
)
def test_every_way_there_and_back(tmp_path: Path, mode: str, strategies: tuple[str, ...]) -> None:
    path = tmp_path / "a.db"
    conversation = with_everything_wrong(path)
    before, old = everything(path), pairs(path)
    repair = proposed(conversation, *strategies, mode=mode)
    assert repair.state == Repair.State.PROPOSED and "Rehearsed on a copy" in repair.rehearsal["sentence"]
    assert everything(path) == before
    approve_repair(repair, WHO, repair.plan_digest, statement="unfixed")
    assert repair.state == Repair.State.APPROVED and everything(path) == before
    apply_repair(repair, WHO, interactive=True)
    assert repair.state == Repair.State.VERIFIED
    new = pairs(path)
    touched = {key for key in old.keys() | new.keys() if old.get(key) != new.get(key)}
    own = f"conv:{repair.options['fork_id']}:" if mode == FORK else "conv:c1:"
    assert touched and all(key.startswith(own) or (key == "conv-index" and mode == FORK) for key in touched)
    assert verify_repair(repair) == (True, "The store holds exactly what this repair wrote; it can be undone.")
    undo_repair(repair, WHO, interactive=True)
    assert repair.state == Repair.State.UNDONE and everything(path) == before
    verbs = list(AuditEntry.objects.filter(repair=repair.oid).order_by("id").values_list("verb", flat=True))
    assert verbs == ["propose", "approve", "apply", "verify", "undo"]


def test_renumbering_in_place_changes_the_number_and_no_other_byte(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    odd = '{ "role" : "user",\t"chunkIdx":0, "msgIdx":0 , "more":1e2,"chunk":{"type":"text", "text":"\\u0068i\\ud800"}}\n'
    conversation = imported(path, {**merged().values, chunk_key(3): odd})
    old = pairs(path)
    applied(conversation, RENUMBER)
    new = pairs(path)
    numbers = [json.loads(new[chunk_key(seq)])["msgIdx"] for seq in range(1, 5)]
    assert numbers == [1, 2, 3, 4]
    assert {re.sub(rb'"msgIdx":\d+', b"", old[key]) for key in old} == {re.sub(rb'"msgIdx":\d+', b"", new[key]) for key in new}
    assert new[chunk_key(3)] == odd.replace('"msgIdx":0', '"msgIdx":3').encode()
    assert again(path).read_count == 4


def test_stripping_errors_removes_their_rows_and_leaves_a_gap(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    conversation = imported(path, broken())
    old = pairs(path)
    applied(conversation, STRIP)
    new = pairs(path)
    gone = {key for key in old if b'"type":"error"' in old[key]}
    assert len(gone) == 1 and new == {key: value for key, value in old.items() if key not in gone}


def test_an_inserted_result_moves_the_later_rows_and_the_counter_up(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    conversation = imported(path, broken())
    old = pairs(path)
    applied(conversation, INSERT)
    assert indexes(path) == [
        ("user", 1, 0, "go"),
        ("assistant", 2, 0, "calling"),
        ("assistant", 2, 1, "tool-call"),
        ("assistant", 2, 2, "tool-call"),
        ("tool", 3, 0, "tool-result"),
        ("tool", 4, 0, "tool-result"),
        ("user", 5, 0, "and?"),
        ("assistant", 6, 0, "sorry"),
        ("assistant", 6, 1, "error"),
        ("user", 7, 0, "again"),
        ("assistant", 8, 0, "done"),
    ]
    made_up = json.loads(pairs(path)[chunk_key(6)])["chunk"]
    assert made_up["toolCallId"] == "y" and made_up["isError"] is True and "interrupted" in made_up["content"]
    assert (old["conv:c1:seq"], pairs(path)["conv:c1:seq"]) == (b"10", b"11")


@pytest.mark.parametrize("counter", [None, "", "garbage", "2", "99", "٣"])
@pytest.mark.parametrize("mode", [IN_PLACE, FORK])
def test_a_counter_that_is_missing_or_wrong_is_repaired_and_given_back(tmp_path: Path, counter: str | None, mode: str) -> None:
    path = tmp_path / "a.db"
    values = merged().values
    if counter is None:
        del values["conv:c1:seq"]
    else:
        values["conv:c1:seq"] = counter
    conversation = imported(path, values)
    before = everything(path)
    repair = applied(conversation, COUNTER, mode=mode)
    native = repair.options["fork_id"] if mode == FORK else "c1"
    assert pairs(path)[f"conv:{native}:seq"] == b"4"
    undo_repair(repair, WHO, interactive=True)
    assert everything(path) == before


def test_an_insert_beside_a_garbage_counter_counts_from_the_last_row(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    repair = applied(imported(path, {**broken().values, "conv:c1:seq": "NaN"}), INSERT)
    assert pairs(path)["conv:c1:seq"] == b"11"
    undo_repair(repair, WHO, interactive=True)
    assert pairs(path)["conv:c1:seq"] == b"NaN"


def test_a_fork_is_a_conversation_of_its_own_and_the_original_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    conversation = with_everything_wrong(path)
    old = pairs(path)
    repair = applied(conversation, *ALL, mode=FORK)
    fork = repair.options["fork_id"]
    new = pairs(path)
    assert {key: new[key] for key in old if key != "conv-index"} == {key: old[key] for key in old if key != "conv-index"}
    assert json.loads(new["conv-index"]) == ["c1", "c2", fork]
    rows = indexes(path, fork)
    assert [row[1] for row in rows] == sorted(row[1] for row in rows) and len(rows) == 10
    assert new[f"conv:{fork}:seq"] == b"10" and new[f"conv:{fork}:cwd"] == b"/home/x" and f"conv:{fork}:metrics:0000000001" not in new
    shown = Conversation.objects.get(native_id=fork)
    assert shown.title == "Repaired: go" and shown.read_count == 8
    undo_repair(repair, WHO, interactive=True)
    shown.refresh_from_db()
    assert shown.is_gone


def test_an_absent_index_is_forked_by_the_fork_and_removed_by_its_undo(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    values = merged().values
    del values["conv-index"]
    conversation = imported(path, values)
    before = everything(path)
    repair = applied(conversation, RENUMBER, mode=FORK)
    assert json.loads(pairs(path)["conv-index"]) == [repair.options["fork_id"]]
    undo_repair(repair, WHO, interactive=True)
    assert everything(path) == before


@pytest.mark.parametrize("index", ["garbage", '{"c1":1}', "null"])
def test_a_damaged_index_refuses_a_fork_and_not_a_repair_in_place(tmp_path: Path, index: str) -> None:
    path = tmp_path / "a.db"
    conversation = imported(path, {**merged().values, "conv-index": index})
    with pytest.raises(Refused, match=r"conv-index is not a JSON array.*--mode in-place"):
        proposed(conversation, RENUMBER, mode=FORK)
    assert applied(conversation, RENUMBER).state == Repair.State.VERIFIED
    assert pairs(path)["conv-index"] == index.encode()


def test_other_conversations_may_be_listed_and_written_between_fork_and_undo(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    repair = applied(imported(path, merged()), RENUMBER, mode=FORK)
    index = json.loads(pairs(path)["conv-index"])
    put(path, "conv-index", json.dumps([*index, "later"]))
    put(path, "conv:later:chunk:0000000001", row("new"))
    put(path, chunk_key(5), row("the original goes on"))
    undo_repair(repair, WHO, interactive=True)
    assert json.loads(pairs(path)["conv-index"]) == ["c1", "later"]
    assert chunk_key(5) in pairs(path) and not any(repair.options["fork_id"] in key for key in pairs(path))


def test_unreadable_and_hostile_rows_are_carried_along_to_the_byte(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    values = {**merged().values, chunk_key(2): b"{broken \xff", chunk_key(5): b"", "conv:c1:seq": "5"}
    conversation = imported(path, values)
    for mode in (IN_PLACE, FORK):
        before = everything(path)
        repair = applied(conversation, RENUMBER, mode=mode)
        native = repair.options["fork_id"] if mode == FORK else "c1"
        assert (pairs(path)[chunk_key(2, native)], pairs(path)[chunk_key(5, native)]) == (b"{broken \xff", b"")
        undo_repair(repair, WHO, interactive=True)
        assert everything(path) == before


ODD_IDS = [b"n\x00l", b"s\xed\xa0\x80", b"b\xff", "q\"uo'te\\", "a/b", "a%b", "a:chunk:b", "ünï\u202e"]


@pytest.mark.parametrize("mode", [IN_PLACE, FORK])
@pytest.mark.parametrize("native_id", ODD_IDS, ids=ascii)
def test_conversations_of_odd_ids_are_repaired_and_given_back(tmp_path: Path, native_id: bytes | str, mode: str) -> None:
    path = tmp_path / "a.db"
    raw = native_id.encode() if isinstance(native_id, str) else native_id
    values = {key.encode().replace(b"conv:c1:", b"conv:" + raw + b":"): value for key, value in merged().values.items()}
    conversation = imported_only(path, values)
    before = everything(path)
    repair = applied(conversation, RENUMBER, mode=mode)
    assert repair.state == Repair.State.VERIFIED and everything(path) != before
    undo_repair(repair, WHO, interactive=True)
    assert everything(path) == before


def imported_only(path: Path, values: dict[bytes, str]) -> Conversation:
    """The one conversation with chunks; the index may name others."""
    make(path, values)  # type: ignore[arg-type]
    bring(path)
    return Conversation.objects.select_related("source").get(chunk_count__gt=0)


def test_nothing_to_do_and_nothing_chosen_are_said(tmp_path: Path) -> None:
    conversation = imported(tmp_path / "a.db", Store().append(U("hi"), A("hello")))
    with pytest.raises(NothingToRepair, match="renumber-messages would change nothing"):
        proposed(conversation, RENUMBER)
    with pytest.raises(NothingToRepair, match="Choose at least one strategy"):
        proposed(conversation)
    assert not Repair.objects.exists()


def test_a_rejected_repair_is_over_and_nothing_was_written(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    conversation = imported(path, merged())
    before = everything(path)
    for repair in (proposed(conversation, RENUMBER, who="grace"), approved(conversation, RENUMBER)):
        reject_repair(repair, "somebody")
        assert (repair.state, repair.approved_by, repair.approved_digest) == (Repair.State.REJECTED, "somebody", "")
    assert everything(path) == before


def test_a_repair_of_the_repaired_needs_an_undo_in_its_turn(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    conversation = imported(path, broken())
    start = everything(path)
    first = applied(conversation, STRIP)
    middle = everything(path)
    conversation.refresh_from_db()
    second = applied(conversation, RENUMBER)
    assert conversation.revision == 2 and loading.stored(conversation, 1) != loading.stored(conversation, 2)
    with pytest.raises(Refused, match="was applied to this conversation later and is still in the store: undo that one first"):
        undo_repair(first, WHO, interactive=True)
    undo_repair(second, WHO, interactive=True)
    assert everything(path) == middle
    undo_repair(first, WHO, interactive=True)
    assert everything(path) == start


def test_a_store_without_a_write_ahead_log_is_written_the_same_way(tmp_path: Path) -> None:
    path = make(tmp_path / "a.db", merged().values, "DELETE")
    before = everything(path)
    repair = applied(again(path), RENUMBER)
    undo_repair(repair, WHO, interactive=True)
    assert everything(path) == before
    drop(path, chunk_key(4))
    assert verify_repair(repair)[0] is False
