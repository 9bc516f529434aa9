"""The keys of Dispatch's conversation store: which record is what of which conversation."""

import re

from inspector.programs.formats import Table

TABLE = Table("kv", "key", "value", (("namespace", "conversation-store"),))
INDEX = "conv-index"
COPIED = ("cwd", "reasoning-effort", "model", "computer")
"""Facts that a fork takes along, and nothing else of its original but rows, counter and meta."""

# Greedy, so that an id which itself contains ":chunk:" keeps all but its last such part.
CHUNK_KEY = re.compile(r"conv:(.*):chunk:([^:]*)", re.DOTALL)
NUMBERED_KEY = re.compile(r"conv:(.*):(metrics|msg):(\d*)", re.DOTALL)
FACT_KEY = re.compile(
    r"conv:(.*):(seq|meta|model|cwd|computer|reasoning-effort|compact-percent|metrics-seq|image-transcriptions)", re.DOTALL
)
# Of no conversation: workspaces, and what is set for all.
OTHER_KEY = re.compile(r"workspace:.*|vision-settings", re.DOTALL)
_NUMBER = re.compile(r"\s*([+-]?[0-9]+)")


def parse_int(text: str) -> int | None:
    """JavaScript's parseInt base 10: leading digits count; None where it gives NaN."""
    match = _NUMBER.match(text)
    return int(match.group(1)) if match and len(match.group(1)) < 4000 else None


def chunk_key(native_id: str, seq: int) -> str:
    return f"conv:{native_id}:chunk:{seq:010d}"


def fact_key(native_id: str, name: str) -> str:
    return f"conv:{native_id}:{name}"


def is_known(key: str) -> bool:
    return key == INDEX or any(pattern.fullmatch(key) for pattern in (CHUNK_KEY, NUMBERED_KEY, FACT_KEY, OTHER_KEY))


def encoded_in_keys(native_id: str) -> str:
    """An id out of a JSON value as keys are decoded: a lone surrogate is an escape there, and three bytes that are no UTF-8 in a key."""
    return native_id.encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape")
