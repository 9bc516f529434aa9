"""Which chunk of a compacted conversation is which chunk of its archive."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise

from inspector.conversation.model import Chunk, Conversation, Kind
from inspector.text.js_json import canonical

# Equal pairs between two rows that occur once on either side, beyond which rows repeat so much that a match proves nothing, and takes minutes.
MOST_PAIRS = 100_000
# A lone match of fewer characters may be chance: people and models say "ok" more than once.
LONG = 40

Pair = tuple[int, int]
"""A place here and a place there that hold equal chunks."""


def likeness(chunk: Chunk) -> str:
    """Equal for chunks of one JSON value, whatever their role and place; of one that cannot be read, its bytes count."""
    if chunk.kind is Kind.UNREADABLE or not chunk.payload:
        return f"bytes {chunk.raw!r}"
    return canonical(dict(chunk.payload))


def kept_places(conversation: Conversation, archive: Conversation) -> dict[str, int]:
    """Key of a chunk that compaction certainly kept -> its place in the archive's chunks; both in the same order.

    Certain are two neighbors and more, tool chunks (their ids), and a long text that occurs once on either side.
    Nothing is kept for certain between two rows that occur once where over MOST_PAIRS pairs are equal.
    """
    here, there = (tuple(likeness(chunk) for chunk in side.chunks) for side in (conversation, archive))
    ours, theirs = Counter(here), Counter(there)
    places: dict[str, int] = {}
    for start, at, size in _blocks(here, there):
        for step in range(size):
            chunk, value = conversation.chunks[start + step], here[start + step]
            is_unique = ours[value] == theirs[value] == 1
            if size > 1 or (is_unique and (chunk.call_id or len(chunk.text) >= LONG)):
                places[chunk.key] = at + step
    return places


# A rule and a strategy ask, before and after a repair: of the same rows each time.
@lru_cache(maxsize=2)
def _blocks(here: tuple[str, ...], there: tuple[str, ...]) -> tuple[tuple[int, int, int], ...]:
    """Runs of equal chunks: (place here, place there, length).

    Rows that occur once on either side divide the two into short stretches: over whole histories, difflib takes the square of their length.
    """
    fixed = [(-1, -1), *_longest(_alone(here, there)), (len(here), len(there))]
    pairs: list[Pair] = []
    for (a, b), (next_a, next_b) in pairwise(fixed):
        pairs += _between(here[a + 1 : next_a], there[b + 1 : next_b], a + 1, b + 1)
        pairs.append((next_a, next_b))
    blocks: list[tuple[int, int, int]] = []
    for a, b in pairs[:-1]:
        if blocks and (a, b) == (blocks[-1][0] + blocks[-1][2], blocks[-1][1] + blocks[-1][2]):
            blocks[-1] = (*blocks[-1][:2], blocks[-1][2] + 1)
        else:
            blocks.append((a, b, 1))
    return tuple(blocks)


def _alone(here: Sequence[str], there: Sequence[str]) -> list[Pair]:
    """Pairs of values that occur once on either side, in the order of `here`."""
    ours, theirs = Counter(here), Counter(there)
    place = {value: at for at, value in enumerate(there) if theirs[value] == 1}
    return [(at, place[value]) for at, value in enumerate(here) if ours[value] == 1 and value in place]


def _longest(pairs: Sequence[Pair]) -> list[Pair]:
    """The most of `pairs` whose places rise on both sides."""
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, (_, b) in enumerate(pairs):
        length = bisect_left(ends, b)
        # A slice of one, or of none at the end: set or append.
        ends[length : length + 1] = [b]
        last[length : length + 1] = [number]
        before.append(last[length - 1] if length else -1)
    chain: list[Pair] = []
    at = last[-1] if last else -1
    while at >= 0:
        chain.append(pairs[at])
        at = before[at]
    return chain[::-1]


def _between(here: Sequence[str], there: Sequence[str], start: int, at: int) -> Iterator[Pair]:
    theirs = Counter(there)
    if not here or not there or sum(theirs[value] for value in here) > MOST_PAIRS:
        return
    for block in SequenceMatcher(None, here, there, autojunk=False).get_matching_blocks():
        yield from ((start + block.a + step, at + block.b + step) for step in range(block.size))
