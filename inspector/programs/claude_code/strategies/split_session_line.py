"""Writes the records of a line that holds several as lines of their own, where the path needs one of them."""

from collections.abc import Iterator
from dataclasses import replace

from inspector.conversation.edits import Edit, Insert, between
from inspector.conversation.tree import entries
from inspector.programs.claude_code.chain import apart_from_line
from inspector.programs.claude_code.path import shares_line
from inspector.rules.base import Case
from inspector.strategies.base import Strategy


def propose(case: Case) -> Iterator[Edit]:
    """The path as it is read once each record has a line; a record that the program wrote again on a line of its own is left where it is."""
    if case.tree is None:
        return
    lines = entries(case.tree)
    own_ids = {entry.id for entry in lines if not shares_line(entry)}
    missing = {chunk.key for entry in lines if shares_line(entry) and entry.id and entry.id not in own_ids for chunk in entry.chunks}
    if not missing:
        return
    base = case.view(case.tree)
    tree = replace(case.tree, chunks=tuple(apart_from_line(chunk) if chunk.key in missing else chunk for chunk in case.tree.chunks))
    present = {chunk.key for chunk in case.conversation.chunks}
    for edit in between(base, case.view(tree)):
        if isinstance(edit, Insert) and edit.chunk.key not in present:
            yield edit


STRATEGY = Strategy(
    name="split-session-line",
    safety=frozenset(),
    summary="writes the records of a line that holds several as lines of their own, where a message on the path names one or follows it",
    cost="No content changes: a line end comes between the records. Messages that were hidden are on the path again, with what was before them.",
    user_visible_effect="Messages that had vanished are back, and the model knows them.",
    pros="The records are whole, and only the line end between them is missing. Each keeps every byte; a fragment next to them becomes a line of its own too.",
    cons="What was said after the loss was said without these messages. A fragment that is left as a line of its own is skipped: quarantine-unreadable-lines takes it out.",
    write_kind="W3",
    propose=propose,
    order=41,
)
