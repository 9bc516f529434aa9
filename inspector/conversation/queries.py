"""Questions that rules and strategies ask of a conversation. Each is a pure function of chunks or messages."""

from collections.abc import Iterable, Iterator, Sequence

from inspector.conversation.model import Chunk, Kind, Message, Span, kept_raw
from inspector.text.at_hand import AtHand


def readable(chunks: Iterable[Chunk]) -> list[Chunk]:
    return [chunk for chunk in chunks if chunk.msg_idx is not None and chunk.chunk_idx is not None]


def stored_pieces(chunks: Iterable[Chunk]) -> Iterator[bytes | Span]:
    """The rows or lines that hold the chunks: a line that holds several once."""
    last: bytes | Span = b""
    for chunk in chunks:
        kept = kept_raw(chunk)
        if kept is not last:
            yield kept
        last = kept


def true_messages(chunks: Sequence[Chunk]) -> tuple[Message, ...]:
    """The messages as they were appended.

    An append numbers `seq` and `chunk_idx` in lockstep, so `seq - chunk_idx` is constant inside a message and differs between
    messages. One exception: when a row inside a message was deleted and a fork then closed the gap, the rest of that message
    differs by the gap; a row that directly follows (seq + 1) and does not start at 0 still belongs to the message before it.
    Chunks without indexes (unreadable rows) belong to no message.
    """
    # A reader and its case ask for those of the same chunks.
    return _TRUE_MESSAGES.of(chunks, lambda: _true_messages(chunks)) if isinstance(chunks, tuple) else _true_messages(chunks)


_TRUE_MESSAGES: AtHand[tuple[Message, ...]] = AtHand(2)


def _true_messages(chunks: Iterable[Chunk]) -> tuple[Message, ...]:
    groups: list[list[Chunk]] = []
    previous: Chunk | None = None
    for chunk in chunks:
        if chunk.msg_idx is None or chunk.chunk_idx is None:
            continue
        if previous is not None and chunk.msg_idx == previous.msg_idx and same_message(previous, chunk):
            groups[-1].append(chunk)
        else:
            groups.append([chunk])
        previous = chunk
    return tuple([Message(group[0].role, tuple(group)) for group in groups])


def same_message(previous: Chunk, chunk: Chunk) -> bool:
    """Whether `chunk` is in the same appended message as the readable chunk before it."""
    if chunk.chunk_idx is None or previous.chunk_idx is None or (chunk.role, chunk.msg_idx) != (previous.role, previous.msg_idx):
        return False
    if chunk.seq - chunk.chunk_idx == previous.seq - previous.chunk_idx:
        return True
    steps_agree = chunk.step_id == previous.step_id or chunk.step_id is None or previous.step_id is None
    return chunk.seq == previous.seq + 1 and chunk.chunk_idx > previous.chunk_idx and steps_agree


def turns(messages: Sequence[Message]) -> list[list[Message]]:
    """Messages from one user message to the next; what comes before the first user message is a turn of its own."""
    result: list[list[Message]] = []
    for message in messages:
        if message.role == "user" or not result:
            result.append([])
        result[-1].append(message)
    return result


def calls(message: Message) -> list[Chunk]:
    return [chunk for chunk in message.chunks if chunk.kind is Kind.TOOL_CALL]


def results(message: Message) -> list[Chunk]:
    return [chunk for chunk in message.chunks if chunk.kind is Kind.TOOL_RESULT]


def answered_ids(messages: Iterable[Message]) -> set[str]:
    """Ids of every tool result, in any message of any role."""
    return {chunk.call_id for message in messages for chunk in results(message)}


def unanswered_calls(messages: Sequence[Message]) -> list[tuple[int, Chunk]]:
    """Calls of assistant messages whose id no result has, each with the index of its message."""
    answered = answered_ids(messages)
    return [
        (index, call)
        for index, message in enumerate(messages)
        if message.role == "assistant"
        for call in calls(message)
        if call.call_id not in answered
    ]


def orphaned_results(messages: Sequence[Message]) -> list[tuple[int, Chunk]]:
    """Results that answer no call of the assistant message whose tool run they are in, each with the index of its message."""
    orphans: list[tuple[int, Chunk]] = []
    waiting: list[str] = []
    for index, message in enumerate(messages):
        if message.role == "assistant":
            waiting = [call.call_id for call in calls(message)]
        elif message.role != "tool":
            waiting = []
        for result in results(message):
            if message.role == "tool" and result.call_id in waiting:
                waiting.remove(result.call_id)
            else:
                orphans.append((index, result))
    return orphans


def spans_of(seqs: Iterable[int]) -> list[tuple[int, int]]:
    """(first, last) of each run of seqs that follow each other."""
    runs: list[tuple[int, int]] = []
    for seq in seqs:
        if runs and seq == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], seq)
        else:
            runs.append((seq, seq))
    return runs


def span_text(seqs: Sequence[int], most: int = 8) -> str:
    """`1-6, 9` for people: runs folded, the first `most` runs and how many more."""
    runs = spans_of(seqs)
    texts = [str(start) if start == end else f"{start}-{end}" for start, end in runs]
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def as_one(pieces: Sequence[Message]) -> Message:
    """Messages of one speaker as a single one, put together once: an answer may have any number of pieces."""
    return pieces[0] if len(pieces) == 1 else Message(pieces[-1].role, tuple(chunk for piece in pieces for chunk in piece.chunks))
