"""TOOL212: a call without a real result, whose outcome a line keeps next to its message, or another file of the session."""

from collections.abc import Iterator

from inspector.programs.claude_code.around import NOTICE
from inspector.programs.claude_code.stored_outcomes import Outcome, stored_outcomes
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    for outcome in stored_outcomes(case):
        instead = f"has a placeholder for its result (seq {outcome.placeholder.seq})" if outcome.placeholder else "has no result"
        where, evidence = _source(outcome)
        severity = Severity.NOTE if not outcome.is_certain else Severity.WARNING if outcome.placeholder else None
        yield Match(
            (outcome.placeholder or outcome.call,),
            f"The call of {outcome.call.tool_name[:60]} at seq {outcome.call.seq} {instead}, and {where}.",
            severity=severity,
            evidence=(evidence, ("what it keeps", outcome.text[:160])),
        )


def _source(outcome: Outcome) -> tuple[str, tuple[str, str]]:
    """Where the outcome is, as a clause and as evidence."""
    if outcome.file is None:
        number = f"{((outcome.line.msg_idx if outcome.line else 0) or 0) + 1:,}"
        return f"line {number} keeps what came of it, as `toolUseResult`", ("line", number)
    name = "/".join(outcome.file.key.split("/")[-2:])[:200]
    if outcome.file.text.startswith(NOTICE):
        clause = f"{name} holds its output, which was too large for the session"
    elif outcome.is_certain:
        clause = f"{name} ends with the answer of the agent that it started"
    else:
        clause = (
            f"{name} ends with words of the agent that it started: its answer, or words before another call that was not written any more"
        )
    return clause, ("file", outcome.file.place[:1000])


RULE = Rule(
    code="TOOL212",
    state="CC3",
    name="result-kept-next-to-message",
    severity=Severity.ERROR,
    silent=False,
    origin=Origin.STORE,
    summary="a call has no real result in any message, and its outcome is next to a message, or in another file of the session",
    why=(
        "Each result is stored twice in its line: as the message that the model gets, and as `toolUseResult` for the program itself. A line whose message lost its block, or got a placeholder, "
        "still has the second. A large output is in a file of its own as well (`tool-results/CALL.txt`), and what an agent answered is in the agent's file (`subagents/`). "
        "A synthetic text would hide what is known."
    ),
    example=(
        "@format claude-code\n1 user 1.0 text go\n2 assistant 2.0 tool-call a ls {}\n"
        '3 tool 3.0 tool-result payload={"type":"tool-result","toolCallId":"a","toolName":"","content":"[Tool result missing]","isError":true} about={"toolUseResult":"f"}'
    ),
    check=check,
    references=("formats/claude_code_codex.md, F3", "anthropics/claude-code #39602, changelog 2.1.80"),
    repaired_by=("recover-stored-result", "recover-result-from-file", "recover-agent-words"),
    fixed_in_code="Write the block of the result and `toolUseResult` in one line, or neither.",
)
