"""MSG101: several messages read as one that carries the first one's role."""

from collections.abc import Iterator

from inspector.conversation.queries import span_text, turns
from inspector.programs.dispatch.rules.merges import foreign, indexes, listing, merges, ruled_out
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    for message, held in merges(case):
        wrong = foreign(message, held)
        if not wrong or message.role in ("assistant", "system"):
            continue
        turn_count = len([turn for turn in turns(held) if turn[0].role == "user"])
        labelled = f"The model's own answers of seq {span_text([chunk.seq for chunk in wrong])} are labelled as the {message.role}'s."
        text = f"{len(held)} messages of {'one turn' if turn_count < 2 else f'{turn_count} turns'} share msgIdx {indexes(held)} and are read as one {message.role} message. {labelled}"
        yield Match(message.chunks, text, evidence=listing(held), ruled_out=ruled_out(case))


RULE = Rule(
    code="MSG101",
    state="M1",
    name="merged-messages",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.READER,
    summary="several messages of different roles are read as one user message",
    why=(
        "Each append counts msgIdx from 0, and the loader takes equal msgIdx for one message. The model gets its own answers as the user's "
        "words and its tool calls not at all (a user message is converted to its texts only), so that results stand without their calls. "
        "Nothing errors until a result is sent without its call."
    ),
    example="1 user 0.0 text hello\n2 assistant 0.0 text hi\n3 user 0.0 text bye",
    check=check,
    references=(
        "Dispatch notes/tool-call-in-thinking-bug.md, 2026-06-28",
        "Dispatch commits 44e2717 (chunk rows) and 519b799 (an append per step)",
    ),
    repaired_by=("renumber-messages",),
    fixed_in_code="Group by seq - chunkIdx (right for every stored row). Splitting on role as well as msgIdx (option A) repairs all but two neighbors of one role.",
)
