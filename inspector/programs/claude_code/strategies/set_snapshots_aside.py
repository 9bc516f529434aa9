"""Moves snapshots of the user's files out of the session into a file next to it."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit, Set
from inspector.programs.claude_code.quarantine import QUARANTINED, named, numbers_in
from inspector.programs.claude_code.snapshots import snapshot_lines
from inspector.rules.base import Case
from inspector.strategies.base import Strategy


def propose(case: Case) -> Iterator[Edit]:
    lines = snapshot_lines((case.tree or case.conversation).chunks)
    old = case.conversation.fact(QUARANTINED)
    numbers = numbers_in(old)
    if not lines <= numbers:
        yield Set("conversation", QUARANTINED, old, named(sorted(numbers | lines)))


STRATEGY = Strategy(
    name="set-snapshots-aside",
    safety=frozenset(),
    summary="moves snapshots of the user's files (file-history-snapshot) out of the session into a file next to it, byte for byte",
    cost="No message changes, and no byte is lost: in place, the lines go into a file SESSION.ID.quarantine next to the session, and an undo puts them back; a new session is written without them, and the old file keeps them.",
    user_visible_effect="The session opens faster. A rewind (/rewind) to a point before the repair restores the conversation, and not the files.",
    pros="The chain of messages is as it was: snapshots are no part of it. A new session (--mode new-session) has none of them anyway.",
    cons="The requests do not become shorter: what does not fit into the model's context is made shorter by /compact, not by this.",
    write_kind="content",
    propose=propose,
    manual_only=True,
    order=44,
)
