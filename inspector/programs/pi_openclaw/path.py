"""The final path of a plan as steps: which stored entry each is, whether it says what is stored, and which rows must be new."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from inspector.conversation.edits import Edit, Set, apply
from inspector.conversation.model import Chunk, Conversation, Kind
from inspector.conversation.tree import LEAF
from inspector.programs.formats import WriteRefused
from inspector.programs.pi_openclaw.file import File, StoredEntry, block_of, entry_key
from inspector.text.light import light_dataclass

PARENT, FIRST_KEPT = "parentId", "firstKeptEntryId"
_SETTABLE = (PARENT, FIRST_KEPT)


@light_dataclass(frozen=True, slots=True)
class PathStep:
    """One entry of the final path. `base`: the stored entry that it is, or (`copied`) that lends its text. `same`: it says what is stored.

    `first_kept` is where a compaction's pointer is set by the plan.
    """

    chunks: tuple[Chunk, ...]
    base: StoredEntry | None
    copied: bool
    same: bool
    first_kept: str | None = None


@dataclass(frozen=True, slots=True)
class Planned:
    """`is_new`: the path is another than the stored one, in what it says or in where it goes."""

    final: Conversation
    steps: tuple[PathStep, ...]
    is_new: bool


def planned(conversation: Conversation, edits: Iterable[Edit], file: File) -> Planned:
    """The path after `edits` as steps. Raises WriteRefused, EditMismatch."""
    plain: list[Edit] = []
    sets: list[Set] = []
    for edit in edits:
        of_entry = isinstance(edit, Set) and (edit.target != "conversation" or edit.field == LEAF)
        sets += [edit] if of_entry and isinstance(edit, Set) else []
        plain += [] if of_entry else [edit]
        if isinstance(edit, Set) and not (of_entry and edit.field in (*_SETTABLE, LEAF)):
            raise WriteRefused(f"A session file has no place for {edit.field}; leave the strategy that sets it out of the plan.")
    final = apply(conversation, plain)
    chunks = final.chunks
    for edit in sets:
        chunks = _rerouted(chunks, edit, file)
    final = replace(final, chunks=chunks)
    pointers = {edit.target: edit.new for edit in sets if edit.field == FIRST_KEPT}
    steps = tuple(_pointed(step, pointers) for step in _steps(chunks, file))
    unchanged = [step.base.key for step in steps if step.base and step.same and not step.copied and step.first_kept is None]
    is_new = unchanged != list(dict.fromkeys(entry_key(chunk) for chunk in conversation.chunks)) or len(unchanged) != len(steps)
    return Planned(final, steps, is_new)


def _pointed(step: PathStep, pointers: Mapping[str, str | None]) -> PathStep:
    new = pointers.get(step.base.id) if step.base else None
    return step if new is None or step.base is None or step.base.entry.get(FIRST_KEPT) == new else replace(step, first_kept=new)


def _rerouted(chunks: Sequence[Chunk], edit: Set, file: File) -> tuple[Chunk, ...]:
    """The path with another way to the entry that the edit names: up to its new parent as the file has it, where the path has no own version."""
    if edit.field == FIRST_KEPT:
        return tuple(chunks)
    tail: list[Chunk] = []
    if edit.field == PARENT:
        at = next((number for number, chunk in enumerate(chunks) if _id_of(chunk) == edit.target), None)
        if at is None:
            raise WriteRefused(f"The entry {edit.target} is not on the path that the plan is about; choose a leaf after it first.")
        tail = list(chunks[at:])
    if edit.new is None:
        return tuple(tail)
    own: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        own.setdefault(_id_of(chunk), []).append(chunk)
    # What the plan puts on the path after an entry goes along with it.
    lead: list[Chunk] = []
    for entry in _path_to(edit.new, file):
        lead += own.get(entry.id, list(entry.chunks))
    keys = {chunk.key for chunk in lead}
    if keys & {chunk.key for chunk in tail}:
        raise WriteRefused(f"{edit.new} comes after {edit.target}, so it cannot become its parent; choose another parent.")
    return (*lead, *tail)


def _path_to(id_: str, file: File) -> list[StoredEntry]:
    by_id = {entry.id: entry for entry in file.entries.values() if entry.id}
    path: list[StoredEntry] = []
    visited: set[str] = set()
    at: str | None = id_
    while at is not None and at in by_id and at not in visited:
        visited.add(at)
        path.append(by_id[at])
        at = by_id[at].parent
    if not path:
        raise WriteRefused(f"The file holds no entry {id_}; choose one that it holds.")
    return path[::-1]


def _id_of(chunk: Chunk) -> str:
    entry = chunk.payload.get("entry")
    value = entry.get("id") if isinstance(entry, Mapping) else None
    return value if isinstance(value, str) else ""


def _steps(chunks: Sequence[Chunk], file: File) -> list[PathStep]:
    groups: list[list[Chunk]] = []
    for chunk in chunks:
        if groups and _joins(groups[-1][-1], chunk) and not _share_a_line(groups[-1][-1], chunk, file):
            groups[-1].append(chunk)
        else:
            groups.append([chunk])
    used: set[str] = set()
    return [_step(group, file, used) for group in groups]


def _joins(before: Chunk, chunk: Chunk) -> bool:
    """Whether two chunks are of one message. Entries that are no messages, and results, are on their own."""
    if before.msg_idx is None or not before.role or Kind.TOOL_RESULT in (before.kind, chunk.kind):
        return False
    return (before.msg_idx, before.role) == (chunk.msg_idx, chunk.role)


def _share_a_line(before: Chunk, chunk: Chunk, file: File) -> bool:
    """Two records of one fused line have its number, and are two messages all the same."""
    first, second = block_of(before, file), block_of(chunk, file)
    return first is not None and second is not None and first[0].line == second[0].line and first[0] is not second[0]


def _step(group: Sequence[Chunk], file: File, used: set[str]) -> PathStep:
    origins = [(chunk, block[0]) for chunk in group if (block := block_of(chunk, file)) is not None]
    first = next(((chunk, entry) for chunk, entry in origins if _alike(chunk, entry)), None)
    if first is None:
        return PathStep(tuple(group), None, False, False)
    chunk, base = first
    copied = chunk.key not in file.origin or base.key in used
    used.add(base.key)
    stored = [(member.role, member.kind, member.payload) for member in base.chunks]
    same = stored == [(member.role, member.kind, member.payload) for member in group] and all(entry is base for _, entry in origins)
    return PathStep(tuple(group), base, copied, same)


def _alike(chunk: Chunk, entry: StoredEntry) -> bool:
    """Whether the line of `entry` can be what is written over: a result has its content elsewhere than other messages."""
    stored = entry.chunks[0]
    return (chunk.kind is Kind.TOOL_RESULT) == (stored.kind is Kind.TOOL_RESULT) and bool(chunk.role) == bool(stored.role)
