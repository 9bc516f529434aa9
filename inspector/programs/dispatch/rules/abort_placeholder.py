"""TOOL203: a stored `Aborted` result whose call was taken out of the history."""

from collections.abc import Iterator

from inspector.conversation.model import Chunk, Kind
from inspector.conversation.queries import span_text
from inspector.rules.base import Case, Match, Origin, Rule, Severity, cached_per_case, orphaned
from inspector.text.jsontext import encode

ABORTED = "Aborted"


@cached_per_case
def placeholders(case: Case) -> list[tuple[int, Chunk]]:
    """Results that an abort left behind, each with the index of its message: an error of exactly that text whose call is nowhere.

    Not where an unreadable row mentions the id: the call may be in it.
    """
    called = {chunk.call_id for chunk in case.conversation.chunks if chunk.kind in (Kind.TOOL_CALL, Kind.UNREADABLE)}
    hidden = [chunk.raw for chunk in case.conversation.chunks if chunk.kind is Kind.UNREADABLE]
    return [
        (index, result)
        for index, result in orphaned(case)
        if result.is_error
        and result.text == ABORTED
        and result.call_id not in called
        and not any(encode(result.call_id) in raw for raw in hidden)
    ]


def check(case: Case) -> Iterator[Match]:
    """One hit for each abort: the results of neighboring messages."""
    aborts: list[list[Chunk]] = []
    before = -2
    for index, result in placeholders(case):
        if index > before + 1:
            aborts.append([])
        aborts[-1].append(result)
        before = index
    for chunks in aborts:
        what = f"{len(chunks)} results say" if len(chunks) > 1 else "A result says"
        yield Match(
            chunks,
            f"{what} only {ABORTED!r} (seq {span_text([chunk.seq for chunk in chunks])}), and no call has the id: "
            "the turn was aborted, its calls were taken out of the history and their results were not.",
        )


RULE = Rule(
    code="TOOL203",
    state="A1",
    name="abort-placeholder",
    severity=Severity.WARNING,
    silent=False,
    origin=Origin.STORE,
    summary="an abort left results whose calls were taken out",
    why=(
        "Older versions stored an `Aborted` result for each call of an aborted step and took the calls out of the assistant message. "
        "OpenAI and its kin answer 400 to a tool message without a call before it, so an abort ends the conversation."
    ),
    example='1 user 0.0 text go\n2 assistant 1.0 text "let me look"\n3 tool 2.0 tool-result a Aborted name=ls error=true',
    check=check,
    references=("Dispatch run-turn.ts 1444bc1, comment on abort",),
    repaired_by=("drop-abort-placeholders",),
    fixed_in_code="Store neither the calls nor the results of an aborted step (later versions), or both.",
)
