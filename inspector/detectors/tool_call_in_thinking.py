"""THINK301: a turn ends with a tool call that arrived as text."""

import re
from collections.abc import Iterator

from inspector.conversation.model import Chunk, Kind
from inspector.conversation.queries import turns
from inspector.detectors.base import Case, Fault, Hit, Rule, Severity
from inspector.detectors.merges import ruled_out

# At the start of a line and outside a code fence: a sentence that only mentions the syntax is no call.
# No \s after ^: over a run of empty lines that would take quadratic time.
CALL = re.compile(r"^[ \t]*(?:</think>\s*)?(<function=|<tool_call\b|<invoke\b)", re.MULTILINE)
FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)


def leaked_call(chunk: Chunk) -> str:
    """The marker with which call text starts in the chunk, or "" where there is none."""
    if chunk.kind not in (Kind.THINKING, Kind.TEXT):
        return ""
    match = CALL.search(FENCE.sub("", chunk.text))
    return match.group(1) if match else ""


def check(case: Case) -> Iterator[Hit]:
    all_turns = turns(case.messages)
    for number, turn in enumerate(all_turns, start=1):
        last = turn[-1]
        marker = leaked_call(last.chunks[-1]) if last.role == "assistant" else ""
        if not marker or any(chunk.kind is Kind.TOOL_CALL for chunk in last.chunks) or (case.running and number == len(all_turns)):
            continue
        chunk = last.chunks[-1]
        text = f"Turn {number} ends at seq {chunk.seq} with a tool call written as {chunk.kind}: {marker}... No structured call arrived, so nothing was run and the turn ended."
        yield Hit((chunk,), text, evidence=(("text", chunk.text[:200]),), ruled_out=ruled_out(case))


RULE = Rule(
    code="THINK301",
    state="T2",
    name="tool-call-in-thinking",
    severity=Severity.ERROR,
    silent=True,
    fault=Fault.STREAM,
    summary="a tool call arrived as text in thinking or content, and the turn ended",
    why=(
        "The program looks only at structured calls: it sees none, takes the turn for finished, and the user gets no answer and no error. "
        "A history that shows the model no intact calls (MSG101) makes models fall back to this."
    ),
    example='1 user 0.0 text go\n2 assistant 0.0 thinking "<function=run>"',
    check=check,
    references=("Dispatch notes/tool-call-in-thinking-bug.md, 2026-06-28",),
    repaired_by=("promote-leaked-call", "drop-leaked-call"),
    fixed_in_code="Mend the cause first (MSG101); a stream parser that knows the text forms of a call is the second line of defence.",
)
