"""Anthropic Messages: neighbors of one role are one message, as the clients and the API make them, and the system prompt is outside.

The content is a list of blocks, a single text too; as-sent puts a plain string back where the payload says so (see `assembling`).
Thinking without a signature keeps its block, since a rule judges it. The argument of a call that is broken text is that text.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from inspector.conversation.model import Chunk, Kind, Message
from inspector.projections import assembling as a
from inspector.projections.base import ANTHROPIC, Prompt, with_as_sent

ROLES = {"tool": "user"}


def convert(name: str, as_sent: bool, messages: Sequence[Message]) -> Prompt:
    draft = a.PromptDraft(name, ANTHROPIC, as_sent=as_sent)
    outside, inside = a.split_system(draft, messages)
    blocks, chunks, empty = a.system_blocks(draft, outside)
    typed = [block if a.is_verbatim(draft, chunk) else {"type": "text", **block} for block, chunk in zip(blocks, chunks, strict=True)]
    plain = as_sent and len(chunks) == 1 and draft.own(chunks[0]).get("string") is True
    draft.system = chunks[0].text if plain else typed or empty
    a.block_messages(draft, a.units(inside, as_sent, same_speaker), ROLES, partial(_block, draft))
    return draft.prompt()


def same_speaker(unit: a.Unit, message: Message) -> bool:
    return ROLES.get(unit.role, unit.role) == ROLES.get(message.role, message.role)


def _block(draft: a.PromptDraft, chunk: Chunk) -> a.EncodedBlock:
    payload = chunk.payload
    if chunk.kind in (Kind.TEXT, Kind.SYSTEM):
        return {"type": "text", "text": payload.get("text", "")}
    if chunk.kind is Kind.THINKING:
        return {"type": "thinking", "thinking": payload.get("text", "")} | {k: payload[k] for k in ("signature",) if k in payload}
    if chunk.kind is Kind.REDACTED_THINKING:
        return {"type": "redacted_thinking", "data": payload.get("data", "")}
    if chunk.kind is Kind.TOOL_CALL:
        return {"type": "tool_use", **a.named(chunk, id="toolCallId", name="toolName"), "input": a.arguments(chunk, draft.as_sent)}
    if chunk.kind is Kind.TOOL_RESULT:
        blocks = draft.blocks(chunk)
        content = payload.get("content", "") if blocks is None else blocks
        failed = {"is_error": True} if chunk.is_error else {}
        return {"type": "tool_result", **a.named(chunk, tool_use_id="toolCallId"), "content": content, **failed}
    return _source(draft, chunk)


def _source(draft: a.PromptDraft, chunk: Chunk) -> a.EncodedBlock:
    url = a.address(chunk)
    source: dict[str, Any] = {}
    if bytes_ := a.data_url(url):
        source = {"type": "base64", "media_type": bytes_[0], "data": bytes_[1]}
    elif url is not None:
        source = {"type": "url", "url": url}
    elif "source" not in draft.own(chunk):
        return f"{a.kind_words(chunk)} without an address"
    if chunk.kind is Kind.IMAGE:
        return {"type": "image", "source": source}
    title = a.file_name(chunk)
    return {"type": "document", "source": source, **({"title": title} if title else {})}


PROJECTIONS = with_as_sent(
    ANTHROPIC,
    "Anthropic Messages",
    "Neighbors of one role are one message, results of a batch one user message; the system prompt is outside the list.",
    convert,
    "nothing merged: indexes are those of the body",
    "Nothing is merged: one message for each of the body.",
)
