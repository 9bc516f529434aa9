"""Stores blocks as an array again where the text of the array was stored in a JSON string."""

from collections.abc import Iterator
from dataclasses import replace

from inspector.conversation.edits import Edit, Replace
from inspector.conversation.model import Chunk
from inspector.programs.gbrain.blocks import DOUBLE, encoding_of
from inspector.rules.base import Case
from inspector.strategies.base import Strategy


def propose(case: Case) -> Iterator[Edit]:
    return (Replace(chunk, decoded(chunk)) for chunk in case.conversation.chunks if encoding_of(chunk) == DOUBLE)


def decoded(chunk: Chunk) -> Chunk:
    stored = {name: value for name, value in (chunk.payload.get("stored") or {}).items() if name != "encoding"}
    payload = {name: value for name, value in chunk.payload.items() if name != "stored"}
    return replace(chunk, payload={**payload, **({"stored": stored} if stored else {})})


STRATEGY = Strategy(
    name="decode-double-encoded",
    safety=frozenset(),
    summary="stores the blocks of a message as an array again, where the text of the array was stored in a JSON string",
    cost="No block changes: only how the row's content is encoded.",
    user_visible_effect="Messages that were read as one long text, or as nothing, are read as what they are.",
    pros="gbrain wrote such rows before 0.42.53, and only on PostgreSQL; it reads them as plain words, so that calls and results in them are lost to it.",
    cons="gbrain's own repair does the same for the whole table. A message that really is the text of a list in brackets would be taken for one.",
    write_kind="content",
    propose=propose,
    order=50,
)
