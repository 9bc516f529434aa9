"""Claude Code: sessions as files of JSON lines, one content block each, linked by the ids of their parents."""

from collections.abc import Iterator

from inspector.conversation.model import Chunk, Conversation, Message
from inspector.conversation.numbering import after_the_file
from inspector.conversation.queries import unanswered_calls
from inspector.programs.base import Calls, Errors, Home, Numbering, Panels, Program, Providers, Repairs, SyntheticResults, Trait
from inspector.programs.claude_code.before_boundary import calls_not_sent
from inspector.programs.claude_code.chain import first_results
from inspector.programs.claude_code.error_texts import MEANINGS
from inspector.programs.claude_code.folder import own_name
from inspector.programs.claude_code.format import CLAUDE_CODE
from inspector.programs.claude_code.path import apart
from inspector.programs.claude_code.readers import READERS, unsent
from inspector.programs.claude_code.repeated_lines import repeated_lines
from inspector.programs.claude_code.requests import trace_of
from inspector.programs.claude_code.sending import answer_id
from inspector.programs.claude_code.stored_outcomes import stored_outcomes
from inspector.programs.claude_code.thinking import answered_by, foreign_thinking, model_of, sent_to
from inspector.rules.base import Case, orphaned
from inspector.rules.unreadable_line import SPREAD
from inspector.text.shell_words import shell_word

_PLACEHOLDER = "[Tool result missing"
"""How the result begins that resume showed for a lost one before 2.1.80. New ones say in Inspector's words what is known."""


def _same_answer(message: Message, following: Message) -> bool:
    """By the id that Anthropic gave the answer; lines of writers that keep none are an answer each."""
    id_ = answer_id(message)
    return bool(id_) and id_ == answer_id(following)


def _explained_results(case: Case) -> Iterator[Chunk]:
    calls = calls_not_sent(case)
    yield from (result for _, result in orphaned(case) if result.key in calls)
    yield from first_results(case)


def _settled(case: Case) -> list[str]:
    return [outcome.call.key for outcome in stored_outcomes(case) if outcome.is_certain]


def _unanswered(case: Case) -> list[tuple[int, Chunk]]:
    """Without those whose outcome is in the file, or in another one of the session: TOOL212 reports them."""
    settled = set(_settled(case))
    return [(index, call) for index, call in unanswered_calls(case.messages) if call.key not in settled]


def _is_resumed(conversation: Conversation) -> bool:
    return not (conversation.fact("agentId") or conversation.fact("agentOf"))


def _follow_up(conversation: Conversation) -> tuple[str, ...]:
    """It lists only the sessions of the folder that it is started in."""
    return (
        (f"Resume it in the folder of its project: claude --resume {own_name(conversation.native_id)}",)
        if _is_resumed(conversation)
        else ()
    )


PROGRAM = Program(
    name="claude-code",
    title="Claude Code",
    package=__name__.rpartition(".")[0],
    client_version="version",
    formats=(CLAUDE_CODE,),
    readers=READERS,
    readers_of={CLAUDE_CODE.name: tuple(reader.name for reader in READERS)},
    traits={
        CLAUDE_CODE.name: frozenset(
            {Trait.SIGNED_THINKING, Trait.SIGNATURES, Trait.PLACEHOLDERS, Trait.EMPTY_MESSAGES, Trait.JSON_LINES, Trait.BLOCK_ORDER}
        )
    },
    numbering=Numbering(after_the_file, by_place=True),
    homes=(Home(CLAUDE_CODE.name, "~/.claude", "projects", "CLAUDE_CONFIG_DIR"),),
    apart=apart,
    own_trace=trace_of,
    is_resumed=_is_resumed,
    # Every block of an answer is a line, and the lines of one answer are one message to the provider.
    single_items=frozenset({CLAUDE_CODE.name}),
    same_answer=_same_answer,
    never_sent=lambda chunk: bool(unsent(chunk)),
    synthetic=SyntheticResults(
        author=lambda result: "Claude Code" if result.text.strip().startswith(_PLACEHOLDER) else "",
    ),
    calls=Calls(
        repeated=lambda case: {chunk.key for _, repeated in repeated_lines(case) for chunk in repeated},
        explained_results=_explained_results,
        settled=_settled,
        keeping=lambda case: [outcome.line.key for outcome in stored_outcomes(case) if outcome.line],
        unanswered=_unanswered,
        pending_is_damage=False,
    ),
    providers=Providers(
        answer_id=lambda chunk: answer_id(Message(chunk.role, (chunk,))),
        model_of=lambda chunk: model_of(chunk) or None,
        name_of=model_of,
        are_named=True,
        answered_by=answered_by,
        sent_to=sent_to,
        converted_thinking=foreign_thinking,
    ),
    panels=Panels(
        facts={
            "agentOf": "agent of the session",
            "versions": "written by the versions",
            "version": "last written by the version",
            "gitBranch": "git branch",
            "models": "models",
            "requests": "requests that it recorded",
            "lastRequest": "the newest of them",
            "missingAgents": "agents whose files are not in the folder",
            "unlisted": "list of the folder",
        }
    ),
    repairs=Repairs(
        of_lines=frozenset({"quarantine-unreadable-lines", "split-session-line"}),
        follow_up=_follow_up,
    ),
    errors=Errors(
        meanings=MEANINGS,
        facts=(("apiError", "the end of the session"),),
        of_older_versions=True,
        restart=lambda native_id: (
            "The provider rejected the last turn, and takes what Claude Code sends after a restart: end it, and go on with "
            f"`claude --resume {shell_word(own_name(native_id))}`."
        ),
        consequences={
            "unanswered-tail-call": "the turn was interrupted, or still runs.",
            "unreadable-line": "Claude Code skips it without an error.",
            # Measured with 2.1.112, 2.1.200 and 2.1.332.
            SPREAD: "Claude Code before 2.1.200 skips it without an error. Later versions read it, and what is shown here is without it.",
            "spliced-line": "Claude Code before 2.1.126 reads none of them, and later only the first",
            "unsigned-thinking": "Claude Code 2.1.332 sends it as it is, also where it leaves out what another model signed. Anthropic rejects it (AN-17, AN-18); an endpoint of another model that signed the other thinking may.",
            "unanswered-call": "While Claude Code runs on, it sends the call as it is, and shows the refusal as `API Error: 400 due to tool use concurrency issues` on every turn. After a restart it leaves the call out.",
        },
    ),
)
