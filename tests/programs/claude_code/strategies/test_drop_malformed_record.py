"""What `drop-malformed-record` takes out, and which parent the lines below get."""

import json
from typing import Any

import pytest

from inspector.planning.preview import compose
from inspector.presentation.conversation.resuming import blocks
from inspector.rules.base import Severity
from inspector.rules.catalogue import all_findings
from inspector.strategies.catalogue import strategy
from tests.programs.claude_code.session_lines import a, boundary, case, line, said, text, u
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
        {"type": "deferred_tools_delta", "addedNames": None, "removedNames": []},
        {"type": "deferred_tools_delta", "addedNames": ["A"], "removedNames": []},
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
        {"type": "mcp_instructions_delta", "addedNames": ["A"], "addedBlocks": ["B"], "removedNames": []},
        {"type": "diagnostics", "files": [], "isNew": True},
        {"type": "of-tomorrow"},
    ],
)
def test_other_attachments_are_left(attachment: Any) -> None:
    assert codes(case(*with_attachment(attachment))) == []
    assert compose(case(*with_attachment(attachment)), [strategy(NAME)]) == ()


@pytest.mark.parametrize("attachment", [{}, {"type": 7}])
def test_an_attachment_without_a_type_is_only_noted(attachment: Any) -> None:
    (finding,) = all_findings(case(*with_attachment(attachment)))
    assert (finding.code, finding.severity, blocks(finding)) == ("STORE901", Severity.NOTE, False)


@pytest.mark.parametrize(
    ("version", "severity"),
    [("2.1.222", Severity.ERROR), ("2.1.223", Severity.NOTE), ("2.1.332", Severity.NOTE), ("of tomorrow", Severity.ERROR)],
)
def test_versions_that_leave_a_malformed_attachment_out_resume_the_session(version: str, severity: Severity) -> None:
    (finding,) = all_findings(case(*with_attachment({"type": "diagnostics"}, version)))
    assert (finding.code, finding.severity, finding.repaired_by) == ("STORE901", severity, (NAME,))


@pytest.mark.parametrize(("version", "severity"), [("2.1.275", Severity.ERROR), ("2.1.277", Severity.NOTE)])
def test_versions_that_leave_a_malformed_message_out_resume_the_session(version: str, severity: Severity) -> None:
    values = (
        u("u1", None),
        a("a1", "u1", "m1", text("done"), 1),
        u("u2", "a1", 42, 2, version=version),
        u("u3", "u2", "more", 3, version=version),
    )
    assert [finding.severity for finding in all_findings(case(*values)) if finding.code == "STORE901"] == [severity]


@each_mode
def test_a_message_of_which_nothing_can_be_read(mode: str) -> None:
    values = (u("u1", None), a("a1", "u1", "m1", text("done"), 1), u("u2", "a1", 42, 2), u("u3", "u2", "more", 3))
    later, _ = written([NAME], mode, *values)
    assert said(later.conversation) == ["user:go", "assistant:done", "user:more"] and codes(later) == []


@each_mode
@pytest.mark.parametrize("block", [None, 7, True])
def test_of_a_message_with_another_block_only_the_block_goes(block: Any, mode: str) -> None:
    values = (u("u1", None, [text("go"), block]), a("a1", "u1", "m1", text("done"), 1))
    later, data = written([NAME], mode, *values)
    assert said(later.conversation) == ["user:go", "assistant:done"] and codes(later) == []
    assert json.loads(data.splitlines()[0])["message"]["content"] == [text("go")]


def test_a_block_that_is_words_is_left() -> None:
    values = (u("u1", None, [text("go"), "on"]), a("a1", "u1", "m1", text("done"), 1))
    (finding,) = (finding for finding in all_findings(case(*values)) if finding.code == "STORE901")
    assert finding.repaired_by == () and finding.no_repair_reason and "Anthropic rejects" in finding.message
    assert compose(case(*values), [strategy(NAME)]) == ()


@pytest.mark.parametrize("content", [42, None, {"a": 1}, True])
def test_a_message_whose_content_is_no_text_and_no_list_blocks_the_resume(content: Any) -> None:
    session = case(u("u1", None), a("a1", "u1", "m1", text("done"), 1), u("u2", "a1", content, 2), u("u3", "u2", "more", 3))
    errors = [finding for finding in all_findings(session) if finding.code == "STORE901"]
    assert [(finding.severity, blocks(finding)) for finding in errors] == [(Severity.ERROR, True)]


def test_an_empty_message_of_the_user_is_sent_as_it_is() -> None:
    for content in ("", []):
        session = case(u("u1", None), a("a1", "u1", "m1", text("done"), 1), u("u2", "a1", content, 2), u("u3", "u2", "more", 3))
        assert "STORE901" not in codes(session)


def test_what_a_compaction_took_out_is_only_noted() -> None:
    values = (
        u("u0", None, [None]),
        a("a0", "u0", "m0", text("hm"), 1),
        boundary("b1", logicalParentUuid="a0"),
        u("s1", "b1", "Summary", 2),
    )
    (finding,) = (finding for finding in all_findings(case(*values)) if finding.code == "STORE901")
    assert finding.severity == Severity.NOTE and not blocks(finding)


def test_a_line_without_a_message_fails_wherever_it_hangs() -> None:
    def severities(**more: Any) -> list[Severity]:
        lost = {**line("user", "x1", "u1", None, 1), **more}
        session = case(u("u1", None), lost, a("a1", "u1", "m1", text("done"), 1))
        return [finding.severity for finding in all_findings(session) if finding.code == "STORE901"]

    assert severities() == severities(message=None) == [Severity.ERROR]
    assert severities(message="words") == [Severity.NOTE]


def test_the_version_that_wrote_it_is_evidence() -> None:
    (finding,) = all_findings(case(*with_attachment(None)))
    assert [row for row in finding.evidence if row[0] == "written by 2.1.218"]
    (unknown,) = all_findings(case(*with_attachment(None, "next")))
    assert not unknown.evidence
