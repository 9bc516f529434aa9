"""Codex CLI: a rollout file for each thread, which a resume replays."""

from inspector.programs.base import CaseLines, Errors, Home, Program, SyntheticResult, SyntheticResults, Trait
from inspector.programs.codex.entries import entry_of
from inspector.programs.codex.format import CODEX
from inspector.programs.codex.items import ITEM
from inspector.programs.codex.notation import session_of
from inspector.programs.codex.readers import ABORTED, READER

PROGRAM = Program(
    name="codex",
    title="Codex CLI",
    package=__name__.rpartition(".")[0],
    formats=(CODEX,),
    readers=(READER,),
    readers_of={CODEX.name: (READER.name,)},
    # Not archived_sessions: nobody resumes a thread there before it is taken out.
    homes=(Home(CODEX.name, "~/.codex", "sessions", "CODEX_HOME"),),
    traits={CODEX.name: frozenset({Trait.EMPTY_MESSAGES, Trait.REPEATED_RUNS, Trait.PLACEHOLDERS, Trait.JSON_LINES})},
    single_items=frozenset({CODEX.name}),
    synthetic=SyntheticResults(
        words={CODEX.name: SyntheticResult(ABORTED)},
        # Another program's tool may answer with that word.
        author=lambda result: "Codex" if result.text == ABORTED and entry_of(result).get("type") == ITEM else "",
    ),
    errors=Errors(
        facts=(("error", "the last error event of the rollout file"),),
        consequences={
            "unreadable-line": "Codex skips it without an error.",
            "unanswered-tail-call": f"the turn was interrupted, or still runs. Codex since 0.50 puts `{ABORTED}` in for it in each request.",
            "unanswered-call": f"Codex since 0.50 puts `{ABORTED}` in for it in each request; versions before sent the history as it is, and every request was refused.",
        },
    ),
    notation=CaseLines(session_of=session_of),
)
