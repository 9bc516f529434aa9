"""TOOL212: a call without a real result, whose outcome a line keeps next to its message."""

from collections.abc import Iterator

from inspector.programs.claude_code.stored_outcomes import stored_outcomes
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    for outcome in stored_outcomes(case):
        instead = f"has a placeholder for its result (seq {outcome.placeholder.seq})" if outcome.placeholder else "has no result"
        yield Match(
            (outcome.placeholder or outcome.call,),
            f"The call of {outcome.call.tool_name[:60]} at seq {outcome.call.seq} {instead}, and line {(outcome.line.msg_idx or 0) + 1:,} keeps what came of it, as `toolUseResult`.",
            severity=Severity.WARNING if outcome.placeholder else None,
            evidence=(("line", f"{(outcome.line.msg_idx or 0) + 1:,}"), ("what it keeps", outcome.text[:160])),
        )


RULE = Rule(
    code="TOOL212",
    state="CC3",
    name="result-kept-next-to-message",
    severity=Severity.ERROR,
    silent=False,
    origin=Origin.STORE,
    summary="a call has no real result in any message, and a line keeps its outcome next to its message",
    why=(
        "Each result is stored twice in its line: as the message that the model gets, and as `toolUseResult` for the program itself. A line whose message lost its block, or got a placeholder, "
        "still has the second. A synthetic text would hide what is known."
    ),
    example=(
        "@format claude-code\n1 user 1.0 text go\n2 assistant 2.0 tool-call a ls {}\n"
        '3 tool 3.0 tool-result payload={"type":"tool-result","toolCallId":"a","toolName":"","content":"[Tool result missing]","isError":true} about={"toolUseResult":"f"}'
    ),
    check=check,
    references=("formats/claude_code_codex.md, F3", "anthropics/claude-code #39602, changelog 2.1.80"),
    repaired_by=("recover-stored-result",),
    fixed_in_code="Write the block of the result and `toolUseResult` in one line, or neither.",
)
