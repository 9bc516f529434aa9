"""The headline of a conversation: what is damaged, whether anybody would notice, and what the next turn will do."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from inspector.conversation.model import Kind
from inspector.conversation.queries import span_text, turns
from inspector.presentation.conversation.resuming import is_pending, left_out_at_the_end, pending_words
from inspector.presentation.visible import beginning
from inspector.profiles.base import Judgement
from inspector.programs.formats import UNREAD
from inspector.rules.base import Case, Finding, Origin, Severity

NAMED = 3
LEAKED = "tool-call-in-thinking"
MASKED = "masked-content"

INTACT, FROM_STREAM = "the store is intact", "the store keeps what a stream delivered wrongly"
"""What is said of a store without damage of its own."""

REJECTED, SILENT, PASSES = "rejected", "silent", "passes"
_NEXT = (
    (REJECTED, r"the next request is rejected by (?P<by>\S+) at (?P<at>.+) \((?P<id>.+)\)", r"rejected at \g<at>", r"\g<id> of \g<by>"),
    (SILENT, r"the next request goes wrong silently: it passes all known rules", "wrong silently", "passes all known rules"),
    (PASSES, r"the next request passes all known rules", "passes", ""),
    ("", r"the session can be resumed, (?P<how>.+)", "can be resumed", r"\g<how>"),
    ("", r"a turn is running, so its open end is not judged", "not judged", "a turn is running"),
    ("", r"a retry returns the stored answer and makes no request", "none", "a retry returns the stored answer"),
    ("", r"(?P<what>a retry would run .+) before the next request", "after a retry", r"\g<what>"),
)
"""What `_next` says: the state, the sentence, and its first words and its others in a list."""


_LEFT_OUT = re.compile(r" leaves out (seq \d[\d ,–-]*(?:and \d+ more)?)")
_LOST = re.compile(r"(?:,| and) (\d[\d,]*) (?:is|are) lost$")


class NextRequest(NamedTuple):
    """What a verdict says of it; `before` is the rest of the verdict."""

    state: str
    words: str
    more: str
    before: str


@lru_cache(maxsize=1024)
def next_request(text: str) -> NextRequest:
    """Of a stored verdict. Without words where it says nothing of a next request: then nothing was read, or the reader opens nothing."""
    for state, sentence, words, more in _NEXT:
        if match := re.fullmatch(f"(?P<before>.+?); {sentence}\\.", text, re.DOTALL):
            before, rest = match["before"], match.expand(more).rstrip(",")
            # It passes, and lacks what was stored: nobody is told so.
            if state == PASSES and (lost := _LEFT_OUT.search(before)):
                state, rest = SILENT, f"without {lost[1]}"
            elif state == PASSES and (lost := _LOST.search(before)):
                state, words, rest = SILENT, "wrong silently", f"without {lost[1]} stored chunk{'' if lost[1] == '1' else 's'}"
            return NextRequest(state, match.expand(words), rest, f"{before}.")
    return NextRequest("", "", "", text)


def verdict(case: Case, findings: Sequence[Finding], judgement: Judgement) -> str:
    masked = [finding for finding in findings if finding.rule == MASKED and finding.severity is not Severity.NOTE]
    serious = [finding for finding in findings if finding.severity is not Severity.NOTE and finding not in masked]
    if reason := case.conversation.fact(UNREAD):
        return f"The conversation was not read: it {reason}."
    if not case.conversation.chunks:
        return f"The store has no chunks of this conversation{_first_finding(findings)}."
    if case.reading.failure:
        closed = f"{_where(serious)}, and {case.reading.reader} cannot open it: {case.reading.failure}."
        return closed[0].upper() + closed[1:]
    done = _done_by_reader(case)
    how = "silently " if any(finding.silent and finding.origin is Origin.READER for finding in serious) else ""
    read = (
        f", {'and' if Origin.STORE in {finding.origin for finding in serious} else 'but'} {case.reading.reader} {how}{' and '.join(done)}"
        if done
        else ""
    )
    read += _intentional_omissions(case, serious)
    lead = "of the rest, " if masked else ""
    sentence = f"{_unknown(masked)}{_symptom(case, serious)}{lead}{_where(serious)}{read}; {_next(case, serious, judgement)}."
    return sentence[0].upper() + sentence[1:]


def _first_finding(findings: Sequence[Finding]) -> str:
    """The most dangerous finding of a conversation without chunks, and how many more."""
    if not findings:
        return ""
    more = f" (and {len(findings) - 1} more findings)" if len(findings) > 2 else " (and 1 more finding)" if len(findings) == 2 else ""
    message = findings[0].message.removesuffix(".")
    return f": {message[:1].lower()}{message[1:]}{more}"


def _unknown(masked: Sequence[Finding]) -> str:
    """Content that telemetry masked comes first: a body with a mask cannot be judged as complete."""
    if not masked:
        return ""
    return f"telemetry masked the thinking at seq {span_text(masked[0].seqs, NAMED)}, and what was sent is unknown; "


def _symptom(case: Case, serious: Sequence[Finding]) -> str:
    """What the user saw comes first: the page is opened because a turn gave no answer, not because of a merge."""
    leaked = [finding for finding in serious if finding.rule == LEAKED]
    if not leaked:
        return ""
    last = turns(case.messages)[-1]
    is_last = leaked[-1].key in {chunk.key for message in last for chunk in message.chunks}
    return f"{'the last turn' if is_last else 'a turn'} ended in a tool call written as text (seq {leaked[-1].seqs[0]}); "


def _where(serious: Sequence[Finding]) -> str:
    faults = [finding.origin for finding in serious]
    if not serious:
        return "nothing is damaged"
    if Origin.STORE in faults:
        count = faults.count(Origin.STORE)
        return f"the store is damaged in {'one place' if count == 1 else f'{count} places'}"
    # What a stream gave is kept as it came, and a repair changes it there.
    return FROM_STREAM if Origin.STREAM in faults else INTACT


def _done_by_reader(case: Case) -> list[str]:
    """`reads 9 messages as 3` counts what the client goes on with; a message that is only left out is reported as that.

    Not of a tree: there a row is a message for every client, and what a summary replaces is no loss.
    """
    done = []
    # The counts may be equal again where a reader joins some messages and adds others.
    if case.tree is None and len(case.messages) not in (len(case.reading.grouped), len(case.reading.messages)):
        done.append(f"reads {len(case.messages)} messages as {len(case.reading.messages)}")
    pending = set(left_out_at_the_end(case))
    seqs = [seq for dropped in case.reading.dropped if not dropped.intentional for seq in dropped.seqs if seq not in pending]
    if seqs:
        done.append(f"leaves out seq {span_text(sorted(seqs), 3)}")
    return done


def _intentional_omissions(case: Case, serious: Sequence[Finding]) -> str:
    """What a compaction, an edit of the context or another branch leaves out of a tree on purpose."""
    if case.tree is None:
        return ""
    # The usual case, known without a look at each chunk: all of the tree is read.
    if not case.reading.dropped and len(case.tree.chunks) <= len(case.conversation.chunks):
        return ""
    apart = case.program.apart(case.tree)
    # What a session stores next to its messages no reader makes a message of.
    chunks = [
        chunk
        for chunk in case.tree.chunks
        if "entry" in chunk.payload and chunk.kind is not Kind.CONTROL and chunk.key.rpartition(".")[0] not in apart
    ]
    # Once each, though an entry may be named twice.
    intentional = {chunk.key: dropped.why for dropped in case.reading.dropped if dropped.intentional for chunk in dropped.chunks}
    bound = next(
        (word for word in ("compaction", "reset") if any(why.startswith(f"before the {word}") for why in intentional.values())), ""
    )
    before = sum(why.startswith("before the ") for why in intentional.values())
    # Where a parent is damaged, what is off the path is a loss, and its finding says so.
    off = (
        0
        if any(finding.code.startswith(("TREE", "STORE")) for finding in serious)
        else len(chunks) - sum(chunk.kind is not Kind.CONTROL for chunk in case.conversation.chunks)
    )
    edited = len(intentional) - before
    parts = [
        *([f"{before:,} {'is' if before == 1 else 'are'} before the {bound}"] if before else []),
        *([f"{edited:,} {'is' if edited == 1 else 'are'} left out or replaced on purpose"] if edited else []),
        *([f"{off:,} {'is' if off == 1 else 'are'} on other branches"] if off > 0 else []),
    ]
    stored = {chunk.key for chunk in chunks}
    read = sum(chunk.key in stored for message in case.reading.messages for chunk in message.chunks)
    lost = len(chunks) - read - len(intentional) - max(off, 0)
    if not parts:
        # Branches may be meant: lost is only what a finding of the path names and the path does not reach.
        named = {seq for finding in serious if finding.code.startswith("TREE") for seq in finding.seqs}
        lost = len(named - {chunk.seq for chunk in case.conversation.chunks}) if named else 0
    if lost > 0:
        parts.append(f"{lost:,} {'is' if lost == 1 else 'are'} lost")
    return f"; {read:,} of {len(chunks):,} message chunks are read, {' and '.join(parts)}" if parts else ""


def _next(case: Case, serious: Sequence[Finding], judgement: Judgement) -> str:
    if case.running:
        return "a turn is running, so its open end is not judged"
    if is_pending(case, judgement):
        return f"the session can be resumed, {pending_words(case)}"
    if not judgement.sendable:
        return f"the next request is rejected by {judgement.profile} at {judgement.violations[0].path} ({judgement.violations[0].id})"
    if runs := case.reading.report.get("wouldRun"):
        names = ", ".join(repr(beginning(name, 60)) for name in dict.fromkeys(runs[:NAMED]))
        more = f" and {len(runs) - NAMED} more" if len(runs) > NAMED else ""
        return f"a retry would run {names}{more}, if {'it is' if len(runs) == 1 else 'they are'} registered, before the next request"
    if case.reading.report.get("terminal"):
        return "a retry returns the stored answer and makes no request"
    if any(finding.silent and finding.severity is Severity.ERROR and finding.origin is Origin.READER for finding in serious):
        return "the next request goes wrong silently: it passes all known rules"
    return "the next request passes all known rules"
