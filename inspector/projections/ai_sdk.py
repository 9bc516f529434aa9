"""ModelMessage of the AI SDK: results in tool messages, nothing merged, since the SDK does that itself later.

A system prompt at the front goes into the `system` option (`instructions` from version 7 on), as its documentation says; a later one is in the list
where it did, and so does each that is in the list of a request body.
`blocks` of a result is a list of its one `output`. A result without a name takes the name of its call.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from inspector.conversation.model import Chunk, Kind, Message
from inspector.projections import assembling as a
from inspector.projections.base import AI_SDK, Prompt, with_as_sent
from inspector.text import jsontext


def convert(name: str, as_sent: bool, messages: Sequence[Message]) -> Prompt:
    draft = a.PromptDraft(name, AI_SDK, as_sent=as_sent)
    names: dict[str, str] = {}
    known_messages = list(a.of_known_roles(draft, messages))
    leading = 0 if as_sent else next((at for at, message in enumerate(known_messages) if message.role != "system"), len(known_messages))
    outside = [
        message for at, message in enumerate(known_messages) if message.role == "system" and (at < leading or a.place(message) == -1)
    ]
    blocks, chunks, empty = a.system_blocks(draft, outside)
    draft.system = "\n\n".join(chunk.text for chunk in chunks) if blocks else empty
    inside = [message for message in known_messages if not any(message is outer for outer in outside)]
    for unit in a.units(inside, as_sent, lambda unit, message: False):
        if unit.role == "system" and _system(draft, unit):
            continue
        a.block_messages(draft, [unit], {}, partial(_part, draft, names))
    return draft.prompt()


def _system(draft: a.PromptDraft, unit: a.Unit) -> bool:
    """A system message is one string. False where it has no words, so that it is encoded like any other."""
    texts = [("content", message, chunk) for message, chunk in unit.chunks() if chunk.kind in (Kind.TEXT, Kind.SYSTEM)]
    if not texts or any(not isinstance(chunk.payload.get("text"), str) for _, _, chunk in texts):
        return False
    for _, chunk in unit.chunks():
        if chunk.kind not in (Kind.TEXT, Kind.SYSTEM):
            draft.lose(chunk, a.unsent(chunk) or f"{a.kind_words(chunk)} has no place in a system prompt")
    value = draft.message_fields((chunk for _, _, chunk in texts), "system")
    draft.add({**value, "content": "\n".join(chunk.text for _, _, chunk in texts)}, texts)
    return True


def _part(draft: a.PromptDraft, names: dict[str, str], chunk: Chunk) -> a.EncodedBlock:
    payload = chunk.payload
    if chunk.kind in (Kind.TEXT, Kind.SYSTEM):
        return {"type": "text", "text": payload.get("text", "")}
    if chunk.kind is Kind.THINKING:
        return {"type": "reasoning", "text": payload.get("text", "")} | _signed(payload.get("signature"))
    if chunk.kind is Kind.REDACTED_THINKING:
        hidden = {"anthropic": {"redactedData": payload.get("data", "")}}
        return {"type": "reasoning", "text": "", "providerOptions": hidden}
    if chunk.kind is Kind.TOOL_CALL:
        names[chunk.call_id] = chunk.tool_name
        call = {"type": "tool-call", **a.named(chunk, toolCallId="toolCallId", toolName="toolName")}
        signed = {"providerOptions": {"google": {"thoughtSignature": payload["signature"]}}} if "signature" in payload else {}
        return {**call, "input": a.arguments(chunk, draft.as_sent), **signed}
    if chunk.kind is Kind.TOOL_RESULT:
        name = payload.get("toolName") or names.get(chunk.call_id, "")
        return {"type": "tool-result", **a.named(chunk, toolCallId="toolCallId"), "toolName": name, "output": _output(draft, chunk)}
    return _media(draft, chunk)


def _signed(signature: Any) -> dict[str, Any]:
    """Provider options as the SDK's provider packages read them: a whole Responses item is OpenAI's, all else Anthropic's."""
    if not isinstance(signature, str):
        return {}
    item = jsontext.object_of(signature)
    if "id" in item:
        return {"providerOptions": {"openai": {"itemId": item["id"]}}}
    return {"providerOptions": {"anthropic": {"signature": signature}}}


def _output(draft: a.PromptDraft, chunk: Chunk) -> Any:
    blocks = draft.blocks(chunk)
    if isinstance(blocks, list) and len(blocks) == 1:
        return blocks[0]
    if blocks is not None:
        return {"type": "content", "value": blocks}
    return {"type": "error-text" if chunk.is_error else "text", "value": chunk.payload.get("content", "")}


def _media(draft: a.PromptDraft, chunk: Chunk) -> a.EncodedBlock:
    url = a.address(chunk)
    if url is None and not {"image", "data"} & draft.own(chunk).keys():
        return f"{a.kind_words(chunk)} without an address"
    bytes_ = a.data_url(url)
    kind = a.media_type(chunk) or (bytes_[0] if bytes_ else "")
    typed = {"mediaType": kind} if kind else {}
    if chunk.kind is Kind.IMAGE:
        return {"type": "image", "image": url, **typed}
    name = a.file_name(chunk)
    return {"type": "file", "data": url, **typed, **({"filename": name} if name else {})}


PROJECTIONS = with_as_sent(
    AI_SDK,
    "AI SDK ModelMessage",
    "Results in tool messages, system prompts in the list; nothing is merged, the SDK does that itself later.",
    convert,
    "one message for each of the body",
    "Nothing is merged: one message for each of the body.",
)
