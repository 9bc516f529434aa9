"""Our own simulation of the program's `append()`: what a store holds once the given messages were appended."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from inspector.conversation.model import Chunk, Conversation, Kind
from inspector.programs.dispatch.format import DISPATCH, chunk_key
from inspector.programs.dispatch.rows import row_text
from inspector.programs.formats import Cell, Record, Stored
from inspector.text.jsontext import compact, encode

Block = dict[str, Any]
TITLE_UNITS = 80


@dataclass(frozen=True)
class Said:
    """A message as it is handed to append: its role and the blocks in it."""

    role: str
    blocks: tuple[Block, ...]


def U(*blocks: Block | str) -> Said:
    return _said("user", blocks)


def A(*blocks: Block | str) -> Said:
    return _said("assistant", blocks)


def T(*blocks: Block | str) -> Said:
    return _said("tool", blocks)


def S(*blocks: Block | str) -> Said:
    return _said("system", blocks)


def _said(role: str, blocks: Iterable[Block | str]) -> Said:
    return Said(role, tuple(tx(block) if isinstance(block, str) else block for block in blocks))


def tx(text: str = "text") -> Block:
    return {"type": "text", "text": text}


def th(text: str = "hm") -> Block:
    return {"type": "thinking", "text": text}


def sy(text: str = "rules") -> Block:
    return {"type": "system", "text": text}


def er(message: str = "HTTP 401: no", code: str | None = None) -> Block:
    return {"type": "error", "message": message, **({"code": code} if code is not None else {})}


def img(url: str = "https://x/y.png") -> Block:
    return {"type": "image", "url": url}


def tc(id: str = "a", name: str = "ls", input: Any = None, step: str | None = None) -> Block:
    arguments = {} if input is None else input
    return {"type": "tool-call", "toolCallId": id, "toolName": name, "input": arguments, **({"stepId": step} if step else {})}


def tr(id: str = "a", content: str = "found", name: str = "ls", error: bool = False, step: str | None = None) -> Block:
    head = {"type": "tool-result", "toolCallId": id, "toolName": name, "content": content, "isError": error}
    return head | ({"stepId": step} if step else {})


@dataclass
class Store:
    """The pairs of one store, and beside them what no store keeps: the messages as they were, as (role, seqs), by conversation."""

    values: dict[str, str] = field(default_factory=dict)
    truth: dict[str, list[tuple[str, tuple[int, ...]]]] = field(default_factory=dict)

    def append(self, *messages: Said, to: str = "c1", now: int = 1000) -> "Store":
        """Rows from counter + 1, msgIdx per call, chunkIdx per message; then counter, meta and index, each a write of its own."""
        seq = int(self.values.get(f"conv:{to}:seq", "0"))
        for index, message in enumerate(messages):
            first = seq + 1
            for place, block in enumerate(message.blocks):
                seq += 1
                chunk = Chunk(chunk_key(to, seq), seq, message.role, Kind(block["type"]), block, index, place)
                self.values[chunk.key] = row_text(chunk)
            if seq >= first:
                self.truth.setdefault(to, []).append((message.role, tuple(range(first, seq + 1))))
        self.values[f"conv:{to}:seq"] = str(seq)
        self._bump(to, messages, now)
        return self

    def _bump(self, to: str, messages: Sequence[Said], now: int) -> None:
        words = [block["text"] for said in messages if said.role == "user" for block in said.blocks if block["type"] == "text"]
        key = f"conv:{to}:meta"
        if key not in self.values:
            meta = {"createdAt": now, "lastActivityAt": now, "title": "Untitled", "status": "idle", "workspaceId": "default"}
            self.values["conv-index"] = compact([*json.loads(self.values.get("conv-index", "[]")), to])
        else:
            meta = {**json.loads(self.values[key]), "lastActivityAt": now}
        if meta["title"] == "Untitled" and words:
            meta["title"] = words[0] if len(words[0]) <= TITLE_UNITS else words[0][:TITLE_UNITS] + "…"
        self.values[key] = compact(meta)

    def records(self) -> list[Record]:
        return [Record(key, Cell(encode(self.values[key]))) for key in sorted(self.values)]

    def stored(self, native_id: str = "c1") -> Stored:
        return next(stored for stored in DISPATCH.read(self.records()) if stored.conversation.native_id == native_id)

    def conversation(self, native_id: str = "c1") -> Conversation:
        return self.stored(native_id).conversation


def appended(*appends: Sequence[Said]) -> Store:
    """A store with one conversation, `c1`; each argument is the messages of one append."""
    store = Store()
    for messages in appends:
        store.append(*messages)
    return store
