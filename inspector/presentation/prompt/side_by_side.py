"""A history next to the prompt made from it: chunks in their order, and in each row the block of the request that the chunk became.

What a row says is the same in any window of the rows (`Pairing`, and what is kept of it); what spans several rows depends on the window (`spanned`).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any, Protocol

from inspector.conversation.edits import stored_key
from inspector.conversation.model import Chunk, Conversation, Dropped, Kind
from inspector.conversation.queries import spans_of
from inspector.conversation.tree import about_of
from inspector.presentation.conversation.placed import ROLE_SHOWN, WORDS_SHOWN, has_words_of, role_of
from inspector.presentation.conversation.row_words import hue, in_one_line, letter
from inspector.presentation.visible import beginning
from inspector.profiles.base import Judgement, Violation
from inspector.projections.base import Prompt, PromptPart, PromptValues
from inspector.text import jsontext

ROWS_KEPT = 100
"""Rows that are kept together."""
CHUNK_SHOWN, PIECE_SHOWN = 360, 400
"""Characters of a chunk, and of its piece of a block, that a page shows."""
_SHOWN, _PIECE = 1_200, 900
"""Characters of a block, and of a chunk in one, that a row has at hand; a page clips further."""
VIOLATIONS = 10
"""Of one message or block, those that a row shows."""
_SENTENCE, _PATH = 1_500, 200


@dataclass(frozen=True, slots=True)
class ChunkCell:
    """What a row says of its chunk. `length`: characters of its words, of which it has the beginning."""

    key: str
    seq: int
    kind: str
    role: str
    words: str
    length: int
    is_error: bool

    @property
    def more(self) -> int:
        return max(0, self.length - CHUNK_SHOWN)


@dataclass(frozen=True, slots=True)
class Piece:
    """What one chunk says of a block that several run together in. `length`: as of a chunk."""

    letter: str
    seq: int
    text: str
    length: int

    @property
    def more(self) -> int:
        return max(0, self.length - PIECE_SHOWN)


@dataclass(frozen=True, slots=True)
class Block:
    """One block of the request; `path` counts as the provider does. `span` rows of chunks went into it, and `pieces` are what each says.

    `named` are the ids of the provider's rules whose sentence about the whole message names the id of this block.
    """

    path: str
    letter: str
    text: str
    violations: tuple[Violation, ...]
    is_json: bool = True
    span: int = 1
    pieces: tuple[Piece, ...] = ()
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
    violations: tuple[Violation, ...]
    span: int = 0
    continued: bool = False


@dataclass(frozen=True, slots=True)
class MissingResult:
    """The result of a call that a provider misses in the request: `seq` is where it is stored, None where it is not."""

    tool_name: str
    call_id: str
    seq: int | None
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SideBySideRow:
    """A chunk and what became of it. `change` says what a strategy did: inserted, changed, removed; `lost` why nothing is sent.

    `is_synthetic`: a block of no stored chunk. `message`: index of the message of the request that it belongs to; `continues`: not as its first row.
    `on_purpose`: what is `lost` of it is left out by a choice, and no loss. `missing` are the results that should follow it.

    In a window `envelope` and `blocks` are set on the first row that they span; `covered`: a block of an earlier row covers this one; `ends_message`: no
    row of its message follows.
    """

    chunk: ChunkCell | None
    letter: str
    change: str = ""
    lost: str = ""
    is_synthetic: bool = False
    blocks: tuple[Block, ...] = ()
    message: int | None = None
    continues: bool = False
    missing: tuple[MissingResult, ...] = ()
    on_purpose: bool = False
    by_design: str = ""
    """Why nothing is sent of a chunk that is no loss; "" of all others."""
    envelope: Envelope | None = None
    covered: bool = False
    ends_message: bool = False


@dataclass(frozen=True, slots=True)
class RowsKept:
    """Some rows in their order, and the messages that they belong to by index."""

    rows: tuple[SideBySideRow, ...]
    messages: Mapping[int, Envelope]


class Rows(Protocol):
    """All rows of one history next to one prompt, wherever they are."""

    @property
    def total(self) -> int: ...

    def place(self, seq: int) -> int:
        """The row of the chunk with this seq; 0 where there is none."""
        ...

    def some(self, start: int, count: int) -> RowsKept:
        """At most `count` of them."""
        ...


def seq_runs(kept: RowsKept) -> dict[str, int]:
    """The seqs of the chunks in these rows, as runs `first last` -> how many."""
    seqs = [row.chunk.seq for row in kept.rows if row.chunk]
    return {f"{first} {last}": last - first + 1 for first, last in spans_of(seqs)}


def has_seq(runs: Iterable[str], seq: int) -> bool:
    return any(int(first) <= seq <= int(last) for first, last in map(str.split, runs))


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


class Pairing:
    """The rows of a prompt that is in memory. `now` is what it was made of; `base` what is stored (the same where no strategy is tried).

    `in_tree`: keys of all that is stored, on the path or not. `changes` counts what a strategy did, by kind.
    """

    def __init__(
        self,
        base: Conversation,
        now: Conversation,
        prompt: Prompt,
        dropped: Iterable[Dropped],
        judgement: Judgement,
        in_tree: Collection[str] = (),
    ) -> None:
        self._now, self._prompt, self._judgement = now, prompt, judgement
        self._drafts = list(_drafts(base, now, prompt, dropped, in_tree))
        self.changes = Counter(draft.change for draft in self._drafts if draft.change)
        self._first: dict[int | None, int] = {}
        for place, draft in enumerate(self._drafts):
            self._first.setdefault(draft.index, place)

    @property
    def total(self) -> int:
        return len(self._drafts)

    def place(self, seq: int) -> int:
        return next((at for at, draft in enumerate(self._drafts) if draft.chunk is not None and draft.chunk.seq == seq), 0)

    def some(self, start: int, count: int) -> RowsKept:
        drafts = self._drafts[start : start + count]
        indexes = sorted({draft.index for draft in drafts if draft.index is not None})
        messages = {index: self._envelope(index) for index in indexes}
        return RowsKept(tuple(self._row(place, draft) for place, draft in enumerate(drafts, start)), messages)

    @cached_property
    def _by_path(self) -> dict[str, list[Violation]]:
        by_path: dict[str, list[Violation]] = {}
        for violation in self._judgement.violations:
            by_path.setdefault(violation.path, []).append(violation)
        return by_path

    @cached_property
    def _paths(self) -> Counter[str]:
        """Path of each block -> how many chunks went into it."""
        return Counter(part.path for message in self._prompt.messages for part in message.parts)

    @cached_property
    def _at_block(self) -> dict[str, str]:
        """Path of a violation -> the block that contains it."""
        return _nearest(self._by_path, {*self._paths, *(part.path for part in self._prompt.system_parts)})

    @cached_property
    def _by_block(self) -> dict[str, list[Violation]]:
        by_block: dict[str, list[Violation]] = {}
        for path, block in self._at_block.items():
            by_block.setdefault(block, []).extend(self._by_path[path])
        return by_block

    @cached_property
    def _loose(self) -> dict[str, tuple[Violation, ...]]:
        """Path of a message -> violations of it as a whole."""
        loose: dict[str, tuple[Violation, ...]] = {}
        for path, violations in self._by_path.items():
            if path not in self._at_block:
                message = ".".join(path.split(".")[:2])
                loose[message] = (*loose.get(message, ()), *violations)
        return loose

    @cached_property
    def _sent_ids(self) -> set[str]:
        return {part.chunk.call_id for message in self._prompt.messages for part in message.parts if part.chunk.kind is Kind.TOOL_RESULT}

    @cached_property
    def _stored_results(self) -> dict[str, int]:
        return {chunk.call_id: chunk.seq for chunk in self._now.chunks if chunk.kind is Kind.TOOL_RESULT}

    def _envelope(self, index: int) -> Envelope:
        role, path = role_of(self._prompt.messages[index]), f"{self._prompt.root}.{index}"
        return Envelope(path, beginning(role, ROLE_SHOWN), letter(role), brief(self._loose.get(path, ())))

    def _row(self, place: int, draft: _Draft) -> SideBySideRow:
        chunk, index = draft.chunk, draft.index
        role = role_of(self._prompt.messages[index]) if index is not None else "system" if draft.parts else ""
        blocks = tuple(self._blocks(draft, role))
        return SideBySideRow(
            _cell(chunk) if chunk else None,
            hue(chunk) if chunk else letter(role),
            draft.change,
            draft.lost,
            draft.is_synthetic,
            blocks,
            index,
            self._first[index] != place,
            self._missing(chunk, blocks) if chunk else (),
            draft.on_purpose,
            by_design(chunk) if chunk and not (draft.lost or blocks) else "",
        )

    def _missing(self, chunk: Chunk, blocks: Iterable[Block]) -> tuple[MissingResult, ...]:
        rules = tuple(id_ for block in blocks for id_ in block.named)
        if not rules or chunk.kind is not Kind.TOOL_CALL or chunk.call_id in self._sent_ids:
            return ()
        name, call_id = beginning(chunk.tool_name, _PATH), beginning(chunk.call_id, _PATH)
        return (MissingResult(name, call_id, self._stored_results.get(chunk.call_id), rules),)

    def _blocks(self, draft: _Draft, role: str) -> Iterator[Block]:
        path = f"{self._prompt.root}.{draft.index}"
        if not draft.parts and draft.index is not None:
            yield Block(path, letter(role), _text(self._prompt.messages[draft.index].value), ())
        for part in draft.parts:
            violations = brief(self._by_block.get(part.path, ()))
            value = value_at(self._prompt, part.path)
            named = tuple(_naming(value, self._loose.get(path, ())))
            # Several chunks run together in one text: each row shows its own piece of it.
            if draft.index is not None and self._paths[part.path] > 1:
                piece = Piece(letter(part.chunk.role), part.chunk.seq, beginning(part.text, _PIECE), len(part.text))
                yield Block(part.path, letter(role), "", violations, pieces=(piece,), named=named)
                continue
            text, is_json = (beginning(part.text, _SHOWN), False) if value is None else (_text(value), not isinstance(value, str))
            is_as_stored = draft.chunk is not None and has_words_of(part.text, draft.chunk)
            yield Block(part.path, letter(role), text, violations, is_json, named=named, is_as_stored=is_as_stored)


def _cell(chunk: Chunk) -> ChunkCell:
    words = in_one_line(chunk)
    shown, role = beginning(words, WORDS_SHOWN), beginning(chunk.role, ROLE_SHOWN)
    return ChunkCell(chunk.key, chunk.seq, chunk.kind.value, role, shown, len(words), chunk.is_error)


def brief(violations: Iterable[Violation], most: int = VIOLATIONS) -> tuple[Violation, ...]:
    """What a page says of the first few: neither all their seqs nor texts of any length."""
    return tuple(
        replace(one, seqs=one.seqs[:1], path=beginning(one.path, _PATH), text=beginning(one.text, _SENTENCE))
        for one, _ in zip(violations, range(most), strict=False)
    )


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


def spanned(kept: RowsKept) -> tuple[SideBySideRow, ...]:
    """The rows of a window: each message and block once, over the rows of it that it spans."""
    seen_messages, seen_paths = set[int](), set[str]()
    result: list[SideBySideRow] = []
    for index, group in groupby(kept.rows, key=lambda row: row.message):
        rows = list(group)
        envelope = kept.messages[index] if index is not None else None
        if envelope is not None and index is not None:
            is_again = index in seen_messages
            continued = is_again or rows[0].continues
            envelope = replace(envelope, span=len(rows), violations=() if is_again else envelope.violations, continued=continued)
            seen_messages.add(index)
        lines: list[SideBySideRow] = []
        for paths, run in groupby(rows, key=lambda row: tuple(block.path for block in row.blocks)):
            several = list(run)
            together = [several] if paths and index is not None else [[row] for row in several]
            for first, *covered in together:
                blocks = tuple(_over(at, (first, *covered), seen_paths) for at in range(len(paths)))
                lines.append(replace(first, blocks=blocks))
                lines += [replace(row, blocks=(), missing=(), covered=True) for row in covered]
        if lines and envelope is not None:
            lines[0] = replace(lines[0], envelope=envelope)
        result += _with_missing(lines)
    return tuple(result)


def _over(at: int, rows: Sequence[SideBySideRow], seen_paths: set[str]) -> Block:
    """The block at this place of rows that share their blocks. Its violations are shown once, at the first row of it."""
    block = rows[0].blocks[at]
    is_first = block.path not in seen_paths
    seen_paths.add(block.path)
    pieces = tuple(piece for row in rows for piece in row.blocks[at].pieces)
    return replace(block, span=len(rows), pieces=pieces, is_first=is_first, violations=block.violations if is_first else ())


def _with_missing(rows: Sequence[SideBySideRow]) -> list[SideBySideRow]:
    """The rows of one message. The results that a provider misses are placed after the run of calls that they should follow."""
    result, waiting = list(rows), list[MissingResult]()
    for place, row in enumerate(rows):
        waiting += row.missing
        following = rows[place + 1].chunk if place + 1 < len(rows) else None
        is_last = not (following and following.kind == Kind.TOOL_CALL.value)
        ends_message = bool(waiting) and is_last and place + 1 == len(rows)
        result[place] = replace(result[place], missing=tuple(waiting) if is_last else (), ends_message=ends_message)
        if waiting and is_last:
            if not ends_message and (envelope := result[0].envelope):
                result[0] = replace(result[0], envelope=replace(envelope, span=envelope.span + len(waiting)))
            waiting = []
    return result


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


def _naming(block: Any, violations: Sequence[Violation]) -> Iterator[str]:
    """A provider that refuses a message for a call names the call by its id."""
    ids = [block.get(name) for name in ("id", "call_id", "tool_use_id", "tool_call_id")] if isinstance(block, dict) else []
    for violation in violations:
        if any(isinstance(id_, str) and id_ and id_ in violation.text for id_ in ids):
            yield violation.id


def value_at(prompt: Prompt, path: str) -> Any:
    """The value of the request at a path; None where there is none (the text of a merged block, say)."""
    root, *words = path.split(".")
    # The list of all messages is never made for one of them.
    value: Any = PromptValues(prompt.messages) if root == prompt.root else prompt.system if root == "system" else None
    for word in words:
        if isinstance(value, list | PromptValues) and word.isdecimal() and int(word) < len(value):
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
