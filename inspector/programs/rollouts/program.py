"""rollouts: a folder with a JSONL file a session, and crash files next to them."""

from inspector.programs.base import Liveness, Program, Trait
from inspector.programs.rollouts import projection, readers
from inspector.programs.rollouts.conversions import converted_thinking
from inspector.programs.rollouts.format import ROLLOUTS

PROGRAM = Program(
    name="rollouts",
    title="rollouts",
    package=__name__.rpartition(".")[0],
    formats=(ROLLOUTS,),
    readers=tuple(readers.READERS),
    readers_of={ROLLOUTS.name: tuple(each.name for each in readers.READERS)},
    traits={
        ROLLOUTS.name: frozenset(
            {
                Trait.NEIGHBORS,
                Trait.EMPTY_MESSAGES,
                Trait.REPEATED_RUNS,
                Trait.BLOCK_ORDER,
                Trait.SIGNED_THINKING,
                Trait.SIGNATURES,
                Trait.PLACEHOLDERS,
            }
        )
    },
    # Its times name no zone and are read as UTC: the moment may have been half a day later.
    liveness=Liveness(running="pending", unknown_ms=12 * 60 * 60 * 1000),
    consequences={
        "unanswered-tail-call": "the turn was interrupted. rollouts leaves it as it is until something follows.",
        "unanswered-call": (
            "rollouts makes up a result for each request since cd8a0c9; versions before send the call as it is, and providers refuse it."
        ),
        "unsigned-thinking": "rollouts sends it as text between tags.",
    },
    answered_by=lambda case, message: readers.about(message, "provider") or case.conversation.fact("provider") or "",
    sent_to=lambda case: readers.target_of(case.conversation, case.messages).provider.replace("unknown", ""),
    converted_thinking=converted_thinking,
    projections=tuple(projection.variants()),
)
