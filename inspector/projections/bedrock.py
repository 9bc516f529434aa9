"""Bedrock Converse: neighbors of one role are one message, results are in user messages, the system prompt outside the list.

Broken argument text is sent as that text, which a rule judges. Images and documents go by bytes or an `s3://` address only.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from inspector.conversation.model import Chunk, Kind, Message
from inspector.projections import assembling as a
from inspector.projections.anthropic import ROLES, same_speaker
from inspector.projections.base import BEDROCK, Prompt, with_as_sent


def convert(name: str, as_sent: bool, messages: Sequence[Message]) -> Prompt:
    draft = a.PromptDraft(name, BEDROCK, as_sent=as_sent)
    outside, inside = a.split_system(draft, messages)
    blocks, _, empty = a.system_blocks(draft, outside)
    draft.system = blocks or empty
    a.block_messages(draft, a.units(inside, as_sent, same_speaker), ROLES, partial(_block, draft), texts=False)
    return draft.prompt()


def _block(draft: a.PromptDraft, chunk: Chunk) -> a.EncodedBlock:
    payload = chunk.payload
    if chunk.kind in (Kind.TEXT, Kind.SYSTEM):
        return {"text": payload.get("text", "")}
    if chunk.kind is Kind.THINKING:
        reasoning = {"text": payload.get("text", "")} | {k: payload[k] for k in ("signature",) if k in payload}
        return {"reasoningContent": {"reasoningText": reasoning}}
    if chunk.kind is Kind.REDACTED_THINKING:
        return {"reasoningContent": {"redactedContent": payload.get("data", "")}}
    if chunk.kind is Kind.TOOL_CALL:
        return {"toolUse": {**a.named(chunk, toolUseId="toolCallId", name="toolName"), "input": a.arguments(chunk, draft.as_sent)}}
    if chunk.kind is Kind.TOOL_RESULT:
        blocks = draft.blocks(chunk)
        content = [{"text": payload.get("content", "")}] if blocks is None else blocks
        failed = {"status": "error"} if chunk.is_error else {}
        return {"toolResult": {**a.named(chunk, toolUseId="toolCallId"), "content": content, **failed}}
    return _media(draft, chunk)


def _media(draft: a.PromptDraft, chunk: Chunk) -> a.EncodedBlock:
    field = "image" if chunk.kind is Kind.IMAGE else "document"
    url = a.address(chunk)
    source: dict[str, Any]
    kind = a.media_type(chunk)
    if bytes_ := a.data_url(url):
        kind, source = bytes_[0] or kind, {"bytes": bytes_[1]}
    elif url is not None and url.startswith("s3://"):
        source = {"s3Location": {"uri": url}}
    elif field in draft.own(chunk):
        return {field: {}}
    else:
        return f"{a.kind_words(chunk)} by address, which Bedrock does not take" if url else f"{a.kind_words(chunk)} without an address"
    named = {"name": a.file_name(chunk) or "document"} if field == "document" else {}
    return {field: {"format": kind.rpartition("/")[2], **named, "source": source}}


PROJECTIONS = with_as_sent(
    BEDROCK,
    "Bedrock Converse",
    "Neighbors of one role are one message, results of a batch one user message; the system prompt is outside the list.",
    convert,
    "nothing merged: indexes are those of the body",
    "Nothing is merged: one message for each of the body.",
)
