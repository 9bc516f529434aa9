"""What is known of a session that is a tree besides its entries: where it ran and came from, its lock, its entry in an index, its copies."""

from collections.abc import Iterator

from inspector.conversation.model import Conversation
from inspector.programs.registry import program_or_default

# Name of the fact -> what it is called for a person.
_SAID = {
    "cwd": "ran in",
    "parentSession": "forked from",
    "sessionKey": "listed as",
    "lock": "lock",
    "recovery": "copies beside it, which are not read",
    "recoveryOfOthers": "copies of sessions that are gone, which are not read",
    "coldArchive": "cold archive, which is not read",
    "archives": "archives, which are not read",
    "pendingInputs": "pending inputs",
}
_COLD = "To look at it here, open the session once in OpenClaw, which puts the events back into the store, and read the store again."
_COPY = "Any of them can be looked at by its own path, as a source of its own."
_ALONE = "not known: this file was read alone. Read the folder that holds it, and the lock, sessions.json and copies beside it are looked at too."


def beside_session(tree: Conversation) -> tuple[tuple[str, str], ...]:
    """Rows of what and what is known, in the order in which a person asks; () where there is nothing to say."""
    return tuple(_rows(tree))


def _rows(tree: Conversation) -> Iterator[tuple[str, str]]:
    for name, said in _SAID.items():
        if value := tree.fact(name):
            more = f". {_COLD}" if name == "coldArchive" else f". {_COPY}" if name.startswith("recovery") else ""
            yield said, f"{value}{more}"
    held = tree.facts.get("lines")
    # The key of a file that was named alone has no folder in it.
    if tree.format in program_or_default(tree.format).neighbor_files and held is not None and held.key and "/" not in held.key:
        yield "lock and index", _ALONE
