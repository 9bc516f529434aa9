"""TOOL301: the input of a stored call is a string: argument text that did not parse, or was stored twice encoded."""

from collections.abc import Iterator

from inspector.conversation.model import Kind
from inspector.rules.base import Case, Match, Origin, Rule, Severity
from inspector.text import jsontext
from inspector.text.jsontext import Unreadable


def check(case: Case) -> Iterator[Match]:
    for chunk in case.conversation.chunks:
        value = chunk.payload.get("input")
        if chunk.kind is not Kind.TOOL_CALL or not isinstance(value, str):
            continue
        try:
            jsontext.parse(value)
        except Unreadable as problem:
            text = f"The arguments of {chunk.tool_name} at seq {chunk.seq} are text that is {problem.reason}."
            yield Match((chunk,), text, evidence=(("arguments", value[:200]),))
        else:
            text = f"The arguments of {chunk.tool_name} at seq {chunk.seq} are stored as a string of JSON; {case.program.errors.consequences.get(RULE.name, 'the converter parses it')}."
            yield Match((chunk,), text, severity=Severity.NOTE)


RULE = Rule(
    code="TOOL301",
    state="J1",
    name="malformed-arguments",
    severity=Severity.ERROR,
    silent=False,
    origin=Origin.STREAM,
    summary="the arguments of a stored call are a string instead of an object",
    why="The model wrote arguments that are no JSON. A converter without a sanitizer sends the text as it is, and the provider answers 400 on every later turn.",
    example='1 user 0.0 text go\n2 assistant 1.0 tool-call a ls "{path: 1}"\n3 tool 2.0 tool-result a "f" name=ls',
    check=check,
    references=("Dispatch broken-chat-repair-handoff.md, conversation 77574596",),
    repaired_by=("sanitize-arguments",),
    fixed_in_code="Convert with a sanitizer that sends the first 200 characters as a hint in a valid object.",
)
