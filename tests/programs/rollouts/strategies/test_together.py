"""Sessions that no strategy changes, and plans of several strategies."""

import pytest

from inspector.strategies.catalogue import strategy
from tests.programs.rollouts.strategies.repaired_sessions import CHILD, PARENT, TURN, opened, session


@pytest.mark.parametrize("name", ["drop-unreadable-lines", "make-blocks-loadable", "migrate-endpoint", "restore-from-parent"])
def test_a_clean_session_is_left_alone(name: str) -> None:
    case, _ = opened(session(PARENT, TURN) | session(CHILD, TURN, parent_id=PARENT, branch_point=4), CHILD)
    assert list(strategy(name).propose(case)) == []
