"""Edits, and the plan that an approver signs: data, so that the preview draws it, apply writes it and undo reverses it."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from inspector.conversation.model import Chunk, Conversation, Fact

ID = "id"
"""The fact that a plan sets where the conversation must take another id: no store keeps it as a value, it is part of the keys."""


MOVED = "moved:"
"""How strategies name a chunk that is somewhere else now, before its old name."""


def stored_key(chunk: Chunk) -> str:
    """The key that a chunk had before strategies moved it."""
    return chunk.key.rpartition(MOVED)[2]


class Safety(StrEnum):
    """What a plan does beyond moving things: the empty set is safe."""

    LOSSY = "lossy"
    INVENTED = "invented"


@dataclass(frozen=True, slots=True)
class Insert:
    after: str | None
    """Key of the chunk it follows; None = at the front."""
    chunk: Chunk


@dataclass(frozen=True, slots=True)
class Remove:
    chunk: Chunk


@dataclass(frozen=True, slots=True)
class Replace:
    old: Chunk
    new: Chunk


@dataclass(frozen=True, slots=True)
class Set:
    """A fact of the conversation (`target` = "conversation") or of an entry (`target` = its key) takes another value."""

    target: str
    field: str
    old: str | None
    new: str | None


Edit = Insert | Remove | Replace | Set


class EditMismatch(ValueError):
    """An edit names a chunk or a value that the conversation does not hold."""


def apply(conversation: Conversation, edits: Iterable[Edit]) -> Conversation:
    """The conversation with `edits` done. Raises EditMismatch where an edit's `old` is not what is there."""
    chunks = {chunk.key: chunk for chunk in conversation.chunks}
    base = conversation.chunks
    if len(chunks) < len(base):
        # A store that has a key twice: the later one counts.
        base = tuple(chunks[chunk.key] for chunk in base)
    changed_keys: set[str | None] = set()
    facts = dict(conversation.facts)
    inserted: dict[str | None, list[Chunk]] = {}
    new_keys: set[str] = set()
    for edit in edits:
        match edit:
            case Insert(after, chunk):
                if after is not None and after not in chunks and after not in new_keys:
                    raise EditMismatch(f"no chunk {after} to insert after")
                inserted.setdefault(after, []).append(chunk)
                new_keys.add(chunk.key)
            case Remove(chunk):
                if chunks.get(chunk.key) != chunk:
                    raise EditMismatch(f"chunk {chunk.key} is not as the edit has it")
                del chunks[chunk.key]
                changed_keys.add(chunk.key)
            case Replace(old, new):
                if chunks.get(old.key) != old:
                    raise EditMismatch(f"chunk {old.key} is not as the edit has it")
                chunks[old.key] = new
                changed_keys.add(old.key)
            case Set(_, name, old_value, new_value):
                if (facts[name].value if name in facts else _value(conversation, name)) != old_value:
                    raise EditMismatch(f"fact {name} is not as the edit has it")
                facts[name] = replace(facts[name], value=new_value) if name in facts else Fact(name, new_value)
    changed_keys |= inserted.keys()
    result = _run(None, inserted)
    unchanged_from = 0
    # What is between two edits is taken as it is, all at once: most edits change a few chunks of a long conversation.
    for place in [place for place, chunk in enumerate(base) if chunk.key in changed_keys]:
        key = base[place].key
        result += base[unchanged_from:place]
        result += [chunks[key]] if key in chunks else []
        result += _run(key, inserted)
        unchanged_from = place + 1
    result += base[unchanged_from:]
    return replace(conversation, chunks=tuple(result), facts=facts)


def _run(key: str | None, inserted: dict[str | None, list[Chunk]]) -> list[Chunk]:
    """What is inserted after a chunk, and after that; taken out of `inserted`, and without recursion: thousands of chunks may come one after the other."""
    run: list[Chunk] = []
    waiting = inserted.pop(key, [])[::-1]
    while waiting:
        run.append(waiting.pop())
        waiting += inserted.pop(run[-1].key, [])[::-1]
    return run


def _value(conversation: Conversation, name: str) -> str | None:
    return conversation.native_id if name == ID and ID not in conversation.facts else conversation.fact(name)


def between(base: Conversation, final: Conversation) -> tuple[Edit, ...]:
    """The one list of edits that turns `base` into `final`: how composed strategies fold. Order of kept chunks must agree."""
    old = {chunk.key: chunk for chunk in base.chunks}
    final_keys = {chunk.key for chunk in final.chunks}
    edits: list[Edit] = [Remove(chunk) for chunk in base.chunks if chunk.key not in final_keys]
    previous: str | None = None
    for chunk in final.chunks:
        if chunk.key not in old:
            edits.append(Insert(previous, chunk))
        else:
            if chunk is not old[chunk.key] and chunk != old[chunk.key]:
                edits.append(Replace(old[chunk.key], chunk))
        previous = chunk.key
    for name, fact in final.facts.items():
        before = _value(base, name)
        if fact.value != before:
            edits.append(Set("conversation", name, before, fact.value))
    return tuple(edits)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is approved: where, how, what was asked, on which bytes, and what follows for the records.

    `options` holds what a writer needs and cannot derive (fresh id, title, time); `changes` is the format's answer, as
    (key, before, after) with hex-free text or None, so that the digest covers the very bytes.
    """

    source: str
    conversation: str
    mode: str
    strategies: tuple[str, ...]
    safety: frozenset[Safety]
    base_digest: str
    edits: tuple[Edit, ...]
    options: Mapping[str, str] = field(default_factory=dict)

    def digest(self, changes: Sequence[Any]) -> str:
        """SHA-256 (hex) over everything an approver signs, the bytes to be written included."""
        sha = hashlib.sha256()
        head = [
            self.source,
            self.conversation,
            self.mode,
            list(self.strategies),
            sorted(self.safety),
            self.base_digest,
            sorted(self.options.items()),
        ]
        sha.update(json.dumps(head, ensure_ascii=True).encode())
        for change in changes:
            for part in (
                change.key.encode("utf-8", "surrogateescape"),
                *(_cell_bytes(cell) for cell in (change.before, change.after)),
                change.element.encode(),
            ):
                sha.update(len(part).to_bytes(8, "big"))
                sha.update(part)
        return sha.hexdigest()


def _cell_bytes(cell: Any) -> bytes:
    return b"" if cell is None else cell.type.encode() + b":" + cell.data
