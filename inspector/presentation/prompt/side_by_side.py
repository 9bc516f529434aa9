"""A history next to the prompt made from it: chunks in their order, and in each row the block of the request that the chunk became."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from inspector.conversation.edits import stored_key
from inspector.conversation.model import Chunk, Conversation, Dropped, Kind
from inspector.conversation.tree import about_of
from inspector.presentation.conversation.placed import has_words_of, role_of
from inspector.presentation.conversation.row_words import hue, letter
from inspector.presentation.visible import beginning
from inspector.profiles.base import Judgement, Violation
from inspector.projections.base import Prompt, PromptPart
from inspector.text import jsontext

_SHOWN = 4000
"""Characters of a block that are ever rendered; a page clips further."""


@dataclass(frozen=True, slots=True)
class Block:
    """One block of the request; `path` counts as the provider does. `span` rows of chunks went into it, `pieces` are their texts.

    `named` are the ids of the provider's rules whose sentence about the whole message names the id of this block.
    """

    path: str
    letter: str
    text: str
    violations: tuple[Violation, ...]
    is_json: bool = True
    span: int = 1
    pieces: tuple[tuple[str, int, str], ...] = ()
    named: tuple[str, ...] = ()
    is_as_stored: bool = False
    """Whether its words are those of its one chunk."""
    is_first: bool = True
    """Whether no row before it has a part of the same block: an address leads there."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """The message of the request that `span` rows belong to; `violations` are those of the message as a whole, on its first row only."""

    path: str
    role: str
    letter: str
    span: int
    violations: tuple[Violation, ...]
    continued: bool


@dataclass(frozen=True, slots=True)
class MissingResult:
    """The result of a call that a provider misses in the request: `seq` is where it is stored, None where it is not."""

    call: Chunk
    seq: int | None
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SideBySideRow:
    """A chunk and what became of it. `change` says what a strategy did: inserted, changed, removed; `lost` why nothing is sent.

    `is_synthetic`: a block of no stored chunk. `envelope` and `blocks` are set on the first row that they span; `covered`: a
    block of an earlier row covers this one. `on_purpose`: what is `lost` of it is left out by a choice, and no loss. `missing` are the results that should follow it; `ends_message`: no row of its message does.
    """

    chunk: Chunk | None
    letter: str
    change: str = ""
    lost: str = ""
    is_synthetic: bool = False
    blocks: tuple[Block, ...] = ()
    envelope: Envelope | None = None
    covered: bool = False
    missing: tuple[MissingResult, ...] = ()
    ends_message: bool = False
    on_purpose: bool = False

    @property
    def by_design(self) -> str:
        """Why nothing is sent of a chunk that is no loss; "" of all others."""
        return by_design(self.chunk) if self.chunk and not (self.lost or self.blocks or self.covered) else ""


def by_design(chunk: Chunk) -> str:
    """Why no program sends a chunk that only controls the session; "" of all others."""
    if chunk.kind is not Kind.CONTROL or chunk.role:
        return ""
    is_setting = str(about_of(chunk).get("type", "")).endswith("_change")
    return f"{'setting' if is_setting else 'no message'}, not sent by design"


@dataclass(frozen=True, slots=True)
class _Draft:
    chunk: Chunk | None
    index: int | None
    parts: tuple[PromptPart, ...]
    lost: str
    change: str
    is_synthetic: bool
    on_purpose: bool = False


@dataclass(frozen=True, slots=True)
class SideBySide:
    """`rows` is a window of `total` rows, from `start` on; `changes` counts what a strategy did, by kind."""

    rows: tuple[SideBySideRow, ...]
    start: int
    total: int
    changes: Mapping[str, int]


def side_by_side(
    base: Conversation,
    now: Conversation,
    prompt: Prompt,
    dropped: Iterable[Dropped],
    judgement: Judgement,
    start: int = 0,
    most: int = 200,
    in_tree: Collection[str] = (),
) -> SideBySide:
    """`now` is what the prompt was made of; `base` what is stored (the same where no strategy is tried). `in_tree`: keys of all that is stored, on the path or not."""
    drafts = list(_drafts(base, now, prompt, dropped, in_tree))
    start = min(start, max(0, len(drafts) - 1))
    window = drafts[start : start + most]
    return SideBySide(
        tuple(_spanned(window, now, prompt, judgement, {draft.index for draft in drafts[:start]})),
        start,
        len(drafts),
        Counter(draft.change for draft in drafts if draft.change),
    )


def place_of(base: Conversation, now: Conversation, prompt: Prompt, dropped: Iterable[Dropped], seq: int) -> int:
    """The row of the chunk with this seq; 0 where there is none."""
    drafts = enumerate(_drafts(base, now, prompt, dropped))
    return next((at for at, draft in drafts if draft.chunk is not None and draft.chunk.seq == seq), 0)


def _drafts(
    base: Conversation, now: Conversation, prompt: Prompt, dropped: Iterable[Dropped], in_tree: Collection[str] = ()
) -> Iterator[_Draft]:
    by_key: dict[str, list[tuple[int | None, PromptPart]]] = {}
    for part in prompt.system_parts:
        by_key.setdefault(part.chunk.key, []).append((None, part))
    known_keys = {chunk.key for chunk in now.chunks}
    # A synthetic block follows the stored block before it in the prompt.
    following: dict[str, list[_Draft]] = {}
    last = ""
    for index, message in enumerate(prompt.messages):
        is_synthetic = message.source is not None and message.source.synthetic
        if not message.parts:
            following.setdefault(last, []).append(_Draft(None, index, (), "", "", True))
        for part in message.parts:
            if is_synthetic or part.chunk.key not in known_keys:
                following.setdefault(last, []).append(_Draft(None, index, (part,), "", "", True))
            else:
                by_key.setdefault(part.chunk.key, []).append((index, part))
                last = part.chunk.key
    why = {chunk.key: group.why for group in (*dropped, *prompt.lost) for chunk in group.chunks}
    chosen_keys = {chunk.key for group in dropped if group.intentional for chunk in group.chunks}
    old = {stored_key(chunk): chunk for chunk in base.chunks}
    kept_names = {stored_key(chunk) for chunk in now.chunks}
    removed = [chunk for chunk in base.chunks if chunk.key not in kept_names]
    yield from following.get("", ())
    for chunk in now.chunks:
        before = old.get(stored_key(chunk))
        while removed and before is not None and removed[0].seq < before.seq:
            yield _removed(removed.pop(0))
        placed = by_key.get(chunk.key, [])
        new = "back on the path" if chunk.key in in_tree else "inserted"
        change = "" if before is chunk else new if before is None else _change(before, chunk)
        # Partial losses count too: the prompt may have a chunk without all of its content.
        # An entry that only controls the session is no message.
        lost = why.get(chunk.key, "" if placed or chunk.kind is Kind.CONTROL else "nothing of it is sent")
        yield _Draft(
            chunk, placed[0][0] if placed else None, tuple(part for _, part in placed), lost, change, False, chunk.key in chosen_keys
        )
        yield from following.get(chunk.key, ())
    yield from map(_removed, removed)


def _change(before: Chunk, chunk: Chunk) -> str:
    if (before.payload, before.role, before.kind) != (chunk.payload, chunk.role, chunk.kind):
        return "changed"
    return "moved" if before.key != chunk.key else "renumbered" if (before.seq, before.msg_idx) != (chunk.seq, chunk.msg_idx) else ""


def _removed(chunk: Chunk) -> _Draft:
    return _Draft(chunk, None, (), "removed by the strategy", "removed", False)


def _spanned(
    drafts: Sequence[_Draft], now: Conversation, prompt: Prompt, judgement: Judgement, earlier: Set[int | None]
) -> Iterator[SideBySideRow]:
    """`earlier` are messages that have rows before these."""
    by_path: dict[str, list[Violation]] = {}
    for violation in judgement.violations:
        by_path.setdefault(violation.path, []).append(violation)
    parts = {part.path for message in prompt.messages for part in message.parts} | {part.path for part in prompt.system_parts}
    at_block = _nearest(by_path, parts)
    by_block: dict[str, list[Violation]] = {}
    for path, block in at_block.items():
        by_block.setdefault(block, []).extend(by_path[path])
    # Several chunks run together in one text: each row shows its own piece of it.
    shared = {path for path, count in Counter(part.path for message in prompt.messages for part in message.parts).items() if count > 1}
    sent_ids = {part.chunk.call_id for message in prompt.messages for part in message.parts if part.chunk.kind is Kind.TOOL_RESULT}
    stored = {chunk.call_id: chunk.seq for chunk in now.chunks if chunk.kind is Kind.TOOL_RESULT}
    seen_messages, seen_paths = set[int](), set[str]()
    for index, group in groupby(drafts, key=lambda draft: draft.index):
        group_rows = list(group)
        envelope, role = None, "system" if group_rows[0].parts else ""
        loose: tuple[Violation, ...] = ()
        if index is not None:
            role, path = role_of(prompt.messages[index]), f"{prompt.root}.{index}"
            loose = tuple(one for at, several in by_path.items() if _inside(at, path) and at not in at_block for one in several)
            is_continued = index in seen_messages
            envelope = Envelope(path, role, letter(role), len(group_rows), () if is_continued else loose, is_continued or index in earlier)
            seen_messages.add(index)
        lines: list[SideBySideRow] = []
        for paths, run in groupby(group_rows, key=lambda draft: tuple(part.path for part in draft.parts)):
            rows = list(run)
            span = len(rows) if paths and index is not None else 1
            for place, row in enumerate(rows):
                covered = bool(place) and span > 1
                line = SideBySideRow(
                    row.chunk,
                    hue(row.chunk) if row.chunk else letter(role),
                    row.change,
                    row.lost,
                    row.is_synthetic,
                    () if covered else tuple(_blocks(rows if span > 1 else [row], prompt, role, by_block, loose, shared, seen_paths)),
                    envelope,
                    covered,
                    on_purpose=row.on_purpose,
                )
                lines.append(line)
                envelope = None
        yield from _with_missing(lines, sent_ids, stored)


def _with_missing(rows: Sequence[SideBySideRow], sent_ids: Set[str], stored: Mapping[str, int]) -> Iterator[SideBySideRow]:
    """The rows of one message. The results that a provider misses are placed after the run of calls that they should follow."""
    result, waiting = list(rows), list[MissingResult]()
    for place, row in enumerate(rows):
        rules = tuple(id_ for block in row.blocks for id_ in block.named)
        if rules and row.chunk and row.chunk.kind is Kind.TOOL_CALL and row.chunk.call_id not in sent_ids:
            waiting.append(MissingResult(row.chunk, stored.get(row.chunk.call_id), rules))
        following = rows[place + 1].chunk if place + 1 < len(rows) else None
        if waiting and not (following and following.kind is Kind.TOOL_CALL):
            ends_message = place + 1 == len(rows)
            result[place] = replace(row, missing=tuple(waiting), ends_message=ends_message)
            if not ends_message and (envelope := result[0].envelope):
                result[0] = replace(result[0], envelope=replace(envelope, span=envelope.span + len(waiting)))
            waiting = []
    return iter(result)


def _nearest(by_path: Mapping[str, list[Violation]], parts: set[str]) -> dict[str, str]:
    """Path of a violation -> the block that contains it."""
    nearest = {}
    for path in by_path:
        at = path
        while at not in parts and "." in at:
            at = at.rpartition(".")[0]
        if at in parts:
            nearest[path] = at
    return nearest


def _inside(path: str, top: str) -> bool:
    return path == top or path.startswith(f"{top}.")


def _blocks(
    rows: Sequence[_Draft],
    prompt: Prompt,
    role: str,
    by_block: dict[str, list[Violation]],
    loose: Sequence[Violation],
    shared: set[str],
    seen_paths: set[str],
) -> Iterator[Block]:
    first, span = rows[0], len(rows)
    if not first.parts and first.index is not None:
        yield Block(f"{prompt.root}.{first.index}", letter(role), _text(prompt.messages[first.index].value), ())
    for at, part in enumerate(first.parts):
        sharing = [row.parts[at] for row in rows] if part.path in shared else []
        value = value_at(prompt, part.path)
        # A violation is shown once, at the first row of its block.
        here = tuple(by_block.pop(part.path, ()))
        text, is_json = (beginning(part.text, _SHOWN), False) if value is None else (_text(value), not isinstance(value, str))
        pieces = tuple((letter(piece.chunk.role), piece.chunk.seq, piece.text) for piece in sharing)
        is_as_stored = first.chunk is not None and not sharing and has_words_of(part.text, first.chunk)
        is_first = part.path not in seen_paths
        seen_paths.add(part.path)
        yield Block(part.path, letter(role), text, here, is_json, span, pieces, tuple(_naming(value, loose)), is_as_stored, is_first)


def _naming(block: Any, violations: Sequence[Violation]) -> Iterator[str]:
    """A provider that refuses a message for a call names the call by its id."""
    ids = [block.get(name) for name in ("id", "call_id", "tool_use_id", "tool_call_id")] if isinstance(block, dict) else []
    for violation in violations:
        if any(isinstance(id_, str) and id_ and id_ in violation.text for id_ in ids):
            yield violation.id


def value_at(prompt: Prompt, path: str) -> Any:
    """The value of the request at a path; None where there is none (the text of a merged block, say)."""
    words = path.split(".")
    value: Any = prompt.values if words[0] == prompt.root else prompt.system if words[0] == "system" else None
    for word in words[1:]:
        if isinstance(value, list) and word.isdecimal() and int(word) < len(value):
            value = value[int(word)]
        elif isinstance(value, dict) and word in value:
            value = value[word]
        else:
            return None
    return value


def _text(value: Any) -> str:
    return beginning(value if isinstance(value, str) else jsontext.compact(value), _SHOWN)


def elsewhere(judgement: Judgement, prompt: Prompt) -> tuple[Violation, ...]:
    """Violations of the request as a whole, which are at no message of it."""
    tops = {f"{prompt.root}.{index}" for index in range(len(prompt.messages))}
    system_paths = {part.path for part in prompt.system_parts}
    return tuple(
        violation
        for violation in judgement.violations
        if ".".join(violation.path.split(".")[:2]) not in tops and violation.path not in system_paths
    )
