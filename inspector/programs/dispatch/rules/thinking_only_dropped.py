"""THINK101: an assistant message of nothing but thinking is dropped on every read."""

from collections.abc import Iterator

from inspector.conversation.model import Kind
from inspector.conversation.queries import span_text
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    dropped_keys = {chunk.key for dropped in case.reading.dropped for chunk in dropped.chunks} if not case.reading.failure else set()
    for message in case.messages:
        if message.role == "assistant" and all(chunk.kind is Kind.THINKING and chunk.key in dropped_keys for chunk in message.chunks):
            yield Match(
                message.chunks,
                f"The assistant message at seq {span_text(message.seqs)} holds only thinking; the reader drops it, and with it the trace of what the model did there.",
            )


RULE = Rule(
    code="THINK101",
    state="T1",
    name="thinking-only-dropped",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.READER,
    summary="a message that holds only thinking vanishes when read",
    why=(
        "reconcile counts text and tool calls as content, thinking not. The message vanishes from what the model sees, and the evidence of an incident with it: "
        "two user messages are then neighbors."
    ),
    example='1 user 0.0 text go\n2 assistant 1.0 thinking hmm\n3 user 0.0 text "and?"',
    check=check,
    references=("Dispatch notes/tool-call-in-thinking-bug.md, 2026-06-28, fix 2",),
    leads_to=("THINK301",),
    no_repair_reason="The row is whole and only the reader drops it; writing it as text would show the model its own thinking as an answer.",
    fixed_in_code="Count thinking as content in reconcile, and tag it in the request: untagged, leaked call text is shown to the model as its own answer.",
)
