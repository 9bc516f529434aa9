"""What another reader would make of the same stored rows: where the two part, what gets better, and what gets worse."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest

from inspector.conversation.model import Chunk, Conversation, Kind, Message
from inspector.conversation.queries import span_text
from inspector.detectors.base import Case, Finding, case_of, findings, stored_messages
from inspector.detectors.catalogue import RULES
from inspector.profiles.judging import judged
from inspector.readers.catalogue import fitting, reader

EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one reader makes of a conversation, by chunk key -> seq.

    `merged` are chunks that start a message of their own and are read as part of the one before; `split` are chunks torn off
    their message; `left_out` reach no request; `misnamed` are sent under another role than they were stored with.
    """

    reader: str
    messages: tuple[tuple[str, tuple[int, ...], tuple[str, ...]], ...]
    """(role, seqs, keys); the seqs of a made-up message are empty."""
    failure: str
    verdict: str
    sendable: bool
    merged: dict[str, int]
    split: dict[str, int]
    left_out: dict[str, int]
    misnamed: dict[str, int]


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first message, counted from 1, that the two read differently; "" where one of them has no such message."""

    number: int
    a: str
    b: str


@dataclass(frozen=True, slots=True)
class Difference:
    """`better` and `worse` are sentences with their place; `go` and `come` are findings of B beside those of A, where they were asked for."""

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
    still_merged: tuple[int, ...]
    """Seqs of the rows that B still reads as part of the message before them."""
    better: tuple[str, ...]
    worse: tuple[str, ...]
    go: tuple[Finding, ...] = ()
    come: tuple[Finding, ...] = ()

    @property
    def differs(self) -> bool:
        return self.first is not None or self.verdict_a != self.verdict_b

    @property
    def becomes_sendable(self) -> bool:
        return self.sendable_b and not self.sendable_a


def compare(conversation: Conversation, reader_a: str, reader_b: str, projection: str, profile: str) -> Difference:
    """With nothing known around the conversation. Raises UnknownReader, UnknownProjection, UnknownProfile."""
    case = case_of(conversation, reader_a)
    return compare_cases(case, read_by(case, reader_b), projection, profile)


def compare_cases(a: Case, b: Case, projection: str, profile: str) -> Difference:
    """Two cases of the same rows, with the findings that go and come. Raises UnknownProjection, UnknownProfile."""
    a, b = read_by(a, a.reading.reader), read_by(b, b.reading.reader)
    first, second = outcomes((a, b), projection, profile)
    return with_findings(between(first, second, len(stored_messages(a.conversation))), a, b)


def read_by(case: Case, reader_name: str) -> Case:
    """The case as another reader has it; as the format's own one has it where that reader does not exist for the format. Raises UnknownReader."""
    name = fitting(reader_name, case.conversation.format)
    return case if case.reading.reader == name else replace(case, reading=reader(name).read(case.conversation))


def outcomes(cases: Sequence[Case], projection: str, profile: str) -> list[Outcome]:
    """One for each case of the same rows. Readers mostly agree, and what they agree on is sent and judged once."""
    made: list[tuple[Case, Outcome]] = []
    for case in cases:
        same = next((found for other, found in made if _is_read_alike(other, case)), None)
        made.append((case, replace(same, reader=case.reading.reader) if same else outcome(case, projection, profile)))
    return [found for _, found in made]


def _is_read_alike(a: Case, b: Case) -> bool:
    one, other = a.reading, b.reading
    return (one.failure, one.grouped, one.messages, one.dropped) == (other.failure, other.grouped, other.messages, other.dropped)


def outcome(case: Case, projection: str, profile: str) -> Outcome:
    """Without the rules, which take most of the time where thousands of conversations are compared."""
    reading = case.reading
    prompt, judgement = judged(reading, case.conversation, profile, projection)
    verdict = f"cannot be opened: {reading.failure}" if reading.failure else judgement.verdict
    merged, split = _boundaries(case)
    return Outcome(
        reading.reader,
        tuple((message.role, message.seqs, tuple(chunk.key for chunk in message.chunks)) for message in reading.messages),
        reading.failure,
        verdict,
        judgement.sendable and not reading.failure,
        merged,
        split,
        _seq_by_key(_of_worth(chunk for dropped in (*reading.dropped, *prompt.lost) for chunk in dropped.chunks)),
        _seq_by_key(_misnamed(reading.messages)),
    )


def between(a: Outcome, b: Outcome, stored: int) -> Difference:
    """`stored` is the number of messages as they were appended."""
    better, worse = _changes(a, b), _changes(b, a)
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
        () if b.failure else tuple(b.merged.values()),
        tuple(f"{place} {words[0]}" for place, words in better),
        tuple(f"{place} {words[1]}" for place, words in worse),
    )


def with_findings(difference: Difference, a: Case, b: Case) -> Difference:
    before, after = findings(a, RULES), findings(b, RULES)
    return replace(difference, go=tuple(_missing(before, after)), come=tuple(_missing(after, before)))


def _missing(from_: Iterable[Finding], in_: Iterable[Finding]) -> Iterator[Finding]:
    known = {(found.code, found.key) for found in in_}
    return (found for found in from_ if (found.code, found.key) not in known)


def _of_worth(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """An error chunk is meant to be left out, and nobody can send a row that is no JSON."""
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
    ("split", "back in one message with what stands before", "torn off the message before"),
    ("left_out", "in the request again", "left out of the request"),
    ("misnamed", "sent under the stored role again", "sent under another role"),
)


def _changes(worse: Outcome, better: Outcome) -> list[tuple[str, tuple[str, str]]]:
    """(place, (words where this is a gain, words where the same is a loss)) of all that `worse` gets wrong and `better` does not."""
    found: list[tuple[str, tuple[str, str]]] = []
    if worse.failure and not better.failure:
        # Beside a loader that throws, every chunk would be listed as left out.
        return [("the conversation", ("can be opened again", f"cannot be opened: {worse.failure}"))]
    if better.failure:
        return []
    if better.sendable and not worse.sendable:
        found.append(("the next request", ("is no longer refused by a known rule", f"is {worse.verdict}")))
    for name, gain, loss in _WORDS:
        wrong, right = getattr(worse, name), getattr(better, name)
        seqs = sorted(seq for key, seq in wrong.items() if key not in right)
        if seqs:
            found.append((f"seq {span_text(seqs)}", (gain, loss)))
    return found


def _first(a: Outcome, b: Outcome) -> Divergence | None:
    for number, (one, other) in enumerate(zip_longest(a.messages, b.messages), start=1):
        if one is None or other is None or (one[0], one[2]) != (other[0], other[2]):
            return Divergence(number, _told(one), _told(other))
    return None


def _told(message: tuple[str, tuple[int, ...], tuple[str, ...]] | None) -> str:
    if message is None:
        return ""
    return f"{message[0]}, {f'seq {span_text(message[1])}' if message[1] else 'made up by the reader'}"


@dataclass(frozen=True, slots=True)
class Tally:
    """How many, with the names of the first few."""

    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """Many conversations, read by A and by B. `merged`: B still reads messages of theirs as one; `refused`: B's request is refused."""

    reader_a: str
    reader_b: str
    conversations: int
    differ: Tally
    become_sendable: Tally
    better: Tally
    worse: Tally
    merged: Tally
    refused: Tally


def summarise(reader_a: str, reader_b: str, named: Sequence[tuple[str, Difference]]) -> Summary:
    """`named` are the differences with the ids of their conversations."""

    def tally(wanted: Iterable[bool]) -> Tally:
        ids = [oid for (oid, _), is_so in zip(named, wanted, strict=True) if is_so]
        return Tally(len(ids), tuple(ids[:EXAMPLES]))

    found = [difference for _, difference in named]
    return Summary(
        reader_a,
        reader_b,
        len(found),
        tally(each.differs for each in found),
        tally(each.becomes_sendable for each in found),
        tally(bool(each.better) for each in found),
        tally(bool(each.worse) for each in found),
        tally(bool(each.still_merged) for each in found),
        tally(not each.sendable_b for each in found),
    )
