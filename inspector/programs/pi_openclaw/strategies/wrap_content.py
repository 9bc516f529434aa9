"""Makes a list of blocks of content at which pi throws, and takes out messages and blocks that are null."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from inspector.conversation.edits import Edit, Remove, Replace
from inspector.conversation.model import Chunk, Kind
from inspector.programs.pi_openclaw.blocks import WIRE, message_blocks, plain_text
from inspector.programs.pi_openclaw.readers.rows import mapping
from inspector.programs.pi_openclaw.rules.unsendable_content import problems, stored
from inspector.rules.base import Case
from inspector.strategies.base import Strategy
from inspector.text.jsontext import compact


def propose(case: Case) -> Iterator[Edit]:
    own = stored(case) if problems(case) else set()
    for chunk in (problem.chunk for problem in problems(case)):
        if id(chunk) not in own:
            continue
        if chunk.kind is Kind.TOOL_RESULT:
            yield Replace(chunk, _with(chunk, {"content": plain_text(blocks := _blocks(chunk)), "blocks": blocks, "wire": WIRE}))
        elif chunk.kind is Kind.TEXT:
            yield Replace(chunk, _with(chunk, {}))
        elif chunk.payload.get("whole") is True:
            (block,) = message_blocks({"role": chunk.role, "content": [_block(chunk.payload.get("block"))]})
            yield Replace(chunk, replace(_with(chunk, block.payload), kind=block.kind))
        elif (words := mapping(chunk.payload.get("block")).get("text")) is not None:
            yield Replace(chunk, replace(_with(chunk, {"type": "text", **_block(words)}), kind=Kind.TEXT))
        else:
            yield Remove(chunk)


def _blocks(result: Chunk) -> list[Any]:
    """The content of a result as a list; one that has none gets an empty text."""
    blocks = result.payload.get("blocks")
    if not isinstance(blocks, list) or not blocks:
        return [_block(result.text)]
    return [_block(block) for block in blocks] if result.damage else [block for block in blocks if block is not None]


def _block(value: Any) -> Any:
    """A block that stands alone is one of the list; of any other value its JSON is kept."""
    if isinstance(value, Mapping) and isinstance(value.get("type"), str):
        return dict(value)
    return {"type": "text", "text": value if isinstance(value, str) else compact(value)}


def _with(chunk: Chunk, payload: Mapping[str, Any]) -> Chunk:
    """The chunk without the marks of a content of another shape."""
    marks = ("extra", "wire", "block", "whole", "empty")
    rest = {name: value for name, value in chunk.payload.items() if name not in marks}
    return replace(chunk, payload={**rest, **payload}, damage="", reason="")


STRATEGY = Strategy(
    name="wrap-content",
    safety=frozenset(),
    summary="makes a list of blocks of content that is a text, a number or an object, and takes messages and blocks that are null out of the path",
    cost="No words change. What is null says nothing; that it was there can be seen in the old line only.",
    user_visible_effect="Nothing, but that the session answers again.",
    pros="pi throws at such content before every request, whatever is said next; in a list of blocks the same words go out.",
    cons="OpenClaw reads a plain text as well, so that a session that only OpenClaw resumes needs no write.",
    write_kind="content",
    propose=propose,
    order=30,
)
