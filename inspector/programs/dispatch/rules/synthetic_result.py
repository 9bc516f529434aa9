"""TOOL401: a synthetic result of the program, stored as if a tool had given it."""

from collections.abc import Iterator

from inspector.conversation import queries
from inspector.programs.dispatch.readers import INTERRUPTED
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    chunks = [chunk for message in case.messages for chunk in queries.results(message) if chunk.text == INTERRUPTED]
    if chunks:
        what = "A result is" if len(chunks) == 1 else f"{len(chunks)} results are"
        yield Match(
            chunks,
            f"{what} synthetic (seq {queries.span_text([chunk.seq for chunk in chunks])}): the text is the one that the loader writes "
            "for an interrupted call. No tool said it.",
        )


RULE = Rule(
    code="TOOL401",
    state="P4",
    name="synthetic-result",
    severity=Severity.NOTE,
    silent=True,
    origin=Origin.STORE,
    summary="a stored result is synthetic: written by the program, not given by a tool",
    why="Compaction writes back the loader's synthetic results, and so does a repair of interrupted calls. That is in order; it is no evidence that the tool ran and failed.",
    example=f'1 user 0.0 text go\n2 assistant 1.0 tool-call a ls {{}}\n3 tool 2.0 tool-result a "{INTERRUPTED}" name=ls error=true',
    check=check,
    references=("Dispatch reconcile.ts 904c6d7: the text is matched exactly",),
    no_repair_reason="The loader adds it on every read, and marked as an error; the real result, where a trace holds it, comes in with recover-result-from-trace before it is baked.",
    fixed_in_code="Mark a synthetic result as such in the row, so that it can be distinguished from one of a tool.",
)
