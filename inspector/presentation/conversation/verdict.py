"""The headline of a conversation: what is damaged, whether anybody would notice, and what the next turn will do."""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from inspector.conversation.edits import stored_key
from inspector.conversation.model import Chunk, Kind
from inspector.conversation.queries import span_text, turns
from inspector.conversation.tree import LEAF
from inspector.presentation.conversation.resuming import is_pending, left_out_at_the_end, pending_words
from inspector.presentation.prompt.causes import causes
from inspector.presentation.visible import beginning
from inspector.profiles.base import Judgement
from inspector.programs.formats import UNREAD, unread_chunk
from inspector.rules.base import Case, Finding, Origin, Severity, findings
from inspector.rules.catalogue import RULES
from inspector.text.counted import counted

NAMED = 3
LEAKED = "tool-call-in-thinking"
MASKED = "masked-content"

INTACT, FROM_STREAM = "the store is intact", "the store keeps what a stream delivered wrongly"
"""What is said of a store without damage of its own."""

UNDAMAGED = "Nothing is damaged."
REJECTED, SILENT, PASSES = "rejected", "silent", "passes"
UNREADABLE, RESUMABLE = "cannot be opened", "can be resumed"
PASSES_ALL = "passes all known rules"
WITHOUT = "without "
"""Begins the reason of a request that lacks what a reader left out."""
NOT_KNOWN, NOT_JUDGED = "not known", "not judged"
"""The words of a next request of which something is over a limit of ours, and of one while a turn runs."""


class NextRequest(NamedTuple):
    """What becomes of it, for lists: one of the three words above, or "" of what is none of them; and in words, the outcome first, then why."""

    state: str = ""
    words: str = ""
    more: str = ""

    @property
    def reason(self) -> str:
        """`more` next to the words: of what is wrong and passes all the same it says "but"."""
        return f"but {self.more}" if self.state == SILENT and self.more == PASSES_ALL else self.more


UNNOTICED = {rule.code: rule.unnoticed for rule in RULES if rule.unnoticed}


def unless_unnoticed(following: NextRequest, silent_errors: Iterable[str]) -> NextRequest:
    """Where it passes and one of the `silent_errors`, codes of rules, is there all the same, what the first of them does is its outcome, as in the inbox."""
    unnoticed = next((UNNOTICED[code] for code in silent_errors if code in UNNOTICED), "") if following.state == PASSES else ""
    return NextRequest(SILENT, unnoticed, PASSES_ALL) if unnoticed else following


class Verdict(NamedTuple):
    """What is damaged, as a sentence, and what becomes of the next request; `ending` says that in the whole sentence, "" where nothing was read."""

    damage: str
    next_request: NextRequest = NextRequest()
    ending: str = ""
    listed: str = ""
    """What is damaged, by what it is in place of the number of places, for a list that has the rules next to it; what causes that the next request is rejected or wrong is first."""
    left_out: str = ""
    """The seqs that the reader leaves out, as `damage` says them."""

    @property
    def text(self) -> str:
        return f"{self.damage[:-1]}; {self.ending}." if self.ending else self.damage


def verdict(case: Case, findings: Sequence[Finding], judgement: Judgement) -> Verdict:
    masked = [finding for finding in findings if finding.rule == MASKED and finding.severity is not Severity.NOTE]
    serious = [finding for finding in findings if finding.severity is not Severity.NOTE and finding not in masked]
    unread = unread_chunk(case.tree or case.conversation)
    if unread is not None:
        # What is only over a limit of ours is no damage.
        serious = [finding for finding in serious if finding.key != unread.key]
    if reason := case.conversation.fact(UNREAD):
        return Verdict(f"The conversation was not read: it {reason}.", NextRequest("", NOT_KNOWN, "the conversation was not read"))
    if not case.conversation.chunks:
        off_path = sum(bool(chunk.role) for chunk in case.tree.chunks) if case.tree else 0
        nothing = f"{case.reading.reader} reads none of the {counted(off_path, 'message chunk')} of this conversation: a resume starts without them"
        return Verdict(f"{nothing if off_path else 'The store has no chunks of this conversation'}{_first_finding(findings)}.")
    if case.reading.failure:
        failed = f"{case.reading.reader} cannot open it: {case.reading.failure}"
        following = NextRequest("", UNREADABLE, case.reading.failure)
        return Verdict(_sentence(f"{_where(serious)}, and {failed}"), following, listed=_sentence(f"{_summarized(serious)}, and {failed}"))
    left_out = _left_out(case)
    done = [*_regrouped(case), *([f"leaves out {left_out}"] if left_out else [])]
    how = "silently " if any(finding.silent and finding.origin is Origin.READER for finding in serious) else ""
    is_stored = any(finding.origin is Origin.STORE for finding in serious)
    read = f"{case.reading.reader} {how}{' and '.join(done)}" if done else ""
    of_own_path = of_path(case, serious)
    omitted, lost = _intentional_omissions(case, of_own_path)
    lead = "of the rest, " if masked else ""
    symptom, limits = _symptom(case, serious), f"{_not_read(unread)}{_unknown(masked)}"
    before = f"{limits}{f'{symptom}; ' if symptom else ''}{lead}"
    joined = f", {'and' if is_stored else 'but'} {read}" if read else ""
    following, ending = _next(case, of_own_path, judgement, left_out, lost)
    # A list has next to it what becomes of the next request, so what causes that is first, and how many messages are read.
    if cause := _cause(case, of_own_path, judgement, following):
        also = f"; {symptom}" if symptom and cause.rule != LEAKED else ""
        listed = _sentence(limits, lead, _summarized(serious, cause), also, omitted)
    else:
        listed = _sentence(before, _summarized(serious), "" if is_stored else joined, omitted)
    where = _where(serious) if of_own_path or not serious else "the damage of this file is not on this path"
    return Verdict(_sentence(before, where, joined, omitted), following, ending, listed, left_out)


def of_path(case: Case, serious: Sequence[Finding]) -> Sequence[Finding]:
    """Of a path that a person chose, without what is found on others: the request lacks nothing of that. A cut in it is found at its first entry."""
    if case.tree is None or not case.tree.fact(LEAF):
        return serious
    seqs = {chunk.seq for chunk in case.conversation.chunks}
    return [finding for finding in serious if not finding.seqs or not seqs.isdisjoint(finding.seqs)]


def _sentence(*parts: str) -> str:
    sentence = f"{''.join(parts)}."
    return sentence[0].upper() + sentence[1:]


def _first_finding(findings: Sequence[Finding]) -> str:
    """The most dangerous finding of a conversation without chunks, and how many more."""
    if not findings:
        return ""
    more = f" (and {len(findings) - 1} more findings)" if len(findings) > 2 else " (and 1 more finding)" if len(findings) == 2 else ""
    message = findings[0].message.removesuffix(".")
    return f": {message[:1].lower()}{message[1:]}{more}"


def _not_read(chunk: Chunk | None) -> str:
    """What is over a limit of ours comes first: everything else is only of what was read."""
    return f"seq {chunk.seq} is not read here ({chunk.reason}), and of the rest " if chunk else ""


def _unknown(masked: Sequence[Finding]) -> str:
    """Content that telemetry masked comes first: a body with a mask cannot be judged as complete."""
    if not masked:
        return ""
    return f"telemetry masked the thinking at seq {span_text(masked[0].seqs, NAMED)}, and what was sent is unknown; "


def _elsewhere(case: Case) -> str:
    """Of a path that a person chose, what a cut hides from it may be off it too."""
    return "not on this path" if case.tree is not None and case.tree.fact(LEAF) else "on other branches"


def _symptom(case: Case, serious: Sequence[Finding]) -> str:
    """What the user saw comes first: the page is opened because a turn gave no answer, not because of a merge."""
    leaked = [finding for finding in serious if finding.rule == LEAKED]
    if not leaked:
        return ""
    last = turns(case.messages)[-1]
    is_last = leaked[-1].key in {chunk.key for message in last for chunk in message.chunks}
    return f"{'the last turn' if is_last else 'a turn'} ended in a tool call written as text (seq {leaked[-1].seqs[0]})"


def _where(serious: Sequence[Finding]) -> str:
    faults = [finding.origin for finding in serious]
    if not serious:
        return "nothing is damaged"
    if Origin.STORE in faults:
        count = faults.count(Origin.STORE)
        return f"the store is damaged in {'one place' if count == 1 else f'{count} places'}"
    # What a stream gave is kept as it came, and a repair changes it there.
    return FROM_STREAM if Origin.STREAM in faults else INTACT


def _summarized(serious: Sequence[Finding], cause: Finding | None = None) -> str:
    """As `_where`, by what the cause is about, or the worst of the rules that fire in the store, and how many more there are: lists have their names next to it."""
    first = (cause.rule,) if cause else ()
    rules = dict.fromkeys((*first, *(finding.rule for finding in serious if finding.origin is Origin.STORE)))
    if not rules:
        return _where(serious)
    more = f", and {len(rules) - 1} more problem{'s' if len(rules) > 2 else ''}" if len(rules) > 1 else ""
    return f"{_summaries()[next(iter(rules))].partition(', ')[0]}{more}"


@cache
def _summaries() -> dict[str, str]:
    return {rule.name: rule.summary for rule in RULES}


def _regrouped(case: Case) -> list[str]:
    """`reads 9 messages as 3` counts what the client goes on with; a message that is only left out is reported as that.

    Not of a tree: there a row is a message for every client, and what a summary replaces is no loss.
    """
    # The counts may be equal again where a reader joins some messages and adds others.
    if case.tree is not None or len(case.messages) in (len(case.reading.grouped), len(case.reading.messages)):
        return []
    return [f"reads {len(case.messages)} messages as {len(case.reading.messages)}"]


def _left_out(case: Case) -> str:
    """The seqs that the reader leaves out and no program meant to."""
    pending = set(left_out_at_the_end(case))
    seqs = [seq for dropped in case.reading.dropped if not dropped.intentional for seq in dropped.seqs if seq not in pending]
    return f"seq {span_text(sorted(seqs), 3)}" if seqs else ""


def _intentional_omissions(case: Case, serious: Sequence[Finding]) -> tuple[str, str]:
    """What a compaction, an edit of the context or another branch leaves out of a tree on purpose; and which chunks are lost, or how many."""
    if case.tree is None:
        return "", ""
    # The usual case, known without a look at each chunk: all of the tree is read.
    if not case.reading.dropped and len(case.tree.chunks) <= len(case.conversation.chunks):
        return "", ""
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
    stored = {chunk.key for chunk in chunks}
    # Where a parent is damaged, what is off the path is a loss, and its finding says so. What a plan inserts is on the path and not in the tree.
    off = (
        0
        if any(finding.code.startswith(("TREE", "STORE")) for finding in serious)
        else len(stored - {stored_key(chunk) for chunk in case.conversation.chunks})
    )
    edited = len(intentional) - before
    parts = [
        *([f"{before:,} {'is' if before == 1 else 'are'} before the {bound}"] if before else []),
        *([f"{edited:,} {'is' if edited == 1 else 'are'} left out or replaced on purpose"] if edited else []),
        *([f"{off:,} {'is' if off == 1 else 'are'} {_elsewhere(case)}"] if off > 0 else []),
    ]
    read_keys = [key for message in case.reading.messages for key in map(stored_key, message.chunks) if key in stored]
    read = len(read_keys)
    lost = len(chunks) - read - len(intentional) - max(off, 0)
    lost_keys = stored - intentional.keys() - set(read_keys) if parts and off <= 0 and lost > 0 else set()
    lost_chunks = [chunk for chunk in chunks if chunk.key in lost_keys]
    if lost_chunks:
        left = _unread(case, lost_chunks)
        lost, lost_chunks = lost - len(lost_chunks) + len(left), left
    which = (
        f"seq {span_text(sorted(chunk.seq for chunk in lost_chunks), 3)}"
        if lost_chunks
        else f"{lost:,} stored chunk{'' if lost == 1 else 's'}"
    )
    if not parts:
        # Branches may be meant: lost is only what a finding of the path names and the path does not reach.
        of_tree = [finding.seqs for finding in serious if finding.code.startswith("TREE")]
        on_path = {chunk.seq for chunk in case.conversation.chunks} if of_tree else set()
        named = {seq for seqs in of_tree if not on_path.isdisjoint(seqs) for seq in seqs} - on_path
        again = [chunk for chunk in chunks if chunk.seq in named]
        off_path = sorted(named - {chunk.seq for chunk in again} | {chunk.seq for chunk in _unread(case, again)})
        lost, which = len(off_path), f"seq {span_text(off_path, 3)}"
    if lost > 0:
        parts.append(f"{lost:,} {'is' if lost == 1 else 'are'} lost")
    text = f"; {read:,} of {len(chunks):,} message chunks are read, {' and '.join(parts)}" if parts else ""
    return text, which if lost > 0 else ""


def _unread(case: Case, chunks: Sequence[Chunk]) -> list[Chunk]:
    """Without those that say what a chunk with their time says that is read, or left out on purpose: a repair writes again what it leads elsewhere, and some
    lines are stored twice."""
    if not chunks:
        return []
    parts = [message.chunks for message in case.reading.messages]
    parts += [dropped.chunks for dropped in case.reading.dropped if dropped.intentional]
    read = {_written(chunk) for part in parts for chunk in part if chunk.at is not None}
    return [chunk for chunk in chunks if _written(chunk) not in read]


def _written(chunk: Chunk) -> tuple[object, ...]:
    return chunk.at, chunk.role, chunk.kind, chunk.call_id, chunk.text


def _cause(case: Case, serious: Sequence[Finding], judgement: Judgement, following: NextRequest) -> Finding | None:
    """The error that makes the provider reject the next request, or lets it go wrong silently; None where no finding does."""
    if following.state == REJECTED:
        errors = [finding for finding in serious if finding.severity is Severity.ERROR]
        return next(iter(causes(case.conversation.chunks, judgement.violations[0].seqs, errors)), None)
    return _silent(serious) or _unnoticed(serious) if following.state == SILENT else None


def _silent(serious: Sequence[Finding]) -> Finding | None:
    """The first error of the reader that nothing reports."""
    errors = (finding for finding in serious if finding.silent and finding.severity is Severity.ERROR)
    return next((finding for finding in errors if finding.origin is Origin.READER), None)


def _unnoticed(serious: Sequence[Finding]) -> Finding | None:
    """The first silent error of which its rule says what a request that passes lacks. What a stream delivered wrongly is in the request, as it is stored."""
    errors = (finding for finding in serious if finding.silent and finding.severity is Severity.ERROR and finding.code in UNNOTICED)
    return next((finding for finding in errors if finding.origin is not Origin.STREAM), None)


def silent_errors(case: Case, findings: Sequence[Finding]) -> list[Finding]:
    """Of a request that passes, what makes it wrong silently: the errors of the reader and those that lose what is stored."""
    errors = (finding for finding in of_path(case, findings) if finding.silent and finding.severity is Severity.ERROR)
    return [
        finding
        for finding in errors
        if finding.origin is Origin.READER or (finding.code in UNNOTICED and finding.origin is not Origin.STREAM)
    ]


def unnoticed_of_streams(case: Case) -> str:
    """What is wrong in a request that passes since a stream was stored so, as the page of a conversation says it; "" where nothing is."""
    errors = (finding.code for finding in findings(case, _OF_STREAMS) if finding.severity is Severity.ERROR)
    return next((UNNOTICED[code] for code in errors), "")


_OF_STREAMS = tuple(rule for rule in RULES if rule.unnoticed and rule.origin is Origin.STREAM)


def retry_words(runs: Sequence[str]) -> str:
    """What a retry does before the next request; `runs`: names of tools, as the reader reports them. "" of none."""
    if not runs:
        return ""
    names = ", ".join(repr(beginning(name, 60)) for name in dict.fromkeys(runs[:NAMED]))
    more = f" and {len(runs) - NAMED} more" if len(runs) > NAMED else ""
    return f"a retry would run {names}{more}, if {'it is' if len(runs) == 1 else 'they are'} registered"


def _next(case: Case, serious: Sequence[Finding], judgement: Judgement, left_out: str, lost: str) -> tuple[NextRequest, str]:
    if case.running:
        return NextRequest("", NOT_JUDGED, "a turn is running"), "a turn is running, so its open end is not judged"
    if unread := unread_chunk(case.tree or case.conversation):
        return NextRequest("", NOT_KNOWN, f"seq {unread.seq} is not read here"), "whether the next request passes is not known"
    if is_pending(case, judgement):
        words = pending_words(case)
        following = _lacking(serious, left_out, lost, words) or NextRequest("", RESUMABLE, words)
        return following, f"the session can be resumed, {words}"
    if not judgement.sendable:
        path, rule = judgement.violations[0].path, judgement.violations[0].id
        return (
            NextRequest(REJECTED, f"rejected at {path}", f"{rule} of {judgement.profile}"),
            f"the next request is rejected by {judgement.profile} at {path} ({rule})",
        )
    if retry := retry_words(case.reading.report.get("wouldRun", ())):
        return NextRequest("", "after a retry", retry), f"{retry}, before the next request"
    if case.reading.report.get("terminal"):
        return NextRequest("", "none", "a retry returns the stored answer"), "a retry returns the stored answer and makes no request"
    if _silent(serious):
        return (
            NextRequest(SILENT, "wrong silently", PASSES_ALL),
            "the next request goes wrong silently: it passes all known rules",
        )
    return _lacking(serious, left_out, lost, PASSES_ALL) or NextRequest(PASSES, "passes"), "the next request passes all known rules"


def _lacking(serious: Sequence[Finding], left_out: str, lost: str, otherwise: str) -> NextRequest | None:
    """What a request that is not rejected lacks of what was stored: nobody is told so. `otherwise`: what is to say of it besides."""
    if left_out or lost:
        return NextRequest(SILENT, "wrong silently", f"{WITHOUT}{left_out or lost}")
    unnoticed = _unnoticed(serious)
    return NextRequest(SILENT, UNNOTICED[unnoticed.code], otherwise) if unnoticed else None
