"""TOOL204: a compacted history begins with results whose calls were cut off."""

from collections.abc import Iterator

from inspector.conversation import queries
from inspector.conversation.model import Chunk
from inspector.programs.dispatch.rules.abort_placeholder import placeholders
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def cut_off(case: Case) -> list[Chunk]:
    """Results at the head of a compacted history, after its summary, without those that an abort explains."""
    if not case.conversation.fact("compactedFrom"):
        return []
    aborted = {chunk.key for _, chunk in placeholders(case)}
    head: list[Chunk] = []
    for message in case.messages:
        if message.role == "tool":
            head += queries.results(message)
        elif message.role != "system":
            break
    return [chunk for chunk in head if chunk.key not in aborted]


def check(case: Case) -> Iterator[Match]:
    chunks = cut_off(case)
    if chunks:
        yield Match(
            chunks,
            f"The compacted history begins with {'a result' if len(chunks) == 1 else f'{len(chunks)} results'} "
            f"(seq {queries.span_text([chunk.seq for chunk in chunks])}): compaction cut between the calls and what they returned.",
            evidence=tuple(_archived_call(case, chunk) for chunk in chunks[:8]),
        )


def _archived_call(case: Case, result: Chunk) -> tuple[str, str]:
    """What the archive says of the call of `result`."""
    what = f"the call of seq {result.seq}"
    if case.archive is None:
        return what, "the conversation that this one was compacted from is not in this store"
    calls = [call for message in queries.true_messages(case.archive.chunks) for call in queries.calls(message)]
    matching = [call for call in calls if call.call_id == result.call_id]
    return what, f"{matching[-1].tool_name} at seq {matching[-1].seq} of the archive" if matching else "is not in the archive either"


RULE = Rule(
    code="TOOL204",
    state="P2",
    name="pair-cut-by-compaction",
    severity=Severity.ERROR,
    silent=False,
    origin=Origin.STORE,
    summary="compaction cut between a tool call and its result",
    why=(
        "Compaction keeps the last messages as they are and counts messages, not pairs. Where the first one kept is a tool message, "
        "its call stayed after in the archive, and providers refuse every request from then on."
    ),
    example="@compactedFrom archive\n1 system 0.0 system summary\n2 tool 1.0 tool-result a f name=ls\n3 assistant 2.0 text ok",
    check=check,
    references=("derived from the compaction of Dispatch",),
    repaired_by=("restore-call-from-archive", "drop-orphaned-results"),
    fixed_in_code="Cut a history only before a message that is not a tool message.",
)
