"""The path that each program takes through a session file: pi's walk, the manager of OpenClaw 2026.7, the tree scan of 2026.9.

Every walk of ours is guarded; where the program's own is not, the reader says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from inspector.conversation.model import Conversation, Fact
from inspector.conversation.tree import LEAF, Entry, as_path, last_by_id, walk
from inspector.programs.pi_openclaw.lines import HEADER, TYPES
from inspector.programs.pi_openclaw.readers.rows import chosen, ends_without_entry, is_below, parsed, value_of, word

WALK = "walk"
"""The fact of a path that could not be walked to its root: "cycle"."""
REBASED = "rebased"
"""The fact that names the entries, one to a line, whose parent the scan replaced by the leaf of that moment."""

STOPS, STOPPED = "opensTo", "openedTo"
"""The facts that name the lines, by their seqs, at which every pi throws, and at which those throw that do not skip what is null, false, 0 or ""."""

_CANONICAL = TYPES - {HEADER, "context_edit", "leaf", "reset", "usage"}
_CANONICAL_9 = _CANONICAL | {"reset"}


def pi_path(tree: Conversation) -> Conversation:
    """Leaf = the last line that parses, whatever its type, with an id or without; then from parent to parent.

    An id that is null leaves no leaf, as measured with pi 0.73.1 and 0.87.1.
    """
    all_entries = parsed(tree)
    if tree.fact(LEAF) == "" or not all_entries:
        return as_path(tree, ())
    leaf = chosen(tree, all_entries)
    if leaf is None and (ends_without_entry(tree) or all_entries[-1].about.get("id", "") is None):
        return _noted(tree, as_path(tree, ()))
    return _noted(tree, as_path(tree, walk(last_by_id(all_entries), leaf or all_entries[-1])[0]))


def _noted(tree: Conversation, path: Conversation) -> Conversation:
    """The path, with the lines at which pi throws when it opens the file: it gives ids to all lines of version 1, and up to 0.80.2 reads null."""
    if tree.fact("lines-not-object") is None:
        return path
    values = [(chunk, value_of(chunk)) for chunk in tree.chunks if chunk.damage == "not-object"]
    given = [(chunk, value) for chunk, value in values if not isinstance(value, list) and is_below(tree, 2)]
    stops = {
        STOPS: [chunk for chunk, value in given if value],
        STOPPED: [chunk for chunk, value in values if value is None] + [chunk for chunk, value in given if not value],
    }
    return replace(
        path, facts={**path.facts, **{name: Fact(name, " ".join(str(chunk.seq) for chunk in chunks)) for name, chunks in stops.items()}}
    )


def manager_path(tree: Conversation) -> Conversation:
    """OpenClaw 2026.7: `leaf` rows choose, side entries do not move the leaf, rows of unknown types are links only."""
    all_entries = parsed(tree)
    if tree.fact(LEAF) == "" or not all_entries:
        return as_path(tree, ())
    by_id: dict[str, Entry] = {}
    links: dict[str, str | None] = {}
    # What an opaque row leads to, settled when it is read: a chain of them is not walked again for each reference.
    leads_to: dict[str, str | None] = {}
    logical: dict[str, str | None] = {}
    void: set[str] = set()
    leaf: str | None = None
    cursor: str | None = None

    def canonical(id_: str | None) -> str | None:
        return id_ if id_ is None or id_ in by_id else leads_to.get(id_)

    def is_known(id_: str | None) -> bool:
        return id_ is None or id_ in by_id or (id_ in links and id_ not in void)

    for entry in all_entries:
        if entry.type in _CANONICAL and entry.id:
            side = entry.about.get("appendMode") == "side"
            if "parentId" not in entry.about or (not side and entry.parent == cursor and leaf != cursor):
                logical[entry.id] = leaf
            by_id[entry.id] = entry
            cursor = entry.id
            leaf = leaf if side else entry.id
        elif entry.type == "leaf":
            control = _control(entry)
            if control is None:
                continue
            target, after = control
            if not is_known(target) or not is_known(after):
                void.add(entry.id)
                leads_to[entry.id] = canonical(entry.parent)
                links[entry.id] = entry.parent
                continue
            leaf = canonical(target)
            cursor = leaf if "appendParentId" not in entry.about else after
            links[entry.id] = leads_to[entry.id] = leaf
        elif entry.id and ("parentId" in entry.about and (entry.parent is not None or entry.about["parentId"] is None)):
            leads_to[entry.id] = canonical(entry.parent)
            links[entry.id] = entry.parent
            cursor = entry.id
    chosen_entry = chosen(tree, all_entries)
    at = canonical(chosen_entry.id) if chosen_entry else leaf
    path: list[Entry] = []
    visited: set[str] = set()
    while at and at not in visited and at in by_id:
        visited.add(at)
        path.append(by_id[at])
        at = canonical(logical[at] if at in logical else by_id[at].parent)
    return as_path(tree, reversed(path))


def _control(entry: Entry) -> tuple[str | None, str | None] | None:
    """Target and append parent of a `leaf` row; None where it is malformed."""
    about = entry.about
    target = about.get("targetId", ...)
    after = about.get("appendParentId", target)
    if not entry.id or about.get("appendMode", "side") != "side":
        return None
    if (target is not None and not isinstance(target, str)) or (after is not None and not isinstance(after, str)):
        return None
    return target, after


@dataclass(frozen=True, slots=True)
class _Node:
    entry: Entry
    parent: str | None
    index: int
    control: bool = False


def scanned_path(tree: Conversation) -> Conversation:
    """OpenClaw 2026.9: unknown parents are rebased onto the leaf, so are parents from before a reset; a cycle gives an empty path."""
    all_entries = parsed(tree)
    if tree.fact(LEAF) == "" or not all_entries:
        return as_path(tree, ())
    nodes, leaf, explicit, rebased = _scan(all_entries)
    chosen_entry = chosen(tree, all_entries)
    if not explicit:
        path: Sequence[Entry] = all_entries
        why = ""
    else:
        walked, why = _select(nodes, chosen_entry.id if chosen_entry else leaf)
        path = [*_before(all_entries, nodes, walked), *(node.entry for node in walked)] if why != "cycle" else []
    result = as_path(tree, path)
    # Ids are one to a line: an id with a line end is left out.
    rebased_ids = "\n".join(entry.id for entry in path if entry.index in rebased and "\n" not in entry.id)
    return replace(result, facts={**result.facts, WALK: Fact(WALK, why), REBASED: Fact(REBASED, rebased_ids)})


def _scan(all_entries: Sequence[Entry]) -> tuple[dict[str, _Node], str | None, bool, frozenset[int]]:
    """The nodes, the leaf, whether any row chose it by its own parentId, and the indexes of rebased entries."""
    nodes: dict[str, _Node] = {}
    leads_to: dict[str, str | None] = {}
    void: set[str] = set()
    rebased: set[int] = set()
    after_reset: set[str] | None = None
    leaf: str | None = None
    cursor: str | None = None
    explicit = False
    for index, entry in enumerate(all_entries):
        id_ = entry.id if entry.id.strip() else ""
        if entry.type == "leaf":
            control = _control(entry) if "parentId" in entry.about else None
            if control is None:
                continue
            target, after = control
            if after_reset is not None and leaf is not None and (target is None or target not in after_reset):
                target = after = leaf
            are_known = [ref is None or (ref in nodes and ref not in void) for ref in (target, after)]
            if not all(are_known):
                void.add(id_)
                nodes[id_] = _Node(entry, entry.parent, index, True)
                leads_to[id_] = leads_to.get(entry.parent or "", entry.parent)
                continue
            nodes[id_] = _Node(entry, target, index, True)
            leads_to[id_] = leads_to.get(target or "", target)
            cursor, leaf, explicit = after, target, True
            if after_reset is not None and target is not None and target in after_reset:
                after_reset.add(id_)
            continue
        own = "parentId" in entry.about and (entry.about["parentId"] is None or bool((entry.parent or "").strip()))
        side = entry.about.get("appendMode") == "side"
        if not id_ or not (own or (entry.type in _CANONICAL_9 and "parentId" not in entry.about)):
            continue
        parent = entry.parent if own else leaf
        if entry.type in _CANONICAL_9:
            moved = parent
            outside = after_reset is not None and (parent is None or parent not in after_reset)
            stale = own and parent is not None and parent not in nodes and leaf is not None
            after_side_entry = own and parent == cursor and leaf != cursor
            if not side and (outside or stale or after_side_entry):
                moved = leaf
            if moved != parent and not after_side_entry:
                rebased.add(entry.index)
            parent = leads_to.get(moved or "", moved)
        nodes[id_] = _Node(entry, parent, index)
        leads_to.pop(id_, None)
        if entry.type == "reset":
            after_reset = {id_}
        elif after_reset is not None and parent is not None and parent in after_reset:
            after_reset.add(id_)
        cursor = id_
        if entry.type in _CANONICAL_9 and not side:
            leaf = id_
            explicit = explicit or own
    return nodes, leaf, explicit, frozenset(rebased)


def _select(nodes: dict[str, _Node], leaf: str | None) -> tuple[list[_Node], str]:
    path: list[_Node] = []
    visited: set[str] = set()
    at = leaf
    while at:
        if at in visited:
            return [], "cycle"
        visited.add(at)
        node = nodes.get(at)
        if node is None:
            break
        if not node.control:
            path.append(node)
        at = node.parent
    return path[::-1], ""


def _before(all_entries: Sequence[Entry], nodes: dict[str, _Node], walked: Sequence[_Node]) -> list[Entry]:
    """The nearest compaction or reset above the path's first entry belongs to it, and a reset with what it keeps."""
    first = walked[0].index if walked else 0
    for entry in reversed(all_entries[:first]):
        if entry.type not in ("compaction", "reset"):
            continue
        first_kept = word(entry.about.get("firstKeptEntryId"))
        if entry.type == "reset" and first_kept:
            above, _ = _select(nodes, entry.id)
            start = next((at for at, node in enumerate(above) if node.entry.id == first_kept), None)
            if start is not None:
                return [node.entry for node in above[start:]]
        return [entry]
    return []
