"""The preview of a new session shows what the repair changes, and not that each line names another session."""

from dataclasses import replace
from typing import Any

from inspector.conversation.edits import Plan
from inspector.planning.preview import Preview, compose, digest, preview, safety_of
from inspector.presentation.repair.plan import chunks_summary, own_members
from inspector.programs.claude_code.format import CLAUDE_CODE
from inspector.rules.base import case_of
from inspector.strategies.catalogue import strategy
from tests.programs.claude_code.session_lines import OTHER, a, call, r, stored, text, thinking, u

FORK, SAME = "new-session", "same-file"
SNAPSHOT: dict[str, Any] = {"type": "file-history-snapshot", "messageId": "x"}
UNSIGNED = (
    SNAPSHOT,
    u("u1", None),
    a("a1", "u1", "msg_1", thinking("first")),
    a("a2", "a1", "msg_1", text("x")),
    u("u2", "a2", "and?"),
    a("a3", "u2", "msg_2", thinking("second", "")),
    a("a4", "a3", "msg_2", text("y")),
)


def previewed(name: str, mode: str, *values: Any) -> Preview:
    session = stored(*values)
    case, chosen = case_of(session.conversation, "claude-code"), [strategy(name)]
    path = replace(session, conversation=case.conversation)
    options, edits = CLAUDE_CODE.options(mode, path, OTHER), compose(case, chosen)
    plan = Plan("s", session.conversation.native_id, mode, (name,), safety_of(chosen), digest(path), edits, options)
    return preview(case, path, CLAUDE_CODE, plan, chosen, "anthropic", "anthropic-2026-07")


def of_signatures(plan: Preview) -> list[str]:
    return [warning for warning in plan.warnings if "signature survives" in warning]


def test_a_new_session_lists_the_same_changes_as_the_repair_in_the_file() -> None:
    fork, same = (previewed("unsigned-thinking-to-text", mode, *UNSIGNED) for mode in (FORK, SAME))
    assert chunks_summary(fork.rows) == chunks_summary(same.rows) == "1 chunk changed, 5 unchanged"
    assert [line.split(" ")[0] for line in fork.shown_diff.split("\n")[3:] if line[0] in "-+"] == ["-6", "+5"]
    assert "forkedFrom" not in fork.shown_diff


def test_what_lines_of_a_new_session_have_of_their_own_is_one_sentence() -> None:
    fork, same = (previewed("unsigned-thinking-to-text", mode, *UNSIGNED) for mode in (FORK, SAME))
    assert own_members(fork) == (
        "Lines of the new conversation have their own sessionId, forkedFrom, and their own seq: only what else differs is listed as a change."
    )
    assert own_members(same) == ""
    assert "forkedFrom" in fork.text_diff


def test_a_line_that_the_repair_leads_elsewhere_is_a_change_in_a_new_session_too() -> None:
    lost = (u("u1", None), a("a1", "u1", "msg_1", text("x")), a("a2", "gone", "msg_2", text("y")), u("u2", "a2", "and?"))
    fork = previewed("relink-lost-line", FORK, *lost)
    assert [row.op for row in fork.rows if row.before and row.before.parent != (row.after and row.after.parent)] == ["changed"]


def test_signed_thinking_before_which_only_the_file_changes_keeps_its_signature() -> None:
    for mode in (FORK, SAME):
        assert of_signatures(previewed("unsigned-thinking-to-text", mode, *UNSIGNED)) == []


def test_signed_thinking_after_a_result_that_comes_in_is_named_in_both_modes() -> None:
    unanswered = (
        u("u1", None),
        a("a1", "u1", "msg_1", thinking("first")),
        a("a2", "a1", "msg_1", call("t1")),
        a("a3", "a2", "msg_1", call("t2")),
        r("r1", "a3", "t1"),
        a("a4", "r1", "msg_2", thinking("second")),
        a("a5", "a4", "msg_2", text("y")),
    )
    for mode in (FORK, SAME):
        (warning,) = of_signatures(previewed("insert-interrupted-result", mode, *unanswered))
        assert "signed thinking at seq 6 (seq 7 after the repair) changes" in warning
