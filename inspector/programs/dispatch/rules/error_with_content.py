"""MSG202: an error chunk among the content of an assistant message."""

from collections.abc import Iterator

from inspector.conversation.queries import span_text
from inspector.programs.dispatch.rules.error_chunks import messages_with_errors
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    for message, errors, hidden in messages_with_errors(case):
        if not hidden and len(errors) < len(message.chunks):
            yield Match(
                errors,
                f"An error chunk ({errors[0].text[:100]}) is among the content of the assistant message at seq {span_text(message.seqs)}.",
            )


RULE = Rule(
    code="MSG202",
    state="E2",
    name="error-with-content",
    severity=Severity.NOTE,
    silent=False,
    origin=Origin.STORE,
    summary="an error chunk is next to content in an assistant message",
    why="The step failed after it had begun to answer. The newest loader strips the error; what was said before it stays, cut off.",
    example='1 user 0.0 text go\n2 assistant 1.0 text well\n3 assistant 1.1 error "HTTP 500: no"',
    check=check,
    references=("Dispatch broken-chat-repair-handoff.md",),
    repaired_by=("strip-error-chunks",),
    fixed_in_code="Strip error chunks when reading (reconcile r3).",
)
