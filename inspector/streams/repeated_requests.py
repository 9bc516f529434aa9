"""Captures in which a client asks the same again: exchanges of one file, folder or import whose request bodies are equal.

A client asks again where it could not use the answer: seed 002 is a client that did so without end, since its stream was ended after a tool call.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from inspector.text import js_json

_PROMPTS = ("messages", "input", "contents", "prompt")
"""Members that hold what is asked; a body without one of them (a listing, a count of tokens) is no request for an answer."""


def request_digest(request: Mapping[str, Any] | None) -> str:
    """Equal for equal bodies, whatever the order of their members; "" where none was captured that asks for an answer."""
    if request is None or not any(request.get(name) for name in _PROMPTS):
        return ""
    try:
        return hashlib.sha256(js_json.canonical(dict(request)).encode("utf-8", "surrogatepass")).hexdigest()
    except ValueError:
        return ""


def repeated(digests: Sequence[str]) -> Iterator[tuple[int, ...]]:
    """Groups of places with an equal digest, in order, of two or more."""
    places: dict[str, list[int]] = {}
    for place, digest in enumerate(digests):
        if digest:
            places.setdefault(digest, []).append(place)
    return (tuple(group) for group in places.values() if len(group) > 1)
