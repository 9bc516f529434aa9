"""MSG102: user text is read as part of the model's own message; the API accepts it and nothing errors."""

from collections.abc import Iterator

from inspector.conversation.queries import span_text
from inspector.programs.dispatch.rules.merges import foreign, indexes, listing, merges, ruled_out
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    for message, held in merges(case):
        wrong = foreign(message, held)
        if message.role != "assistant" or not wrong:
            continue
        text = (
            f"{len(held)} messages share msgIdx {indexes(held)} and are read as one assistant message: "
            f"seq {span_text([chunk.seq for chunk in wrong])} is presented as the model's own words. The request stays valid, so nothing errors."
        )
        yield Match(message.chunks, text, evidence=listing(held), ruled_out=ruled_out(case))


RULE = Rule(
    code="MSG102",
    state="M2",
    name="merged-into-assistant",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.READER,
    summary="what the user said is read as the model's own words",
    why=(
        "After a tool result the loader starts an assistant message and swallows everything up to the next tool result, the user's messages "
        "included. The request is valid and keeps its tool calls, so no provider refuses it: the user's instructions silently become something that the model said."
    ),
    example=(
        '1 user 0.0 text look\n2 assistant 0.0 tool-call a ls {}\n3 tool 1.0 tool-result a "f" name=ls\n4 assistant 0.0 text done\n5 user 0.0 text thanks'
    ),
    check=check,
    references=("derived from load() of Dispatch store.ts 71c635f",),
    repaired_by=("renumber-messages",),
    fixed_in_code="Group by seq - chunkIdx, or split on role as well as msgIdx (option A).",
)
