"""What `show --json` contains: the messages as a reader has them, and the prompt that a projection makes of them."""

from collections.abc import Iterable

from inspector.conversation.model import Chunk, Dropped, Kind, Message, Reading
from inspector.presentation.json_text import Json, json_fields
from inspector.projections.base import Prompt
from inspector.projections.observed import ObservedStep


def messages_report(reading: Reading) -> Json:
    """`seqs` of a synthetic message are empty. `failure` and `warnings` are there only where the reader has some."""
    report: Json = {
        "messages": [_message(message) for message in reading.messages],
        "dropped": _dropped(reading.dropped),
        "report": dict(reading.report),
    }
    if reading.failure:
        report["failure"] = reading.failure
    if reading.warnings:
        report["warnings"] = list(reading.warnings)
    return report


def prompt_report(prompt: Prompt) -> Json:
    return {"messages": prompt.values, "sources": prompt.sources(), "lost": _dropped(prompt.lost)}


def observed_report(observed: ObservedStep, number: int) -> Json:
    """A past request. Paths count without `system`, the leading system message; `computed`: no request is recorded, and the prompt was converted."""
    return {
        **prompt_report(observed.prompt),
        "step": observed.step_id,
        "number": number,
        **json_fields(observed, "system model tools=tool_count finish_reason computed notes"),
    }


def _message(message: Message) -> Json:
    chunks = [_chunk(chunk, message.synthetic) for chunk in message.chunks]
    return {"role": message.role, "seqs": list(message.seqs), "chunks": chunks, **({"synthetic": True} if message.synthetic else {})}


def _chunk(chunk: Chunk, synthetic: bool) -> Json:
    """`kind` and `seq` and the fields of its payload, which cannot override these."""
    damage = {"damage": chunk.damage, "reason": chunk.reason} if chunk.kind is Kind.UNREADABLE else {}
    own = {"kind": chunk.kind.value, "seq": None if synthetic else chunk.seq, **damage}
    return own | {name: value for name, value in chunk.payload.items() if name != "type" and name not in own}


def _dropped(dropped: Iterable[Dropped]) -> list[Json]:
    return [json_fields(group, "seqs why") for group in dropped]
