"""Gemini contents: results of one batch are one content, nothing else is merged; the system instruction is outside the list.

A result without a name takes the name of its call. `blocks` of a result is a list of its one `response`.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from inspector.conversation.model import Chunk, Kind, Message
from inspector.projections import assembling as a
from inspector.projections.base import GEMINI, Prompt, with_as_sent

UNNAMED = "unnamed-"
"""Starts the ids that the reading of a body gives to calls and results without one."""

_ROLES = {"tool": "user", "assistant": "model"}


def _one_batch(unit: a.Unit, message: Message) -> bool:
    return unit.role == message.role == "tool"


def convert(name: str, as_sent: bool, messages: Sequence[Message], merges: Callable[[a.Unit, Message], bool] = _one_batch) -> Prompt:
    draft = a.PromptDraft(name, GEMINI, "contents", as_sent)
    outside, inside = a.split_system(draft, messages)
    blocks, _, empty = a.system_blocks(draft, outside)
    draft.system = {"parts": blocks} if blocks else empty
    names: dict[str, str] = {}
    a.block_messages(draft, a.units(inside, as_sent, merges), _ROLES, partial(_part, draft, names), "parts", texts=False)
    return draft.prompt()


def _part(draft: a.PromptDraft, names: dict[str, str], chunk: Chunk) -> a.EncodedBlock:
    payload = chunk.payload
    if chunk.kind in (Kind.TEXT, Kind.SYSTEM):
        return {"text": payload.get("text", "")} | _signed(chunk)
    if chunk.kind is Kind.THINKING:
        words = {} if "text" not in payload and draft.own(chunk) else {"text": payload.get("text", "")}
        return {**words, "thought": True} | _signed(chunk)
    if chunk.kind is Kind.REDACTED_THINKING:
        return "redacted thinking is of another provider and means nothing to Gemini"
    if chunk.kind is Kind.TOOL_CALL:
        names[chunk.call_id] = chunk.tool_name
        call = {**_id(chunk), **a.named(chunk, name="toolName"), "args": a.arguments(chunk, draft.as_sent)}
        return {"functionCall": call} | _signed(chunk)
    if chunk.kind is Kind.TOOL_RESULT:
        name = payload.get("toolName") or names.get(chunk.call_id, "")
        return {"functionResponse": {**_id(chunk), "name": name, "response": _response(draft, chunk)}}
    return _media(draft, chunk)


def _signed(chunk: Chunk) -> dict[str, Any]:
    return {"thoughtSignature": chunk.payload["signature"]} if "signature" in chunk.payload else {}


def _id(chunk: Chunk) -> dict[str, Any]:
    """Gemini may leave ids out; the one that the reading of such a body gave is not sent."""
    return {"id": chunk.payload["toolCallId"]} if chunk.payload.get("toolCallId") and not chunk.call_id.startswith(UNNAMED) else {}


def _response(draft: a.PromptDraft, chunk: Chunk) -> Any:
    """The field names are the ones that Google's reference says Gemini takes for output and error details."""
    blocks = draft.blocks(chunk)
    if isinstance(blocks, list) and len(blocks) == 1:
        return blocks[0]
    if blocks is not None:
        return blocks
    return {"error" if chunk.is_error else "output": chunk.payload.get("content", "")}


def _media(draft: a.PromptDraft, chunk: Chunk) -> a.EncodedBlock:
    url = a.address(chunk)
    if bytes_ := a.data_url(url):
        return {"inlineData": {"mimeType": bytes_[0], "data": bytes_[1]}}
    if url is not None:
        kind = a.media_type(chunk)
        return {"fileData": {**({"mimeType": kind} if kind else {}), "fileUri": url}}
    if {"inlineData", "fileData"} & draft.own(chunk).keys():
        return {}
    return f"{a.kind_words(chunk)} without an address"


PROJECTIONS = with_as_sent(
    GEMINI,
    "Gemini contents",
    "Results of a batch are one content, nothing else is merged; the system instruction is outside the list.",
    convert,
    "nothing merged: indexes are those of the body",
    "Nothing is merged: one content for each of the body.",
)
