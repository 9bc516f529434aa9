"""What is known of a session that is a tree, other than its entries: where it ran and came from, its lock, its entry in an index, its copies."""

from collections.abc import Iterator

from inspector.conversation.model import Conversation
from inspector.programs.registry import program_or_default

# Name of the fact -> what it is called for a person.
_LABELS = {
    "cwd": "ran in",
    "parentSession": "forked from",
    "sessionKey": "listed as",
    "lock": "lock",
    "recovery": "copies next to it, which are not read",
    "recoveryOfOthers": "copies of sessions that are gone, which are not read",
    "coldArchive": "cold archive, which is not read",
    "archives": "archives, which are not read",
    "pendingInputs": "pending inputs",
}
_COPY = "Any of them can be looked at by its own path, as a source of its own."
_ALONE = "not known: this file was read alone. Read the folder that holds it, and the lock, sessions.json and copies next to it are looked at too."


def session_facts(tree: Conversation) -> tuple[tuple[str, str], ...]:
    """(label, value) of each known fact, the most important first."""
    return tuple(_rows(tree))


def _rows(tree: Conversation) -> Iterator[tuple[str, str]]:
    for name, label in {**_LABELS, **program_or_default(tree.format).panels.facts}.items():
        if value := tree.fact(name):
            more = f". {_COPY}" if name.startswith("recovery") else ""
            yield label, f"{value}{more}"
    lines = tree.facts.get("lines")
    # The key of a file that was named alone has no folder in it.
    if tree.format in program_or_default(tree.format).neighbor_files and lines is not None and lines.key and "/" not in lines.key:
        yield "lock and index", _ALONE
