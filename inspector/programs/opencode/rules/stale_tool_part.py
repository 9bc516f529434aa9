"""TOOL702: a tool that never ended."""

from collections.abc import Iterator

from inspector.conversation.model import Kind
from inspector.programs.opencode.chunks import about
from inspector.programs.opencode.events import outcomes_in
from inspector.programs.opencode.reader import OPEN
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    answered = {chunk.call_id for chunk in case.conversation.chunks if chunk.kind is Kind.TOOL_RESULT}
    if case.running:
        return
    outcomes = outcomes_in(case.conversation)
    for chunk in case.conversation.chunks:
        state = about(chunk).get("stale")
        if chunk.kind is Kind.TOOL_CALL and state and chunk.call_id not in answered:
            name = chunk.tool_name[:60]
            recorded = outcomes.get(chunk.key)
            ended = f". Event {recorded.seq:,} of the session has its {'error' if recorded.is_error else 'output'}" if recorded else ""
            sent = (
                "where nothing was written for a quarter of an hour or more: opencode shows it as running, and sends `[Tool execution was interrupted]` for it on each request"
                if state in OPEN
                else "which is no state that opencode knows: it sends neither the call nor a result"
            )
            yield Match(
                (chunk,),
                f"The call of {name} at seq {chunk.seq} is {str(state)[:40]} in the store, {sent}{ended}.",
                evidence=(("event", f"{recorded.seq:,}"), ("what it keeps", recorded.text[:160])) if recorded else (),
            )


RULE = Rule(
    code="TOOL702",
    state="OC1",
    name="stale-tool-part",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.STORE,
    summary="a tool is pending or running in the store, and its process is gone",
    why="opencode writes the end of a tool into the part of its call. After a crash nobody does, and no start of the program looks for such parts.",
    example=(
        '@format opencode\n1 user 0.0 text go\n2 assistant 1.0 tool-call payload={"type":"tool-call","toolCallId":"a","toolName":"bash","input":{},'
        '"opencode":{"message":1,"role":"assistant","stale":"running"}}'
    ),
    check=check,
    references=("anomalyco/opencode #19023", "anomalyco/opencode #28989", "opencode 1.18.33, run: killed in a tool"),
    repaired_by=("recover-output-from-events", "insert-interrupted-result"),
    fixed_in_code="Close parts that are pending or running when the program starts.",
)
