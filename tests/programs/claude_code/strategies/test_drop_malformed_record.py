"""What `drop-malformed-record` takes out, and which parent the lines below get."""

import json
from typing import Any

import pytest

from inspector.planning.preview import compose
from inspector.rules.base import Severity
from inspector.rules.catalogue import all_findings
from inspector.strategies.catalogue import strategy
from tests.programs.claude_code.session_lines import a, case, line, said, text, u
from tests.programs.claude_code.strategies.repaired_sessions import codes, each_mode, written

NAME = "drop-malformed-record"


def with_attachment(attachment: Any, version: str = "2.1.218") -> tuple[dict[str, Any], ...]:
    return (
        u("u1", None, version=version),
        line("attachment", "t1", "u1", None, attachment=attachment, version=version),
        a("a1", "t1", "m1", text("done"), 1, version=version),
    )


@each_mode
@pytest.mark.parametrize(
    "attachment",
    [
        None,
        "text",
        {},
        {"type": 7},
        {"type": "deferred_tools_delta", "addedNames": None, "removedNames": []},
        {"type": "mcp_instructions_delta"},
        {"type": "diagnostics", "files": {"a": 1}},
    ],
)
def test_a_malformed_attachment_goes_and_its_children_take_its_parent(attachment: Any, mode: str) -> None:
    values = with_attachment(attachment)
    assert codes(case(*values)) == ["STORE901"]
    later, data = written([NAME], mode, *values)
    assert codes(later) == [] and said(later.conversation) == ["user:go", "assistant:done"]
    assert [(row["uuid"], row["parentUuid"]) for row in map(json.loads, data.splitlines())] == [("u1", None), ("a1", "u1")]


@pytest.mark.parametrize(
    "attachment",
    [
        {"type": "hook_success", "content": ""},
        {"type": "deferred_tools_delta", "addedNames": ["A"], "addedLines": ["A"], "removedNames": []},
        {"type": "diagnostics", "files": [], "isNew": True},
        {"type": "of-tomorrow"},
    ],
)
def test_other_attachments_are_left(attachment: Any) -> None:
    assert codes(case(*with_attachment(attachment))) == []
    assert compose(case(*with_attachment(attachment)), [strategy(NAME)]) == ()


def test_a_session_that_a_later_version_went_on_with_is_only_noted() -> None:
    later = case(*with_attachment(None), u("u2", "a1", "more", 2, version="2.1.230"))
    assert [(finding.code, finding.severity) for finding in all_findings(later)] == [("STORE901", Severity.NOTE)]


@each_mode
def test_a_message_of_which_nothing_can_be_read(mode: str) -> None:
    values = (u("u1", None), a("a1", "u1", "m1", text("done"), 1), u("u2", "a1", 42, 2), u("u3", "u2", "more", 3))
    later, _ = written([NAME], mode, *values)
    assert said(later.conversation) == ["user:go", "assistant:done", "user:more"] and codes(later) == []


def test_a_message_with_another_block_is_left() -> None:
    values = (u("u1", None, [{"type": "text", "text": "go"}, 7]), a("a1", "u1", "m1", text("done"), 1))
    (finding,) = (finding for finding in all_findings(case(*values)) if finding.code == "STORE901")
    assert finding.repaired_by == () and finding.no_repair_reason
    assert compose(case(*values), [strategy(NAME)]) == ()


def test_the_version_that_wrote_it_is_evidence() -> None:
    (finding,) = all_findings(case(*with_attachment(None)))
    assert [row for row in finding.evidence if row[0] == "written by 2.1.218"]
    (unknown,) = all_findings(case(*with_attachment(None, "next")))
    assert not unknown.evidence
