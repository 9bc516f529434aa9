"""Gemini CLI: chats that are files of records, replayed at each resume."""

from inspector.programs.base import Calls, Errors, Home, Program, Repairs, SyntheticResult, SyntheticResults, Trait
from inspector.programs.gemini_cli import reader
from inspector.programs.gemini_cli.format import GEMINI_CLI
from inspector.programs.gemini_cli.rules.doubled_responses import doubled_results

PROGRAM = Program(
    name="gemini-cli",
    title="Gemini CLI",
    package=__name__.rpartition(".")[0],
    formats=(GEMINI_CLI,),
    readers=(reader.READER,),
    readers_of={GEMINI_CLI.name: (reader.NAME,)},
    homes=(Home(GEMINI_CLI.name, "~", ".gemini/tmp", "GEMINI_CLI_HOME"),),
    traits={GEMINI_CLI.name: frozenset({Trait.JSON_LINES})},
    projections=(reader.PROJECTION,),
    # One in which nobody said anything, and what an agent did that another one started, is not listed.
    is_resumed=lambda chat: chat.fact("kind") != "subagent" and not chat.fact("nothingSaid"),
    sends_open_end=True,
    synthetic=SyntheticResults(
        words={GEMINI_CLI.name: SyntheticResult("[Operation Cancelled] Reason: the session ended before the tool returned a result.")},
        is_from_tool=lambda result: result.key.startswith(reader.COPY),
    ),
    calls=Calls(explained_results=doubled_results, explains_read_results=True),
    repairs=Repairs(
        rules_first=True,
        next_turn={
            "Each resume by Gemini CLI 0.61.0 begins a second file of the same session id, and its next start that does not resume this chat deletes its file: "
            "switch general.sessionRetention off in its settings, or keep a copy.": (),
        },
        follow_up=lambda conversation: (f"Resume it in the folder of its project: gemini --resume {conversation.native_id}",),
        view_after_write="A Gemini CLI that has the chat open does not see it: quit it before, and resume the chat after.",
    ),
    errors=Errors(
        consequences={
            "unreadable-line": "Gemini CLI skips it without an error, and its message is missing.",
            "unanswered-tail-call": "the turn was interrupted. Gemini CLI sends the call as it is, and Gemini refuses it.",
            "unanswered-call": "Gemini CLI sends the call as it is, and Gemini refuses it: the numbers of responses and calls must be equal.",
        },
        rules={"GE-3": ("doubled-responses",)},
    ),
)
