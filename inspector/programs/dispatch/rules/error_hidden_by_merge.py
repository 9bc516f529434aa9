"""MSG203: an error chunk that the loader's own repair does not find, because a merge hides it."""

from collections.abc import Iterator

from inspector.conversation.queries import span_text
from inspector.programs.dispatch.rules.error_chunks import messages_with_errors
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    errors = [chunk for _, chunks, hidden in messages_with_errors(case) if hidden for chunk in chunks]
    if errors:
        yield Match(
            errors,
            f"{'An error chunk is' if len(errors) == 1 else f'{len(errors)} error chunks are'} inside a merged message (seq {span_text([chunk.seq for chunk in errors])}): "
            "the loader's repair looks at whole assistant messages and does not take it for what it is.",
        )


RULE = Rule(
    code="MSG203",
    state="E3",
    name="error-hidden-by-merge",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.READER,
    summary="a merge hides an error chunk from the loader's repair",
    why="reconcile looks for errors in assistant messages; a merge puts them into a user message, so its counts stay 0 although the error is there.",
    example='1 user 0.0 text go\n2 assistant 0.0 error "HTTP 401: no" code="401"',
    check=check,
    references=("derived; upstream's note on conversation 102587c0 has the batch-era shape",),
    repaired_by=("renumber-messages", "strip-error-chunks"),
    fixed_in_code="Repair the grouping (MSG101); the error phases then find the chunk.",
)
