"""What `move-results` does to sessions that are trees: the path after it, and what the written file contains."""

from dataclasses import replace

import pytest

from tests.programs.pi_openclaw.shapes import shape_of
from tests.programs.pi_openclaw.strategies.repaired_trees import TABLE, of_shape, recommended, repaired


@pytest.mark.parametrize("reader", ["verbatim", "pi-0.68", "pi-1.5"])
@pytest.mark.parametrize("name", [name for name in TABLE if "displaced" in name or "late" in name or "steering" in name])
def test_a_displaced_result_moves_to_its_call_whatever_pi_puts_in_its_place(name: str, reader: str) -> None:
    shape, wanted = TABLE[name]
    names, final = recommended(of_shape(shape, reader=reader))
    assert "move-results" in names
    assert shape_of(final.messages) == wanted.replace("MADE", "NRP")


def test_every_kept_chunk_has_the_numbers_and_the_entry_that_the_file_gives_it() -> None:
    case = of_shape("U A(c1) U A('t') U A(c9) R(c1=late) R(c9=ok) U A(c2) U")
    before = {chunk.key: chunk for chunk in case.conversation.chunks}
    final = repaired(case, "move-results", "insert-interrupted-result")
    kept = [chunk for chunk in final.conversation.chunks if not chunk.key.startswith(("moved:", "new:"))]
    assert all(chunk is before[chunk.key] or chunk == before[chunk.key] for chunk in kept) and len(kept) == len(before) - 1
    (moved,) = (chunk for chunk in final.conversation.chunks if chunk.key.startswith("moved:"))
    assert replace(moved, key="e7.0") == before["e7.0"]
    (new,) = (chunk for chunk in final.conversation.chunks if chunk.key.startswith("new:"))
    assert (
        "entry" not in new.payload
        and new.msg_idx not in {chunk.msg_idx for chunk in before.values()}
        and new.seq > max(chunk.seq for chunk in before.values())
    )
