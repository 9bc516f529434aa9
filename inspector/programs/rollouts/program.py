"""rollouts: a folder with a JSONL file a session, and crash files next to them."""

from inspector.programs.base import CaseLines, Errors, Home, Liveness, Panels, Program, Providers, SyntheticResult, SyntheticResults, Trait
from inspector.programs.rollouts import projection, readers
from inspector.programs.rollouts.alignment import aligned, ending
from inspector.programs.rollouts.conversions import converted_thinking
from inspector.programs.rollouts.crash import PREFIX
from inspector.programs.rollouts.format import ROLLOUTS
from inspector.programs.rollouts.notation import session_of

_WRITTEN = {readers.INTERRUPTED: "rollouts", "[interrupted]": "rollouts, on a cancel of 2025-12-23"}

PROGRAM = Program(
    name="rollouts",
    title="rollouts",
    package=__name__.rpartition(".")[0],
    formats=(ROLLOUTS,),
    readers=tuple(readers.READERS),
    readers_of={ROLLOUTS.name: tuple(reader.name for reader in readers.READERS)},
    traits={ROLLOUTS.name: frozenset(Trait) - {Trait.EMPTY_TEXT_ACCEPTED}},
    # Its times name no zone and are read as UTC: the moment may have been half a day later.
    liveness=Liveness(running="pending", unknown_ms=12 * 60 * 60 * 1000),
    homes=(Home(ROLLOUTS.name, "~/.rollouts"),),
    crash_prefix=PREFIX,
    is_resumed=lambda conversation: not conversation.native_id.startswith(PREFIX),
    projections=(projection.PROJECTION,),
    synthetic=SyntheticResults(
        words={ROLLOUTS.name: SyntheticResult(readers.INTERRUPTED)},
        author=lambda result: _WRITTEN.get(result.text.strip(), ""),
    ),
    providers=Providers(
        name_of=readers.model_name,
        answered_by=lambda case, message: readers.about(message, "provider") or case.conversation.fact("provider") or "",
        sent_to=lambda case: readers.target_of(case.conversation, case.messages).provider.replace("unknown", ""),
        converted_thinking=converted_thinking,
    ),
    panels=Panels(
        aligned=aligned,
        ending=ending,
    ),
    errors=Errors(
        consequences={
            "unanswered-tail-call": "the turn was interrupted. rollouts leaves it as it is until something follows.",
            "unanswered-call": (
                "rollouts adds a synthetic result to each request since cd8a0c9; versions before send the call as it is, and providers refuse it."
            ),
            "unsigned-thinking": "rollouts sends it as text between tags.",
        },
    ),
    notation=CaseLines(
        session_of=session_of,
    ),
)
