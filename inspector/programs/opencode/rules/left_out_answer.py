"""MSG701: an answer that opencode leaves out because it ended with an error, with tools that had ended."""

from collections.abc import Iterator

from inspector.conversation.model import Kind
from inspector.programs.opencode.chunks import about
from inspector.programs.opencode.reader import is_left_out, turns_of
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    for turn in turns_of(case.conversation):
        head = about(turn[0])
        results = [chunk for chunk in turn if chunk.kind is Kind.TOOL_RESULT]
        if results and head.get("role") == "assistant" and is_left_out(head, has_content=True):
            count = f"{len(results)} finished tool{'s' if len(results) > 1 else ''}"
            text = f"The answer at seq {turn[0].seq} ended with {head.get('error')}: opencode sends nothing of it, and {count} with it are not known to the model."
            yield Match(turn, text)


RULE = Rule(
    code="MSG701",
    state="OC2",
    name="left-out-answer",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.READER,
    summary="an answer that ended with an error is not sent, though tools of it had ended",
    why="What the tools did is done: a model that is not told of it does it again, or goes on from a state that is not there any more.",
    example=(
        "@format opencode\n1 user 0.0 text go\n"
        '2 assistant 1.0 tool-call payload={"type":"tool-call","toolCallId":"a","toolName":"bash","input":{},'
        '"opencode":{"message":1,"role":"assistant","error":"APIError"}}\n'
        '3 tool 2.0 tool-result payload={"type":"tool-result","toolCallId":"a","toolName":"bash","content":"f",'
        '"opencode":{"message":1,"role":"assistant","error":"APIError"}}'
    ),
    check=check,
    references=("opencode 1.18.33, toModelMessages",),
    repaired_by=("keep-failed-answer",),
    fixed_in_code="Send an answer with finished tools, whatever it ended with, as an aborted one is.",
)
