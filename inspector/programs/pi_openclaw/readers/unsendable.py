"""What pi throws at before a request: messages that are null, and content that is not of the types that it expects.

Measured with pi 0.73.1 and 0.87.1, their session managers, transformMessages and the converters for Anthropic, OpenAI (both APIs) and Google; read in pi-ai 1.5.2.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from inspector.conversation.model import Chunk, Kind, Message
from inspector.conversation.tree import spoken
from inspector.programs.pi_openclaw.readers.rows import PathRow, mapping, target_of, word

_WHOSE = {"assistant": "an answer", "tool": "a result", "user": "a message of the user"}


@dataclass(frozen=True, slots=True)
class Unsendable:
    chunk: Chunk
    what: str
    """The beginning of a sentence."""
    thrown: str = "pi throws a TypeError"

    @property
    def failure(self) -> str:
        return f"TypeError: {self.what}: every request fails"


def unsendable(path: Sequence[PathRow], sent: Sequence[Message], reads_null: bool) -> Iterator[Unsendable]:
    """`sent` are the messages of the path; `reads_null`: content that is null is read as none."""
    for row in path:
        chunk = row.chunks[0]
        if chunk.damage == "wrong-type" and chunk.chunk_idx is None and row.about.get("message") is None:
            yield Unsendable(chunk, f"the entry {spoken(row.id[:40], chunk.msg_idx)} (seq {chunk.seq}) has no message")
    api = word(target_of(path)[2])
    for message in sent:
        for chunk in message.chunks if message.role in _WHOSE else ():
            if what := _wrong_content(message.role, chunk, reads_null):
                yield Unsendable(chunk, f"the content of {_WHOSE[message.role]} (seq {chunk.seq}) is {what}")
            elif what := _wrong_block(message.role, chunk, api, reads_null):
                yield Unsendable(chunk, f"a block of {_WHOSE[message.role]} (seq {chunk.seq}) {what}")


def _wrong_content(role: str, chunk: Chunk, reads_null: bool) -> str:
    payload = chunk.payload
    if role != "user" and (mapping(payload.get("extra")).get("string") is True or payload.get("empty") == ""):
        return "a text, and pi reads a list of blocks there"
    if payload.get("empty") in ("null", "missing"):
        return "" if reads_null else "null, which pi reads as none only since 0.80.6"
    if chunk.damage == "wrong-type" and (payload.get("whole") is True or chunk.kind is Kind.TOOL_RESULT):
        return "neither text nor a list of blocks"
    return ""


def _wrong_block(role: str, chunk: Chunk, api: str, reads_null: bool) -> str:
    if chunk.kind is Kind.TOOL_RESULT:
        blocks = chunk.payload.get("blocks")
        return "is null" if isinstance(blocks, list) and None in blocks else ""
    block = chunk.payload.get("block", "")
    if chunk.kind is Kind.CONTROL and mapping(block).get("type") == "text" and chunk.reason:
        is_null = mapping(block).get("text") is None
        # Two converters leave such a text out, each in another place.
        if role == "assistant":
            is_left_out = is_null and api.startswith("google")
        else:
            is_left_out = not is_null and reads_null and api == "openai-completions"
        return "" if is_left_out else "is a text without words"
    return "is null" if block is None and chunk.damage == "wrong-type" else ""
