"""MSG103: prompt and answer are read as part of a system message."""

from collections.abc import Iterator

from inspector.conversation.queries import span_text
from inspector.programs.dispatch.rules.merges import foreign, indexes, listing, merges
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    for message, held in merges(case):
        wrong = foreign(message, held)
        if message.role == "system" and wrong:
            text = (
                f"{len(held)} messages share msgIdx {indexes(held)} and are read as one system message: "
                f"seq {span_text([chunk.seq for chunk in wrong])} gets the authority of the system prompt."
            )
            yield Match(message.chunks, text, evidence=listing(held))


RULE = Rule(
    code="MSG103",
    state="M3",
    name="merged-into-system",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.READER,
    summary="what user and model said is read as system text",
    why="A stored system row with msgIdx 0 takes in all rows after it that carry msgIdx 0. What a user typed, or a model made up, is obeyed as the operator's instruction.",
    example="1 system 0.0 system rules\n2 user 0.0 text hello\n3 assistant 0.0 text hi",
    check=check,
    references=("derived from load() of Dispatch store.ts 71c635f",),
    repaired_by=("renumber-messages",),
    fixed_in_code="Group by seq - chunkIdx, or split on role as well as msgIdx (option A).",
)
