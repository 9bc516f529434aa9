"""Puts an error chunk in the place of a row of which nothing can be read, so that loaders get past it and people see that something is missing."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from inspector.conversation.edits import Edit, Replace, Safety
from inspector.conversation.model import Chunk, Kind
from inspector.programs.dispatch.strategies.rebuild_unreadable_row import lost
from inspector.programs.dispatch.strategies.suffixes import Suffix, after_previous, neighbor, within_next
from inspector.rules.base import Case
from inspector.strategies.base import Strategy


def propose(case: Case) -> Iterator[Edit]:
    """From the last row to the first, since a row knows from the next one whether it is in that message."""
    chunks = list(case.conversation.chunks)
    places = [place for place, chunk in enumerate(chunks) if lost(chunk)]
    for place in reversed(places):
        inside = within_next(chunks, place)
        if inside is not None:
            chunks[place] = _error(chunks[place], inside)
    for place in places:
        if chunks[place].kind is Kind.UNREADABLE:
            chunks[place] = _error(chunks[place], _own_place(chunks, place))
    yield from (Replace(case.conversation.chunks[place], chunks[place]) for place in places)


def _own_place(chunks: Sequence[Chunk], place: int) -> Suffix:
    """At the end of the message before: every reader groups the other rows as it did. Else a message of its own, with a number no neighbor has."""
    previous = neighbor(chunks, place, -1)
    continued = after_previous(previous) if previous is not None else None
    used_indexes = {chunk.msg_idx for chunk in (chunks[place - 1] if place else None, neighbor(chunks, place, 1)) if chunk is not None}
    return continued or Suffix("assistant", next(index for index in (1, 2, 3) if index not in used_indexes), 0)


def _error(chunk: Chunk, suffix: Suffix) -> Chunk:
    payload = {"type": "error", "message": f"unreadable row, {len(chunk.raw):,} bytes kept by Inspector"}
    return replace(
        chunk, role=suffix.role, kind=Kind.ERROR, payload=payload, msg_idx=suffix.msg_idx, chunk_idx=suffix.chunk_idx, damage="", reason=""
    )


STRATEGY = Strategy(
    name="replace-unreadable-row",
    safety=frozenset({Safety.LOSSY, Safety.INVENTED}),
    summary="puts an error chunk that says so in the place of a row of which nothing can be read",
    cost=(
        "The damaged bytes leave the store; undo and the audit log keep them. What the row held stays unknown. "
        "The error chunk is one like any other: alone in its message it is named MSG201, in a history that is read merged MSG203, until renumber-messages and strip-error-chunks have run."
    ),
    user_visible_effect="The history view opens again and shows an error bubble in the place of the row.",
    pros="Old loaders throw on such a row and the history view fails in every version. The row keeps its number, and the gap in the story is said.",
    cons="A loader that skips the row needs no write, and the bytes may yet be read by somebody. Try rebuild-unreadable-row first.",
    write_kind="content",
    propose=propose,
    manual_only=True,
    order=20,
)
