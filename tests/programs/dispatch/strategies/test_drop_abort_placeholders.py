"""What `drop-abort-placeholders` restores from archive, trace or older rows, and what is not certain enough for it."""

import pytest

from tests.programs.dispatch.appended_stores import T, tr
from tests.programs.dispatch.strategies.incidents import MODES, aborted


@pytest.mark.parametrize("mode", MODES)
def test_abort_placeholders_go_and_other_results_stay(mode: str) -> None:
    incident = aborted()
    incident.store.append(T(tr("c", "Aborted")), T(tr("d", "Aborted by hand", error=True)))
    assert [chunk.text for chunk in incident.repaired(mode).chunks] == ["go", "let me see", "and?", "Aborted", "Aborted by hand"]
