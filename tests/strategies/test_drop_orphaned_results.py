"""What `drop-orphaned-results` restores from archive, trace or older rows, and what is not certain enough for it."""

import pytest

from inspector.planning.preview import NothingToDo
from inspector.programs.dispatch.format import chunk_key
from inspector.rules import orphaned_tool_result
from tests.programs.dispatch.appended_stores import A, T, U, appended, tc, tr
from tests.programs.dispatch.strategies.incidents import Incident


def test_a_result_whose_call_stands_elsewhere_or_may_stand_in_an_unreadable_row_is_not_dropped() -> None:
    store = appended([T(tr("early", "x"))], [U("go")], [A(tc("early"))], [T(tr("hidden", "y"))], [A("there")])
    store.values[chunk_key("c1", 5)] = '{"chunk":{"type":"tool-call","toolCallId":"hidden"'
    with pytest.raises(NothingToDo):
        Incident(store, "drop-orphaned-results", orphaned_tool_result.RULE).preview("same-rows")
