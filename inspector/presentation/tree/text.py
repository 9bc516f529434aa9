"""The branches of a session for scripts and terminals: the `tree` of a JSON twin, and one line an entry with the live path starred."""

from collections.abc import Iterator

from inspector.presentation.json_text import Json
from inspector.presentation.tree.entry_words import what, words
from inspector.presentation.tree.missing_results import NO_RESULT
from inspector.presentation.tree.model import LIVE, OTHER, Branches
from inspector.presentation.tree.own_leaves import OwnLeaf
from inspector.presentation.tree.view import share


def tree_report(tree: Branches, own: tuple[OwnLeaf, ...]) -> Json:
    """`path` and `leaves` name entries by their keys: the id, `id#2` of the second with that id, `line:N` where it has none.

    `line` is that of an editor, which counts the header as 1; keys count from 0. In a database it is the `seq` of the row.
    """
    nodes = tree.nodes
    return {
        "leaf": "" if tree.leaf is None else nodes[tree.leaf].key,
        "chosen": bool(tree.chosen),
        "leaves": [{"id": nodes[index].key, "line": nodes[index].line, "live": index == tree.leaf} for index in tree.leaves],
        "path": [nodes[index].key for index in tree.path],
        "reachable": len(tree.path),
        "entries": tree.entries,
        "damage": [
            {"id": nodes[index].key, "line": nodes[index].line, "what": mark.kind, "text": mark.text}
            for index, mark in tree.damage
            if mark.kind != NO_RESULT
        ],
        "lost": [node.key for node in nodes if tree.state[node.index] == "lost"],
        "missing_results": [
            {
                "call": gap.call.call_id,
                "id": nodes[gap.node].key,
                "result": None if gap.result is None else nodes[gap.result].key,
                "text": gap.where,
            }
            for gap in tree.missing
        ],
        "readers": {name: {"leaf": leaf.leaf, "reachable": leaf.reached} for leaf in own for name in leaf.readers},
    }


def tree_lines(tree: Branches, own: tuple[OwnLeaf, ...]) -> Iterator[str]:
    """Depth first; indented by lane, `*` on the path. A line shows its state only where that is neither the path nor just another branch."""
    leaves = tree.leaves
    yield f"As {tree.reader} reads it: {share(len(tree.path), tree.entries)}; {len(leaves):,} {'leaf' if len(leaves) == 1 else 'leaves'}."
    if len(own) > 1:
        for leaf in own:
            where = f"leaf {_one_line(leaf.leaf) or 'without id'}, {tree.unit} {leaf.line}" if leaf.line is not None else "nothing"
            yield f"    {', '.join(leaf.readers)}: {where}, {share(leaf.reached, tree.entries)}"
    for index in tree.order:
        node, state = tree.nodes[index], tree.state[index]
        indent = "  " * tree.lane[index]
        state_words = "" if state in (LIVE, OTHER) else f" ({state})"
        mark_of_leaf = " <- leaf" if index == tree.leaf else ""
        yield _one_line(
            f"{indent}{'*' if state == LIVE else '-'} {node.shown} {what(node)}{state_words}: {words(node)[:100]}{mark_of_leaf}"
        )
        for mark in tree.marks.get(index, ()):
            yield _one_line(f"{indent}    {'!' if mark.is_damage else '·'} {mark.kind}: {mark.text}")


def _one_line(text: str) -> str:
    """An id may contain a line end, and would forge a line."""
    return text.replace("\n", "\\n").replace("\t", "\\t")
