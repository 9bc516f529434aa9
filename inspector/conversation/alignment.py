"""Which chunk of a compacted conversation is which chunk of its archive."""

from collections import Counter
from difflib import SequenceMatcher

from inspector.conversation.js_json import canonical
from inspector.conversation.model import Chunk, Conversation, Kind

# Equal pairs beyond which rows repeat so much that a match says nothing, and takes minutes.
MOST_PAIRS = 200_000
# A lone match of fewer characters may be chance: people and models say "ok" more than once.
LONG = 40


def likeness(chunk: Chunk) -> str:
    """Equal for chunks of one JSON value, whatever their role and place; of one that cannot be read, its bytes count."""
    if chunk.kind is Kind.UNREADABLE or not chunk.payload:
        return f"bytes {chunk.raw!r}"
    return canonical(dict(chunk.payload))


def kept(conversation: Conversation, archive: Conversation) -> dict[str, int]:
    """Key of a chunk that compaction certainly kept -> its place in the archive's chunks; both in the same order.

    Certain are two neighbours and more, tool chunks (their ids), and a long text that stands once on either side.
    Empty where over MOST_PAIRS pairs are equal.
    """
    here, there = ([likeness(chunk) for chunk in side.chunks] for side in (conversation, archive))
    ours, theirs = Counter(here), Counter(there)
    if sum(theirs[value] for value in here) > MOST_PAIRS:
        return {}
    places: dict[str, int] = {}
    for block in SequenceMatcher(None, here, there, autojunk=False).get_matching_blocks():
        for at in range(block.size):
            chunk, value = conversation.chunks[block.a + at], here[block.a + at]
            once = ours[value] == theirs[value] == 1
            if block.size > 1 or (once and (chunk.call_id or len(chunk.text) >= LONG)):
                places[chunk.key] = block.b + at
    return places
