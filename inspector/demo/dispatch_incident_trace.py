"""What was observed while the conversation of the incident ran: log records of its three turns, and of what is outside of turns.

Every prompt is the client's own (traced): the older rows as `load()` groups them, and its own turn as it has it in memory.
The shape of the last step's prompt, its tool count, finish reasons and the report of the repair are the incident report's;
ids, times and token counts are filled in.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid5

from inspector.conversation import queries
from inspector.conversation.model import Chunk, Conversation, Kind, Message
from inspector.demo.appending import chunk_rows, text
from inspector.demo.dispatch_incident_rows import APPENDS, CONVERSATION, MODEL, TURNS, StepRun, TurnRun
from inspector.demo.dispatch_tools import SYSTEM_PROMPT, TOOLS, wire_tools
from inspector.programs.dispatch.format import DISPATCH
from inspector.programs.dispatch.projection import projection
from inspector.programs.formats import Cell, Record
from inspector.readers.catalogue import reader
from inspector.text import jsontext

LogRecord = dict[str, Any]

WARMED_AT = 1782655621880
"""A cache warming that went through, between turns 2 and 3; epoch milliseconds."""

LOADED_AT = 1782656902417
"""A later load, for a cache warming that was aborted; epoch milliseconds."""

_SPANS = UUID("5a1f0e7c-83d2-4b69-9e04-c7b2d6f8a135")
_ORCHESTRATOR = "session-orchestrator"
_REQUEST = {
    "model": MODEL,
    "url": "https://api.code.umans.ai/v1/chat/completions",
    "request.method": "POST",
    "request.cache_control_present": False,
    "request.headers.authorization": "Bea***q7D",
}


def trace_records() -> list[LogRecord]:
    """LogRecords as JSON objects in the order of time, bodies inline, as a journal has them and a trace database is made from."""
    conversation = _conversation()
    records = [record for turn in TURNS for record in _turn(conversation, turn)]
    records += _outside(conversation)
    return sorted(records, key=lambda record: record["timestamp"])


def _conversation() -> Conversation:
    records = [Record(key, Cell(jsontext.encode(value))) for _, key, value in chunk_rows(CONVERSATION, APPENDS)]
    return next(DISPATCH.read(records)).conversation


def _loaded(conversation: Conversation, count: int) -> list[Message]:
    """The messages that `load()` made of the first `count` rows."""
    return list(reader("dispatch-legacy").read(replace(conversation, chunks=conversation.chunks[:count])).messages)


def _turn(conversation: Conversation, turn: TurnRun) -> Iterator[LogRecord]:
    span = _span_id(turn.turn_id)
    noted = {"conversationId": CONVERSATION, "turnId": turn.turn_id, "model": MODEL}
    yield _open(span, "turn", turn.start, turn=turn.turn_id, attributes=noted)
    messages = _loaded(conversation, turn.user_seq - 1)
    messages.append(Message("user", (conversation.chunks[turn.user_seq - 1],)))
    for index, step in enumerate(turn.steps):
        written = conversation.chunks[step.seqs.start - 1 : step.seqs.stop - 1]
        yield from _step(turn, index, step, messages, written)
        messages.extend(queries.true_messages(written))
    closing = {"finishReason": turn.steps[-1].finish, **_usage(turn.usage)}
    yield _close(span, "turn", turn.start, turn.end, turn=turn.turn_id, attributes=closing)


def _step(turn: TurnRun, index: int, step: StepRun, messages: Sequence[Message], written: Sequence[Chunk]) -> Iterator[LogRecord]:
    start, turn_id, usage = turn.start, turn.turn_id, _usage(step.usage)
    parent, here = _span_id(turn_id), _span_id(turn_id, index)

    def span(
        name: str, begin: int, end: int, attributes: dict[str, Any], closing: dict[str, Any], body: str | None = None
    ) -> list[LogRecord]:
        own = _span_id(turn_id, index, name, str(attributes.get("toolCallId", "")))
        return [
            _open(own, name, start + begin, turn_id, here, attributes, body),
            _close(own, name, start + begin, start + end, turn_id, here, closing),
        ]

    yield _open(here, "step", start + step.begin, turn_id, parent)
    counts = {"messageCount": len(messages), "toolCount": len(TOOLS)}
    yield from span("prompt", step.begin + 1, step.begin + 1, counts, {}, _prompt(messages))
    yield from span("provider.request", step.begin + 2, step.last_token + 1, _REQUEST, {"status": 200, **usage}, _request(messages))
    yield from span("ttft", step.begin + 2, step.first_token, {}, {"firstToken": True})
    yield from span("decode", step.first_token, step.last_token, {}, {})
    results = [chunk for chunk in written if chunk.role == "tool"]
    share = (step.end - step.last_token - 4) // max(len(results), 1)
    for number, chunk in enumerate(results):
        begin = step.last_token + 2 + number * share
        noted = {"name": chunk.tool_name, "toolCallId": chunk.call_id}
        yield from span("tool-call", begin, begin + share, noted, {"isError": chunk.is_error, "contentLength": len(chunk.text)})
    yield _close(here, "step", start + step.begin, start + step.end, turn_id, parent, {"finishReason": step.finish, **usage})


def _outside(conversation: Conversation) -> Iterator[LogRecord]:
    """A warming that went through; then a load that drops the thinking-only message, and the aborted warming that it was for."""
    warmed = _span_id("warm", "1")
    noted = {"warm": True, **_REQUEST}
    yield _open(warmed, "provider.request", WARMED_AT, attributes=noted, body=_warming(_loaded(conversation, TURNS[2].user_seq - 1)))
    closing = {"status": 200, **_usage({"inputTokens": 1967, "outputTokens": 1, "cacheReadTokens": 1920})}
    yield _close(warmed, "provider.request", WARMED_AT, WARMED_AT + 741, attributes=closing)
    repair = _span_id("repair", "1")
    report = dict(reader("dispatch-legacy").read(conversation).report)
    yield _open(repair, "reconcile.repair", LOADED_AT, attributes=report, extension="conversation-store")
    yield _close(repair, "reconcile.repair", LOADED_AT, LOADED_AT, extension="conversation-store")
    # Its close never came: an abandoned generator leaves the span of its request open.
    body = _warming(_loaded(conversation, len(conversation.chunks)))
    yield _open(_span_id("warm", "2"), "provider.request", LOADED_AT + 3, attributes=noted, body=body)


def _prompt(messages: Sequence[Message]) -> str:
    shown = [{"role": message.role, "chunks": [dict(chunk.payload) for chunk in message.chunks]} for message in messages]
    return jsontext.compact({"messages": shown, "tools": list(TOOLS)})


def _request(messages: Sequence[Message], **extra: Any) -> str:
    wire = [{"role": "system", "content": SYSTEM_PROMPT}, *projection().project(messages).values]
    body = {"model": MODEL, "messages": wire, "stream": True, "stream_options": {"include_usage": True}, "tools": wire_tools()}
    return jsontext.compact({**body, **extra})


def _warming(messages: Sequence[Message]) -> str:
    question = Chunk("", 0, "user", Kind.TEXT, text("reply with just a ."))
    return _request([*messages, Message("user", (question,))], max_tokens=1)


def _usage(usage: dict[str, int]) -> dict[str, int]:
    return {f"usage.{name}": count for name, count in usage.items()}


def _span_id(*parts: str | int) -> str:
    return str(uuid5(_SPANS, "/".join(map(str, parts))))


def _open(
    span: str,
    name: str,
    at: int,
    turn: str = "",
    parent: str = "",
    attributes: dict[str, Any] | None = None,
    body: str | None = None,
    extension: str = _ORCHESTRATOR,
) -> LogRecord:
    record = {"kind": "span-open", "spanId": span, "name": name, "timestamp": at, "extensionId": extension}
    return _with_context(record, turn, parent, attributes, body)


def _close(
    span: str,
    name: str,
    start: int,
    end: int,
    turn: str = "",
    parent: str = "",
    attributes: dict[str, Any] | None = None,
    extension: str = _ORCHESTRATOR,
) -> LogRecord:
    record = {"kind": "span-close", "spanId": span, "name": name, "timestamp": end, "durationMs": end - start, "status": "ok"}
    return _with_context({**record, "extensionId": extension}, turn, parent, attributes, None)


def _with_context(record: LogRecord, turn: str, parent: str, attributes: dict[str, Any] | None, body: str | None) -> LogRecord:
    optional = {"turnId": turn, "parentSpanId": parent, "attributes": attributes, "body": body}
    return {**record, "conversationId": CONVERSATION, **{name: value for name, value in optional.items() if value}}
