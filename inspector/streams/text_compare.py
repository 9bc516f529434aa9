"""Two texts of one answer, as sent and as received: what is missing, what comes twice, what is elsewhere. In linear time."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

Span = tuple[int, int]
"""Places in a text: from, to."""

WORDS_UP_TO = 200_000
"""Characters up to which texts are compared word by word; longer ones sentence by sentence."""
SHORT = 16
"""Characters below which a run that comes again may be chance: it counts where it is a piece as sent."""
MOVED = 8
"""Characters that must be elsewhere to count as moved: single words do, in any text."""
LOOKED_AT = 200
"""Runs that are looked for elsewhere in the text, each look being one pass over it."""
_STEP = 65_536
_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_SENTENCE = re.compile(r"[^\n.!?;]*[\n.!?;]|[^\n.!?;]+")


@dataclass(frozen=True, slots=True)
class Differences:
    """`lost` are spans of what was sent; `replayed` and `added` spans of what was received; `moved` where the received text is first in another order."""

    lost: tuple[Span, ...] = ()
    replayed: tuple[Span, ...] = ()
    added: tuple[Span, ...] = ()
    moved: int | None = None


def differences(sent: str, received: str, pieces: Collection[str] = ()) -> Differences:
    """`pieces`: what was sent in one event each, as far as it is short."""
    if sent == received:
        return Differences()
    front = _common(sent, received)
    back = _common(sent[front:][::-1], received[front:][::-1])
    ours, theirs = sent[front : len(sent) - back], received[front : len(received) - back]
    if ours and Counter(_squeezed(ours)) == Counter(_squeezed(theirs)):
        # Only blanks differ, or the order of the same letters.
        return _blanks(ours, front) if _squeezed(ours) == _squeezed(theirs) else Differences(moved=front)
    if not (ours and theirs):
        lost, extra, moved = [(front, front + len(ours))] if ours else [], [(front, front + len(theirs))] if theirs else [], None
    else:
        lost, extra, moved = _matched(ours, theirs, front)
    replayed = [span for span in extra[:LOOKED_AT] if _is_repeated(received[slice(*span)], sent, received, pieces)]
    replayed_spans = set(replayed)
    added = [span for span in extra if span not in replayed_spans]
    return Differences(tuple(lost), tuple(replayed), tuple(added), moved)


def _common(ours: str, theirs: str) -> int:
    """Length of the common beginning."""
    size, at = min(len(ours), len(theirs)), 0
    while at < size and ours[at : at + _STEP] == theirs[at : at + _STEP]:
        at += _STEP
    step = _STEP
    while step and at < size:
        if ours[at : at + step] == theirs[at : at + step]:
            at += step
        step //= 2
    return min(at, size)


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _blanks(ours: str, front: int) -> Differences:
    """Texts that differ in blanks only: what was sent has some that did not arrive, wherever they were."""
    blank = re.search(r"\s+", ours)
    return Differences(lost=((front + blank.start(), front + blank.end()),)) if blank else Differences()


def _is_repeated(run: str, sent: str, received: str, pieces: Collection[str]) -> bool:
    bare = run.strip()
    if len(bare) < SHORT and bare not in pieces:
        return False
    return bool(bare) and bare in sent and received.count(bare) > sent.count(bare)


def _matched(ours: str, theirs: str, front: int) -> tuple[list[Span], list[Span], int | None]:
    pattern = _WORD if max(len(ours), len(theirs)) <= WORDS_UP_TO else _SENTENCE
    here, there = pattern.findall(ours), pattern.findall(theirs)
    to = _pairs(here, there)
    taken_places = {at for at in to if at >= 0}
    lost = list(_runs(here, lambda at: at not in taken_places, front))
    extra = list(_runs(there, lambda at: to[at] < 0, front))
    unmatched = "".join(theirs[start - front : end - front] for start, end in extra)
    elsewhere = [span for span in lost[:LOOKED_AT] if (bare := ours[span[0] - front : span[1] - front].strip()) and bare in unmatched]
    moved_spans = set(elsewhere)
    lost = [span for span in lost if span not in moved_spans]
    moved = _moved(there, to, front)
    if moved is None and elsewhere and sum(end - start for start, end in elsewhere) >= MOVED:
        moved = extra[0][0]
    return lost, extra, moved


def _pairs(here: Sequence[str], there: Sequence[str]) -> list[int]:
    """For each of `there` its place in `here`, -1 for none: what is once on both sides, and the equal neighbors of that (Heckel's way)."""
    ours, theirs = Counter(here), Counter(there)
    place = {token: at for at, token in enumerate(here) if ours[token] == 1}
    to = [place.get(token, -1) if theirs[token] == 1 and token.strip() else -1 for token in there]
    taken_places = {at for at in to if at >= 0}
    for order, step in ((range(len(there) - 1), 1), (range(len(there) - 1, 0, -1), -1)):
        for at in order:
            near = to[at] + step
            if to[at] >= 0 and to[at + step] < 0 and 0 <= near < len(here) and near not in taken_places and here[near] == there[at + step]:
                to[at + step] = near
                taken_places.add(near)
    return to


def _runs(tokens: Sequence[str], is_so: Callable[[int], bool], front: int) -> Iterator[Span]:
    at = front
    for chosen, group in groupby(enumerate(tokens), key=lambda numbered: is_so(numbered[0])):
        size = sum(len(token) for _, token in group)
        if chosen:
            yield at, at + size
        at += size


def _moved(there: Sequence[str], to: Sequence[int], front: int) -> int | None:
    """Where a run first follows one that was sent after it."""
    at, highest, start, size, last = front, -1, 0, 0, -2
    for token, place in zip(there, to, strict=True):
        if place >= 0 and place < highest:
            start, size = (start, size + len(token)) if place == last + 1 and size else (at, len(token))
            last = place
            if size >= MOVED:
                return start
        else:
            size = 0
            highest = max(highest, place)
        at += len(token)
    return None
