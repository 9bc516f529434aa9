"""Chunks as gbrain's blocks: what stays keeps every member as it is stored, what is new is encoded as the program's own paths encode it."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from inspector.conversation.model import Chunk, Kind
from inspector.programs.formats import Stored, WriteRefused
from inspector.programs.gbrain import facts as gbrain_facts
from inspector.programs.gbrain.blocks import V1, V2, blocks_of, version_of
from inspector.programs.gbrain.tables import EXECUTIONS
from inspector.programs.relation_rows import Row, row_of
from inspector.text import js_json, jsonb


@dataclass
class Encoder:
    """The stored blocks after the chunks of a job; `rows` are its message rows by index."""

    stored: Stored
    rows: Mapping[int | None, Row]
    _row_blocks: dict[int | None, list[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._stored_chunks = {chunk.key: chunk for chunk in self.stored.conversation.chunks}
        self._indexes = sorted(index for index in self.rows if index is not None)
        self._records = {record.key: record for record in self.stored.records}

    def before(self, index: int) -> int | None:
        """The index of the stored row before."""
        place = bisect_left(self._indexes, index)
        return self._indexes[place - 1] if place else None

    def row_blocks(self, index: int | None) -> list[Any]:
        """The blocks of a row with numbers exact; none where it has no list of them. Raises WriteRefused."""
        if index not in self._row_blocks:
            row = self.rows.get(index)
            try:
                self._row_blocks[index] = [] if row is None else _blocks(row)
            except jsonb.NotStorable as problem:
                raise WriteRefused(
                    f"The message at index {index} cannot be written again, since {problem.reason}: choose other strategies."
                ) from None
        return self._row_blocks[index]

    def is_v1(self, index: int) -> bool:
        """Whether new blocks of the row are encoded as the direct path does: as its own blocks are, as those of the row before, or as the job ran."""
        for at in (index, self.before(index)):
            if versions := {version_of(block) for block in self.row_blocks(at)} - {""}:
                return V1 in versions
        return self.stored.conversation.fact(gbrain_facts.PATH) == gbrain_facts.LEGACY

    def blocks(self, chunks: Sequence[Chunk], is_v1: bool) -> list[Any]:
        """Raises WriteRefused for what neither path of the program writes."""
        if len(chunks) == 1 and chunks[0].payload.get("empty") is not None:
            return []
        return [self._block(chunk, is_v1) for chunk in chunks]

    def _block(self, chunk: Chunk, is_v1: bool) -> Any:
        old = self._stored_chunks.get(chunk.key.rpartition("moved:")[2])
        if old is None:
            return self._exact(chunk, encoded_block(chunk, is_v1))
        stored_blocks = self.row_blocks(old.msg_idx)
        if old.chunk_idx is None or old.chunk_idx >= len(stored_blocks):
            raise WriteRefused(
                f"The message at index {old.msg_idx} holds no list of blocks that others could be added to: choose other strategies."
            )
        block = stored_blocks[old.chunk_idx]
        if _plain(old) == _plain(chunk):
            return block
        version = version_of(block)
        own_v1 = version == V1 if version in (V1, V2) else is_v1
        if old.kind is not chunk.kind or not isinstance(block, dict):
            return encoded_block(chunk, own_v1)
        before, after = encoded_block(old, own_v1), encoded_block(chunk, own_v1)
        kept_members = {name: value for name, value in block.items() if name in after or name not in before}
        return {**kept_members, **{name: value for name, value in after.items() if name not in before or before[name] != value}}

    def _exact(self, chunk: Chunk, block: dict[str, Any]) -> dict[str, Any]:
        """The output of a run as its own record has it: a number there may have more digits than a float keeps."""
        name = chunk.key.partition(":")[2]
        if "output" not in block or chunk.is_error or not name.startswith(f"{EXECUTIONS}:") or name not in self._records:
            return block
        try:
            output = jsonb.parse(row_of(self._records[name].value).get("output") or "null")
        except jsonb.NotStorable:
            return block
        return {**block, "output": output}


def _blocks(row: Row) -> list[Any]:
    content = jsonb.parse(row.get("content_blocks") or "null")
    if isinstance(content, str) and content.lstrip()[:1] == "[":
        try:
            inner = jsonb.parse(content)
        except jsonb.NotStorable:
            inner = None
        if isinstance(inner, list):
            return inner
    return blocks_of(content)[0] or []


def _plain(chunk: Chunk) -> tuple[object, ...]:
    """How its row is encoded is no content of a block."""
    stored = {name: value for name, value in (chunk.payload.get("stored") or {}).items() if name != "encoding"}
    return chunk.kind, chunk.role, {**{name: value for name, value in chunk.payload.items() if name != "stored"}, "stored": stored}


def encoded_block(chunk: Chunk, is_v1: bool) -> dict[str, Any]:
    """A block in the version of the message that it is in or after. Raises WriteRefused for what neither path writes."""
    extra = {name: value for name, value in (chunk.payload.get("stored") or {}).items() if name not in ("encoding", "block", "content")}
    payload = chunk.payload
    match chunk.kind:
        case Kind.TEXT:
            return {"type": "text", "text": chunk.text, **extra}
        case Kind.TOOL_CALL if is_v1:
            return {"type": "tool_use", "id": chunk.call_id, "name": chunk.tool_name, "input": payload.get("input", {}), **extra}
        case Kind.TOOL_CALL:
            return {
                "type": "tool-call",
                "toolCallId": chunk.call_id,
                "toolName": chunk.tool_name,
                "input": payload.get("input", {}),
                **extra,
            }
        case Kind.TOOL_RESULT if is_v1:
            output = output_of(chunk)
            content = output if isinstance(output, str) else js_json.stringify(output)
            return {
                "type": "tool_result",
                "tool_use_id": chunk.call_id,
                "content": content,
                **({"is_error": True} if chunk.is_error else {}),
                **extra,
            }
        case Kind.TOOL_RESULT:
            failed = {"isError": True} if chunk.is_error else {}
            return {
                "type": "tool-result",
                "toolCallId": chunk.call_id,
                "toolName": chunk.tool_name,
                "output": output_of(chunk),
                **failed,
                **extra,
            }
    raise WriteRefused(f"gbrain writes no block of the kind {chunk.kind}: choose strategies that insert none.")


def output_of(chunk: Chunk) -> Any:
    """The value of a result: as the ledger or the block has it, or its words."""
    match chunk.payload.get("blocks"):
        case [{"type": "json" | "error-json", "value": value}]:
            return value
    return chunk.payload.get("content", "")
