"""Gives each record of a line that holds several a line of its own."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit
from inspector.programs.codex.entries import entry_of
from inspector.programs.codex.line_bytes import lines, pieces, with_bytes
from inspector.rules.base import Case
from inspector.strategies.base import Strategy


def propose(case: Case) -> Iterator[Edit]:
    """A fragment of a record gets a line of its own too: its bytes stay, and Codex skips them as before."""
    for records in lines(case.conversation.chunks):
        if not any("part" in entry_of(record[0]) for record in records):
            continue
        texts = pieces(records[0][0].raw, [bool(entry_of(record[0])) for record in records])
        for record, text in zip(records, texts, strict=True) if texts else ():
            yield from with_bytes(record, text, removed=("part", "unread"))


STRATEGY = Strategy(
    name="split-spliced-records",
    safety=frozenset(),
    summary="gives each record of a line that holds several a line of its own",
    cost="No content changes: records that Codex skipped are read again.",
    user_visible_effect="Messages and outputs that had vanished are back, and the model gets them.",
    pros="The records are whole; only the line end between them is missing.",
    cons="What was said after the loss was said without them. A fragment stays a line that nobody reads.",
    write_kind="content",
    propose=propose,
    order=20,
)
