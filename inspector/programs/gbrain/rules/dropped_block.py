"""MSG502: blocks of a kind that the client's reading of a message leaves out."""

from collections.abc import Iterator
from typing import Any

from inspector.conversation.model import Chunk, Kind
from inspector.conversation.queries import span_text
from inspector.programs.gbrain.facts import LEGACY, PATH
from inspector.programs.gbrain.readers import UNKNOWN
from inspector.rules.base import Case, Match, Origin, Rule, Severity

_THINKING = (Kind.THINKING, Kind.REDACTED_THINKING)


def check(case: Case) -> Iterator[Match]:
    direct = case.conversation.fact(PATH) == LEGACY
    dropped = [chunk for entry in case.reading.dropped if entry.why == UNKNOWN for chunk in entry.chunks]
    for chunk in dropped:
        if chunk.kind is Kind.UNREADABLE:
            yield Match((chunk,), f"The content at seq {chunk.seq} is not read: {chunk.reason}.", origin=Origin.STORE)
    # The direct path sends every block as it was received.
    unknown: dict[str, list[Chunk]] = {}
    for chunk in dropped if not direct else ():
        if chunk.kind is not Kind.UNREADABLE and chunk.kind not in _THINKING:
            unknown.setdefault(_type(chunk), []).append(chunk)
    for name, chunks in unknown.items():
        what = "A block" if len(chunks) == 1 else f"{len(chunks)} blocks"
        yield Match(
            chunks,
            f"{what} of the type {name!r} (seq {span_text([chunk.seq for chunk in chunks])}) never {'reaches' if len(chunks) == 1 else 'reach'} the model: "
            "the gateway takes texts, calls and results out of a message and leaves the rest.",
        )
    thinking = [chunk for chunk in dropped if chunk.kind in _THINKING and not direct]
    if thinking:
        yield Match(
            thinking,
            f"Thinking at seq {span_text([chunk.seq for chunk in thinking])} is left out by the gateway, which keeps none by design.",
            severity=Severity.NOTE,
        )


def _type(chunk: Chunk) -> str:
    block: Any = chunk.payload.get("block")
    name = block.get("type") if isinstance(block, dict) else None
    return name[:60] if isinstance(name, str) else chunk.kind.value


RULE = Rule(
    code="MSG502",
    state="GB11",
    name="dropped-block",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.READER,
    summary="a block is malformed, or of a type that gbrain leaves out when it reads the message",
    why=(
        "The gateway reads blocks one by one and drops without an error what is neither text nor call nor result, or lacks an id, a name or its words. "
        "A call that is dropped was made all the same, and its result then has no call."
    ),
    example='@format gbrain\n1 user 0.0 text go\n2 assistant 1.0 control payload={"type":"control","block":{"type":"server_tool_use","id":"s1"}}',
    check=check,
    references=("gbrain adaptContentBlocksToChatBlocks at 0.46.28",),
    no_repair_reason="What a malformed block was meant to say is not known, and a block of another type has no place in the gateway's requests.",
    fixed_in_code="Say which block of which message was left out; pass on types that the provider knows.",
)
