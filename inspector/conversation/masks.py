"""Masks: what telemetry writes in the place of content. What was there is unknown; a mask is no content.

Claude Code (OTEL_LOG_RAW_API_BODIES) writes `<REDACTED>`, OpenInference `__REDACTED__`, Codex `[REDACTED]`, LiteLLM the next two; logfire and Langfuse the patterns.
"""

import re

_WHOLE = frozenset({"<REDACTED>", "__REDACTED__", "[REDACTED]", "REDACTED_BY_LITELM", "redacted-by-litellm"})
_WHOLE_PATTERN = re.compile(r"\[Scrubbed due to '[^'\n]*'\]|@@@langfuseMedia:[^@\n]*@@@")
# A text of which the middle or the end is left out: the rest is content, and no signature fits it.
_PART = re.compile(
    r"\(litellm_truncated skipped \d+ chars|\.\.\.\[TRUNCATED: original length \d+\]\Z|\[TRUNCATED - Content exceeds \d+KB limit\]\s*\Z"
)


def mask(text: str) -> str:
    """The mask that stands in the place of `text`, or of a part of it; "" where there is none."""
    if text in _WHOLE or _WHOLE_PATTERN.fullmatch(text):
        return text
    part = _PART.search(text)
    return part.group() if part else ""
