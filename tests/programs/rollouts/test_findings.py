"""Sessions that are clean or still run, and what is found in them."""

import json

from inspector.rules.base import Severity, at_least, findings
from inspector.rules.catalogue import RULES
from tests.programs.rollouts.strategies.repaired_sessions import PARENT, TURN, opened, session


def test_a_session_as_rollouts_writes_it_has_no_findings() -> None:
    case, _ = opened(session(PARENT, TURN, status="completed"))
    assert findings(case, RULES) == []


def test_a_session_whose_tool_still_runs_has_nothing_above_a_note() -> None:
    files = session(PARENT, TURN[:2], status="pending", updated_at="2027-01-15T07:59:00.000000")
    case, _ = opened(files)
    assert case.running
    found = findings(case, RULES)
    assert [finding.code for finding in found] == ["TOOL101"]
    assert not [finding for finding in found if at_least(finding.severity, Severity.WARNING)]


def test_a_session_with_a_crash_file_is_not_taken_for_running() -> None:
    files = session(PARENT, TURN[:2], status="pending", updated_at="2027-01-15T07:59:00.000000")
    crash = {"timestamp": "2027-01-15T07:59:30", "session_id": PARENT, "error_message": "400", "messages": []}
    case, _ = opened(files | {"crashes/20270115_075930_aaaaaa.txt": json.dumps(crash).encode()})
    assert case.conversation.fact("crashes")
    assert [finding.severity for finding in findings(case, RULES) if finding.code == "TOOL101"] == [Severity.WARNING]
