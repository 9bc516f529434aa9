"""Sessions of Claude Code, repaired by one strategy and read from what was written."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from inspector.conversation.edits import Plan, Safety
from inspector.planning.preview import compose, digest
from inspector.programs.claude_code.format import CLAUDE_CODE
from inspector.programs.formats import Change, Stored
from inspector.rules.base import Case, Severity, at_least, case_of
from inspector.rules.catalogue import all_findings
from inspector.strategies.catalogue import strategy
from tests.programs.claude_code.session_lines import OTHER, stored

SAME_FILE = "same-file"
each_mode = pytest.mark.parametrize("mode", ["new-session", SAME_FILE])


def changes_of(session: Stored, names: Sequence[str], mode: str) -> tuple[Change, ...]:
    case = case_of(session.conversation, "claude-code")
    path = replace(session, conversation=case.conversation)
    edits = compose(case, [strategy(name) for name in names])
    options = CLAUDE_CODE.options(mode, path, OTHER)
    plan = Plan("/data/projects", session.conversation.native_id, mode, tuple(names), frozenset[Safety](), digest(path), edits, options)
    return tuple(CLAUDE_CODE.write(plan, path))


def written(names: Sequence[str], mode: str, *values: Any) -> tuple[Case, bytes]:
    """The case of the session that the strategies write, and its bytes."""
    changes = changes_of(stored(*values), names, mode)
    (session,) = (change for change in changes if change.key.endswith(".jsonl"))
    assert session.after is not None
    read = stored(session.after.data.removesuffix(b"\n"), key=session.key)
    return case_of(read.conversation, "claude-code"), session.after.data


def codes(case: Case) -> list[str]:
    """Of findings above a note."""
    return [finding.code for finding in all_findings(case) if at_least(finding.severity, Severity.WARNING)]
