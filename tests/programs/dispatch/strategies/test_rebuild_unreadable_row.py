"""What `rebuild-unreadable-row` writes in stored rows, what stays byte for byte, and what it leaves alone."""

import json
from typing import Any

import pytest

from inspector.conversation.edits import apply
from inspector.conversation.model import Kind
from inspector.planning.preview import compose
from inspector.programs.dispatch.format import DISPATCH
from inspector.programs.formats import Cell, Record
from inspector.rules.base import Case, case_of
from inspector.strategies.catalogue import strategy
from inspector.text import jsontext
from inspector.traces.model import Trace
from inspector.traces.tree import build
from tests.programs.dispatch.appended_stores import A, Said, Store, T, U, appended, tc, th, tr
from tests.programs.dispatch.previews import preview_of
from tests.programs.dispatch.strategies.repaired_rows import IN_PLACE, MODES, codes, key, nothing_to_do, repaired, rows, story, with_rows
from tests.traces.stores import both, opened


def without(store: Store, seq: int, *names: str, **wrong: Any) -> Store:
    row = json.loads(store.values[key(seq)])
    return with_rows(store, {seq: jsontext.compact({**{name: row[name] for name in row if name not in names}, **wrong})})


@MODES
@pytest.mark.parametrize(
    ("seq", "lost", "wrong"),
    [
        (2, ("msgIdx", "chunkIdx"), {}),
        (3, ("role", "msgIdx", "chunkIdx"), {}),
        (3, (), {"role": "robot"}),
        (3, (), {"msgIdx": "0"}),
        (4, ("role", "msgIdx"), {}),
        (5, ("role", "msgIdx", "chunkIdx"), {}),
        (6, ("role", "msgIdx", "chunkIdx"), {}),
        (7, ("msgIdx", "role"), {}),
        (8, ("msgIdx", "chunkIdx"), {}),
    ],
)
def test_a_row_gets_back_the_numbers_that_the_rows_beside_it_leave_open(mode: str, seq: int, lost: tuple[str, ...], wrong: Any) -> None:
    whole = story()
    preview = repaired(without(whole, seq, *lost, **wrong), "rebuild-unreadable-row", mode=mode)
    assert "STORE102" in [finding.code for finding in preview.before.findings]
    assert "STORE102" not in codes(preview)
    assert rows(preview)[seq - 1] == json.loads(whole.values[key(seq)])
    assert [row for at, row in enumerate(rows(preview)) if at != seq - 1] == [
        json.loads(whole.values[key(at)]) for at in range(1, 9) if at != seq
    ]


def test_the_chunk_of_a_rebuilt_row_keeps_its_bytes() -> None:
    odd = ' {"msgIdx":"0", "more":[1.0],"chunk":{"type":"text", "text":"\\u0068i","n":1e21}, "role":"assistant" } '
    (change,) = repaired(with_rows(story(), {3: odd}), "rebuild-unreadable-row").changes
    assert change.after is not None
    assert change.after.data.decode() == odd.replace('"0"', "0").replace('"assistant" }', '"assistant" ,"chunkIdx":1}')


def test_rows_tell_of_each_other_in_both_directions() -> None:
    store = story()
    for seq in (2, 3, 6):
        store = without(store, seq, "msgIdx", "chunkIdx")
    preview = repaired(store, "rebuild-unreadable-row")
    assert rows(preview) == [json.loads(story().values[key(seq)]) for seq in range(1, 9)]


@pytest.mark.parametrize(
    ("seq", "lost", "wrong"),
    [
        (7, ("msgIdx", "chunkIdx"), {}),
        (1, ("role",), {}),
        (8, ("role",), {}),
        (3, ("msgIdx",), {"chunkIdx": 2}),
        (3, ("msgIdx",), {"role": "user"}),
        (3, (), {"chunk": {"type": "video", "url": "x"}}),
        (3, (), {"chunk": {"type": "text"}}),
        (3, (), {"chunk": None}),
    ],
)
def test_a_row_for_which_more_than_one_place_or_content_would_do_stays_as_it_is(seq: int, lost: tuple[str, ...], wrong: Any) -> None:
    assert nothing_to_do(without(story(), seq, *lost, **wrong), "rebuild-unreadable-row")


def test_a_row_that_was_only_stored_as_a_blob_becomes_text_with_the_same_bytes() -> None:
    records = [Record(each.key, Cell(each.value.data, "blob")) if each.key == key(3) else each for each in story().records()]
    (stored,) = DISPATCH.read(records)
    assert stored.conversation.chunks[2].damage == "not-text"
    (change,) = preview_of(stored, IN_PLACE, ["rebuild-unreadable-row"]).changes
    assert change.after == Cell(story().values[key(3)].encode(), "text")


def traced(*prompts: list[Said]) -> Trace:
    """A trace whose prompts hold these messages."""
    bodies = {
        f"P{number}": json.dumps(
            {"messages": [{"role": said.role, "chunks": list(said.blocks)} for said in messages], "tools": []}
        ).encode()
        for number, messages in enumerate(prompts)
    }
    records = [
        record
        for number in range(len(prompts))
        for record in (
            *both(f"s{number}", "step", 10 * number, 10 * number + 5),
            opened(f"p{number}", "prompt", 10 * number + 1, f"s{number}", body=f"P{number}"),
        )
    ]
    return build("c1", records, bodies.get)


def said(store: Store) -> list[Said]:
    return [Said(role, tuple(json.loads(store.values[key(seq)])["chunk"] for seq in seqs)) for role, seqs in store.truth["c1"]]


def rebuilt(store: Store, *prompts: list[Said]) -> list[str]:
    """Texts of the rows after rebuilding with a trace, `-` for a row that is still unreadable."""
    case: Case = case_of(store.conversation(), "dispatch-legacy", traced(*prompts))
    found = apply(case.conversation, compose(case, [strategy("rebuild-unreadable-row")]))
    return [
        "-" if chunk.kind is Kind.UNREADABLE else f"{chunk.role} {chunk.msg_idx}.{chunk.chunk_idx} {chunk.text}" for chunk in found.chunks
    ]


@pytest.mark.parametrize("damage", ["{broken", "null", "{}", '{"chunk":null,"role":"assistant"}', ""])
def test_a_lost_chunk_comes_back_from_the_prompt_that_holds_it_between_the_same_neighbours(damage: str) -> None:
    whole = story()
    texts = rebuilt(with_rows(whole, {3: damage}), said(whole))
    assert texts == rebuilt(whole)
    assert texts[2] == "assistant 0.1 calling"


def test_a_prompt_says_where_a_message_begins() -> None:
    store = appended([U("one")], [A("two")], [U("three")])
    assert rebuilt(with_rows(store, {2: "{"}), said(store)) == ["user 0.0 one", "-", "user 0.0 three"]
    step = "turn-1782600000000-a#0"
    store = appended([U("one")], [A(tc("a", step=step)), T(tr("a", "two", step=step))], [A("three")])
    assert rebuilt(with_rows(store, {3: "{"}), said(store))[2] == "tool 1.0 two"


@pytest.mark.parametrize(
    "prompts",
    [
        [],
        [[U("do it"), A(th("hm"), "other", tc("x", "t"))], [U("do it"), A(th("hm"), "calling", tc("x", "t"))]],
        [[U("do it"), A(th("hm"), tc("x", "t"))]],
        [[U("do it"), A(th("hm"), "calling", "more", tc("x", "t"))]],
        [[U("do it"), A(th("hm"), "calling")]],
        [[Said("assistant", (th("hm"), {"type": "text", "text": [[]]}, tc("x", "t")))]],
        [[Said("assistant", (th("hm"), {}, tc("x", "t")))]],
    ],
)
def test_what_no_prompt_or_two_prompts_say_is_not_taken(prompts: list[list[Said]]) -> None:
    assert rebuilt(with_rows(story(), {3: "{broken"}), *prompts)[2] == "-"


def test_a_place_that_looks_the_same_elsewhere_in_the_store_is_no_proof() -> None:
    store = appended([A(th("hm"), "first", tc("a"))], [A(th("hm"), "second", tc("a"))])
    assert rebuilt(with_rows(store, {5: "{"}), said(store)[:1])[4] == "-"
