"""MSG201: an assistant message of nothing but an error."""

from collections.abc import Iterator

from inspector.programs.dispatch.rules.error_chunks import messages_with_errors
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    for message, errors, hidden in messages_with_errors(case):
        if hidden or len(errors) < len(message.chunks):
            continue
        last = message is case.messages[-1]
        effect = (
            "A loader without the error phases sends it as an empty answer"
            if not last
            else "The history ends with it: a loader without the error phases sends an empty answer there"
        )
        yield Match(errors, f"The assistant message at seq {errors[0].seq} holds only an error ({errors[0].text[:100]}). {effect}.")


RULE = Rule(
    code="MSG201",
    state="E1",
    name="error-only-message",
    severity=Severity.WARNING,
    silent=False,
    origin=Origin.STORE,
    summary="an assistant message holds only an error chunk",
    why="A provider failure is stored as the step's answer. Loaders before the error phases (r1, r2) send an empty assistant message, after which the chat was reported not to continue, though no provider rule known here refuses one; newer loaders leave it out, and the next request lacks nothing that anybody said. 6 of 140 conversations of one production file were in this state.",
    example='1 user 0.0 text go\n2 assistant 1.0 error "HTTP 401: no" code="401"',
    check=check,
    references=("Dispatch broken-chat-repair-handoff.md",),
    repaired_by=("strip-error-chunks",),
    fixed_in_code="Strip error chunks when reading (reconcile r3), or do not store them as messages.",
)
