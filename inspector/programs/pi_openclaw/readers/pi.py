"""pi's session reader and the repair that it runs before every request (`transformMessages`): versions as rows of a table."""

from collections.abc import Sequence
from dataclasses import dataclass

from inspector.conversation.model import Chunk, Conversation, Dropped, Kind, Message, Reading
from inspector.conversation.tree import spoken
from inspector.programs.pi_openclaw.readers.context import Context, Rules, context_of
from inspector.programs.pi_openclaw.readers.openclaw_passes import as_text, nothing
from inspector.programs.pi_openclaw.readers.pairing_pi import pi_pairing
from inspector.programs.pi_openclaw.readers.paths import STOPPED, STOPS, pi_path
from inspector.programs.pi_openclaw.readers.pi_ids import normalized
from inspector.programs.pi_openclaw.readers.rows import PI, PathRow, is_below, model_of, rows, stored_name, target_of
from inspector.programs.pi_openclaw.readers.unsendable import Unsendable, unsendable
from inspector.programs.pi_openclaw.readers.walk import closes, empty_though, few, header_problem, warnings_of
from inspector.readers.base import Reader
from inspector.readers.strict import strict_problems


@dataclass(frozen=True, slots=True)
class PiVersion:
    """`at_end`: adds synthetic results for the last turn too. `foreign`: what becomes of thinking of another model ("text" or "dropped").
    `null_content`: reads content that is null as none, and skips lines that are. `overwrites`: what happens to a file without a header."""

    name: str
    since: str
    at_end: bool
    edits: bool
    system: bool
    null_content: bool
    overwrites: bool
    foreign: str
    verified: str


_CALL = "toolCall"

VERSIONS = (
    PiVersion("pi-0.68", "0.68.0 to 0.68.1", False, False, False, False, True, "text", "0.68.1"),
    PiVersion("pi-0.69", "0.69.0 to 0.80.2", True, False, False, False, True, "text", "0.73.1"),
    PiVersion("pi-0.87", "0.87.0 to 1.2", True, True, True, True, False, "text", "0.87.1"),
    PiVersion("pi-1.5", "1.3.0 to 1.5.2", True, True, True, True, False, "dropped", "1.5.2"),
)


def read_as(version: PiVersion, path: Conversation) -> Reading:
    path_rows = rows(path)
    if failure := _failure(version, path, path_rows):
        return Reading(version.name, (), (), (Dropped(path.chunks, failure),) if path.chunks else (), failure=failure)
    context = _context(version, path, path_rows)
    grouped = tuple(context.messages)
    if problem := next(unsendable(path_rows, context.sent, version.null_content), None):
        return Reading(version.name, grouped, (), (Dropped(path.chunks, problem.failure),), failure=problem.failure)
    messages, lost = _own_thinking(context.sent, path_rows, version.foreign)
    messages, unread = _own_calls(messages)
    paired = pi_pairing(version.at_end, version.system)(normalized(messages, target_of(path_rows)))
    above = [*warnings_of(path_rows, path.fact("id")), *few(_unread_ids(context.sent))]
    if path_rows and not path_rows[-1].id and path_rows[-1].about:
        above.append("the last line has no id: what pi writes next has no parent, and hides all of this from the resume after it")
    if empty_though(path):
        above.append("the last line is no entry, or its id is null: pi has no leaf then, and its context is empty")
    warnings = (*above, *context.warnings, *few(strict_problems(paired.messages)))
    dropped = (*context.dropped, *lost, *unread, *paired.dropped)
    return Reading(version.name, grouped, tuple(paired.messages), dropped, paired.report, warnings=warnings)


def stopping_lines(path: Conversation, reader: str) -> list[int]:
    """The seqs of lines at which pi throws when it opens the file; none for a reader that is not pi's."""
    version = _version(reader)
    return _stopping_lines(version, path) if version else []


def _stopping_lines(version: PiVersion, path: Conversation) -> list[int]:
    names = (STOPS,) if version.null_content else (STOPS, STOPPED)
    return sorted(int(seq) for name in names for seq in (path.fact(name) or "").split())


def _version(reader: str) -> PiVersion | None:
    return next((version for version in VERSIONS if version.name == reader), None)


def unsendable_of(path: Conversation, reader: str) -> list[Unsendable]:
    """All at which pi throws before a request; none for a reader that is not pi's."""
    version = _version(reader)
    if version is None:
        return []
    path_rows = rows(path)
    return list(unsendable(path_rows, _context(version, path, path_rows).sent, version.null_content))


def _context(version: PiVersion, path: Conversation, path_rows: Sequence[PathRow]) -> Context:
    return context_of(path_rows, Rules(edits=version.edits, system=version.system, hooks=is_below(path, 3)))


def _failure(version: PiVersion, path: Conversation, path_rows: Sequence[PathRow]) -> str:
    if header_problem(path, reads_marks=version.overwrites):
        if version.overwrites:
            return "the first record is no session header: up to pi 0.80.2 the file is overwritten by an empty session when it is opened"
        return "Session file is not a valid pi session: the first record is no session header"
    if seqs := _stopping_lines(version, path):
        return f"TypeError: the line at seq {seqs[0]} is JSON, but no object, and pi throws there when it opens the file"
    if id_ := closes(path_rows):
        return f"the parents form a cycle at the entry {spoken(id_[:40])}: pi walks it in an endless loop until its memory is full"
    return ""


def _unread_ids(messages: Sequence[Message]) -> list[str]:
    """OpenClaw stores and reads other names for the id of a result; pi knows one."""
    return [
        f"the result at seq {chunk.seq} has its id under {name[:40]!r}, and pi reads toolCallId alone: it goes out without an id, and its call "
        f"counts as one without a result"
        for message in messages
        for chunk in message.chunks
        if chunk.kind is Kind.TOOL_RESULT and (name := stored_name(chunk, "toolCallId")) != "toolCallId"
    ]


def _own_thinking(messages: Sequence[Message], path: Sequence[PathRow], foreign: str) -> tuple[list[Message], list[Dropped]]:
    """Thinking of another model than the path's last becomes text or goes; so does thinking that is blank and unsigned."""
    target = target_of(path)
    result: list[Message] = []
    lost: list[Dropped] = []
    for message in messages:
        if message.role == "assistant":
            own = model_of(message.chunks[0]) == target
            kept_chunks = [new for chunk in message.chunks if (new := _thought(chunk, own, foreign)) is not None]
            if dropped_chunks := tuple(chunk for chunk in message.chunks if _thought(chunk, own, foreign) is None):
                why = "it is blank and has no signature" if own else "it is of another model than the one that answers now"
                lost.append(Dropped(dropped_chunks, f"thinking that is left out: {why}"))
            if dropped_chunks or any(new is not old for new, old in zip(kept_chunks, message.chunks, strict=True)):
                # A message needs a chunk: one whose thinking is all gone is sent without content.
                message = Message(message.role, tuple(kept_chunks) or (nothing(message.chunks[0]),), message.synthetic)
        result.append(message)
    return result, lost


def _own_calls(messages: Sequence[Message]) -> tuple[list[Message], list[Dropped]]:
    """Without the calls of types that OpenClaw reads as well: pi's converters pass over such a block. Measured with 0.73.1 and 0.87.1."""
    result: list[Message] = []
    lost: list[Dropped] = []
    for message in messages:
        kept_chunks = tuple(chunk for chunk in message.chunks if chunk.kind is not Kind.TOOL_CALL or stored_name(chunk, _CALL) == _CALL)
        if message.role == "assistant" and len(kept_chunks) < len(message.chunks):
            calls = tuple(chunk for chunk in message.chunks if chunk not in kept_chunks)
            lost.append(
                Dropped(calls, f"a call of the type {stored_name(calls[0], _CALL)!r}, and pi reads {_CALL} alone: no request holds it")
            )
            message = Message(message.role, kept_chunks or (nothing(message.chunks[0]),), message.synthetic)
        result.append(message)
    return result, lost


def _thought(chunk: Chunk, own: bool, foreign: str) -> Chunk | None:
    if chunk.kind is Kind.REDACTED_THINKING:
        return chunk if own else None
    if chunk.kind is not Kind.THINKING:
        return chunk
    if own and chunk.payload.get("signature"):
        return chunk
    if not chunk.text.strip() or (not own and foreign == "dropped"):
        return None
    return chunk if own else as_text(chunk, chunk.text)


def _reader(version: PiVersion) -> Reader:
    ends = "also for the last turn" if version.at_end else "but not for the last turn"
    edits = "applies context edits" if version.edits else "ignores context edits"
    return Reader(
        version.name,
        PI,
        f"pi {version.since}: its session reader, then transformMessages",
        f"Makes up results for calls without one, {ends}; leaves orphans, duplicates and late results; {edits}. Thinking of another model is "
        + ("left out." if version.foreign == "dropped" else "sent as text."),
        "pi-ai 0.68.1, 0.69.0, 0.87.1 and 1.5.2 as published; measured on 0.73.1, 0.87.1 and 1.5.2",
        lambda path: read_as(version, path),
        release=(VERSIONS.index(version),),
        verified=(version.verified,),
        path=pi_path,
    )


READERS = tuple(_reader(version) for version in VERSIONS)
