"""Streams as bytes, written down record by record, and what one side of them shows."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from inspector.streams.model import End, Exchange, How, Read, Side
from inspector.streams.run import OneSide, one_side

DONE = "[DONE]"
TOOL = {
    "type": "function",
    "function": {"name": "search", "parameters": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}},
}
ASKED = {"messages": [], "tools": [TOOL]}
Record = Mapping[str, Any] | str


def sse(*records: Record, named: bool = False) -> bytes:
    """Server-sent events; `named` puts the type of each before it."""
    return b"".join(
        (f"event: {record['type']}\n" if named and isinstance(record, Mapping) else "").encode() + b"data: " + _spelled(record) + b"\n\n"
        for record in records
    )


def ndjson(*records: Record) -> bytes:
    return b"".join(_spelled(record) + b"\n" for record in records)


def _spelled(record: Record) -> bytes:
    return record.encode() if isinstance(record, str) else json.dumps(record, ensure_ascii=False).encode()


def exchange(
    data: bytes, *, how: How = How.EOF, request: Mapping[str, Any] | None = None, side: Side = Side.CLIENT, **more: Any
) -> Exchange:
    def happenings() -> Iterator[Read | End]:
        yield Read(side, data)
        yield End(side, how)

    return Exchange("x", happenings, (side,), request=request, **more)


def timed(*reads: tuple[float, bytes], end: float, how: How = How.EOF) -> Exchange:
    """Reads at milliseconds."""

    def happenings() -> Iterator[Read | End]:
        for at, data in reads:
            yield Read(Side.CLIENT, data, at)
        yield End(Side.CLIENT, how, end)

    return Exchange("x", happenings, (Side.CLIENT,), keeps_reads=True)


def judged(what: bytes | Exchange) -> OneSide:
    return one_side(exchange(what) if isinstance(what, bytes) else what, Side.CLIENT)


# OpenAI chat: the delta of choice 0.
def chunk(delta: Mapping[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1_750_000_000, "model": "m", "choices": [choice]} | more


ROLE = chunk({"role": "assistant", "content": ""})


def text(words: str) -> dict[str, Any]:
    return chunk({"content": words})


def call(
    index: int | None = 0, call_id: str = "call_1", name: str = "search", arguments: str = '{"query":"q"}', kind: str = "function"
) -> dict[str, Any]:
    entry = {"index": index, "id": call_id, "type": kind, "function": {"name": name, "arguments": arguments}}
    return chunk({"tool_calls": [{key: value for key, value in entry.items() if value not in (None, "")}]})


def arguments(index: int, fragment: str) -> dict[str, Any]:
    return chunk({"tool_calls": [{"index": index, "function": {"arguments": fragment}}]})


def finish(word: str = "stop") -> dict[str, Any]:
    return chunk({}, word)


def usage(total: int = 3) -> dict[str, Any]:
    return chunk({}, choices=[], usage={"prompt_tokens": 1, "completion_tokens": total - 1, "total_tokens": total})


def chat(*records: Record) -> bytes:
    """A chat completion with its role in front and its [DONE] after."""
    return sse(ROLE, *records, DONE)


# Anthropic
START = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "model": "m",
        "role": "assistant",
        "content": [],
        "stop_reason": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
}
STOP = {"type": "message_stop"}


def begin(index: int, kind: str = "text", **more: Any) -> dict[str, Any]:
    own = {
        "text": {"text": ""},
        "thinking": {"thinking": "", "signature": ""},
        "tool_use": {"id": f"toolu_{index}", "name": "search", "input": {}},
    }
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind} | own.get(kind, {}) | more}


_MEMBERS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature", "input_json_delta": "partial_json"}


def delta(index: int, kind: str, words: str) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, _MEMBERS.get(kind, "x"): words}}


def end(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def reason(word: str | None = "end_turn") -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": word, "stop_sequence": None}, "usage": {"output_tokens": 9}}


def block(index: int, kind: str, *fragments: tuple[str, str], **more: Any) -> list[dict[str, Any]]:
    return [begin(index, kind, **more), *(delta(index, each, words) for each, words in fragments), end(index)]


SAID = block(0, "text", ("text_delta", "Hi"))
USED = block(0, "tool_use", ("input_json_delta", '{"query":'), ("input_json_delta", '"q"}'))


def messages(*records: Record) -> bytes:
    """Events between message_start and message_stop."""
    return sse(START, *records, STOP, named=True)


# Ollama
def line(content: str = "", *, done: bool = False, **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": content} | {name: more.pop(name) for name in ("thinking", "tool_calls") if name in more}
    return {"model": "m", "created_at": "2025-06-01T00:00:00Z", "message": message, "done": done} | more


LAST = line(done=True, done_reason="stop", total_duration=1, eval_count=2, prompt_eval_count=3)
OLLAMA_CALL = {"function": {"name": "search", "arguments": {"query": "q"}}}


# OpenAI Responses
ITEM = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Hi", "annotations": []}],
}
FUNCTION = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "search",
    "arguments": '{"query":"q"}',
    "status": "completed",
}
CREATED = {"type": "response.created", "response": {"id": "resp_1", "model": "m", "status": "in_progress", "output": []}}


def added(index: int, item: Mapping[str, Any]) -> dict[str, Any]:
    empty = {"content": []} if item.get("type") == "message" else {"arguments": ""} if item.get("type") == "function_call" else {}
    return {"type": "response.output_item.added", "output_index": index, "item": {**item, **empty, "status": "in_progress"}}


def done(index: int, item: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "response.output_item.done", "output_index": index, "item": dict(item)}


def part(index: int, event: str, **more: Any) -> dict[str, Any]:
    return {"type": f"response.{event}", "output_index": index, "content_index": 0} | more


def completed(*items: Mapping[str, Any], status: str = "completed", **more: Any) -> dict[str, Any]:
    response = {"id": "resp_1", "status": status, "output": list(items), "usage": {"input_tokens": 1, "output_tokens": 2}} | more
    return {"type": f"response.{status}", "response": response}


SPOKEN = [
    added(0, ITEM),
    part(0, "output_text.delta", delta="H"),
    part(0, "output_text.delta", delta="i"),
    part(0, "output_text.done", text="Hi"),
    done(0, ITEM),
]
CALLED = [
    added(0, FUNCTION),
    part(0, "function_call_arguments.delta", delta='{"query":'),
    part(0, "function_call_arguments.delta", delta='"q"}'),
    part(0, "function_call_arguments.done", arguments='{"query":"q"}'),
    done(0, FUNCTION),
]


def responses(*records: Mapping[str, Any]) -> bytes:
    """Numbered events after response.created; a number that a record has is kept."""
    return sse(*({"sequence_number": number} | dict(record) for number, record in enumerate((CREATED, *records))), named=True)
