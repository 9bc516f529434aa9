"""Laws over random histories: what was appended comes back, what is planned is what is written, and nothing of it can raise."""

import os
from collections.abc import Iterator
from itertools import combinations, pairwise
from random import Random

import pytest

from inspector.conversation import notation
from inspector.conversation.edits import apply
from inspector.conversation.model import Chunk, Conversation
from inspector.conversation.queries import true_messages
from inspector.planning.preview import NothingToDo, Preview
from inspector.programs.dispatch.format import DISPATCH
from inspector.programs.formats import Cell, Record, Stored, after
from inspector.rules.base import Finding, Origin, Severity
from inspector.rules.catalogue import RULES
from inspector.strategies.catalogue import STRATEGIES
from inspector.text import jsontext
from tests.programs.dispatch import random_histories as histories
from tests.programs.dispatch.appended_stores import A, S, Store, T, U, er, tx
from tests.programs.dispatch.previews import ELSEWHERE, FOR_A_PROVIDER, plan_for, preview_of, read, shown

COUNT = int(os.environ.get("INSPECTOR_HISTORIES", "300"))
READERS = ("dispatch-legacy", "dispatch-role-split", "exact")
ALL = [strategy.name for strategy in STRATEGIES]
# They need an archive, a trace or rows beside the chunks; the same laws are tried on those where their own tests are.
EVIDENCE = {
    "convert-legacy-messages",
    "realign-with-archive",
    "restore-call-from-archive",
    "recover-result-from-trace",
    "insert-lost-steering",
}
# It does what another one does, and more: in choices that one stands for both.
TWIN = {"promote-guessed-call"}
NAMES = [name for name in ALL if name not in EVIDENCE | FOR_A_PROVIDER | ELSEWHERE | TWIN]
# They repair what can be told and leave the rest as it is, on purpose; their own tests say which is which.
CAREFUL = {"rebuild-unreadable-row", "replace-unreadable-row", "promote-leaked-call", "promote-guessed-call", "deduplicate-results"}


def choices(names: list[str], larger: int = 40) -> list[tuple[str, ...]]:
    """Each strategy alone, every two, all of them, and some of the larger choices (there are too many to try each)."""
    random = Random(1)
    more = {tuple(name for name in names if random.random() < 0.5) for _ in range(2 * larger)}
    few = [few for size in (1, 2) for few in combinations(names, size)]
    return [*few, tuple(names), *sorted(each for each in more if 2 < len(each) < len(names))[:larger]]


ALONE = [(name,) for name in sorted((FOR_A_PROVIDER | TWIN) - ELSEWHERE)]
ASKED = [(mode.name, names) for names in [*choices(NAMES), *ALONE] for mode in DISPATCH.modes]
PLANNED = min(COUNT, 4000)

Written = tuple[Store, Stored, str, tuple[str, ...], Preview]


def stored_of(store: Store) -> Stored | None:
    return next((found for found in DISPATCH.read(store.records()) if found.conversation.native_id == "c1"), None)


def written(damaged: bool) -> Iterator[Written]:
    """Each way of asking in turn, on a history of its own, where it comes to a plan."""
    for number in range(PLANNED):
        random = Random(number)
        store = histories.store(random)
        store = histories.damage(random, store) if damaged else store
        stored = stored_of(store)
        mode, names = ASKED[number % len(ASKED)]
        if stored is None:
            continue
        try:
            yield store, stored, mode, names, preview_of(stored, mode, names)
        except NothingToDo:
            continue


@pytest.fixture(scope="module", params=[False, True], ids=["whole", "damaged"])
def previews(request: pytest.FixtureRequest) -> list[Written]:
    found = list(written(request.param))
    assert len({(mode, names) for _, _, mode, names, _ in found}) > len(ASKED) / 3, (
        "Too few choices change anything. A strategy that never matches these histories belongs to FOR_A_PROVIDER in tests/programs/dispatch/previews.py."
    )
    return found


def content(chunk: Chunk) -> tuple[object, ...]:
    return chunk.role, chunk.kind, chunk.payload, chunk.msg_idx, chunk.damage


def partition(conversation: Conversation) -> list[list[int]]:
    place = {chunk.key: number for number, chunk in enumerate(conversation.chunks)}
    return [[place[chunk.key] for chunk in message.chunks] for message in true_messages(conversation.chunks)]


def test_exact_gives_back_every_message_and_role_split_fails_only_on_neighbours_of_one_role() -> None:
    split_wrong = 0
    for number in range(COUNT):
        store = histories.store(Random(number))
        conversation, truth = store.conversation(), store.truth.get("c1", [])
        assert shown(read(conversation, "exact").grouped) == truth, f"history {number}"
        index = {chunk.seq: chunk.msg_idx for chunk in conversation.chunks}
        alike = any((a, index[x[0]]) == (b, index[y[0]]) for (a, x), (b, y) in pairwise(truth))
        wrong = shown(read(conversation, "dispatch-role-split").grouped) != truth
        assert wrong == alike, f"history {number}"
        split_wrong += wrong
    assert split_wrong > 0


def test_a_plan_without_edits_writes_nothing() -> None:
    for number in range(50):
        stored = histories.store(Random(number)).stored()
        assert not DISPATCH.write(plan_for(stored, "same-rows", ()), stored)
        for mode in DISPATCH.modes:
            with pytest.raises(NothingToDo):
                preview_of(stored, mode.name, ())


def test_what_is_written_reads_back_as_what_was_planned(previews: list[Written]) -> None:
    for _, stored, mode, names, preview in previews:
        planned, result = apply(stored.conversation, preview.plan.edits), preview.after.case.conversation
        assert [content(chunk) for chunk in result.chunks] == [content(chunk) for chunk in planned.chunks], (mode, names)
        assert partition(result) == partition(planned), (mode, names)


def test_the_same_again_finds_nothing_to_do(previews: list[Written]) -> None:
    for store, _, mode, names, preview in previews:
        target = DISPATCH.target(preview.plan)
        found = [again for again in DISPATCH.read(after(store.records(), preview.changes)) if again.conversation.native_id == target]
        for again in found:
            with pytest.raises(NothingToDo):
                preview_of(again, mode, names)


def test_undoing_the_changes_gives_back_every_byte(previews: list[Written]) -> None:
    for store, _, _, _, preview in previews:
        before = store.records()
        done = after(before, preview.changes)
        assert done != before
        assert after(done, [change.reversed() for change in preview.changes]) == before


def test_each_change_says_what_was_there(previews: list[Written]) -> None:
    for store, _, _, _, preview in previews:
        there = {record.key: record.value for record in store.records()}
        assert all(change.before == there.get(change.key) for change in preview.changes if not change.element)


def test_a_plan_removes_what_it_says_it_repairs(previews: list[Written]) -> None:
    def promised(finding: Finding, names: tuple[str, ...], preview: Preview) -> bool:
        """Not a result that another of the strategies would be for, or whose call may stand in a row that cannot be read."""
        misread = any(other.code in ("STORE101", "STORE102") for other in preview.after.findings)
        if not set(finding.repaired_by) & set(names) - CAREFUL:
            return False
        if finding.code != "TOOL202":
            return True
        by = "renumber-messages" if finding.origin is Origin.READER else "drop-orphaned-results"
        return by in names and not misread and "its call is at" not in finding.message

    for _, stored, mode, names, preview in previews:
        repaired = [finding for finding in preview.after.findings if set(finding.repaired_by) & set(names)]
        left = [finding.code for finding in repaired if promised(finding, names, preview)]
        assert not left, (mode, names, notation.dump(stored.conversation))


def test_nothing_gets_worse_without_a_warning(previews: list[Written]) -> None:
    for _, stored, mode, names, preview in previews:
        before, later = (
            [found.code for found in side.findings if found.severity is not Severity.NOTE] for side in (preview.before, preview.after)
        )
        worse = {code for code in later if later.count(code) > before.count(code)}
        announced = " ".join(preview.warnings)
        assert all(code in announced for code in worse), (mode, names, worse, notation.dump(stored.conversation))


def test_rows_of_the_preview_hold_every_chunk_once(previews: list[Written]) -> None:
    for _, stored, _, _, preview in previews:
        assert sorted(row.before.key for row in preview.rows if row.before) == sorted(chunk.key for chunk in stored.conversation.chunks)
        assert [row.after for row in preview.rows if row.after] == list(preview.after.case.conversation.chunks)


def test_after_renumbering_all_readers_agree_and_the_next_append_is_parted_too() -> None:
    renumbered = 0
    for number in range(PLANNED):
        random = Random(number)
        store = histories.store(random)
        try:
            preview = preview_of(store.stored(), "same-rows", ["renumber-messages"])
        except NothingToDo:
            continue
        renumbered += 1
        records = after(store.records(), preview.changes)
        repaired = Store({record.key: jsontext.decode(record.value.data) for record in records}, {"c1": list(store.truth["c1"])})
        for _ in range(2):
            conversation = repaired.conversation()
            for reader in READERS:
                assert shown(read(conversation, reader).grouped) == repaired.truth["c1"], f"history {number}"
            repaired.append(random.choice((U, A, T, S))("next", tx("words")))
    assert renumbered > PLANNED / 3


def test_renumbering_leaves_the_bytes_of_every_chunk() -> None:
    for number in range(PLANNED):
        stored = histories.store(Random(number)).stored()
        for change in DISPATCH.write(plan_for(stored, "same-rows", ["renumber-messages"]), stored):
            assert change.before is not None
            assert change.after is not None
            old, new = (jsontext.decode(cell.data) for cell in (change.before, change.after))
            assert old[slice(*jsontext.members(old)["chunk"])] == new[slice(*jsontext.members(new)["chunk"])]


@pytest.mark.parametrize("damaged", [False, True])
def test_the_notation_gives_back_every_chunk(damaged: bool) -> None:
    for number in range(PLANNED):
        random = Random(number)
        store = histories.store(random)
        stored = stored_of(histories.damage(random, store) if damaged else store)
        if stored is not None:
            assert_notation_gives_back(stored.conversation)


def assert_notation_gives_back(conversation: Conversation) -> None:
    text = notation.dump(conversation)
    text.encode()
    loaded, expected = notation.load(text)
    assert [_noted(chunk) for chunk in loaded.chunks] == [_noted(chunk) for chunk in conversation.chunks]
    assert expected == []
    facts = {name: fact.value for name, fact in conversation.facts.items() if fact.value is not None and " " not in name}
    assert {name: fact.value for name, fact in loaded.facts.items()} == facts


def _noted(chunk: Chunk) -> tuple[object, ...]:
    raw = chunk.raw if chunk.damage else b""
    return (
        chunk.seq,
        chunk.role,
        chunk.kind,
        jsontext.compact(dict(chunk.payload)),
        chunk.msg_idx,
        chunk.chunk_idx,
        chunk.damage,
        chunk.reason,
        raw,
    )


def test_rules_name_only_strategies_that_the_laws_above_try() -> None:
    named = {name for rule in RULES if rule.applies_to("dispatch") for name in rule.repaired_by}
    assert named <= set(NAMES) | EVIDENCE | FOR_A_PROVIDER | TWIN


def test_a_row_above_the_limits_is_kept_byte_for_byte_in_a_fork() -> None:
    rows = [
        b'{"chunk":{"type":"text","text":"a"},"role":"user","msgIdx":0,"chunkIdx":0}',
        b"[" * 5000 + b"]" * 5000,
        b"1" * 5000,
        b"\xff\x00",
    ]
    rows.append(b'{"chunk":{"type":"text","text":"b"},"role":"assistant","msgIdx":0,"chunkIdx":0}')
    stored = next(DISPATCH.read([Record(f"conv:c1:chunk:{seq:010d}", Cell(row)) for seq, row in enumerate(rows, start=1)]))
    changes = {change.key: change.after for change in preview_of(stored, "new-conversation", ["renumber-messages"]).changes}
    assert [changes[f"conv:new-id:chunk:{seq:010d}"] for seq in (2, 3, 4)] == [Cell(row) for row in rows[1:4]]


def test_a_fork_keeps_the_place_of_a_chunk_whose_message_begins_with_an_unreadable_row() -> None:
    store = Store().append(U("a"), U("b", "c"), A("d"))
    store.values["conv:c1:chunk:0000000002"] = "{broken"
    store.append(U("e")).append(A("f"))
    forked = preview_of(store.stored(), "new-conversation", ["renumber-messages"]).after.case.conversation
    assert [(chunk.seq, chunk.chunk_idx) for chunk in forked.chunks] == [(1, 0), (2, None), (3, 1), (4, 0), (5, 0), (6, 0)]


def test_a_conversation_of_nothing_but_an_error_row_can_be_emptied_in_place() -> None:
    store = Store().append(A(er()))
    key = "conv:c1:chunk:0000000001"
    preview = preview_of(Store({key: store.values[key]}).stored(), "same-rows", ["strip-error-chunks"])
    assert [(change.key, change.after) for change in preview.changes] == [(key, None)]
    assert preview.after.case.conversation.chunks == ()
