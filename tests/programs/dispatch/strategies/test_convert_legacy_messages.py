"""What `convert-legacy-messages` restores from archive, trace or older rows, and what is not certain enough for it."""

import pytest

from inspector.programs.formats import WriteRefused
from tests.programs.dispatch.strategies.incidents import legacy, of


@pytest.mark.parametrize("broken", ["{not json", '{"role":"user"}', '{"role":"user","chunks":[5,null,{"type":"video"}]}'])
def test_the_older_generation_comes_first_in_the_fork_and_what_cannot_be_read_stays_behind(broken: str) -> None:
    repaired = legacy(broken).repaired("new-conversation")
    assert of(repaired) == "U1 A[2-3] U4 A5"
    assert [chunk.text for chunk in repaired.chunks] == ["hello", "greets", "hi there", "are you there?", "who?"]


def test_the_older_generation_is_not_written_in_place() -> None:
    with pytest.raises(WriteRefused, match="only in a new conversation; choose that mode"):
        legacy().preview("same-rows")
