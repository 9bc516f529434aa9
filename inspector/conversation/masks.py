"""Masks: what telemetry writes in the place of content. What was there is unknown; a mask is no content.

Claude Code (OTEL_LOG_RAW_API_BODIES) writes `<REDACTED>`, OpenInference `__REDACTED__`, Codex `[REDACTED]`, LiteLLM the next two; logfire and Langfuse the patterns.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from inspector.conversation.model import Chunk, Kind

_WHOLE = frozenset({"<REDACTED>", "__REDACTED__", "[REDACTED]", "REDACTED_BY_LITELM", "redacted-by-litellm"})
_WHOLE_PATTERN = re.compile(r"\[Scrubbed due to '[^'\n]*'\]|@@@langfuseMedia:[^@\n]*@@@")
# A text of which the middle or the end is left out: the rest is content, and no signature fits it.
_PART = re.compile(
    r"\(litellm_truncated skipped \d+ chars|\.\.\.\[TRUNCATED: original length \d+\]\Z|\[TRUNCATED - Content exceeds \d+KB limit\]\s*\Z"
)


def mask(text: str) -> str:
    """The mask in the place of `text`, or of a part of it; "" where there is none."""
    if text in _WHOLE or _WHOLE_PATTERN.fullmatch(text):
        return text
    # Signatures are long, and looked at for every profile.
    part = _PART.search(text) if "TRUNCATED" in text or "litellm_truncated" in text else None
    return part.group() if part else ""


def masked_thinking(chunks: Iterable[Chunk]) -> list[tuple[Chunk, str]]:
    """Thinking with a mask in its words, its signature or its encrypted data, each with the first mask in it."""
    thinking = (chunk for chunk in chunks if chunk.kind in (Kind.THINKING, Kind.REDACTED_THINKING))
    return [(chunk, first_mask) for chunk in thinking if (first_mask := _any_mask(chunk.payload))]


def _any_mask(payload: Mapping[str, Any]) -> str:
    waiting: list[Any] = [payload]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            if value_mask := mask(value):
                return value_mask
        elif isinstance(value, Mapping):
            waiting += reversed(tuple(value.values()))
        elif isinstance(value, list):
            waiting += reversed(value)
    return ""
