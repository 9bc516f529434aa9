"""What `replace-unreadable-row` writes in stored rows, what stays byte for byte, and what it leaves alone."""

import json
from collections.abc import Sequence

import pytest

from tests.folding import in_one_test
from tests.programs.dispatch.strategies.repaired_rows import MODES, codes, key, nothing_to_do, repaired, rows, story, with_rows


@MODES
@in_one_test("damage", ["{broken", "null", "[]", "{}", ""])
@in_one_test("seqs", [(1,), (2,), (3,), (5,), (8,), (3, 4, 5, 6), range(1, 9)])
def test_a_row_of_which_nothing_is_left_becomes_an_error_that_says_so(mode: str, damage: str, seqs: Sequence[int]) -> None:
    preview = repaired(with_rows(story(), dict.fromkeys(seqs, damage)), "replace-unreadable-row", mode=mode)
    assert not {"STORE101", "STORE102"} & set(codes(preview))
    for seq in seqs:
        assert rows(preview)[seq - 1]["chunk"] == {"type": "error", "message": f"unreadable row, {len(damage)} bytes kept by Inspector"}
    kept = [seq for seq in range(1, 9) if seq not in seqs]
    assert [rows(preview)[seq - 1] for seq in kept] == [json.loads(story().values[key(seq)]) for seq in kept]


def test_the_other_rows_are_grouped_as_before() -> None:
    store = with_rows(story(), {4: "{broken", 5: "null"})
    preview = repaired(store, "replace-unreadable-row")
    messages = [[row["chunk"]["type"] for row in rows(preview)[first:last]] for first, last in ((1, 5), (5, 7))]
    assert messages == [["thinking", "text", "error", "error"], ["text", "text"]]
    assert [(row["msgIdx"], row["chunkIdx"]) for row in rows(preview)] == [(0, 0), (0, 0), (0, 1), (0, 2), (0, 3), (0, 0), (0, 1), (0, 0)]


@pytest.mark.parametrize(
    "row",
    [
        "[" * 5000 + "]" * 5000,
        "1" * 5000,
        '{"chunk":{"type":"video","url":"x"},"role":"assistant","msgIdx":0,"chunkIdx":1}',
        '{"chunk":{"type":"text","text":"x"},"role":"robot"}',
    ],
)
def test_a_row_that_somebody_may_yet_read_is_not_replaced(row: str) -> None:
    assert nothing_to_do(with_rows(story(), {3: row}), "replace-unreadable-row")
