"""What `restore-call-from-archive` restores from archive, trace or older rows, and what is not certain enough for it."""

import pytest

from inspector.planning.preview import NothingToDo
from inspector.programs.dispatch.format import chunk_key
from tests.programs.dispatch.appended_stores import A, U, appended, tc
from tests.programs.dispatch.strategies.incidents import ASKED, FOUND_B, MODES, cut, of


@pytest.mark.parametrize("mode", MODES)
def test_the_call_comes_back_with_the_results_that_were_cut_with_it(mode: str) -> None:
    assert of(cut().stored().conversation) == "S1 T2 A3"
    repaired = cut().repaired(mode)
    assert of(repaired) == "S1 A[2-4] T5 T6 A7"
    assert [chunk.call_id for chunk in repaired.chunks] == ["", "", "a", "b", "a", "b", ""]


def test_restored_rows_are_the_bytes_of_the_archive() -> None:
    incident = cut(input={"n": 0})
    key = chunk_key("archive", 3)
    written = incident.store.values[key].replace('{"n":0}', '{"n": 1.0, "big": 1e21, "2": 12345678901234567890}')
    incident.store.values[key] = written
    restored = incident.repaired().chunks[2].raw.decode()
    assert restored[: restored.index(',"role"')] == written[: written.index(',"role"')]


def test_a_call_id_that_the_archive_holds_twice_is_left_alone() -> None:
    incident = cut()
    twice = appended([U("go"), A(tc("b", "other")), ASKED, FOUND_B])
    incident.store.values.update({key.replace("conv:c1:", "conv:archive:"): value for key, value in twice.values.items()})
    with pytest.raises(NothingToDo):
        incident.preview("same-rows")
