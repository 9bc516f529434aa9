"""What rules on trees ask: the entries of the whole file, which of them the path holds, and the parts that it leaves out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inspector.conversation.edits import stored_key
from inspector.conversation.model import Chunk, Conversation
from inspector.conversation.tree import Entry, entries, last_by_id, spoken
from inspector.programs.pi_openclaw.readers.rows import parsed
from inspector.rules.base import Case, cached_per_case
from inspector.text.jsontext import compact

SETTINGS = frozenset(("label", "session_info", "model_change", "thinking_level_change", "custom", "usage", "context_edit"))
"""Types of entries that say nothing to the model."""
_PLACES = ("id", "parentId", "timestamp", "fused", "storedId", "storedParentId", "appendMode", "appendParentId")


@dataclass(frozen=True, slots=True)
class Tree:
    """`all` are the entries that programs parse, `path` those that the reader takes (in its order), `on_path` their indexes.

    On the path an entry that a strategy put in has the index -1.
    """

    all: tuple[Entry, ...]
    by_id: Mapping[str, Entry]
    path: tuple[Entry, ...]
    on_path: frozenset[int]

    def parent(self, entry: Entry) -> Entry | None:
        return None if entry.parent is None else self.by_id.get(entry.parent)

    @property
    def reach(self) -> str:
        share = len(self.on_path) * 100 / len(self.all) if self.all else 100
        return f"the path reaches {len(self.on_path):,} of {len(self.all):,} entries ({share:.0f} %)"


def key_of(chunk: Chunk) -> str:
    """The key of the entry that a chunk is a block of, also where a strategy moved it."""
    return stored_key(chunk).rpartition(".")[0]


def whole(case: Case) -> Conversation:
    """The whole file; the conversation itself where it is no path through a tree."""
    return case.tree or case.conversation


@cached_per_case
def tree_of(case: Case) -> Tree:
    parsed_entries = parsed(whole(case))
    if parsed_entries and parsed_entries[-1].index != len(parsed_entries) - 1:
        # Without gaps where fused records were left out.
        parsed_entries = tuple(_at(entry, number) for number, entry in enumerate(parsed_entries))
    path = _path(case.conversation, parsed_entries)
    on_path = frozenset(entry.index for entry in path if entry.index >= 0)
    return Tree(parsed_entries, last_by_id(parsed_entries), path, on_path)


def _path(conversation: Conversation, parsed_entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """As the path has them, so that what a strategy changed in them counts; their place is that among all entries."""
    stored = {id(entry.chunks[0]): entry for entry in parsed_entries}
    path: list[Entry] = []
    at = 0
    while at < len(conversation.chunks):
        entry = stored.get(id(conversation.chunks[at]))
        if entry is None or any(a is not b for a, b in zip(entry.chunks, conversation.chunks[at : at + len(entry.chunks)], strict=False)):
            place = {entry.chunks[0].key: entry.index for entry in parsed_entries}
            return tuple(_at(entry, place.get(entry.chunks[0].key, -1)) for entry in entries(conversation))
        path.append(entry)
        at += len(entry.chunks)
    return tuple(path)


def _at(entry: Entry, index: int) -> Entry:
    return entry if entry.index == index else replace(entry, index=index)


def is_user(entry: Entry) -> bool:
    """Whether a person said it; commands that pi ran and texts of extensions go to the model as the user's too."""
    return entry.type == "message" and entry.about.get("role") == "user"


def words_of(entry: Entry) -> str:
    """What an entry says, the same for one that is written again under a new id; its message keeps a time of its own."""
    about = {name: value for name, value in entry.about.items() if name not in _PLACES}
    blocks: list[Any] = [[chunk.role, chunk.kind, {**chunk.payload, "entry": None}] for chunk in entry.chunks]
    return compact([about, blocks])


def name(entry: Entry) -> str:
    return f"{spoken(entry.id[:40], entry.chunks[0].msg_idx)} (seq {entry.chunks[0].seq})" if entry.id else f"at seq {entry.chunks[0].seq}"


def chunks_of(group: Iterable[Entry]) -> list[Chunk]:
    return [chunk for entry in group for chunk in entry.chunks]


def tops(tree: Tree) -> dict[int, list[Entry]]:
    """Entries off the path by the index of the uppermost of their branch. Each is walked over cached_per_case, cycles included."""
    top: dict[int, int] = {}
    for start in tree.all:
        chain: list[int] = []
        visited: set[int] = set()
        at: Entry | None = start
        top_index = -1
        while at is not None and at.index not in tree.on_path and at.index not in visited:
            if at.index in top:
                top_index = top[at.index]
                break
            visited.add(at.index)
            chain.append(at.index)
            at = tree.parent(at)
        for index in chain:
            top[index] = top_index if top_index >= 0 else chain[-1]
    branches: dict[int, list[Entry]] = {}
    for entry in tree.all:
        if entry.index in top:
            branches.setdefault(top[entry.index], []).append(entry)
    return branches
