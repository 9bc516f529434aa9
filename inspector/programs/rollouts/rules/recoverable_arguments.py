"""TOOL302: the arguments of a call did not parse when they arrived, and their text is still there."""

from collections.abc import Iterator

from inspector.conversation.model import Kind
from inspector.rules.base import Case, Match, Origin, Rule, Severity
from inspector.text import jsontext


def check(case: Case) -> Iterator[Match]:
    for chunk in case.conversation.chunks:
        stored = chunk.payload.get("stored")
        if chunk.kind is not Kind.TOOL_CALL or not isinstance(stored, dict):
            continue
        raw, problem = stored.get("raw_arguments"), stored.get("parse_error")
        if isinstance(problem, str) and problem and isinstance(raw, str):
            yield Match(
                (chunk,),
                f"The arguments of {chunk.tool_name[:60]} at seq {chunk.seq} did not parse when they arrived, so the call is stored with none; their text is kept.",
                evidence=(("error", problem[:200]), ("text", raw[:200]), ("today", _today(raw))),
            )


def _today(raw: str) -> str:
    try:
        value = jsontext.parse(raw)
    except jsontext.Unreadable as problem:
        return problem.reason
    return "the text is an object" if isinstance(value, dict) else "the text is JSON, but no object"


RULE = Rule(
    code="TOOL302",
    state="RO16",
    name="recoverable-arguments",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.STREAM,
    summary="a call is stored without the arguments that the model wrote, next to their text",
    why="The stream ended inside of them or they were no JSON. The history says that the tool was called with nothing, and the model takes that for what it did.",
    example=(
        '@format rollouts\n1 user 0.0 text go\n2 assistant 1.0 tool-call payload={"type":"tool-call","toolCallId":"a","toolName":"ls","input":{},'
        '"stored":{"parse_error":"Unterminated string","raw_arguments":"{\\"path\\":\\"/tm"}}\n3 tool 2.0 tool-result a f'
    ),
    check=check,
    references=("rollouts providers/anthropic.py 0779491: parse_error and raw_arguments",),
    no_repair_reason="The call was refused or run with empty arguments: putting the text in would say that something else was run. Read the text next to the result.",
    fixed_in_code="Answer such a call with an error that shows the model what it wrote.",
)
