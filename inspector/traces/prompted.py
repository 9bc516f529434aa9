"""Where the messages of a client's prompt differ from those that were stored before it: which were merged into one, and which left out."""

from collections.abc import Sequence
from dataclasses import dataclass

from inspector.conversation import queries
from inspector.conversation.model import Chunk
from inspector.traces import observe
from inspector.traces.model import Step, Trace

Merged = tuple[str, tuple[int, ...]]
"""The role of one message of a prompt, and the seqs of the several stored messages in it."""


@dataclass(frozen=True, slots=True)
class Differences:
    merged: tuple[Merged, ...]
    left_out: tuple[int, ...]


def differences(trace: Trace, step: Step, chunks: Sequence[Chunk], written_from: int) -> Differences | None:
    """None where it is not known: no readable body, or a part of it that is not one of the chunks before `written_from`, in their order."""
    body = observe.prompt_body(trace, step)
    if body is None:
        return None
    stored = ((place, chunk) for place, message in enumerate(queries.true_messages(chunks)) for chunk in message.chunks)
    merged: list[Merged] = []
    left_out: list[int] = []
    for message in body["messages"]:
        parts = message.get("chunks") if isinstance(message, dict) else None
        if not isinstance(parts, list):
            return None
        own: list[tuple[int, Chunk]] = []
        for part in parts:
            for place, chunk in stored:
                if chunk.seq >= written_from:
                    return None
                if dict(chunk.payload) == part:
                    own.append((place, chunk))
                    break
                left_out.append(chunk.seq)
            else:
                return None
        if len({place for place, _ in own}) > 1:
            merged.append((str(message.get("role", "")), tuple(chunk.seq for _, chunk in own)))
    left_out += [chunk.seq for _, chunk in stored if chunk.seq < written_from]
    return Differences(tuple(merged), tuple(left_out))
