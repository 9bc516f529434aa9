"""Brings records back that share a line with others, which no program reads."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit, Insert
from inspector.programs.pi_openclaw.rules.fused_records import coming_back
from inspector.rules.base import Case
from inspector.strategies.base import Strategy


def propose(case: Case) -> Iterator[Edit]:
    """Each is written as a line of its own; the line that they share stays, and is read by nobody, as before."""
    for after, records in coming_back(case):
        for entry in records:
            for chunk in entry.chunks:
                yield Insert(after, chunk)
                after = chunk.key


STRATEGY = Strategy(
    name="split-fused-line",
    safety=frozenset(),
    summary="brings back the records of a line that holds two of them, where the path names them or goes on in them",
    cost="No content changes: records that were hidden are on the path again, with what was above them.",
    user_visible_effect="Messages that had vanished are back, and the model knows them.",
    pros="Both records are whole; only the line end between them is missing, which pi up to 0.84.3 left out after a file without one.",
    cons="What was said after the loss was said without these messages. Where the program went on from an older entry they are a branch of their own, and are left there.",
    write_kind="W3",
    propose=propose,
    order=40,
)
