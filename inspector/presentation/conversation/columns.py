"""Where each chunk of a conversation went: into which stored message, into which message of the reader, into which of the request."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from inspector.conversation.model import Chunk, Conversation, Dropped, Kind, Message
from inspector.presentation.clock import moment, turn_times
from inspector.profiles.base import Judgement
from inspector.projections.assembling import chunks_of
from inspector.projections.base import Prompt
from inspector.rules.base import Case, Finding, stored_messages
from inspector.traces.model import Trace

NOT_RECORDED = "not known: the prompt of this request is not recorded"
SYSTEM = -1
"""Place of a chunk that is sent outside of the list, as the system prompt."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Where a chunk went in one column: a message (`index`), or nowhere and why."""

    index: int | None
    why: str = ""
    intentional: bool = False
    """Of a chunk that is nowhere, whether its program leaves it out on purpose: a compaction replaces it."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Owners of every chunk of a conversation in each column; computed once, sliced by every page."""

    conversation: Conversation
    true_messages: tuple[Message, ...]
    read_messages: tuple[Message, ...]
    prompt: Prompt
    judgement: Judgement
    findings: tuple[Finding, ...]
    stored: dict[str, int]
    read: dict[str, Owner]
    sent: dict[str, Owner]
    partners: dict[str, int]
    turns: dict[int, str]
    """Index of the message that starts a turn -> which turn it is, and when it began."""
    departs: dict[str, str]
    calls_lost: dict[str, str]
    altered: frozenset[str]
    """Keys of chunks that are read with other content than they are stored with."""


def columns(
    case: Case,
    read_messages: tuple[Message, ...],
    dropped: Sequence[Dropped],
    prompt: Prompt,
    judgement: Judgement,
    findings: Sequence[Finding],
    elsewhere: str = "not read into any message",
) -> Columns:
    """`elsewhere` says why a chunk is in no message although nothing dropped it (for a past step: it came later)."""
    conversation, true_messages = case.conversation, stored_messages(case.conversation)
    stored = {chunk.key: index for index, message in enumerate(true_messages) for chunk in message.chunks}
    owners: dict[int, Owner] = {}
    read: dict[str, Owner] = {}
    for index, message in enumerate(read_messages):
        if not message.synthetic:
            owner = owners[index] = Owner(index)
            read |= dict.fromkeys((chunk.key for chunk in message.chunks), owner)
    for group in dropped:
        read |= dict.fromkeys((chunk.key for chunk in group.chunks), Owner(None, group.why, group.intentional))
    lost = {chunk.key: group.why for group in prompt.lost for chunk in group.chunks}
    sent: dict[str, Owner] = {}
    first_wire: dict[int, int] = {}
    for part in prompt.system_parts:
        sent[part.chunk.key] = Owner(SYSTEM)
    for index, wire in enumerate(prompt.messages):
        if wire.source is not None:
            first_wire.setdefault(id(wire.source), index)
        # In a long conversation nearly every message is one of the request: one object for both.
        sent |= dict.fromkeys((chunk.key for chunk in chunks_of(wire)), owners.get(index) or Owner(index))
    for message in read_messages:
        for chunk in message.chunks:
            if chunk.key not in sent:
                sent[chunk.key] = Owner(first_wire.get(id(message)), lost.get(chunk.key, "nothing of it is sent"))
    for chunk in conversation.chunks:
        read.setdefault(chunk.key, Owner(None, elsewhere))
        sent.setdefault(chunk.key, Owner(None, ""))
    return Columns(
        conversation, true_messages, read_messages, prompt, judgement, tuple(findings), stored, read, sent,
        _partners(conversation), _turns(true_messages, case.trace), _departures(conversation, stored, read), lost,
        _altered(conversation, read_messages),
    )  # fmt: skip


def _partners(conversation: Conversation) -> dict[str, int]:
    """Key of a call -> seq of its result, and the other way round; the first of each id counts."""
    calls: dict[str, Chunk] = {}
    partners: dict[str, int] = {}
    for chunk in conversation.chunks:
        if chunk.kind is Kind.TOOL_CALL:
            calls.setdefault(chunk.call_id, chunk)
        elif chunk.kind is Kind.TOOL_RESULT and chunk.call_id in calls:
            call = calls[chunk.call_id]
            partners.setdefault(call.key, chunk.seq)
            partners[chunk.key] = call.seq
    return partners


def _altered(conversation: Conversation, read_messages: Iterable[Message]) -> frozenset[str]:
    own = {chunk.key: chunk for chunk in conversation.chunks}
    read = (chunk for message in read_messages if not message.synthetic for chunk in message.chunks)
    pairs = ((own[chunk.key], chunk) for chunk in read if chunk.key in own)
    return frozenset(stored.key for stored, chunk in pairs if stored is not chunk and not _is_same_content(stored, chunk))


def _is_same_content(one: Chunk, other: Chunk) -> bool:
    return (one.kind, one.text, one.payload.get("input")) == (other.kind, other.text, other.payload.get("input"))


def _turns(messages: Sequence[Message], trace: Trace | None) -> dict[int, str]:
    times = turn_times(messages, trace)
    starts = [index for index, message in enumerate(messages) if message.role == "user"]
    return {index: f"turn {number} · {_clock(times.get(index))}" for number, index in enumerate(starts, start=1)}


def _clock(milliseconds: int | None) -> str:
    return "time unknown" if milliseconds is None else moment(milliseconds, "%m-%d %H:%M:%S")


def _departures(conversation: Conversation, stored: dict[str, int], read: dict[str, Owner]) -> dict[str, str]:
    """The first chunk that the reader puts into another message than it was written in, or leaves out."""
    stored_by_read: dict[int, int] = {}
    for chunk in conversation.chunks:
        owner, message = read[chunk.key], stored.get(chunk.key)
        if owner.why == NOT_RECORDED:
            return {}
        if owner.index is None:
            if owner.intentional or (chunk.kind is Kind.CONTROL and not chunk.role):
                continue
            return {chunk.key: "left out ↓"}
        if message is not None and stored_by_read.setdefault(owner.index, message) != message:
            return {chunk.key: "misread ↓"}
    return {}


def stored_message_count(all_columns: Columns, chunks: Iterable[Chunk]) -> int:
    """The number of true messages that these chunks are of."""
    return len({all_columns.stored.get(chunk.key) for chunk in chunks} - {None})


def reads_otherwise(all_columns: Columns, grouped: Iterable[Message]) -> bool:
    """Whether a message is read that is not one of the appended ones, or one of these is unintentionally not read."""
    places: dict[str, int] = {}
    for at, message in enumerate(grouped):
        if stored_message_count(all_columns, message.chunks) > 1:
            return True
        places |= {chunk.key: at for chunk in message.chunks}
    parts: dict[int, set[int]] = {}
    for key, index in all_columns.stored.items():
        if not all_columns.read[key].intentional:
            parts.setdefault(index, set()).add(places.get(key, -1))
    return any(len(indexes - {-1}) != 1 for indexes in parts.values())


def merged_seqs(all_columns: Columns) -> list[int]:
    """Seqs of chunks in a message of the middle column that also contains another true message."""
    seqs: list[int] = []
    for message in all_columns.read_messages:
        if stored_message_count(all_columns, message.chunks) > 1:
            seqs += [chunk.seq for chunk in message.chunks]
    return sorted(seqs)
