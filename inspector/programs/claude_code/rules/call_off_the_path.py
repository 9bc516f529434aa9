"""TOOL211: a result whose call is in the file, but in no line that a resume sends."""

from collections.abc import Iterator

from inspector.programs.claude_code.before_boundary import boundary_line, calls_not_sent
from inspector.rules.base import Case, Match, Origin, Rule, Severity, orphaned


def check(case: Case) -> Iterator[Match]:
    if not orphaned(case):
        return
    calls = calls_not_sent(case)
    boundary = boundary_line(case)
    for _, result in orphaned(case):
        call = calls.get(result.key)
        if call is None:
            continue
        line = call.msg_idx or 0
        is_before = boundary is not None and line < boundary
        where = "before the compaction, and a resume sends nothing from there" if is_before else "on another branch"
        yield Match(
            (result,),
            f"The result at seq {result.seq} answers the call of {call.tool_name[:60]} at seq {call.seq} (line {line + 1:,}), which is {where}: "
            "Anthropic rejects a result without its call (AN-2).",
            evidence=(("call", f"{call.tool_name[:60]} {call.call_id[:60]!r}, line {line + 1:,}"), ("result", result.text[:160])),
        )


RULE = Rule(
    code="TOOL211",
    state="CC4",
    name="call-off-the-path",
    severity=Severity.ERROR,
    silent=False,
    origin=Origin.STORE,
    summary="a result is on the path, and its call is in a line that no resume sends",
    why=(
        "A compaction, a background task or a moved session leaves the result after the boundary and its call before it. "
        "Every request then starts with a result that answers nothing, and is rejected."
    ),
    example=(
        "@format claude-code\n1 user 1.0 text go\n2 assistant 2.0 tool-call a ls {}\n"
        '3 - 3.- control entry=b parent=- about={"type":"system","subtype":"compact_boundary"}\n4 user 4.0 text Summary parent=b\n5 tool 5.0 tool-result a f'
    ),
    check=check,
    references=("anthropics/claude-code #8484, #11017, #13460", "formats/claude_code_codex.md, F4"),
    repaired_by=("return-call", "quote-orphaned-results"),
    fixed_in_code="Put the boundary after the results of the turn that is compacted.",
)
