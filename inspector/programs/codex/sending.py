"""What Codex changes in an item before it sends it: images, the content of reasoning and searches (0.169.0, run)."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from inspector.conversation.model import Chunk, Kind
from inspector.programs.codex.items import SEARCHES

_REMOTE = "image content omitted because remote image URLs are not supported"
_BROKEN = "image content omitted because it could not be processed"
_LOW = "image content omitted because detail 'low' is not supported; use 'high', 'original', or 'auto'"
_STARTS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"RIFF")
"""How the files begin that it decodes. One that is cut off later it cannot process either, and is shown as an image here."""


def words_for(url: object, detail: object) -> str:
    """What is sent in place of an image; "" where that is sent."""
    if not isinstance(url, str):
        return ""
    start = url[:8].lower()
    if start.startswith(("http://", "https://")):
        return _REMOTE
    if not start.startswith("data:"):
        return ""
    if detail == "low":
        return _LOW
    head, _, data = url.partition(",")
    try:
        is_image = head.lower().endswith(";base64") and base64.b64decode(data[:16], validate=True).startswith(_STARTS)
    except (binascii.Error, ValueError):
        is_image = False
    return "" if is_image else _BROKEN


def as_sent(chunk: Chunk) -> Chunk:
    payload = chunk.payload
    extra = payload.get("extra")
    if chunk.kind is Kind.IMAGE:
        known = extra if isinstance(extra, Mapping) else {}
        if words := words_for(payload.get("url"), known.get("detail")):
            kept = {name: value for name, value in payload.items() if name != "url"}
            more = {"extra": {"message": known["message"]}} if "message" in known else {}
            return replace(chunk, kind=Kind.TEXT, payload={**kept, **more, "type": "text", "text": words})
    if chunk.kind is Kind.THINKING and isinstance(extra, Mapping) and "content" in extra and not _has_reasoning_text(extra["content"]):
        return replace(chunk, payload={**payload, "extra": {name: value for name, value in extra.items() if name != "content"}})
    block = payload.get("block")
    if isinstance(block, Mapping) and isinstance(extra, Mapping) and _is_other_search(block):
        other = {**block, "action": {"type": "other"}}
        return replace(chunk, payload={**payload, "block": other, "extra": {**extra, "message": other}})
    if chunk.kind is Kind.TOOL_RESULT and isinstance(blocks := payload.get("blocks"), list):
        sent_blocks = [_block(block) for block in blocks]
        if sent_blocks != blocks:
            return replace(chunk, payload={**payload, "blocks": sent_blocks})
    return chunk


def _has_reasoning_text(content: Any) -> bool:
    """Whether any of the content of reasoning is sent: all of it where one part is of this type, else nothing."""
    return isinstance(content, list) and any(isinstance(part, dict) and part.get("type") == "reasoning_text" for part in content)


def _is_other_search(item: Mapping[str, Any]) -> bool:
    """A search with an action of a type that Codex does not know, which it sends as `other`."""
    action = item.get("action")
    return item.get("type") == "web_search_call" and isinstance(action, Mapping) and str(action.get("type")) not in SEARCHES


def _block(block: Any) -> Any:
    if not isinstance(block, dict) or block.get("type") != "input_image":
        return block
    words = words_for(block.get("image_url"), block.get("detail"))
    return {"type": "input_text", "text": words} if words else block
