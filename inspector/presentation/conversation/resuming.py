"""Whether a session can be resumed as it is: the one answer of `doctor`, `scan`, lists and pages."""

from collections.abc import Sequence
from dataclasses import dataclass

from inspector.conversation.model import Chunk, Kind
from inspector.conversation.queries import span_text
from inspector.presentation.conversation.recorded_errors import latest_rejection, recorded_errors
from inspector.presentation.conversation.resume_state import BROKEN, DAMAGED, RESUMED, UNASKED, UNKNOWN
from inspector.profiles.base import Judgement
from inspector.programs.formats import not_read
from inspector.programs.registry import wire_of
from inspector.rules.base import Case, Finding, Severity, unanswered
from inspector.rules.catalogue import rule
from inspector.rules.unanswered_tail_call import is_tail


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why nobody can resume a session, in one sentence; `seqs` say where, () where no chunk does."""

    why: str
    seqs: tuple[int, ...] = ()


def resume_state(case: Case, findings: Sequence[Finding], judgement: Judgement) -> str:
    """One of RESUMED, DAMAGED, BROKEN, UNASKED, UNKNOWN."""
    content = case.tree or case.conversation
    # What a rule misses may be in what was not read, and what was not read may be rejected.
    if not_read(content) and not wire_of(content.format):
        return UNKNOWN
    # A name in a list without a session, or evidence of a request.
    if not content.chunks or wire_of(content.format) or not case.program.is_resumed(content):
        return UNASKED
    if obstacle(case, findings, judgement):
        return BROKEN
    is_damaged = not case.running and any(finding.severity is Severity.ERROR for finding in findings)
    return DAMAGED if is_damaged else RESUMED


def obstacle(case: Case, findings: Sequence[Finding], judgement: Judgement) -> Obstacle | None:
    """None of a session that can be resumed."""
    # What a running turn has not written yet is no damage.
    if case.running or not_read(case.tree or case.conversation):
        return None
    if case.reading.failure:
        return Obstacle(f"{case.reading.reader} cannot open it: {case.reading.failure}")
    if lost := _lost(case):
        return Obstacle(f"No message of it can be read: {lost[0].reason}.", tuple(chunk.seq for chunk in lost))
    if not is_accepted(case, judgement):
        violation = judgement.violations[0]
        # Several providers begin the sentence with the path.
        at = "" if violation.text.startswith(violation.path) else f" at {violation.path}"
        return Obstacle(f"The provider rejects the next request{at}: {violation.text}", violation.seqs)
    return next((Obstacle(finding.message, finding.seqs) for finding in findings if blocks(finding)), None)


def _lost(case: Case) -> list[Chunk]:
    """The lines of a session that cannot be read, where no other one holds a message."""
    chunks = (case.tree or case.conversation).chunks
    if any(chunk.role for chunk in chunks):
        return []
    return [chunk for chunk in chunks if chunk.kind is Kind.UNREADABLE and chunk.damage]


def restart_of(case: Case, findings: Sequence[Finding]) -> str:
    """What to do with a session that can be resumed, where the provider rejected its last turn for a damage that is found; "" where it did not."""
    sentence, rejection = case.program.errors.restart(case.conversation.native_id), latest_rejection(case)
    if not sentence or rejection is None:
        return ""
    is_in_store = any(error.fires for error in recorded_errors(case, findings) if error.text == rejection.text)
    return sentence if is_in_store else ""


def blocks(finding: Finding) -> bool:
    """Not a note: that is about a line on which no resume depends."""
    return rule(finding.code).blocks_resume and finding.severity is not Severity.NOTE


def is_accepted(case: Case, judgement: Judgement) -> bool:
    """Whether no known rule rejects the next request, a pending end aside."""
    return judgement.sendable or is_pending(case, judgement)


def is_pending(case: Case, judgement: Judgement) -> bool:
    """Whether nothing but the end is missing: a tool may run at this moment, and most clients settle its call when they resume.

    A request body is judged as it ends, and a session of a client that is known to send a call without its result, too. A client may also leave such calls
    out when it resumes.
    """
    is_stored = not wire_of(case.conversation.format)
    if judgement.sendable:
        return bool(left_out_at_the_end(case) or settled_at_the_end(case))
    return judgement.prefix_valid and is_stored and not case.program.sends_open_end


def left_out_at_the_end(case: Case) -> list[int]:
    """Seqs of the last calls, where nothing answers them and the reader leaves all of them out."""
    left = {chunk.key for dropped in case.reading.dropped if not dropped.intentional for chunk in dropped.chunks}
    calls = [call for index, call in unanswered(case) if is_tail(case, index)] if left else []
    return [call.seq for call in calls] if all(call.key in left for call in calls) else []


def settled_at_the_end(case: Case) -> bool:
    """Whether the reader puts a result of its own next to the last calls, which have none in the store."""
    filled = {chunk.key for message in case.reading.messages[-2:] for chunk in message.chunks if chunk.key.startswith("synthesized:")}
    return bool(filled) and any(f"synthesized:{call.key}" in filled for index, call in unanswered(case) if is_tail(case, index))


def pending_words(case: Case) -> str:
    """What is pending at the end of a session of which `is_pending` is true."""
    seqs = [call.seq for index, call in unanswered(case) if is_tail(case, index)]
    if not seqs:
        return "the end of its last answer is pending"
    return f"its last call (seq {seqs[0]}) is pending" if len(seqs) == 1 else f"its last calls (seq {span_text(seqs, 3)}) are pending"
