"""The branches of a session for scripts and terminals: the `tree` of a JSON twin, and one line an entry with the live path starred."""

from collections.abc import Iterator
from typing import Any

from inspector.reports.branch_model import LIVE, OTHER, Branches
from inspector.reports.entry_words import what, words
from inspector.reports.missing_results import NO_RESULT
from inspector.reports.own_leaves import OwnLeaf
from inspector.reports.tree_view import share

Json = dict[str, Any]


def tree_report(found: Branches, own: tuple[OwnLeaf, ...]) -> Json:
    """`path` and `leaves` name entries by their keys: the id, `id#2` of the second with that id, `line:N` where it has none.

    `line` is that of an editor, which counts the header as 1; keys count from 0. In a database it is the `seq` of the row.
    """
    nodes = found.nodes
    return {
        "leaf": "" if found.leaf is None else nodes[found.leaf].key,
        "chosen": bool(found.chosen),
        "leaves": [{"id": nodes[index].key, "line": nodes[index].line, "live": index == found.leaf} for index in found.leaves],
        "path": [nodes[index].key for index in found.path],
        "reachable": len(found.path),
        "entries": found.entries,
        "damage": [
            {"id": nodes[index].key, "line": nodes[index].line, "what": mark.kind, "text": mark.text}
            for index, mark in found.damage
            if mark.kind != NO_RESULT
        ],
        "lost": [node.key for node in nodes if found.state[node.index] == "lost"],
        "missing_results": [
            {
                "call": each.call.call_id,
                "id": nodes[each.node].key,
                "result": None if each.result is None else nodes[each.result].key,
                "text": each.where,
            }
            for each in found.missing
        ],
        "readers": {name: {"leaf": each.leaf, "reachable": each.reached} for each in own for name in each.readers},
    }


def tree_lines(found: Branches, own: tuple[OwnLeaf, ...]) -> Iterator[str]:
    """Depth first; indented by lane, `*` on the path. A line says its state only where that is neither the path nor just another branch."""
    leaves = found.leaves
    yield f"As {found.reader} reads it: {share(len(found.path), found.entries)}; {len(leaves):,} {'leaf' if len(leaves) == 1 else 'leaves'}."
    if len(own) > 1:
        for each in own:
            where = f"leaf {_one_line(each.leaf) or 'without id'}, {found.unit} {each.line}" if each.line is not None else "nothing"
            yield f"    {', '.join(each.readers)}: {where}, {share(each.reached, found.entries)}"
    for index in found.order:
        node, state = found.nodes[index], found.state[index]
        indent = "  " * found.lane[index]
        said = "" if state in (LIVE, OTHER) else f" ({state})"
        leaf = " <- leaf" if index == found.leaf else ""
        yield _one_line(f"{indent}{'*' if state == LIVE else '-'} {node.shown} {what(node)}{said}: {words(node)[:100]}{leaf}")
        for mark in found.marks.get(index, ()):
            yield _one_line(f"{indent}    {'!' if mark.is_damage else '·'} {mark.kind}: {mark.text}")


def _one_line(text: str) -> str:
    """An id may hold a line end, and would forge a line."""
    return text.replace("\n", "\\n").replace("\t", "\\t")
