"""What another client would make of the same stored rows: where the two differ first, what gets better, and what gets worse.

A client is a reader and, where its program has several, a converter: `exact+keep-thinking+wrapped` reads with both fixes of the loader and
sends thinking in tags. What it sends counts, not only what it reads: a fix of the loader may restore leaked call syntax as an answer.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, zip_longest

from inspector.conversation.model import Chunk, Kind, Message
from inspector.conversation.queries import span_text, turns
from inspector.presentation.conversation import row_words
from inspector.presentation.conversation.ending import ending_without_findings
from inspector.presentation.conversation.verdict import PASSES, REJECTED, SILENT, retry_words, unnoticed_of_streams
from inspector.presentation.visible import beginning
from inspector.profiles.base import Violation
from inspector.profiles.judging import judged
from inspector.programs.catalogue import FORMATS
from inspector.programs.registry import program_or_default, programs
from inspector.projections.base import Prompt
from inspector.projections.catalogue import projection as projection_named
from inspector.readers.base import Reader
from inspector.readers.catalogue import UnknownReader, fits, names, reader, reader_of
from inspector.rules.base import Case, Finding, Severity, findings, stored_messages
from inspector.rules.catalogue import RULES
from inspector.rules.tool_call_in_thinking import leaks

EXAMPLES = 3
QUOTED = 160
_REQUEST = "the next request"
KINDS = ("only_better", "mixed", "only_worse", "neither", "same")
"""What another client makes of a conversation: some things better and none worse, both, some worse and none better, otherwise read, or the same."""
NOT_KNOWN = "not_known"
"""Of a conversation of which something is over a limit of ours."""
STATES = (PASSES, SILENT, REJECTED, NOT_KNOWN)
NEXT_REQUESTS = {
    (PASSES, SILENT): "newly_silent",
    (PASSES, REJECTED): "newly_rejected",
    (SILENT, REJECTED): "rejected_not_silent",
    (REJECTED, SILENT): "silent_not_rejected",
    (REJECTED, PASSES): "newly_passes",
    (SILENT, PASSES): "newly_passes",
}
"""How the next request changes, worst first."""
NEITHER_WAY = ("rejected_not_silent", "silent_not_rejected")
"""Of these, one that does not pass with either: it fails in another way."""


@dataclass(frozen=True, slots=True)
class Client:
    """`converter` is a variant of the program's own projection; "" = the one that is deployed."""

    name: str
    reader: Reader
    converter: str

    @property
    def title(self) -> str:
        """What it does: that of its reader, and what each word after a plus adds."""
        added = [meaning for word, meaning in self.reader.variants if word in self.name.split("+")]
        if self.converter:
            added += [meaning for word, meaning in projection_named(self.projection("")).variants if word == self.converter]
        return "; ".join((self.reader.title, *added))

    def projection(self, own: str) -> str:
        """`own` is the deployed one."""
        return f"{program_or_default(self.reader.format).converters[0]}+{self.converter}" if self.converter else own


def client(name: str) -> Client:
    """Raises UnknownReader."""
    base, _, word = name.rpartition("+")
    if any(word in program.converters[1] for program in programs()):
        base_reader = reader(base)
        if word not in program_or_default(base_reader.format).converters[1]:
            raise UnknownReader(name)
        return Client(name, base_reader, word)
    return Client(name, reader(name), "")


def standing(a: str, b: str) -> str:
    """What B is next to A, which runs now: "withdrawn", "older", "newer", "proposed", or "compared" where it is none of these. Raises UnknownReader."""
    now, other = client(a).reader, client(b).reader
    if other.is_withdrawn:
        return "withdrawn"
    if now.format == other.format and now.release and other.release and now.release != other.release:
        return "older" if other.release < now.release else "newer"
    program = program_or_default(other.format)
    is_fixed = other.shipped and not {*program.reader_fixes, *program.converters[1]}.isdisjoint(b.split("+"))
    return "proposed" if other.proposed or is_fixed else "compared"


def compared_formats(*clients: str) -> list[str]:
    """Of which formats conversations are compared: those that each of the clients reads; none where they are of different programs. Raises UnknownReader."""
    readers = [client(name).reader.name for name in clients]
    return [format_.name for format_ in FORMATS if all(fits(name, format_.name) for name in readers)]


def candidates(format_name: str) -> list[str]:
    """The clients that are compared for a format: every combination of the fixes that were proposed for the loader, its repair and its converter."""
    offered = names(format_name)
    program = program_or_default(reader(offered[0]).format if offered else format_name)
    words = program.converters[1]
    if not words or len(offered) < 2:
        return offered
    readers = [f"{name}{fix}" for name in offered if "+" not in name for fix in ("", *(f"+{fix}" for fix in program.reader_fixes))]
    return [f"{name}{word}" for name in readers for word in ("", *(f"+{word}" for word in words))]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one reader makes of a conversation, by chunk key -> seq.

    `merged` are chunks that start a message of their own and are read as part of the one before; `split` are chunks torn off
    their message; `left_out` reach no request, of these `omitted` is thinking for which the converter has no place; `misnamed` are sent
    under another role than they were stored with; `spoken` is thinking that is sent as the text of an answer, of which `leaked` contains the
    syntax of a call. `path` is all that the reader reaches: of a tree, from its root to the leaf.
    """

    reader: str
    messages: tuple[tuple[str, tuple[int, ...], tuple[str, ...]], ...]
    """(role, seqs, keys); the seqs of a synthetic message are empty."""
    failure: str
    verdict: str
    sendable: bool
    merged: dict[str, int]
    split: dict[str, int]
    left_out: dict[str, int]
    misnamed: dict[str, int]
    omitted: frozenset[str]
    spoken: dict[str, int]
    leaked: dict[str, int]
    path: dict[str, int]
    state: str
    """What becomes of the next request: one of STATES."""
    silence: str
    """How the next request goes wrong though it passes; "" where it does not. Of one that passes, what a stream delivered wrongly and any reader sends so."""
    violation: Violation | None = None
    """The first rule that rejects the next request."""
    chunks: Mapping[str, Chunk] = field(default_factory=dict)
    """All that it read, by key."""
    retry: str = ""
    """Which tools a retry would run before the next request."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first message, counted from 1, that the two read differently; "" where one of them has no such message.

    `quote` is the beginning of the first chunk that only one of them has there, or has under another role; `place` is its seq and its roles.
    """

    number: int
    a: str
    b: str
    quote: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """`better` and `worse` are sentences with their place; `go` and `come` are findings of B compared to those of A, where they were asked for."""

    reader_a: str
    reader_b: str
    messages_stored: int
    messages_a: int
    messages_b: int
    first: Divergence | None
    verdict_a: str
    verdict_b: str
    sendable_a: bool
    sendable_b: bool
    state_a: str
    state_b: str
    silence_a: str
    silence_b: str
    """As of an Outcome."""
    still_merged: tuple[int, ...]
    """Seqs of the rows that B still reads as part of the message before them."""
    better: tuple[str, ...]
    worse: tuple[str, ...]
    go: tuple[Finding, ...] = ()
    come: tuple[Finding, ...] = ()
    stay: tuple[Finding, ...] = ()
    """Errors and warnings that both have."""
    inserted_a: int = 0
    inserted_b: int = 0
    """Messages that each inserts, which no row has."""
    violation_a: Violation | None = None
    violation_b: Violation | None = None
    retry: str = ""
    """Which tools a retry would run with B, and not with A."""

    @property
    def differs(self) -> bool:
        return self.first is not None or self.verdict_a != self.verdict_b

    @property
    def becomes_sendable(self) -> bool:
        return self.sendable_b and not self.sendable_a

    @property
    def becomes_rejected(self) -> bool:
        return self.sendable_a and not self.sendable_b

    @property
    def needs_repair(self) -> bool:
        """Whether B alone is not enough: the next request does not pass, or the store itself has messages that are read as one.

        What was not read whole is not repaired.
        """
        return self.state_b != NOT_KNOWN and (self.state_b != PASSES or bool(self.silence_b) or bool(self.still_merged))

    @property
    def next_request(self) -> str:
        """One of NEXT_REQUESTS; "" where the same becomes of it."""
        return NEXT_REQUESTS.get((self.state_a, self.state_b), "")

    @property
    def lost_messages(self) -> int:
        """Messages with rows that A reads and B does not, where it also makes something worse."""
        return max(0, self.messages_a - self.inserted_a - self.messages_b + self.inserted_b) if self.worse else 0

    @property
    def changes(self) -> tuple[tuple[str, str], ...]:
        """(worse, better or otherwise; sentence): a next request that only fails in another way is neither a loss nor a gain."""
        marked = [("worse", sentence) for sentence in self.worse] + [("better", sentence) for sentence in self.better]
        is_other = self.next_request in NEITHER_WAY
        retry = [("otherwise", f"{self.retry}, before the next request")] if self.retry else []
        unnoticed = (
            [("otherwise", f"{self.silence_b}, though the next request passes")] if self.state_b == PASSES and self.silence_b else []
        )
        return (
            *retry,
            *unnoticed,
            *(("otherwise" if is_other and sentence.startswith(_REQUEST) else mark, sentence) for mark, sentence in marked),
        )

    @property
    def kind(self) -> str:
        """Exactly one of KINDS."""
        if self.better:
            return "mixed" if self.worse else "only_better"
        return "only_worse" if self.worse else "neither" if self.differs else "same"


def compare_cases(case: Case, reader_a: str, reader_b: str, projection: str, profile: str) -> Difference:
    """With the findings that go and come. Raises UnknownReader, UnknownProjection, UnknownProfile."""
    a, b = read_by(case, reader_a), read_by(case, reader_b)
    first, second = outcomes(((a, reader_a), (b, reader_b)), projection, profile)
    return with_findings(between(first, second, len(stored_messages(a.conversation))), a, b)


def read_by(case: Case, name: str) -> Case:
    """The case as another client reads it: of a tree, the path that it takes. Raises UnknownReader, also for one of another program."""
    client_reader = reader_of(client(name).reader.name, case.conversation.format)
    if case.reading.reader == client_reader.name:
        return case
    if client_reader.path is not None:
        return case.with_conversation(case.tree or case.conversation, client_reader.name)
    return replace(case, reading=client_reader.read(case.conversation))


def outcomes(cases: Sequence[tuple[Case, str]], projection: str, profile: str) -> list[Outcome]:
    """One for each client of the same rows, with its name. Clients mostly agree, and what they agree on is sent and judged once."""
    computed: list[tuple[Case, str, Outcome]] = []
    for case, name in cases:
        converter = client(name).projection(projection)
        same = next(
            (earlier for other, used, earlier in computed if _is_read_alike(other, case) and _is_sent_alike(case, used, converter)), None
        )
        computed.append((case, converter, replace(same, reader=name) if same else outcome(case, name, projection, profile)))
    return [earlier for _, _, earlier in computed]


def _is_read_alike(a: Case, b: Case) -> bool:
    one, other = a.reading, b.reading
    if a.conversation is not b.conversation and a.conversation.chunks != b.conversation.chunks:
        return False
    return (one.failure, one.grouped, one.messages, one.dropped) == (other.failure, other.grouped, other.messages, other.dropped)


def _is_sent_alike(case: Case, converter: str, other: str) -> bool:
    """Variants of a converter differ in thinking alone."""
    return converter == other or not any(chunk.kind is Kind.THINKING for message in case.reading.messages for chunk in message.chunks)


def outcome(case: Case, name: str, projection: str, profile: str) -> Outcome:
    """`projection` is the deployed one."""
    reading = case.reading
    projection = client(name).projection(projection)
    prompt, judgement = judged(reading, case.conversation, profile, projection)
    is_known = bool(reading.failure) or not judgement.unread
    sendable = judgement.sendable and not reading.failure and is_known
    words = f"cannot be opened: {reading.failure}" if reading.failure else judgement.verdict
    why_silent = ending_without_findings(case, judgement).silence if sendable else ""
    merged, split = _boundaries(case)
    spoken = _spoken(prompt)
    return Outcome(
        name,
        tuple((message.role, message.seqs, tuple(chunk.key for chunk in message.chunks)) for message in reading.messages),
        reading.failure,
        words,
        sendable,
        merged,
        split,
        _seq_by_key(
            _of_worth(chunk for dropped in (*reading.dropped, *prompt.lost) if not dropped.intentional for chunk in dropped.chunks)
        ),
        _seq_by_key(_misnamed(reading.messages)),
        _omitted(reading.messages, prompt),
        spoken,
        {key: seq for key, seq in spoken.items() if key in _leaked(case)} if spoken else {},
        _seq_by_key(case.conversation.chunks),
        SILENT if why_silent else PASSES if sendable else REJECTED if is_known else NOT_KNOWN,
        why_silent or (unnoticed_of_streams(case) if sendable else ""),
        None if reading.failure or not is_known else next(iter(judgement.violations), None),
        {chunk.key: chunk for message in reading.messages for chunk in message.chunks},
        retry_words(reading.report.get("wouldRun", ())),
    )


def _omitted(messages: Sequence[Message], prompt: Prompt) -> frozenset[str]:
    lost = {chunk.key for dropped in prompt.lost for chunk in dropped.chunks if chunk.kind is Kind.THINKING}
    return frozenset(chunk.key for message in messages if message.role == "assistant" for chunk in message.chunks if chunk.key in lost)


def _spoken(prompt: Prompt) -> dict[str, int]:
    """Thinking that is in the text of an answer unchanged, without a block or tags that mark it."""
    return {
        part.chunk.key: part.chunk.seq
        for message in prompt.messages
        if message.value.get("role") == "assistant" and isinstance(message.value.get("content"), str)
        for part in message.parts
        if part.chunk.kind is Kind.THINKING and part.text == part.chunk.text
    }


def _leaked(case: Case) -> frozenset[str]:
    """Thinking that contains a tool call as text."""
    return frozenset(chunk.key for turn in turns(case.messages) for chunk, _ in leaks(case, turn) if chunk.kind is Kind.THINKING)


def between(a: Outcome, b: Outcome, stored: int) -> Difference:
    """`stored` is the number of messages as they were appended."""
    better, worse = _changes(a, b) or _silence(a, b), _changes(b, a) or _silence(b, a)
    return Difference(
        a.reader,
        b.reader,
        stored,
        len(a.messages),
        len(b.messages),
        _first(a, b),
        a.verdict,
        b.verdict,
        a.sendable,
        b.sendable,
        a.state,
        b.state,
        a.silence,
        b.silence,
        () if b.failure else tuple(b.merged.values()),
        tuple(f"{place} {words[0]}" for place, words in better),
        tuple(f"{place} {words[1]}" for place, words in worse),
        inserted_a=sum(not seqs for _, seqs, _ in a.messages),
        inserted_b=sum(not seqs for _, seqs, _ in b.messages),
        violation_a=a.violation,
        violation_b=b.violation,
        retry="" if b.retry == a.retry else b.retry,
    )


def with_findings(difference: Difference, a: Case, b: Case) -> Difference:
    before, after = findings(a, RULES), findings(b, RULES)
    known_keys = {(finding.code, finding.key) for finding in before}
    stay = tuple(finding for finding in after if (finding.code, finding.key) in known_keys and finding.severity is not Severity.NOTE)
    return replace(difference, go=tuple(_missing(before, after)), come=tuple(_missing(after, before)), stay=stay)


def _missing(findings_a: Iterable[Finding], findings_b: Iterable[Finding]) -> Iterator[Finding]:
    known_keys = {(finding.code, finding.key) for finding in findings_b}
    return (finding for finding in findings_a if (finding.code, finding.key) not in known_keys)


def _of_worth(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """An error chunk is left out on purpose, and nobody can send a row that is no JSON."""
    return (chunk for chunk in chunks if chunk.kind not in (Kind.ERROR, Kind.UNREADABLE))


def _misnamed(messages: Iterable[Message]) -> Iterator[Chunk]:
    return (chunk for message in messages for chunk in message.chunks if chunk.role != message.role)


def _seq_by_key(chunks: Iterable[Chunk]) -> dict[str, int]:
    return {chunk.key: chunk.seq for chunk in chunks}


def _boundaries(case: Case) -> tuple[dict[str, int], dict[str, int]]:
    """Where the reader's messages begin otherwise than the true ones: merged and split, as Outcome has them."""
    true = {chunk.key: number for number, message in enumerate(stored_messages(case.conversation)) for chunk in message.chunks}
    read = {chunk.key: number for number, message in enumerate(case.reading.grouped) for chunk in message.chunks}
    merged: dict[str, int] = {}
    split: dict[str, int] = {}
    both = [chunk for chunk in case.conversation.chunks if chunk.key in true and chunk.key in read]
    for previous, chunk in pairwise(both):
        is_true_end, is_read_end = true[previous.key] != true[chunk.key], read[previous.key] != read[chunk.key]
        if is_true_end and not is_read_end:
            merged[chunk.key] = chunk.seq
        elif is_read_end and not is_true_end:
            split[chunk.key] = chunk.seq
    return merged, split


_WORDS = (
    ("merged", "no longer read as part of the message before", "read as part of the message before"),
    ("split", "in one message with the chunks before again", "torn off the message before"),
    ("left_out", "in the request again", "left out of the request"),
    ("misnamed", "sent under the stored role again", "sent under another role"),
    ("spoken", "no longer sent as the model's own answer (thinking)", "sent as the model's own answer (thinking, without tags)"),
    (
        "leaked",
        "no longer sent as the model's own answer (call syntax)",
        "sent as the model's own answer (call syntax that leaked into thinking)",
    ),
)


_WORST_FIRST = ("left_out", "leaked", "spoken", "misnamed", "merged", "split")


def wrong_rows(result: Outcome) -> dict[str, str]:
    """What a client gets wrong, by chunk key: the worst of it, in words."""
    losses = {name: loss for name, _, loss in _WORDS}
    return {key: losses[name] for name in reversed(_WORST_FIRST) for key in getattr(result, name)}


def _excused(name: str, worse: Outcome, better: Outcome) -> Iterable[str]:
    """Keys that `worse` gets wrong and that are no gain with `better`: what it does with them is as bad, is reported elsewhere, or is intentional."""
    if name == "left_out":
        # Thinking that a converter leaves out on purpose is no loss, and leaked syntax that comes back as an answer is no gain.
        return {*better.leaked, *worse.omitted}
    if name == "spoken":
        return {*(better.left_out.keys() - better.omitted), *worse.leaked}
    return ()


def _cut_off(worse: Outcome, better: Outcome) -> list[int]:
    """Seqs that `better` reads on the way to the leaf, and `worse` does not reach from it. A path to another leaf is another conversation, no worse one."""
    if not worse.path or not better.path or next(reversed(worse.path)) != next(reversed(better.path)):
        return []
    read = {key for _, _, keys in better.messages for key in keys}
    return sorted(seq for key, seq in better.path.items() if key in read and key not in worse.path)


def _changes(worse: Outcome, better: Outcome) -> list[tuple[str, tuple[str, str]]]:
    """(place, (words where this is a gain, words where the same is a loss)) of all that `worse` gets wrong and `better` does not."""
    changes: list[tuple[str, tuple[str, str]]] = []
    if worse.failure and not better.failure:
        # With a loader that throws, every chunk would be listed as left out.
        return [("the conversation", ("can be opened again", f"cannot be opened: {worse.failure}"))]
    if better.failure:
        return []
    if better.sendable and not worse.sendable:
        seqs = sorted(set(worse.violation.seqs)) if worse.violation else []
        gain, loss = "is no longer rejected by a known rule", f"is {worse.verdict}{f', for seq {span_text(seqs)}' if seqs else ''}"
        if better.state == SILENT:
            gain, loss = f"{gain}, but goes wrong silently ({better.silence})", f"{loss}, and no longer goes wrong silently"
        changes.append((_REQUEST, (gain, loss)))
    if seqs := _cut_off(worse, better):
        changes.append(
            (f"seq {span_text(seqs)}", ("reached from the last entry again", "not reached from the last entry: hidden from the model"))
        )
    for name, gain, loss in _WORDS:
        wrong, right = getattr(worse, name), getattr(better, name)
        excused = _excused(name, worse, better)
        seqs = sorted(seq for key, seq in wrong.items() if key not in right and key not in excused)
        if seqs:
            changes.append((f"seq {span_text(seqs)}", (gain, loss)))
    return changes


def _silence(worse: Outcome, better: Outcome) -> list[tuple[str, tuple[str, str]]]:
    """As `_changes`, of a request that goes wrong silently where those name no reason."""
    if worse.state != SILENT or better.state != PASSES:
        return []
    return [(_REQUEST, ("no longer goes wrong silently", f"goes wrong silently ({worse.silence})"))]


def _first(a: Outcome, b: Outcome) -> Divergence | None:
    for number, (one, other) in enumerate(zip_longest(a.messages, b.messages), start=1):
        if one is None or other is None or (one[0], one[2]) != (other[0], other[2]):
            return Divergence(number, _message_words(one), _message_words(other), *_quote(a, b, one, other))
    return None


_Message = tuple[str, tuple[int, ...], tuple[str, ...]]
_NOT_READ = "not read"


def _quote(a: Outcome, b: Outcome, *messages: _Message | None) -> tuple[str, str]:
    left, right = (dict.fromkeys(message[2] if message else ()) for message in messages)
    inserted = next((message[2] for message in messages if message and not message[1]), ())
    key = next((key for key in (*inserted, *left, *right) if (key in left) != (key in right)), next(iter(left), ""))
    chunk = a.chunks.get(key) or b.chunks.get(key)
    if chunk is None:
        return "", ""
    labels = [next(((role, seqs) for role, seqs, keys in outcome.messages if key in keys), (_NOT_READ, (0,))) for outcome in (a, b)]
    now, then = (role for role, _ in labels)
    roles = " → ".join(dict.fromkeys((now, then)))
    what = "result" if chunk.kind is Kind.TOOL_RESULT else "message"
    if all(seqs for _, seqs in labels):
        place = f"seq {chunk.seq} {roles}"
    elif _NOT_READ in (now, then):
        place = f"now no {what} here, then one is inserted" if now == _NOT_READ else f"now a {what} is inserted here, then none"
    else:
        place = f"inserted, {roles}"
    text = f"{chunk.tool_name} {row_words.arguments(chunk) or row_words.words(chunk)}".strip()
    return beginning(text, QUOTED), place


def _message_words(message: _Message | None) -> str:
    if message is None:
        return ""
    return f"{message[0]}, {f'seq {span_text(message[1])}' if message[1] else 'inserted by the reader'}"


@dataclass(frozen=True, slots=True)
class Tally:
    """How many, with the names of the first few."""

    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """Many conversations, read by A and by B. `merged`: B still reads messages of theirs as one; `refused`: B's request is refused.

    `kinds` has each conversation once, by the names of KINDS; `better` and `worse` both have those that are mixed.
    `next_requests` has those whose next request changes, by the names of NEXT_REQUESTS; `states` counts all by what becomes of
    the next request, with A and with B.
    """

    reader_a: str
    reader_b: str
    conversations: int
    differ: Tally
    become_sendable: Tally
    better: Tally
    worse: Tally
    merged: Tally
    refused: Tally
    become_rejected: Tally
    kinds: dict[str, Tally]
    next_requests: dict[str, Tally]
    states: dict[str, tuple[int, int]]
    shrunk: tuple[int, int]
    """Messages that A and B read of the conversations of which B loses some."""
    retried: int
    """Conversations of which a retry would run tools with B, and not with A."""
    lacking: Mapping[str, int]
    """What requests that pass with B lack all the same -> in how many conversations."""

    @property
    def right(self) -> int:
        """Conversations whose request passes with B and lacks nothing."""
        return self.states[PASSES][1] - sum(self.lacking.values())


def summarize(reader_a: str, reader_b: str, named: Sequence[tuple[str, Difference]]) -> Summary:
    """`named` are the differences with the ids of their conversations."""

    def tally(conditions: Iterable[bool]) -> Tally:
        ids = [oid for (oid, _), is_so in zip(named, conditions, strict=True) if is_so]
        return Tally(len(ids), tuple(ids[:EXAMPLES]))

    differences = [difference for _, difference in named]
    return Summary(
        reader_a,
        reader_b,
        len(differences),
        tally(difference.differs for difference in differences),
        tally(difference.becomes_sendable for difference in differences),
        tally(bool(difference.better) for difference in differences),
        tally(bool(difference.worse) for difference in differences),
        tally(bool(difference.still_merged) for difference in differences),
        tally(difference.state_b == REJECTED for difference in differences),
        tally(difference.becomes_rejected for difference in differences),
        {kind: tally(difference.kind == kind for difference in differences) for kind in KINDS},
        {name: tally(difference.next_request == name for difference in differences) for name in NEXT_REQUESTS.values()},
        {
            state: (
                sum(difference.state_a == state for difference in differences),
                sum(difference.state_b == state for difference in differences),
            )
            for state in STATES
        },
        (sum(one.messages_a for one in differences if one.lost_messages), sum(one.messages_b for one in differences if one.lost_messages)),
        sum(bool(one.retry) for one in differences),
        Counter(one.silence_b for one in differences if one.state_b == PASSES and one.silence_b),
    )
