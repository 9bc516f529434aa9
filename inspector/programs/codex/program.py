"""Codex CLI: a rollout file for each thread, which a resume replays."""

from inspector.programs.base import Calls, CaseLines, Errors, Home, Program, Providers, Repairs, SyntheticResult, SyntheticResults, Trait
from inspector.programs.codex.entries import entry_of
from inspector.programs.codex.error_texts import MEANINGS
from inspector.programs.codex.format import CODEX
from inspector.programs.codex.items import ITEM
from inspector.programs.codex.notation import session_of
from inspector.programs.codex.readers import ABORTED, READER, answered_results

PROGRAM = Program(
    name="codex",
    title="Codex CLI",
    package=__name__.rpartition(".")[0],
    client_version="version",
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
    # The context of each turn names the model that the turn asks.
    providers=Providers(name_of=lambda chunk: model if isinstance(model := entry_of(chunk).get("modelId"), str) else ""),
    calls=Calls(explained_results=answered_results, explains_read_results=True, paired_by_id=True, answers_open=True),
    repairs=Repairs(follow_up=lambda conversation: (f"Resume it: codex resume {conversation.native_id}",)),
    errors=Errors(
        meanings=MEANINGS,
        facts=(("error", "the last error event of the rollout file"),),
        consequences={
            "unreadable-line": "Codex skips it without an error.",
            "unanswered-tail-call": f"the turn was interrupted, or still runs. Codex since 0.50 sends `{ABORTED}` right after it.",
            "unanswered-call": f"Codex since 0.50 sends `{ABORTED}` right after it; versions up to 0.47 put that at the front of the history, which OpenAI refuses.",
        },
    ),
    notation=CaseLines(session_of=session_of),
)
