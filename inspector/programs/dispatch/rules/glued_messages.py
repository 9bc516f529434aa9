"""MSG104: two neighboring messages of one role are read as one, their texts joined with nothing between."""

from collections.abc import Iterator
from itertools import pairwise

from inspector.conversation.queries import span_text
from inspector.programs.dispatch.rules.merges import merges
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    for _, held in merges(case):
        for first, second in pairwise(held):
            if first.role == second.role:
                text = (
                    f"Two {first.role} messages, seq {span_text(first.seqs)} and seq {span_text(second.seqs)}, carry equal msgIdx and role: "
                    "their texts are glued, and splitting on role alone would not part them."
                )
                yield Match((*first.chunks, *second.chunks), text)


RULE = Rule(
    code="MSG104",
    state="M4",
    name="glued-messages",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.READER,
    summary="two messages of one role are read as one",
    why=(
        "A turn that stored only its user message (a crash, an abort) is followed by another user message with the same msgIdx. "
        "Both texts reach the model as one word salad, also under the proposed option A."
    ),
    example="1 user 0.0 text one\n2 user 0.0 text two\n3 assistant 0.0 text ok",
    check=check,
    references=("derived; 4,751 of 20,000 random append histories differ under option A for this reason",),
    repaired_by=("renumber-messages",),
    fixed_in_code="Group by seq - chunkIdx; splitting on role is not enough here.",
)
