"""The branches of a session file: which entry hangs below which, what the path read reaches, and where damage cuts it off."""

import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from inspector.conversation.model import Chunk, Conversation, Fact, Kind
from inspector.conversation.tree import LEAF
from inspector.presentation.tree.missing_results import find_missing
from inspector.presentation.tree.model import (
    CUT,
    CYCLE,
    DANGLING,
    LINK,
    LIVE,
    LOST,
    OTHER,
    REBASED,
    REPLACED,
    ROOT,
    STORED,
    UNPLACED,
    UNREAD,
    Branches,
    Node,
    counted,
    indexes,
    name_of,
    short,
)
from inspector.presentation.visible import visible
from inspector.programs.registry import program_or_default
from inspector.rules.base import Case

_LINKS_WALKED = 32
_HEAD = 4096
_ID = re.compile(rb'"id"\s*:\s*"([^"\\]{1,200})"')
_PARENT = re.compile(rb'"parentId"\s*:\s*"([^"\\]{1,200})"')
_NOTHING: Mapping[str, Any] = {}


def with_leaf(tree: Conversation, leaf_name: str) -> Conversation:
    """The tree with the chosen leaf, named by the visible form of its key: an address cannot carry a lone surrogate. Unchanged where there is none."""
    key = next((key for chunk in tree.chunks if visible(key := _key(chunk)) == leaf_name and _is_entry(chunk)), None) if leaf_name else None
    return tree if key is None else replace(tree, facts={**tree.facts, LEAF: Fact(LEAF, key)})


def branches_of(case: Case) -> Branches | None:
    """The tree around the path that the case's reader takes; None where the conversation is no tree. Linear, and never recursive."""
    if case.tree is None:
        return None
    nodes = tuple(_nodes(case.tree))
    place = {node.key: node.index for node in nodes}
    path = tuple(place[key] for key, _ in groupby(case.conversation.chunks, key=_key) if key in place)
    tree = Branches(case.reading.reader, nodes, path, unit=counted(case.tree.format)[0], chosen=case.tree.fact(LEAF) or "")
    tree.state = [OTHER if node.is_read else UNREAD for node in nodes]
    _hang(tree, case.tree.fact("id"))
    _order(tree)
    _name_states(tree)
    _compacted(tree)
    find_missing(tree)
    return tree


def _key(chunk: Chunk) -> str:
    return chunk.key.rpartition(".")[0] or chunk.key


def _is_entry(chunk: Chunk) -> bool:
    return isinstance(chunk.payload.get("entry"), Mapping)


def _nodes(tree: Conversation) -> Iterator[Node]:
    _, first = counted(tree.format)
    apart = program_or_default(tree.format).apart(tree)
    lines = ((key, tuple(group)) for key, group in groupby(tree.chunks, key=_key) if key not in apart)
    for index, (key, chunks) in enumerate(lines):
        line = (chunks[0].msg_idx or 0) + first
        about = chunks[0].payload.get("entry")
        if isinstance(about, Mapping):
            id_, parent, kind = (value if isinstance(value := about.get(name), str) else "" for name in ("id", "parentId", "type"))
            # Nearly every key is the id: one text in memory for both.
            yield Node(index, id_ if id_ == key else key, id_, parent or None, kind, about, chunks, True, "fused" not in about, line)
        else:
            id_, parent = _named(chunks[0])
            kind = "" if chunks[0].kind is Kind.UNREADABLE else "session"
            yield Node(index, key, id_, parent or None, kind, _NOTHING, chunks, False, False, line)


def _named(chunk: Chunk) -> tuple[str, str]:
    """Id and parent that the bytes of a line still name, which its program could not parse."""
    # Other records may follow the first fragment of a fused line: their ids are not its own.
    if chunk.kind is not Kind.UNREADABLE or _key(chunk).partition("/")[2] not in ("", "1"):
        return "", ""
    matches = (pattern.search(chunk.raw[:_HEAD]) for pattern in (_ID, _PARENT))
    id_, parent = (match.group(1).decode("utf-8", "replace") if match else "" for match in matches)
    return id_, parent


def _hang(tree: Branches, header: str | None) -> None:
    """The parent of each node, as the programs' maps resolve it: the last entry of an id counts."""
    nodes, by_id, recovered = tree.nodes, dict[str, int](), dict[str, int]()
    replaced: dict[str, list[int]] = {}
    for node in nodes:
        if node.id and node.is_read:
            if node.id in by_id:
                replaced.setdefault(node.id, []).append(by_id[node.id])
            by_id[node.id] = node.index
    for node in nodes:
        if node.id and not node.is_read and node.id not in by_id:
            recovered.setdefault(node.id, node.index)
    last = -1
    for node in nodes:
        above, how = -1, ROOT
        if node.parent is not None and node.parent in by_id:
            above, how = by_id[node.parent], STORED
        elif node.parent is not None and recovered.get(node.parent, node.index) != node.index:
            above, how = recovered[node.parent], CUT
        elif not node.is_entry:
            above, how = last, UNPLACED if last >= 0 else ROOT
        elif node.parent not in (None, header):
            # Some writers put the first entry below the header: it has no parent.
            how = DANGLING
        if not node.is_read and how == STORED:
            how = CUT
        tree.up.append(above)
        tree.link.append(how)
        last = node.index if node.is_entry else last
    _follow_reader(tree)
    _cut_cycles(tree, replaced)
    _mark_damage(tree, by_id, replaced)


def _follow_reader(tree: Branches) -> None:
    """Along the path the drawing follows the reader, where that does not follow the stored parents."""
    path_nodes = set(tree.path)
    for before, index in zip(tree.path, tree.path[1:], strict=False):
        at = tree.up[index]
        links: list[int] = []
        while at >= 0 and at not in path_nodes and len(links) < _LINKS_WALKED:
            links.append(at)
            at = tree.up[at]
        if at == before and tree.link[index] == STORED:
            for link in links:
                tree.state[link] = LINK
            continue
        parent, node = tree.up[index], tree.nodes[index]
        if parent >= 0 and tree.link[index] == STORED:
            role = "which chose this branch" if tree.nodes[parent].type == "leaf" else "which this reader does not follow"
            tree.mark(index, "other parent", f"its parent is {name_of(tree, parent)}, {role}", parent, is_damage=False)
        elif node.parent is not None:
            tree.mark(index, REBASED, f"its parent {short(node.parent)} is in no line that can be read: {tree.reader} goes on from here")
        tree.up[index], tree.link[index] = before, REBASED if node.parent is not None else STORED


def _cut_cycles(tree: Branches, replaced: Mapping[str, Sequence[int]]) -> None:
    walked_by = indexes(-1, len(tree.nodes))
    first = tree.path[0] if tree.path else -1
    for start in range(len(tree.nodes)):
        at, chain = start, list[int]()
        while at >= 0 and walked_by[at] < 0:
            walked_by[at] = start
            chain.append(at)
            at = tree.up[at]
        if at < 0 or walked_by[at] != start:
            continue
        members = chain[chain.index(at) :]
        cut = first if walked_by[first] == start and first in members else min(members)
        above = tree.up[cut]
        # An id that is used again closes the chain: the entry that the later one replaced is where it hung before. Those that were
        # walked from an earlier start lead to a root.
        earlier = [index for index in replaced.get(tree.nodes[cut].parent or "", ()) if index < cut and 0 <= walked_by[index] < start]
        tree.up[cut], tree.link[cut] = (earlier[-1], CUT) if earlier else (-1, CYCLE)
        summary = f"the parents of {len(members):,} {'entry' if len(members) == 1 else 'entries'} lead back to themselves"
        tree.mark(cut, "cycle", f"{summary}: its parent {name_of(tree, above)} is below it", above)


def _mark_damage(tree: Branches, by_id: Mapping[str, int], replaced: Mapping[str, Sequence[int]]) -> None:
    for id_, earlier in replaced.items():
        for index in earlier:
            tree.state[index] = REPLACED
            tree.mark(index, "duplicate id", f"{name_of(tree, by_id[id_])} has the same id and takes its place", by_id[id_])
        tree.mark(by_id[id_], "duplicate id", f"takes the place of {name_of(tree, earlier[-1])}, which has the same id", earlier[-1])
    for node in tree.nodes:
        how, above, damage = tree.link[node.index], tree.up[node.index], node.chunks[0].damage
        if how == DANGLING:
            tree.mark(node.index, "dangling parent", f"its parent {short(node.parent or '')} is in no line that can be read")
        elif how == CUT and node.is_read and not any(mark.kind == "cycle" for mark in tree.marks.get(node.index, ())):
            tree.mark(node.index, "dangling parent", f"its parent is on {name_of(tree, above)}, which no program reads", above)
        if node.type == "session" and not node.is_entry:
            tree.mark(node.index, "second header", "a header inside the file: the programs skip it")
        elif node.is_entry and not node.is_read:
            tree.mark(node.index, "fused line", "this line has several records: no program reads any of them")
        elif damage:
            tree.mark(node.index, f"{damage} line" if not node.is_entry else damage, node.chunks[0].reason)
        elif how == UNPLACED:
            tree.mark(node.index, "unreadable line", "where it belonged is not known")


def _order(tree: Branches) -> None:
    """Depth first. The path keeps its lane, elsewhere the largest child does, so that lanes are no more than the logarithm of the entries."""
    count = len(tree.nodes)
    tree.heavy, tree.lane, tree.place = indexes(-1, count), indexes(0, count), indexes(0, count)
    for index, above in enumerate(tree.up):
        if above < 0:
            continue
        if above in tree.forks:
            tree.forks[above].append(index)
        elif tree.heavy[above] >= 0:
            tree.forks[above] = [tree.heavy[above], index]
        else:
            tree.heavy[above] = index
    roots = [index for index, above in enumerate(tree.up) if above < 0]
    first = array("q", roots)
    for index in first:
        first.extend(tree.children(index))
    size = indexes(1, count)
    for index in reversed(first):
        if tree.up[index] >= 0:
            size[tree.up[index]] += size[index]
    trunk = set(tree.upward(tree.leaf))
    for index, children in tree.forks.items():
        tree.heavy[index] = max(children, key=lambda child: (child in trunk, tree.link[child] != UNPLACED, size[child], child))
    stack = roots[::-1]
    while stack:
        index = stack.pop()
        tree.order.append(index)
        heavy = tree.heavy[index]
        if heavy < 0:
            continue
        light = [child for child in tree.forks.get(index, ()) if child != heavy]
        for child in light:
            tree.lane[child] = tree.lane[index] + 1
        tree.lane[heavy] = tree.lane[index]
        stack += [heavy, *reversed(light)]
    for at, index in enumerate(tree.order):
        tree.place[index] = at
    tree.end = array("q", (at + size[index] - 1 for index, at in enumerate(tree.place)))


def _name_states(tree: Branches) -> None:
    """What a cut hides from the path: its ancestors, or where these are unknown, the entries of the file up to there."""
    for index in tree.path:
        tree.state[index] = LIVE
    first = tree.path[0] if tree.path else len(tree.nodes)
    # A line without id ends the path of pi, and so does one that is no object: nothing above it is read.
    is_blind = not tree.path or (tree.link[first] == ROOT and not tree.nodes[first].id)
    if is_blind or tree.link[first] == DANGLING:
        read = next((at for at in range(first - 1, -1, -1) if tree.nodes[at].is_entry and tree.nodes[at].is_read), -1)
        # A line between them that does not say its id may be the parent that is in no line.
        nameless = (at for at in range(first - 1, read, -1) if tree.nodes[at].chunks[0].kind is Kind.UNREADABLE and not tree.nodes[at].id)
        above = next((at for at in nameless if not is_blind and tree.up[at] == read), read)
    elif tree.link[first] == CUT:
        above = tree.up[first]
    else:
        return
    tree.above_cut = above if above >= 0 else None
    for index in tree.upward(tree.above_cut):
        if tree.state[index] == OTHER:
            tree.state[index] = LOST
            if tree.last_lost is None and tree.ends(index):
                tree.last_lost = index


def _compacted(tree: Branches) -> None:
    at = next((place for place in range(len(tree.path) - 1, -1, -1) if tree.nodes[tree.path[place]].type in ("compaction", "reset")), None)
    if at is None:
        return
    node = tree.nodes[tree.path[at]]
    kept_id = node.about.get("firstKeptEntryId")
    first = next((place for place in range(at) if tree.nodes[tree.path[place]].id == kept_id), at) if isinstance(kept_id, str) else at
    tree.summarized = frozenset(tree.path[:first])
    if first == at and isinstance(kept_id, str) and kept_id != node.id:
        tree.mark(
            node.index, "stale pointer", f"it keeps entries from {short(kept_id)} on, which is not above it: nothing before it is kept"
        )
    elif first:
        verb = "replaces" if node.type == "compaction" else "forgets"
        tree.mark(node.index, node.type, f"{verb} {first:,} {'entry' if first == 1 else 'entries'} above it", is_damage=False)
