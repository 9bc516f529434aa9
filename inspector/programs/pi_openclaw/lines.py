"""A session file of pi or OpenClaw as its lines: each with what can be read of it and what is wrong with it.

Facts were read off pi 0.73.1, 0.87.1 and OpenClaw 2026.7.1, which skip every line that JSON.parse refuses without an error.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from inspector.text import json_lines
from inspector.text.json_lines import RecordStart, SessionLine

NO_ID, UNKNOWN_TYPE, DUPLICATE_ID, SECOND_HEADER = "no-id", "unknown-type", "duplicate-id", "second-header"
HEADER = "session"
_OF_TREE = ("message", "compaction", "branch_summary", "custom", "custom_message", "context_edit", "leaf", "reset")
_OF_SETTINGS = ("thinking_level_change", "model_change", "label", "session_info", "usage")
TYPES = frozenset((HEADER, *_OF_TREE, *_OF_SETTINGS))
_START = RecordStart(
    re.compile(r'\{\s*"type"\s*:\s*"(?:' + "|".join(sorted(TYPES)) + r')"'),
    # A record is of a known type and has a place or a time.
    lambda value: "parentId" in value or isinstance(value.get("timestamp"), str),
)
_FIRST_WITH_IDS = 2
_NUMBER = re.compile(r"\s*(?:[+-]?\d{1,300}(?:\.\d{0,300})?\s*)?", re.ASCII)


@dataclass(slots=True)
class Place:
    """Where a scan has come to, and what a line needs to know of those before it."""

    offset: int = 0
    index: int = 0
    first: bool = True
    """No record came yet."""
    has_ids: bool = True
    seen_ids: set[str] = field(default_factory=set)

    def copy(self) -> "Place":
        return replace(self, seen_ids=set(self.seen_ids))


def scan(data: bytes, place: Place | None = None) -> Iterator[SessionLine]:
    """The lines in order, one at a time. Joined by LF (and one more where the last is `ended`) their `raw` are the file.

    A missing id counts as damage from version 2 on; a file without a header is of version 1 where its first record has no id.
    `place` is where to begin, after whole lines; it is moved to the end.
    """
    place = place or Place()
    for line in json_lines.lines(data, _START, place.offset, place.index):
        line_states = list(line.states)
        for part in line.parts:
            if part.value is None:
                continue
            if place.first:
                place.first = False
                place.has_ids = _has_ids(part.value)
                if part.value.get("type") == HEADER:
                    continue
            line_states += _states(part.value, place.seen_ids, place.has_ids)
        place.offset, place.index = line.offset + len(line.raw) + line.ended, line.index + 1
        yield replace(line, states=tuple(dict.fromkeys(line_states))) if len(line_states) > len(line.states) else line


def header_of(data: bytes, is_whole: bool) -> Mapping[str, Any] | None:
    """The first record of a file where it is a header, {} where it is none; None where `data`, the start of the file, does not say it yet."""
    for line in scan(data):
        if not line.ended and not is_whole:
            return None
        for part in line.parts:
            if part.value is not None:
                return part.value if part.value.get("type") == HEADER else {}
    return {} if is_whole else None


def _has_ids(first: dict[str, Any]) -> bool:
    if first.get("type") != HEADER:
        return isinstance(first.get("id"), str)
    return keeps_ids(first)


def version_of(header: Mapping[str, Any]) -> float:
    """As pi compares it: 1 for a header that names no version, a text by the number that JavaScript makes of it, and NaN for what is none."""
    value = header.get("version")
    if value is None:
        return 1
    if isinstance(value, str):
        return float(value.strip() or 0) if _NUMBER.fullmatch(value) else math.nan
    return value if isinstance(value, int | float) else math.nan


def keeps_ids(header: Mapping[str, Any]) -> bool:
    """Whether the ids of the entries count. Pi gives new ones below version 2; `"0.2.0"` is below nothing, so that it leaves such a file as it is."""
    return not version_of(header) < _FIRST_WITH_IDS


def _states(value: dict[str, Any], seen_ids: set[str], has_ids: bool) -> Iterator[str]:
    kind, id_ = value.get("type"), value.get("id")
    if kind == HEADER:
        yield SECOND_HEADER
        return
    if not isinstance(kind, str) or kind not in TYPES:
        yield UNKNOWN_TYPE
    if not has_ids:
        return
    if not isinstance(id_, str) or not id_:
        yield NO_ID
    elif id_ in seen_ids:
        yield DUPLICATE_ID
    else:
        seen_ids.add(id_)
