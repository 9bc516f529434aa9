"""One JSON event a line, taken out of its SSE lines, as the test files of client libraries keep them (Vercel AI SDK: `*.chunks.txt`)."""

from collections.abc import Iterator
from typing import Any

from inspector.streams.captures.base import NEVER_KEPT, Opened, from_backend, json_object
from inspector.streams.model import Exchange, Side

LACKS = NEVER_KEPT | {"framing", "terminal-record"}

_TYPES = ("message_start", "content_block_", "message_delta", "response.", "message-start", "content-", "interaction.", "event_type")
_MEMBERS = frozenset(("choices", "candidates", "messageStart", "contentBlockDelta", "contentBlockStart", "interaction"))
"""Members of events that are only ever sent as SSE (or in a binary framing): a line of them was taken out of it. Ollama's lines are none of these."""


def sniff(head: bytes, name: str) -> bool:
    if name.lower().endswith(".chunks.txt"):
        return True
    value: Any = json_object(head.lstrip().partition(b"\n")[0])
    if value is None:
        return False
    kind = value.get("type")
    return (isinstance(kind, str) and kind.startswith(_TYPES)) or bool(_MEMBERS & value.keys())


def exchanges(opened: Opened, name: str) -> Iterator[Exchange]:
    yield Exchange(
        native_id=name or "stream",
        happenings=from_backend(opened),
        sides=(Side.BACKEND,),
        title=name,
        lacks=LACKS,
    )
