"""An answer encoded as a stream of one protocol: one record for each item, and nothing that a client would stumble over."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from inspector.projections.base import ANTHROPIC, OPENAI_CHAT, OPENAI_RESPONSES
from inspector.streams.assembling import arguments
from inspector.streams.catalogue import FAILED, FILTER, LENGTH, PAUSE, STOP, TOOL_CALLS
from inspector.streams.violations import OLLAMA_CHAT, OLLAMA_GENERATE
from inspector.text import jsontext

SOME_TIME = 1_577_836_800
"""Seconds: the beginning of 2020. A synthetic record has no time of its own, and the same stream is to be encoded the same."""


@dataclass(frozen=True, slots=True)
class Item:
    """One item of an answer: `kind` is text, thinking, refusal, signature, call, usage, finish, terminal or error; `text` the words, arguments or message.

    `event` is the event that contains it, None where none did; `changed_by` the strategy that added or changed it.
    """

    kind: str
    text: str = ""
    name: str = ""
    call_id: str = ""
    event: int | None = None
    at: float | None = None
    changed_by: str = ""


@dataclass(frozen=True, slots=True)
class EncodableAnswer:
    """An answer to be encoded. `finish` is a common word or one of the protocol; without `terminal` it ends with its error. `usage`: `input` and `output` tokens."""

    items: Sequence[Item]
    finish: str
    terminal: bool
    error: str = ""
    id: str = ""
    model: str = ""
    usage: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


JsonRecord = Mapping[str, Any]
WORDS: Mapping[str, Mapping[str, str]] = {
    OPENAI_CHAT: {STOP: "stop", LENGTH: "length", TOOL_CALLS: "tool_calls", FILTER: "content_filter", PAUSE: "stop", FAILED: "stop"},
    ANTHROPIC: {STOP: "end_turn", LENGTH: "max_tokens", TOOL_CALLS: "tool_use", FILTER: "refusal", PAUSE: "pause_turn", FAILED: "end_turn"},
    OLLAMA_CHAT: {STOP: "stop", LENGTH: "length", TOOL_CALLS: "stop", FILTER: "stop", PAUSE: "stop", FAILED: "stop"},
    OLLAMA_GENERATE: {STOP: "stop", LENGTH: "length", TOOL_CALLS: "stop", FILTER: "stop", PAUSE: "stop", FAILED: "stop"},
}
"""Common word for the end -> the protocol's own."""


def encoded(protocol: str, answer: EncodableAnswer) -> Iterator[bytes]:
    """The records of the stream, each with its framing."""
    return _ENCODERS[protocol](answer)


def _sse(record: JsonRecord, name: str = "") -> bytes:
    return (f"event: {name}\n" if name else "").encode() + b"data: " + jsontext.encode(jsontext.compact(dict(record))) + b"\n\n"


def _chat(answer: EncodableAnswer) -> Iterator[bytes]:
    def chunk(delta: JsonRecord, finish: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        head = {"id": answer.id or "chatcmpl-0", "object": "chat.completion.chunk", "created": SOME_TIME, "model": answer.model}
        return _sse(head | {"choices": [choice]} | more)

    yield chunk({"role": "assistant"})
    calls = 0
    for item in answer.items:
        match item.kind:
            case "text":
                yield chunk({"content": item.text})
            case "thinking":
                yield chunk({"reasoning_content": item.text})
            case "refusal":
                yield chunk({"refusal": item.text})
            case "signature":
                yield chunk({"reasoning_details": [{"type": "reasoning.text", "signature": item.text}]})
            case "call":
                function = {"name": item.name, "arguments": item.text or "{}"}
                yield chunk({"tool_calls": [{"index": calls, "id": item.call_id, "type": "function", "function": function}]})
                calls += 1
    if answer.error:
        yield _sse({"error": {"message": answer.error}})
    if not answer.terminal:
        return
    yield chunk({}, WORDS[OPENAI_CHAT].get(answer.finish, answer.finish))
    if answer.usage:
        counts = {"prompt_tokens": answer.usage.get("input", 0), "completion_tokens": answer.usage.get("output", 0)}
        yield chunk({}, choices=[], usage=counts | {"total_tokens": sum(counts.values())})
    yield b"data: [DONE]\n\n"


def _anthropic(answer: EncodableAnswer) -> Iterator[bytes]:
    def event(kind: str, **more: Any) -> bytes:
        return _sse({"type": kind} | more, kind)

    head = {"id": answer.id or "msg_0", "type": "message", "role": "assistant", "model": answer.model, "content": []}
    counts = {"input_tokens": answer.usage.get("input", 0), "output_tokens": 0}
    yield event("message_start", message=head | {"stop_reason": None, "stop_sequence": None, "usage": counts})
    index, opened = -1, ""
    for item in answer.items:
        # A refusal is text here, with the reason for the end next to it.
        kind = {"refusal": "text", "signature": "thinking", "call": "tool_use"}.get(item.kind, item.kind)
        if kind != opened or item.kind == "call":
            if opened:
                yield event("content_block_stop", index=index)
            index, opened = index + 1, kind
            blocks: dict[str, dict[str, Any]] = {
                "text": {"text": ""},
                "thinking": {"thinking": "", "signature": ""},
                "tool_use": {"id": item.call_id, "name": item.name, "input": {}},
            }
            yield event("content_block_start", index=index, content_block={"type": kind} | blocks[kind])
        word, member = {
            "signature": ("signature_delta", "signature"),
            "thinking": ("thinking_delta", "thinking"),
            "call": ("input_json_delta", "partial_json"),
        }.get(item.kind, ("text_delta", "text"))
        yield event("content_block_delta", index=index, delta={"type": word, member: item.text})
        if item.kind in ("signature", "call"):
            yield event("content_block_stop", index=index)
            opened = ""
    if opened:
        yield event("content_block_stop", index=index)
    if answer.error:
        yield event("error", error={"type": "api_error", "message": answer.error})
    if not answer.terminal:
        return
    reason = {"stop_reason": WORDS[ANTHROPIC].get(answer.finish, answer.finish), "stop_sequence": None}
    yield event("message_delta", delta=reason, usage={"output_tokens": answer.usage.get("output", 0)})
    yield event("message_stop")


def _ollama(answer: EncodableAnswer, generate: bool = False) -> Iterator[bytes]:
    def line(done: bool = False, text: str = "", **more: Any) -> bytes:
        members = {name: more.pop(name) for name in ("thinking", "tool_calls") if name in more}
        body = {"response": text} | members if generate else {"message": {"role": "assistant", "content": text} | members}
        head = {"model": answer.model, "created_at": "2020-01-01T00:00:00Z"}
        return jsontext.encode(jsontext.compact(head | body | {"done": done} | more)) + b"\n"

    for item in answer.items:
        match item.kind:
            case "text" | "refusal":
                yield line(text=item.text)
            case "thinking":
                yield line(thinking=item.text)
            case "call":
                function = {"name": item.name, "arguments": dict(arguments(item.text).input or {})}
                yield line(tool_calls=[{"id": item.call_id, "function": function}])
    if answer.error:
        yield jsontext.encode(jsontext.compact({"error": answer.error})) + b"\n"
    if answer.terminal:
        counts: dict[str, Any] = (
            {"prompt_eval_count": answer.usage.get("input", 0), "eval_count": answer.usage.get("output", 0)} if answer.usage else {}
        )
        yield line(True, done_reason=WORDS[OLLAMA_CHAT].get(answer.finish, answer.finish), **counts)


def _generate(answer: EncodableAnswer) -> Iterator[bytes]:
    return _ollama(answer, generate=True)


class _Responses:
    """Numbers the events, and keeps the items for the final response."""

    def __init__(self, answer: EncodableAnswer) -> None:
        self.answer = answer
        self.number = 0
        self.output: list[JsonRecord] = []

    def event(self, kind: str, **more: Any) -> bytes:
        self.number += 1
        return _sse({"type": kind, "sequence_number": self.number - 1} | more, kind)

    def records(self) -> Iterator[bytes]:
        head = {"id": self.answer.id or "resp_0", "object": "response", "created_at": SOME_TIME, "model": self.answer.model}
        yield self.event("response.created", response=head | {"status": "in_progress", "output": []})
        items, at = list(self.answer.items), 0
        while at < len(items):
            kind, end = items[at].kind, at + 1
            sort = "thinking" if kind == "signature" else kind
            while (
                kind != "call" and end < len(items) and (items[end].kind == sort or (sort == "thinking" and items[end].kind == "signature"))
            ):
                end += 1
            yield from self.item(sort, items[at:end])
            at = end
        if self.answer.error:
            yield self.event("error", code="server_error", message=self.answer.error, param=None)
        if not self.answer.terminal:
            return
        reason = {LENGTH: "max_output_tokens", FILTER: "content_filter"}.get(self.answer.finish, "")
        status = "incomplete" if reason else "completed"
        usage = {f"{name}_tokens": count for name, count in self.answer.usage.items()}
        more = {
            "status": status,
            "output": self.output,
            "incomplete_details": {"reason": reason} if reason else None,
            "usage": usage or None,
        }
        yield self.event(f"response.{status}", response=head | more)

    def item(self, kind: str, items: Sequence[Item]) -> Iterator[bytes]:
        index, text = len(self.output), "".join(item.text for item in items if item.kind != "signature")
        where: dict[str, Any] = {"output_index": index, "item_id": f"item_{index}"}
        base, added, done = self.shape(kind, items, text, where["item_id"])
        yield self.event("response.output_item.added", output_index=index, item=added | {"status": "in_progress"})
        if kind != "call":
            where |= {"summary_index": 0} if kind == "thinking" else {"content_index": 0}
        for item in items:
            if item.kind != "signature":
                yield self.event(f"{base}.delta", **where, delta=item.text)
        repeated = {"call": "arguments", "refusal": "refusal"}.get(kind, "text")
        if text or kind == "call":
            yield self.event(f"{base}.done", **where, **{repeated: text})
        finished = done | {"status": "completed"}
        yield self.event("response.output_item.done", output_index=index, item=finished)
        self.output.append(finished)

    def shape(self, kind: str, items: Sequence[Item], text: str, ident: str) -> tuple[str, dict[str, Any], dict[str, Any]]:
        """Base of its events, the item as added, the item as done."""
        if kind == "call":
            head = {"type": "function_call", "id": ident, "call_id": items[0].call_id, "name": items[0].name}
            return "response.function_call_arguments", head | {"arguments": ""}, head | {"arguments": text}
        if kind == "thinking":
            signature = next((item.text for item in items if item.kind == "signature"), "")
            head = {"type": "reasoning", "id": ident} | ({"encrypted_content": signature} if signature else {})
            summary = [{"type": "summary_text", "text": text}] if text else []
            return "response.reasoning_summary_text", head | {"summary": []}, head | {"summary": summary}
        part = {"type": "refusal", "refusal": text} if kind == "refusal" else {"type": "output_text", "text": text, "annotations": []}
        base = "response.refusal" if kind == "refusal" else "response.output_text"
        head = {"type": "message", "id": ident, "role": "assistant"}
        return base, head | {"content": []}, head | {"content": [part]}


def _responses(answer: EncodableAnswer) -> Iterator[bytes]:
    return _Responses(answer).records()


_ENCODERS: Mapping[str, Callable[[EncodableAnswer], Iterator[bytes]]] = {
    OPENAI_CHAT: _chat,
    ANTHROPIC: _anthropic,
    OLLAMA_CHAT: _ollama,
    OLLAMA_GENERATE: _generate,
    OPENAI_RESPONSES: _responses,
}
