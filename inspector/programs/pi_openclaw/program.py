"""pi and OpenClaw: sessions that are trees, in JSONL files that both share, and in OpenClaw's SQLite store."""

from inspector.conversation.numbering import after_the_file
from inspector.programs.base import Calls, Errors, Home, Numbering, Program, Providers, SyntheticResults, Trait
from inspector.programs.pi_openclaw import openclaw_sqlite
from inspector.programs.pi_openclaw.openclaw import OPENCLAW
from inspector.programs.pi_openclaw.openclaw_sqlite import OPENCLAW_SQLITE
from inspector.programs.pi_openclaw.pi import PI
from inspector.programs.pi_openclaw.placeholders import OPENCLAW_WORDS, PI_WORDS, placeholder_author, placeholders
from inspector.programs.pi_openclaw.readers import openclaw, pi, verbatim
from inspector.programs.pi_openclaw.readers.rows import is_mirror, mapping, model_name, model_of
from inspector.programs.pi_openclaw.rules import session_calls
from inspector.programs.pi_openclaw.rules.failed_turn_with_calls import results_of_failed
from inspector.programs.pi_openclaw.rules.session_calls import cut_result
from inspector.programs.pi_openclaw.rules.session_effects import effects
from inspector.programs.pi_openclaw.rules.stale_compaction_pointer import cut_results

# The two programs share the file format, so that each may be pointed at the other's files; only OpenClaw opens its database.
_OF_FILES = tuple(reader.name for reader in (verbatim.READER, *pi.READERS, *openclaw.READERS, openclaw.AS_SENT))

PROGRAM = Program(
    name="pi-openclaw",
    title="pi and OpenClaw",
    package=__name__.rpartition(".")[0],
    formats=(PI, OPENCLAW, OPENCLAW_SQLITE),
    readers=(verbatim.READER, *pi.READERS, *openclaw.READERS),
    readers_of={
        PI.name: _OF_FILES,
        OPENCLAW.name: _OF_FILES,
        OPENCLAW_SQLITE.name: (verbatim.NAME, openclaw.READERS[-1].name, openclaw.AS_SENT.name),
    },
    variant=lambda name: openclaw.AS_SENT if name == openclaw.AS_SENT.name else None,
    traits=dict.fromkeys(
        (PI.name, OPENCLAW.name, OPENCLAW_SQLITE.name),
        frozenset({Trait.NEIGHBORS, Trait.EMPTY_MESSAGES, Trait.SIGNED_THINKING, Trait.SIGNATURES, Trait.PLACEHOLDERS}),
    ),
    numbering=Numbering(after_the_file, by_place=True),
    places={OPENCLAW_SQLITE.name: ("event", 0)},
    neighbor_files=frozenset({OPENCLAW.name}),
    homes=(
        Home(PI.name, "~/.pi/agent/sessions", moved_by="PI_CODING_AGENT_SESSION_DIR"),
        Home(PI.name, "~/.pi/agent", "sessions", "PI_CODING_AGENT_DIR"),
        Home(OPENCLAW.name, "~/.openclaw", "agents/*/sessions", "OPENCLAW_STATE_DIR"),
        Home(OPENCLAW_SQLITE.name, "~/.openclaw", "agents/*/agent/openclaw-agent.sqlite", "OPENCLAW_STATE_DIR"),
        # Elder versions of OpenClaw.
        Home(OPENCLAW.name, "~/.openclaw/sessions"),
        Home(OPENCLAW.name, "~/.clawdbot", "agents/*/sessions"),
    ),
    never_sent=lambda chunk: is_mirror(mapping(chunk.payload.get("entry"))),
    read_only={openclaw_sqlite.NAME: openclaw_sqlite.NEVER_IN_PLACE},
    new_file_as={openclaw_sqlite.NAME: OPENCLAW},
    synthetic=SyntheticResults(
        words={PI.name: PI_WORDS, OPENCLAW.name: OPENCLAW_WORDS, OPENCLAW_SQLITE.name: OPENCLAW_WORDS},
        author=placeholder_author,
        texts=placeholders,
    ),
    calls=Calls(
        unanswered=session_calls.unanswered,
        settles_ids=True,
        has_failed=session_calls.has_failed,
        sendable=session_calls.read_messages,
        explained_results=lambda case: [*results_of_failed(case), *cut_results(case)],
        explains_read_results=True,
        nameless_results=session_calls.without_id,
        cut_result=cut_result,
    ),
    providers=Providers(
        model_of=model_of,
        name_of=model_name,
        are_named=True,
        answered_by=lambda case, message: str(mapping(message.chunks[0].payload.get("entry")).get("provider") or ""),
    ),
    errors=Errors(
        consequences={
            "unanswered-tail-call": (
                "the turn was interrupted, or still runs. The programs add a synthetic result once something follows, pi since 0.69 also before that."
            ),
            "unanswered-call": (
                "No branch of the file holds a real one that is certainly its own. The programs add a synthetic one to each request; a client that sends the path as it is stored is refused."
            ),
            "unsigned-thinking": "pi sends it as text, and leaves it out where it is blank; a client that sends it as thinking is refused.",
            "malformed-arguments": "OpenClaw sends it on as it is",
        },
        effects=effects,
    ),
)
