"""STORE102: a row that is JSON but not a chunk row: null, a missing field, a wrong type."""

from collections.abc import Iterator

from inspector.programs.dispatch.rules.unreadable_row import NOT_JSON
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    for chunk in case.conversation.chunks:
        if chunk.damage and chunk.damage not in NOT_JSON:
            thrown = case.reading.failure and f"seq {chunk.seq}:" in case.reading.failure
            effect = "the loader throws on it" if thrown else "the loader drops or misreads it without an error"
            yield Match((chunk,), f"The row at seq {chunk.seq} is not a whole chunk row: {chunk.reason}; {effect}.")


RULE = Rule(
    code="STORE102",
    state="J3",
    name="malformed-row",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.STORE,
    summary="a row is JSON but lacks what a chunk row must have",
    unnoticed="content lost",
    why=(
        "In dispatch.db of today only the parsing of a row is guarded: on null, or a row without chunk, load throws; "
        "a row without msgIdx is gathered into a message that is never emitted. In the old store (tables chunks and tabs) what the row lacks was taken for empty."
    ),
    example='1 user 0.0 text go\n2 - - unreadable "null" damage=null reason="the row is JSON null"',
    check=check,
    references=("derived from load() of Dispatch store.ts 71c635f",),
    repaired_by=("rebuild-unreadable-row", "replace-unreadable-row"),
    fixed_in_code="Check the shape of a row as well as that it parses.",
)
