"""The branches of a session file: which entry hangs below which, what the path read reaches, and where damage cuts it off."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from inspector.conversation.model import Chunk, Conversation, Fact, Kind
from inspector.conversation.tree import LEAF
from inspector.reports.branch_model import (
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
    name_of,
    short,
)
from inspector.reports.missing_results import find_missing
from inspector.reports.visible import visible
from inspector.rules.base import Case

_LINKS_WALKED = 32
_HEAD = 4096
_ID = re.compile(rb'"id"\s*:\s*"([^"\\]{1,200})"')
_PARENT = re.compile(rb'"parentId"\s*:\s*"([^"\\]{1,200})"')
_NOTHING: Mapping[str, Any] = {}


def with_leaf(tree: Conversation, asked: str) -> Conversation:
    """The tree with the chosen leaf, named by what shows of its key: an address cannot carry a lone surrogate. Unchanged where there is none."""
    key = next((key for chunk in tree.chunks if visible(key := _key(chunk)) == asked and _is_entry(chunk)), None) if asked else None
    return tree if key is None else replace(tree, facts={**tree.facts, LEAF: Fact(LEAF, key)})


def branches_of(case: Case) -> Branches | None:
    """The tree around the path that the case's reader takes; None where the conversation is no tree. Linear, and never recursive."""
    if case.tree is None:
        return None
    nodes = tuple(_nodes(case.tree))
    place = {node.key: node.index for node in nodes}
    path = tuple(place[key] for key, _ in groupby(case.conversation.chunks, key=_key) if key in place)
    found = Branches(case.reading.reader, nodes, path, unit=counted(case.tree.format)[0], chosen=case.tree.fact(LEAF) or "")
    found.state = [OTHER if node.is_read else UNREAD for node in nodes]
    _hang(found, case.tree.fact("id"))
    _order(found)
    _name_states(found)
    _compacted(found)
    find_missing(found)
    return found


def _key(chunk: Chunk) -> str:
    return chunk.key.rpartition(".")[0] or chunk.key


def _is_entry(chunk: Chunk) -> bool:
    return isinstance(chunk.payload.get("entry"), Mapping)


def _nodes(tree: Conversation) -> Iterator[Node]:
    _, first = counted(tree.format)
    for index, (key, held) in enumerate(groupby(tree.chunks, key=_key)):
        chunks = tuple(held)
        line = (chunks[0].msg_idx or 0) + first
        about = chunks[0].payload.get("entry")
        if isinstance(about, Mapping):
            id_, parent, kind = (value if isinstance(value := about.get(name), str) else "" for name in ("id", "parentId", "type"))
            yield Node(index, key, id_, parent or None, kind, about, chunks, True, "fused" not in about, line)
        else:
            id_, parent = _named(chunks[0])
            kind = "" if chunks[0].kind is Kind.UNREADABLE else "session"
            yield Node(index, key, id_, parent or None, kind, _NOTHING, chunks, False, False, line)


def _named(chunk: Chunk) -> tuple[str, str]:
    """Id and parent that the bytes of a line still name, which its program could not parse."""
    # After the first fragment of a fused line other records may stand, whose ids are not its own.
    if chunk.kind is not Kind.UNREADABLE or _key(chunk).partition("/")[2] not in ("", "1"):
        return "", ""
    found = (pattern.search(chunk.raw[:_HEAD]) for pattern in (_ID, _PARENT))
    id_, parent = (match.group(1).decode("utf-8", "replace") if match else "" for match in found)
    return id_, parent


def _hang(found: Branches, header: str | None) -> None:
    """What each node stands below, its parents as the programs' maps resolve them: the last entry of an id counts."""
    nodes, by_id, recovered = found.nodes, dict[str, int](), dict[str, int]()
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
            # Some writers hang the first entry below the header: nothing stood above it.
            how = DANGLING
        if not node.is_read and how == STORED:
            how = CUT
        found.up.append(above)
        found.link.append(how)
        last = node.index if node.is_entry else last
    _follow_reader(found)
    _cut_cycles(found, replaced)
    _mark_damage(found, by_id, replaced)


def _follow_reader(found: Branches) -> None:
    """Along the path the drawing follows the reader, where that does not follow the stored parents."""
    held = set(found.path)
    for before, index in zip(found.path, found.path[1:], strict=False):
        at = found.up[index]
        links: list[int] = []
        while at >= 0 and at not in held and len(links) < _LINKS_WALKED:
            links.append(at)
            at = found.up[at]
        if at == before and found.link[index] == STORED:
            for link in links:
                found.state[link] = LINK
            continue
        parent, node = found.up[index], found.nodes[index]
        if parent >= 0 and found.link[index] == STORED:
            role = "which chose this branch" if found.nodes[parent].type == "leaf" else "which this reader does not follow"
            found.mark(index, "other parent", f"its parent is {name_of(found, parent)}, {role}", parent, is_damage=False)
        elif node.parent is not None:
            found.mark(
                index, "rebased", f"its parent {short(node.parent)} is in no line that can be read: {found.reader} goes on from here"
            )
        found.up[index], found.link[index] = before, REBASED if node.parent is not None else STORED


def _cut_cycles(found: Branches, replaced: Mapping[str, Sequence[int]]) -> None:
    walked_by = [-1] * len(found.nodes)
    first = found.path[0] if found.path else -1
    for start in range(len(found.nodes)):
        at, chain = start, list[int]()
        while at >= 0 and walked_by[at] < 0:
            walked_by[at] = start
            chain.append(at)
            at = found.up[at]
        if at < 0 or walked_by[at] != start:
            continue
        members = chain[chain.index(at) :]
        cut = first if walked_by[first] == start and first in members else min(members)
        above = found.up[cut]
        # An id that is used again closes the chain: the entry that the later one replaced is where it hung before. Those that were
        # walked from an earlier start lead to a root.
        earlier = [index for index in replaced.get(found.nodes[cut].parent or "", ()) if index < cut and 0 <= walked_by[index] < start]
        found.up[cut], found.link[cut] = (earlier[-1], CUT) if earlier else (-1, CYCLE)
        said = f"the parents of {len(members):,} {'entry' if len(members) == 1 else 'entries'} lead back to themselves"
        found.mark(cut, "cycle", f"{said}: its parent {name_of(found, above)} stands below it", above)


def _mark_damage(found: Branches, by_id: Mapping[str, int], replaced: Mapping[str, Sequence[int]]) -> None:
    for id_, earlier in replaced.items():
        for index in earlier:
            found.state[index] = REPLACED
            found.mark(index, "duplicate id", f"{name_of(found, by_id[id_])} has the same id and takes its place", by_id[id_])
        found.mark(by_id[id_], "duplicate id", f"takes the place of {name_of(found, earlier[-1])}, which has the same id", earlier[-1])
    for node in found.nodes:
        how, above, damage = found.link[node.index], found.up[node.index], node.chunks[0].damage
        if how == DANGLING:
            found.mark(node.index, "dangling parent", f"its parent {short(node.parent or '')} is in no line")
        elif how == CUT and node.is_read and not any(mark.kind == "cycle" for mark in found.marks.get(node.index, ())):
            found.mark(node.index, "dangling parent", f"its parent stands on {name_of(found, above)}, which no program reads", above)
        if node.type == "session" and not node.is_entry:
            found.mark(node.index, "second header", "a header inside the file: the programs skip it")
        elif node.is_entry and not node.is_read:
            found.mark(node.index, "fused line", "several records stand on this line: no program reads any of them")
        elif damage:
            found.mark(node.index, f"{damage} line" if not node.is_entry else damage, node.chunks[0].reason)
        elif how == UNPLACED:
            found.mark(node.index, "unreadable line", "where it belonged is not known")


def _order(found: Branches) -> None:
    """Depth first. The path keeps its lane, elsewhere the largest child does, so that lanes are no more than the logarithm of the entries."""
    count = len(found.nodes)
    found.children = [[] for _ in range(count)]
    for index, above in enumerate(found.up):
        if above >= 0:
            found.children[above].append(index)
    roots = [index for index, above in enumerate(found.up) if above < 0]
    first = list(roots)
    for index in first:
        first += found.children[index]
    size = [1] * count
    for index in reversed(first):
        if found.up[index] >= 0:
            size[found.up[index]] += size[index]
    trunk = set(_upward(found, found.leaf)) if found.path else set()
    found.heavy, found.lane = [-1] * count, [0] * count
    stack = roots[::-1]
    while stack:
        index = stack.pop()
        found.order.append(index)
        held = found.children[index]
        if not held:
            continue
        heavy = max(held, key=lambda child: (child in trunk, found.link[child] != UNPLACED, size[child], child))
        found.heavy[index] = heavy
        light = [child for child in held if child != heavy]
        for child in light:
            found.lane[child] = found.lane[index] + 1
        found.lane[heavy] = found.lane[index]
        stack += [heavy, *reversed(light)]
    found.place = [0] * count
    for at, index in enumerate(found.order):
        found.place[index] = at
    found.end = [at + size[index] - 1 for index, at in enumerate(found.place)]


def _upward(found: Branches, index: int | None) -> Iterator[int]:
    at = -1 if index is None else index
    while at >= 0:
        yield at
        at = found.up[at]


def _name_states(found: Branches) -> None:
    """What a cut hides from the path: what stands above it, or where nothing says what did, the entries of the file up to there."""
    for index in found.path:
        found.state[index] = LIVE
    first = found.path[0] if found.path else len(found.nodes)
    # A line without id ends the path of pi, and so does one that is no object: nothing above it is read.
    is_blind = not found.path or (found.link[first] == ROOT and not found.nodes[first].id)
    if is_blind or found.link[first] == DANGLING:
        above = next((at for at in range(first - 1, -1, -1) if found.nodes[at].is_entry and found.nodes[at].is_read), -1)
    elif found.link[first] == CUT:
        above = found.up[first]
    else:
        return
    for index in _upward(found, above):
        if found.state[index] == OTHER:
            found.state[index] = LOST
            if found.last_lost is None and found.ends(index):
                found.last_lost = index


def _compacted(found: Branches) -> None:
    at = next(
        (place for place in range(len(found.path) - 1, -1, -1) if found.nodes[found.path[place]].type in ("compaction", "reset")), None
    )
    if at is None:
        return
    node = found.nodes[found.path[at]]
    kept = node.about.get("firstKeptEntryId")
    first = next((place for place in range(at) if found.nodes[found.path[place]].id == kept), at) if isinstance(kept, str) else at
    found.summarised = frozenset(found.path[:first])
    if first == at and isinstance(kept, str) and kept != node.id:
        found.mark(node.index, "stale pointer", f"it keeps entries from {short(kept)} on, which is not above it: nothing before it is kept")
    elif first:
        said = "stands for" if node.type == "compaction" else "forgets"
        found.mark(node.index, node.type, f"{said} {first:,} {'entry' if first == 1 else 'entries'} above it", is_damage=False)
