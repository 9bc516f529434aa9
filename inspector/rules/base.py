"""What a rule is, what it yields, and the case that it looks at."""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache, wraps
from typing import Any, TypeVar, cast
from weakref import ref

from inspector.conversation import pairing, queries
from inspector.conversation.model import Chunk, Conversation, Fact, Kind, Message, Reading
from inspector.conversation.tree import PATH
from inspector.programs.base import Program, Trait
from inspector.programs.formats import OFF_PATH_UNREAD, not_read, unread_chunk
from inspector.programs.registry import UNKNOWN, program_of
from inspector.readers.base import Reader
from inspector.readers.catalogue import reader_of
from inspector.text.at_hand import AtHand
from inspector.traces import observe
from inspector.traces.model import Trace

SHOWN_SEQS = 50
_MOST = 20
"""Matches of one rule that are reported one by one."""
_LOCKED_UNTIL = ("lockUntil", "leaseUntil")
"""Facts that say until when a worker holds a job: epoch milliseconds."""
# A turn that has written nothing for this long is not taken for running any more (upstream's boot sweep resets such a status).
RUNNING_MS = 15 * 60 * 1000
# A tool may run for hours while its turn is open in the trace; a crash leaves the turn open permanently.
OPEN_TURN_MS = 6 * 60 * 60 * 1000


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Origin(StrEnum):
    """Where it is wrong. `reader`: the bytes are fine and the loading code is not; repaired in code first."""

    STORE = "store"
    READER = "reader"
    REQUEST = "request"
    STREAM = "stream"


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Case:
    """All that a rule may know. What is absent is None, and rules say what they could not know.

    `messages` are the true messages but for those that are `passed_over`, `reading` is what the chosen reader makes of the same chunks; `taken_at` is
    when the store was read (epoch ms). `archive` is what the conversation was compacted from; `bleeding` are ids of other conversations
    whose rows the program's own key listing returns with this one's.
    """

    conversation: Conversation
    messages: tuple[Message, ...]
    reading: Reading
    trace: Trace | None = None
    taken_at: int | None = None
    archive: Conversation | None = None
    bleeding: tuple[str, ...] = ()
    tree: Conversation | None = None
    """The whole file, where `conversation` is one path through a tree: where something missing may be."""
    cached: dict[Hashable, Any] = field(init=False, default_factory=dict, repr=False, compare=False)
    """What was worked out of this case once; another case starts with nothing."""

    def with_conversation(self, conversation: Conversation, reader_name: str = "") -> "Case":
        """The same surroundings around another content of the conversation."""
        # Whose rows an id is mistaken for goes with the id: a fork has another one.
        bleeding = self.bleeding if conversation.native_id == self.conversation.native_id else ()
        # A child that was made of this conversation has this one for its parent.
        own = conversation.native_id != self.conversation.native_id and conversation.fact("compactedFrom") == self.conversation.native_id
        archive = self.conversation if own else self.archive
        case = case_of(conversation, reader_name or self.reading.reader, self.trace, self.taken_at, archive, bleeding)
        return replace(case, tree=self.tree) if case.tree is None and self.tree is not None else case

    def view(self, conversation: Conversation) -> Conversation:
        """What this case's reader looks at of a whole content: of a tree, its path."""
        return _viewed(reader_of(self.reading.reader, conversation.format), conversation)

    @property
    def program(self) -> Program:
        return program_of(self.conversation.format) or UNKNOWN

    @property
    def running(self) -> bool:
        """Whether a turn seems to be under way: its open tail is no damage."""
        locked_until = self.locked_until
        if locked_until is not None and self.taken_at is not None:
            # A lease is a call in flight, whatever the status says; a lock that has run out is that of a worker that is gone.
            return locked_until > self.taken_at
        if self.conversation.fact("status") != self.program.liveness.running or self.conversation.fact("crashes"):
            return False
        last = self.conversation.fact("lastActivityAt")
        if self.taken_at is None or last is None or not last.removeprefix("-").isdecimal():
            return True
        is_open = self.trace is not None and bool(observe.open_turns(self.trace))
        return self.taken_at - int(last) < (OPEN_TURN_MS if is_open else RUNNING_MS) + self.program.liveness.unknown_ms

    @property
    def is_timed(self) -> bool:
        """Whether the same content, read at another moment, may give other findings: a turn ends, a lock gets old, what is around it goes on."""
        at_work = self.conversation.fact("status") == self.program.liveness.running or self.locked_until is not None
        is_alone = self.trace is None and self.archive is None and not self.bleeding
        return at_work or not is_alone or (self.tree or self.conversation).fact("lock") is not None

    @property
    def locked_until(self) -> int | None:
        """When the lock or lease of the worker that holds it ends or ended (epoch ms); None where the store notes none."""
        values = [value for name in _LOCKED_UNTIL if (value := self.conversation.fact(name)) is not None]
        return max((int(value) for value in values if len(value) < 20 and value.removeprefix("-").isdecimal()), default=None)


T = TypeVar("T")


def cached_per_case(work: Callable[[Case], T]) -> Callable[[Case], T]:
    """`work`, done once for each case however many rules and strategies ask. What it gives is shared: nobody changes it."""

    @wraps(work)
    def cached_work(case: Case) -> T:
        if work not in case.cached:
            case.cached[work] = work(case)
        return cast(T, case.cached[work])

    return cached_work


@cached_per_case
def observed_trace(case: Case) -> Trace | None:
    """What was observed of the conversation: the traces that were imported with it, else what its store recorded itself."""
    return case.trace or case.program.own_trace(case.tree or case.conversation)


@cached_per_case
def answered(case: Case) -> tuple[pairing.Answered, ...]:
    """Every call of the case with its results (`pairing.answered`)."""

    @cache
    def hidden_ids() -> set[str]:
        """Ids of results that rows which nobody can read name too: looked for once, since a hostile file has thousands of both."""
        results = (chunk.call_id for message in case.messages for chunk in message.chunks if chunk.kind is Kind.TOOL_RESULT)
        ids = {call_id.encode("utf-8", "surrogatepass"): call_id for call_id in results}
        rows = (chunk.raw for chunk in (case.tree or case.conversation).chunks if chunk.kind is Kind.UNREADABLE)
        return {ids[name[1]] for row in rows for name in _QUOTED.finditer(row) if name[1] in ids}

    return pairing.answered(case.messages, lambda call_id: call_id in hidden_ids())


_QUOTED = re.compile(rb'"([^"\\]{1,200})')
"""What begins with a quote, also where the row is JSON inside of JSON."""


@cached_per_case
def answered_together(case: Case) -> frozenset[str]:
    """Keys of the calls in a message, and of their results after a later one, that the provider takes as one turn with its results after it."""
    continues_turn = case.program.continues_turn.get(case.conversation.format)
    if continues_turn is None:
        return frozenset()
    joined: list[Message] = []
    for message in case.messages:
        if joined and message.role == joined[-1].role == "assistant" and continues_turn(joined[-1], message):
            joined[-1] = Message(message.role, joined[-1].chunks + message.chunks)
        else:
            joined.append(message)
    if len(joined) == len(case.messages):
        return frozenset()
    pairs = pairing.answered(joined)
    return frozenset(
        key for answer in pairs for result in answer.results if result.key in answer.batch for key in (answer.call.key, result.key)
    )


@cached_per_case
def orphaned(case: Case) -> list[tuple[int, Chunk]]:
    """`queries.orphaned_results` of the case."""
    return queries.orphaned_results(case.messages)


@cached_per_case
def unanswered(case: Case) -> list[tuple[int, Chunk]]:
    """Calls without a result that TOOL101 and TOOL102 report, each with the index of its message."""
    own = case.program.calls.unanswered
    return queries.unanswered_calls(case.messages) if own is None else own(case)


@cached_per_case
def keys_read(case: Case) -> frozenset[str]:
    """Keys of the chunks that the reader takes, before any repair of its own."""
    return frozenset(chunk.key for message in case.reading.grouped for chunk in message.chunks)


def case_of(
    conversation: Conversation,
    reader_name: str,
    trace: Trace | None = None,
    taken_at: int | None = None,
    archive: Conversation | None = None,
    bleeding: tuple[str, ...] = (),
) -> Case:
    """The case of a conversation as `reader_name` reads it: of a tree, the path that it takes. Raises UnknownReader, also for a reader of another program.

    While one page or plan is worked out, the same question gets the same case, so that what was worked out of it is there: a repair is read back several times.
    """
    question = (conversation, reader_name, trace, taken_at, archive, bleeding)
    for known_question, known_case in _READ_CASES:
        case = known_case() if _is_same(known_question, question) else None
        if case is not None:
            return case
    case = _read_case(*question)
    _READ_CASES.put(question, ref(case))
    return case


_READ_CASES: "AtHand[ref[Case]]" = AtHand(3)
"""Weak, so that a case is in memory no longer than somebody uses it."""


def _is_same(known_question: object, question: object) -> bool:
    try:
        return known_question == question
    except RecursionError:
        # Two payloads of hundreds of levels: what is read again is right as well.
        return False


def _read_case(
    conversation: Conversation,
    reader_name: str,
    trace: Trace | None,
    taken_at: int | None,
    archive: Conversation | None,
    bleeding: tuple[str, ...],
) -> Case:
    client = reader_of(reader_name, conversation.format)
    path = _viewed(client, conversation)
    reading = client.read(path)
    skipped = passed_over(path, reading)
    messages = stored_messages(path)
    if skipped:
        messages = tuple(message for message in messages if not all(chunk.key in skipped for chunk in message.chunks))
    return Case(path, messages, reading, trace, taken_at, archive, bleeding, None if path is conversation else conversation)


def _viewed(client: Reader, conversation: Conversation) -> Conversation:
    """Of a tree, the path that `client` takes. What a strategy made of a path is a path already."""
    if client.path is None or conversation.fact(PATH) is not None:
        return conversation
    path, reason = client.path(conversation), not_read(conversation)
    return replace(path, facts={**path.facts, OFF_PATH_UNREAD: Fact(OFF_PATH_UNREAD, reason)}) if reason else path


def stored_messages(conversation: Conversation) -> tuple[Message, ...]:
    """All true messages, those that a reader passes over too."""
    return _STORED_MESSAGES.of(conversation.chunks, lambda: answers(conversation, queries.true_messages(conversation.chunks)))


_STORED_MESSAGES: AtHand[tuple[Message, ...]] = AtHand(2)


def passed_over(conversation: Conversation, reading: Reading) -> frozenset[str]:
    """Keys of chunks that a program does not see between the messages around them: what the reader skips, and what no program sends, whoever reads it."""
    skipped = {chunk.key for dropped in reading.dropped if dropped.skipped for chunk in dropped.chunks}
    if conversation.fact(PATH) is not None:
        program = program_of(conversation.format) or UNKNOWN
        skipped |= {chunk.key for chunk in conversation.chunks if program.never_sent(chunk)}
    return frozenset(skipped)


def answers(conversation: Conversation, messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages, where each item of an answer is an element of the list (Responses) joined to answers: their calls are one batch."""
    program = program_of(conversation.format)
    if program is None or conversation.format not in program.single_items:
        return tuple(messages)
    groups: list[list[Message]] = []
    for message in messages:
        if groups and message.role == groups[-1][0].role == "assistant" and program.same_answer(groups[-1][0], message):
            groups[-1].append(message)
        else:
            groups.append([message])
    return tuple(map(queries.as_one, groups))


@dataclass(frozen=True, slots=True)
class Match:
    """One place where a rule fires. `origin`, `severity`, `repaired_by` and `no_repair_reason` override the rule's own where this place differs.

    `evidence` and `ruled_out` are rows of two texts: what, and what shows it.
    """

    chunks: Sequence[Chunk]
    message: str
    origin: Origin | None = None
    severity: Severity | None = None
    evidence: tuple[tuple[str, str], ...] = ()
    ruled_out: tuple[tuple[str, str], ...] = ()
    repaired_by: tuple[str, ...] | None = None
    no_repair_reason: str = ""
    times: int = 1
    """How many places it is about, where it is the sum of several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleEntry:
    """What rules of conversations and rules of streams have in common."""

    code: str
    name: str
    severity: Severity
    silent: bool
    origin: Origin
    summary: str
    why: str
    references: tuple[str, ...] = ()
    repaired_by: tuple[str, ...] = ()
    fixed_in_code: str = ""
    no_repair_reason: str = ""
    """Why no strategy repairs the data, where none does."""
    leads_to: tuple[str, ...] = ()
    """Codes of the rules that find what it does to the rest of the conversation, or what made it so, which has repairs although this has none."""
    unnoticed: str = ""
    """What is wrong in a request that passes, or after it, in two words for lists; "" where it is not always the same."""
    always_passes: bool = False
    """No provider rejects a request for it: where one is rejected, another problem is why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule(RuleEntry):
    """`state` is the maintainers' name for it; `example` is a conversation in notation on which the rule fires."""

    state: str
    example: str
    check: Callable[[Case], Iterator[Match]]
    trait: Trait | None = None
    """What a format must have for it; None = it applies to every format."""
    formats: tuple[str, ...] = ()
    """Formats of the program in whose folder it is, filled in when it is registered; () for a generic rule."""
    blocks_resume: bool = False
    """Whether nobody can resume a session on which it fires: its program does not list or open it, or its provider refuses what no profile judges."""

    def applies_to(self, format_name: str) -> bool:
        if self.formats and format_name not in self.formats:
            return False
        program = program_of(format_name) or UNKNOWN
        return self.trait is None or self.trait in program.traits.get(format_name, frozenset())


@dataclass(frozen=True, slots=True)
class Finding:
    """`seqs` holds the first of them (bounded), `total` says how many there are; `key` is the chunk that it is anchored to."""

    code: str
    rule: str
    severity: Severity
    silent: bool
    origin: Origin
    message: str
    seqs: tuple[int, ...]
    total: int
    key: str
    repaired_by: tuple[str, ...]
    evidence: tuple[tuple[str, str], ...] = ()
    ruled_out: tuple[tuple[str, str], ...] = ()
    no_repair_reason: str = ""
    """Why no strategy repairs this, where none does."""
    times: int = 1
    """How many places it is about, where it is the sum of several."""


def by_rule(findings: Iterable[Finding]) -> list[list[Finding]]:
    """The findings of one rule and severity together, in the order of the first of each: a damaged session of a thousand turns has as many of one rule."""
    groups: dict[tuple[str, Severity], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.code, finding.severity), []).append(finding)
    return list(groups.values())


def bounded(matches: Iterable[Match]) -> Iterator[Match]:
    """The first of them one by one, the rest together: a hostile file may yield one for each of its lines."""
    others: list[Match] = []
    for number, match in enumerate(matches):
        if number < _MOST:
            yield match
        else:
            others.append(match)
    if others:
        chunks = [chunk for match in others for chunk in match.chunks]
        yield replace(
            others[0],
            chunks=chunks,
            message=f"{len(others):,} more like these. The first: {others[0].message}",
            evidence=(),
            times=len(others),
        )


_RANK = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}


def rank(finding: Finding) -> tuple[int, bool, int]:
    """Most dangerous first: by severity, silent first, then by place."""
    return _RANK[finding.severity], not finding.silent, finding.seqs[0] if finding.seqs else 0


def at_least(severity: Severity, threshold: Severity) -> bool:
    return _RANK[severity] <= _RANK[threshold]


def over_our_limit(chunk: Chunk, where: str, evidence: tuple[tuple[str, str], ...]) -> Match:
    """Of a line that only Inspector does not read; `where` begins the sentence."""
    text = f"{where} is not read here ({chunk.reason}): what its program makes of it, and of the lines after it, is not known."
    reason = "A repair could lose what is not read here, so none is made."
    return Match((chunk,), text, severity=Severity.WARNING, evidence=evidence, repaired_by=(), no_repair_reason=reason)


def _unsure(match: Match, usual: Severity, unread: Chunk) -> Match:
    """What is nowhere in what was read may be in what was not: that is no error, and no repair is made."""
    if any(chunk is unread for chunk in match.chunks):
        return replace(match, repaired_by=())
    message = f"{match.message} What is at seq {unread.seq} is not read here, and may explain it."
    severity = match.severity or usual
    severity = Severity.WARNING if severity is Severity.ERROR else severity
    return replace(match, message=message, severity=severity, repaired_by=())


def findings(case: Case, rules: Sequence[Rule]) -> list[Finding]:
    """All findings of `rules` on the case, most dangerous first."""
    unread = unread_chunk(case.tree or case.conversation)
    reported = [
        Finding(
            rule.code,
            rule.name,
            match.severity or rule.severity,
            rule.silent,
            match.origin or rule.origin,
            match.message,
            tuple(chunk.seq for chunk in match.chunks[:SHOWN_SEQS]),
            len(match.chunks),
            match.chunks[0].key if match.chunks else "",
            rule.repaired_by if match.repaired_by is None else match.repaired_by,
            match.evidence,
            match.ruled_out,
            match.no_repair_reason or rule.no_repair_reason,
            match.times,
        )
        for rule in rules
        if rule.applies_to(case.conversation.format)
        for match in (rule.check(case) if unread is None else (_unsure(match, rule.severity, unread) for match in rule.check(case)))
    ]
    return sorted(reported, key=rank)
