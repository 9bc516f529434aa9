"""What `realign-with-archive` restores from archive, trace or older rows, and what is not certain enough for it."""

import pytest

from inspector.conversation.queries import true_messages
from inspector.planning.preview import NothingToDo
from inspector.programs.dispatch.format import chunk_key
from inspector.programs.dispatch.rules import baked_merge
from inspector.text import jsontext
from tests.programs.dispatch.appended_stores import A, U, appended
from tests.programs.dispatch.previews import read, shown
from tests.programs.dispatch.strategies.incidents import MODES, Incident, baked, compacted, of


@pytest.mark.parametrize("mode", MODES)
def test_a_baked_merge_gets_its_roles_and_boundaries_back_and_every_reader_agrees(mode: str) -> None:
    incident = baked()
    assert of(incident.stored().conversation) == "S1 U[2-7] U8 A9"
    repaired = incident.repaired(mode)
    assert of(repaired) == "S1 U2 A[3-4] U5 A[6-7] U8 A9"
    assert [chunk.seq - (chunk.chunk_idx or 0) for chunk in repaired.chunks] == [1, 2, 3, 3, 5, 6, 6, 8, 9]
    for reader in ("dispatch-legacy", "dispatch-role-split", "exact"):
        assert shown(read(repaired, reader).grouped) == shown(true_messages(repaired.chunks))


def test_realigning_leaves_the_bytes_of_every_chunk() -> None:
    for change in baked().preview("same-rows").changes:
        assert change.before is not None and change.after is not None
        old, new = (jsontext.decode(cell.data) for cell in (change.before, change.after))
        assert old[slice(*jsontext.members(old)["chunk"])] == new[slice(*jsontext.members(new)["chunk"])]


def test_a_row_that_the_archive_does_not_hold_keeps_its_role_inside_a_baked_message() -> None:
    incident = baked()
    key = chunk_key("c1", 4)
    incident.store.values[key] = incident.store.values[key].replace("hi there", "something else")
    assert of(incident.repaired()) == "S1 U2 A3 U4 U5 A[6-7] U8 A9"


def test_one_short_word_that_the_model_once_said_does_not_turn_the_user_into_the_model() -> None:
    store = appended([U("ready?"), A("ok"), U("what is the time?"), A("noon")])
    compacting = Incident(compacted(store, 1, (U("ok"),)), "realign-with-archive", baked_merge.RULE, archive="archive")
    with pytest.raises(NothingToDo):
        compacting.preview("same-rows")
