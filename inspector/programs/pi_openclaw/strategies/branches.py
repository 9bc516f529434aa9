"""Where in a session file the real results are that a path does not contain: on other branches after the same call."""

from collections.abc import Iterator, Mapping, Sequence

from inspector.conversation.edits import stored_key
from inspector.conversation.model import Chunk, Conversation, Kind
from inspector.conversation.tree import Entry, entries, last_by_id
from inspector.rules.synthetic_texts import is_synthetic


def key_of(chunk: Chunk) -> str:
    """The key of the entry that a chunk is a block of, also where a strategy moved it."""
    return stored_key(chunk).rpartition(".")[0]


def results_elsewhere(tree: Conversation, path: Conversation) -> Mapping[str, Sequence[Chunk]]:
    """Key of a call on the path -> real results for it that are not on the path, in the order of the file.

    A result belongs to the nearest call of its id above it, so that ids which a provider uses again in each turn are distinguished. One walk over the
    file, each entry once: a file may hold cycles, and more branches than recursion could follow.
    """
    whole = entries(tree)
    on_path = {key_of(chunk) for chunk in path.chunks}
    by_id = last_by_id(whole)
    children: dict[int, list[Entry]] = {}
    roots: list[Entry] = []
    for entry in whole:
        parent = by_id.get(entry.parent) if entry.parent is not None else None
        if parent is None or parent.index == entry.index:
            roots.append(entry)
        else:
            children.setdefault(parent.index, []).append(entry)
    by_call: dict[str, list[Chunk]] = {}
    for owner, result in _owned(roots, children):
        if key_of(owner) in on_path and key_of(result) not in on_path and not is_synthetic(result):
            by_call.setdefault(owner.key, []).append(result)
    return {key: sorted(results, key=lambda chunk: chunk.seq) for key, results in by_call.items()}


def _owned(roots: Sequence[Entry], children: Mapping[int, Sequence[Entry]]) -> Iterator[tuple[Chunk, Chunk]]:
    """(call, result) over all branches. What is on a closed chain of parents hangs on no root, and is left out."""
    callers: dict[str, list[Chunk]] = {}
    stack: list[tuple[Entry, bool]] = [(root, True) for root in reversed(roots)]
    while stack:
        entry, enters = stack.pop()
        calls = [chunk for chunk in entry.chunks if chunk.kind is Kind.TOOL_CALL and chunk.call_id]
        if not enters:
            for call in calls:
                callers[call.call_id].pop()
            continue
        # Of two calls of one id in one message the first is the one on top: which of them a result on a branch answers would be a guess.
        for call in reversed(calls):
            callers.setdefault(call.call_id, []).append(call)
        for chunk in entry.chunks:
            if chunk.kind is Kind.TOOL_RESULT and callers.get(chunk.call_id):
                yield callers[chunk.call_id][-1], chunk
        stack.append((entry, False))
        stack += [(child, True) for child in reversed(children.get(entry.index, ()))]
