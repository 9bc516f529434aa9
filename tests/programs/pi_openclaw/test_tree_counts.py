"""What a file says of its tree is the same as by counting entry by entry, however its ids and parents repeat, dangle or close."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from inspector.programs.pi_openclaw.facts import tree_of

_IDS = st.sampled_from(["", "a", "b", "c", "d", "e", 7, None])
ENTRIES = st.lists(
    st.fixed_dictionaries({}, optional={"id": _IDS, "parentId": _IDS, "fused": st.just(1), "type": st.just("message")}), max_size=8
)


@given(ENTRIES)
def test_counts_are_those_of_each_entry(entries: list[dict[str, Any]]) -> None:
    tree = tree_of(entries)
    own = [entry for entry in entries if "fused" not in entry]
    ids = {entry["id"] for entry in own if entry.get("id") and isinstance(entry["id"], str)}
    parents = [entry.get("parentId") for entry in own]
    assert tree.roots == sum(not isinstance(parent, str) for parent in parents)
    assert tree.dangling == sum(isinstance(parent, str) and parent not in ids for parent in parents)
    assert tree.leaves == sum(entry["id"] not in parents for entry in own if isinstance(entry.get("id"), str))
    assert tree.in_cycles == _closed(entries)


def _closed(entries: Sequence[dict[str, Any]]) -> int:
    """Ids from which the walk from parent to parent comes back to where it began."""
    last = {entry["id"]: entry for entry in entries if isinstance(entry.get("id"), str) and entry["id"] and "fused" not in entry}
    closed = 0
    for id_ in last:
        at, steps = last[id_].get("parentId"), 0
        while isinstance(at, str) and at in last and at != id_ and steps < len(last):
            at, steps = last[at].get("parentId"), steps + 1
        closed += at == id_
    return closed
