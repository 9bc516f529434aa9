"""STORE601: indexes of messages that were never given."""

from collections.abc import Iterator
from itertools import pairwise

from inspector.conversation.model import Chunk, Kind
from inspector.conversation.queries import span_text
from inspector.programs.gbrain.readers import by_row
from inspector.rules.base import Case, Match, Origin, Rule, Severity

GATEWAY = "the gateway loop before #2820 counted a row of results after each message with calls, and wrote none"


def check(case: Case) -> Iterator[Match]:
    rows = [(index, chunks) for index, chunks in by_row(case.conversation.chunks) if index is not None]
    own: list[tuple[list[int], Chunk]] = []
    unexplained: list[tuple[list[int], Chunk]] = []
    for (index, chunks), (following, next_chunks) in pairwise(rows):
        skipped = list(range(index + 1, min(following, index + 50)))
        calls = chunks[0].role == "assistant" and any(chunk.kind is Kind.TOOL_CALL for chunk in chunks)
        if skipped:
            (own if len(skipped) == 1 and calls else unexplained).append((skipped, next_chunks[0]))
    for gaps, is_own in ((own, True), (unexplained, False)):
        if gaps:
            missing = [index for skipped, _ in gaps for index in skipped]
            numbers = f"{'index' if len(missing) == 1 else 'indexes'} {span_text(missing)}"
            why = f"{GATEWAY}." if is_own else "no path of gbrain leaves these out, so that rows were removed."
            yield Match([chunk for _, chunk in gaps], f"No message is at {numbers}: {why}", severity=None if is_own else Severity.WARNING)


RULE = Rule(
    code="STORE601",
    state="GB6",
    name="gapped-indexes",
    severity=Severity.NOTE,
    silent=True,
    origin=Origin.STORE,
    summary="indexes are missing between messages",
    why=(
        "A gap after each message with calls is how jobs of the gateway loop before #2820 are known. Whoever counts rows to find the next index runs into one that is taken (STORE602); "
        "a row of results in each gap repairs both."
    ),
    example="@format gbrain\n1 user 0.0 text go\n2 assistant 1.0 tool-call a head {}\n3 assistant 3.0 tool-call b body {}",
    check=check,
    references=("gbrain #2820, 86962b242 (2026-07-16)",),
    repaired_by=("insert-ledger-results", "insert-replay-result", "insert-recovered-result", "insert-plain-result"),
    fixed_in_code="Write the row of results that the index was counted up for (#2820).",
)
