"""A hostile session can have as many findings as lines: what is asked for each of them may not go through all of them again."""

import sys
from types import FrameType
from typing import Any

from inspector.planning.suggested import suggested
from inspector.rules.base import findings
from inspector.rules.catalogue import RULES
from tests.programs.claude_code.session_lines import case, r


def comparisons(lines: int) -> int:
    """How often two severities are compared while the repairs of as many results without a call are suggested."""
    damaged = case(*[r(f"r{number}", f"r{number - 1}" if number else None, "c1", str(number)) for number in range(lines)])
    reported = findings(damaged, RULES)
    assert len(reported) >= lines
    count = 0

    def count_call(frame: FrameType, event: str, _: Any) -> None:
        nonlocal count
        count += event == "call" and frame.f_code.co_name == "at_least"

    sys.setprofile(count_call)
    try:
        suggested(damaged, reported)
    finally:
        sys.setprofile(None)
    return count


def test_findings_are_compared_once_for_all_of_one_kind() -> None:
    assert 0 < comparisons(80) <= 5 * comparisons(20)
