"""Bodies in a short notation, and what a profile says of them. The letters are those of the published table of shapes."""

import re
from typing import Any

from inspector.profiles.base import Profile, Request, Violation

_MESSAGE = re.compile(r'([ua])(?:\[([^\]]*)\]|(""))?')
_BLOCKS: dict[str, dict[str, Any]] = {
    "T": {"type": "text", "text": "words"},
    "E": {"type": "text", "text": ""},
    "W": {"type": "text", "text": "  "},
    "K": {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
    "X": {"type": "redacted_thinking", "data": "eA=="},
}


def anthropic(shape: str) -> list[dict[str, Any]]:
    """`u`, `a` a message of words; `a[]`, `a""` without content; in brackets U call, R result (a number says which), T text, E empty
    text, W white space, K signed thinking, X redacted thinking."""
    found = []
    for role, blocks, empty in _MESSAGE.findall(shape):
        bracketed = f"{role}[{blocks}]" in shape and (blocks or f"{role}[]" in shape)
        content: Any = [_block(each) for each in blocks.split()] if bracketed and not empty else "" if empty else "words"
        found.append({"role": {"u": "user", "a": "assistant"}[role], "content": content})
    return found


def _block(letter: str) -> dict[str, Any]:
    kind, number = letter[0], letter[1:] or "1"
    if kind == "U":
        return {"type": "tool_use", "id": f"c{number}", "name": "ls", "input": {}}
    if kind == "R":
        return {"type": "tool_result", "tool_use_id": f"c{number}", "content": "done"}
    return dict(_BLOCKS[kind])


def said(profile: Profile, messages: Any, **known: Any) -> list[Violation]:
    return list(profile.check(Request(messages, **known)))


def found(profile: Profile, messages: Any, **known: Any) -> list[tuple[str, str]]:
    """Rule and path of each violation, in the order in which they are told."""
    return [(each.id, each.path) for each in said(profile, messages, **known)]
