"""What Anthropic refuses in single blocks of a request: texts, ids, inputs, signatures, markers, images, broken characters."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from inspector.conversation.masks import mask
from inspector.profiles.anthropic_models import most_images
from inspector.profiles.anthropic_rules import violation
from inspector.profiles.anthropic_turns import SpeakerTurn, TurnBlock
from inspector.profiles.base import Request, Violation
from inspector.profiles.bodies import entries, entry, word
from inspector.text.images import LARGEST, problem

MOST_MARKED = 4
LONGEST_NAME = 200
_OF_IMAGES = {
    "empty": "AN-20e",
    "media-type": "AN-20y",
    "bytes": "AN-20b",
    "unreadable": "AN-20p",
    "mismatch": "AN-20t",
    "pixels": "AN-20",
    "pixels-of-many": "AN-20m",
}
_WORD = re.compile(r"[a-zA-Z0-9_-]+")
_HALF = re.compile("[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]")


def in_blocks(request: Request, turns: Iterable[SpeakerTurn]) -> Iterator[Violation]:
    """One pass; a limit on a count is reported at the first block that is over it, a repeated id at the repetition."""
    marked = sum(block.get("cache_control") is not None for block in entries(request.system))
    total = marked
    fifth = "system" if marked > MOST_MARKED else ""
    images = documents = 0
    over = ""
    pictures: list[tuple[str, TurnBlock, dict[str, Any]]] = []
    most = most_images(request.model)
    served: set[str] = set()
    if _broken(request.system):
        yield violation("AN-21", "system")
    for block, calls, leads_to_call in _in_turns(turns):
        kind, value = block.kind, block.value
        if kind == "text":
            yield from _text(block, value, leads_to_call)
        elif kind == "tool_use":
            yield from _call(block, value, calls)
        elif kind == "tool_result":
            if not _WORD.fullmatch(block.call_id):
                yield violation("AN-7", f"{block.path}.tool_result.tool_use_id", n=block.n, m=block.m)
        elif kind == "thinking":
            yield from _thinking(block, value)
        elif kind == "redacted_thinking":
            if mask(word(value.get("data"))):
                yield violation("AN-17r", block.path, n=block.n, m=block.m)
        elif kind in ("server_tool_use", "mcp_tool_use"):
            served.add(word(value.get("id")))
        elif kind.endswith("_tool_result") and block.call_id not in served:
            yield violation("AN-2s", block.path, n=block.n, m=block.m, kind=kind, id=block.call_id)
        inner_values = entries(value.get("content")) if kind == "tool_result" else []
        for number, inner in enumerate((value, *inner_values)):
            total += inner.get("cache_control") is not None
            if inner.get("type") == "image":
                images += 1
                pictures.append((f"{block.path}.content.{number - 1}" if number else block.path, block, inner))
            documents += inner.get("type") == "document"
        fifth = fifth or (block.path if total > MOST_MARKED else "")
        over = over or (block.path if images + documents > most else "")
        if _broken(value):
            yield violation("AN-21", block.path)
    if fifth:
        yield violation("AN-25", fifth, limit=MOST_MARKED, count=total)
    if over:
        yield violation("AN-20n", over, limit=most, count=images, documents=documents)
    for path, block, image in pictures:
        yield from _image(path, block, entry(image.get("source")), images)


def _image(path: str, block: TurnBlock, source: dict[str, Any], images: int) -> Iterator[Violation]:
    data, media_type = source.get("data"), word(source.get("media_type"))
    if source.get("type") != "base64" or not isinstance(data, str) or mask(data):
        return
    rejected = problem(media_type, data, images)
    if rejected is not None:
        yield violation(_OF_IMAGES[rejected.kind], path, n=block.n, m=block.m, type=media_type, count=len(data), limit=LARGEST)


def _in_turns(turns: Iterable[SpeakerTurn]) -> Iterator[tuple[TurnBlock, set[str], bool]]:
    """Each block with the ids of calls of its turn, which the caller adds to, and whether a call follows in its message."""
    for turn in turns:
        calls: set[str] = set()
        last_call = {block.n: block.m for block in turn.blocks if block.kind == "tool_use"}
        for block in turn.blocks:
            yield block, calls, block.m < last_call.get(block.n, 0)


def _text(block: TurnBlock, value: dict[str, Any], leads_to_call: bool) -> Iterator[Violation]:
    text = value.get("text")
    if text == "" and value.get("cache_control") is not None:
        yield violation("AN-24", block.path, n=block.n, m=block.m)
    elif text == "":
        yield violation("AN-13", block.path)
    elif isinstance(text, str) and not text.strip() and not leads_to_call:
        yield violation("AN-14", block.path)


def _call(block: TurnBlock, value: dict[str, Any], calls: set[str]) -> Iterator[Violation]:
    if not _WORD.fullmatch(block.call_id):
        yield violation("AN-7", f"{block.path}.tool_use.id", n=block.n, m=block.m)
    elif block.call_id in calls:
        yield violation("AN-5", block.path, n=block.n, m=block.m)
    calls.add(block.call_id)
    if not isinstance(value.get("input"), dict):
        yield violation("AN-26", f"{block.path}.tool_use.input", n=block.n, m=block.m)
    name = word(value.get("name"))
    if len(name) > LONGEST_NAME or not _WORD.fullmatch(name):
        yield violation("AN-27", f"{block.path}.tool_use.name", n=block.n, m=block.m, limit=LONGEST_NAME)


def _thinking(block: TurnBlock, value: dict[str, Any]) -> Iterator[Violation]:
    if not isinstance(value.get("thinking"), str):
        yield violation("AN-23", f"{block.path}.thinking.thinking", n=block.n, m=block.m)
    signature = value.get("signature")
    if not isinstance(signature, str):
        yield violation("AN-18", f"{block.path}.thinking.signature", n=block.n, m=block.m)
    elif not signature:
        yield violation("AN-17e", block.path, n=block.n, m=block.m)
    elif mask(signature) or mask(word(value.get("thinking"))):
        yield violation("AN-17m", block.path, n=block.n, m=block.m)


def _broken(value: Any) -> bool:
    """Whether half of a surrogate pair is in any string of it, keys included. By a list and not by calls: a body may be deep."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            if _has_half(item):
                return True
        elif isinstance(item, dict):
            for name, member in item.items():
                if not name.isascii():
                    waiting.append(name)
                if isinstance(member, str):
                    if _has_half(member):
                        return True
                elif isinstance(member, dict | list):
                    waiting.append(member)
        elif isinstance(item, list):
            waiting += item
    return False


def _has_half(text: str) -> bool:
    if text.isascii():
        return False
    try:
        # It refuses every half, of pairs too, in a twentieth of the time of the pattern.
        text.encode()
    except UnicodeEncodeError:
        return _HALF.search(text) is not None
    return False
