"""TOOL210: the lines of one answer are on the path twice."""

from collections.abc import Iterator

from inspector.conversation.model import Kind
from inspector.conversation.queries import span_text
from inspector.conversation.tree import about_of
from inspector.programs.claude_code.repeated_lines import repeated_lines
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    left_out = {chunk.key for dropped in case.reading.dropped for chunk in dropped.chunks}
    for kept, repeated in repeated_lines(case):
        message = about_of(kept[0]).get("message")
        answer = message.get("id") if isinstance(message, dict) else ""
        calls = [chunk.call_id for chunk in repeated if chunk.kind is Kind.TOOL_CALL]
        is_left_out = bool(calls) and {chunk.key for chunk in repeated if chunk.kind is Kind.TOOL_CALL} <= left_out
        then = (
            f"this version leaves the second call {calls[0][:60]!r} out of the request, one that still runs or is older sends it twice, which Anthropic rejects (AN-5)"
            if is_left_out
            else f"the request has the call {calls[0][:60]!r} twice, which Anthropic rejects (AN-5)"
            if calls
            else "the model reads it twice"
        )
        yield Match(
            repeated,
            f"Lines of the answer {str(answer)[:60]!r} are in the session again, under other uuids (seq {span_text([chunk.seq for chunk in repeated])}; "
            f"first at seq {span_text([chunk.seq for chunk in kept])}): {then}.",
            severity=None if calls and not is_left_out else Severity.WARNING,
            evidence=tuple((f"seq {chunk.seq}", f"{chunk.kind}: {chunk.text[:120] or chunk.call_id}") for chunk in repeated[:8]),
        )


RULE = Rule(
    code="TOOL210",
    state="CC6",
    name="repeated-answer-lines",
    severity=Severity.ERROR,
    silent=False,
    origin=Origin.STORE,
    summary="the lines of one answer are on the path twice, under other uuids",
    why=(
        "A resume, a fork or a folder that two machines synchronize writes the lines of an answer again. All lines of one `message.id` are one message when they are sent, "
        "so that each call is in it twice: `tool_use` ids must be unique."
    ),
    example=(
        '@format claude-code\n1 user 1.0 text go\n2 assistant 2.0 tool-call a ls {} about={"message":{"id":"msg_1"}}\n'
        '3 assistant 3.0 tool-call a ls {} about={"message":{"id":"msg_1"}}\n4 tool 4.0 tool-result a f'
    ),
    check=check,
    references=("anthropics/claude-code #20508, #20901, #21317, #28152", "formats/claude_code_codex.md, F6"),
    repaired_by=("drop-repeated-lines",),
    fixed_in_code="Before a line is written, look for its `message.id` and block in the session.",
)
