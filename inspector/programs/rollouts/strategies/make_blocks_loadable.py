"""Makes the records of a rollouts session such as its loader takes them."""

from collections.abc import Iterator
from dataclasses import replace

from inspector.conversation.edits import Edit, Safety, between
from inspector.conversation.model import Chunk
from inspector.programs.rollouts.chunks import message_chunks
from inspector.programs.rollouts.format import NAME as ROLLOUTS
from inspector.programs.rollouts.lines import parsed
from inspector.programs.rollouts.loading import line_problem
from inspector.programs.rollouts.rules.unloadable_session import is_session, refused_lines
from inspector.programs.rollouts.strategies.loadable_lines import loadable
from inspector.programs.rollouts.writing import line_text
from inspector.rules.base import Case
from inspector.strategies.base import Strategy
from inspector.strategies.numbering import renumbered
from inspector.text import jsontext


def propose(case: Case) -> Iterator[Edit]:
    """Whole lines are encoded again, and read again; one that would be refused all the same stays as it is."""
    if case.conversation.format != ROLLOUTS or not is_session(case):
        return
    repaired = {chunks[0].key: (chunks, new) for chunks, _ in refused_lines(case) if (new := _repaired_line(case, chunks))}
    if not repaired:
        return
    replaced_keys = {chunk.key for chunks, _ in repaired.values() for chunk in chunks}
    final: list[Chunk] = []
    for chunk in case.conversation.chunks:
        if chunk.key in repaired:
            final += repaired[chunk.key][1]
        elif chunk.key not in replaced_keys:
            final.append(chunk)
    yield from between(case.conversation, renumbered(replace(case.conversation, chunks=tuple(final))))


def _repaired_line(case: Case, chunks: list[Chunk]) -> list[Chunk]:
    """The chunks of the line as it will be; [] where nothing of it can be read."""
    first = chunks[0]
    if first.msg_idx is None:
        return []
    escaped = case.conversation.fact("era") == "B" and first.raw.isascii()
    raw = jsontext.encode(line_text(loadable(parsed(first.raw)), escaped)) + (b"\r" if first.raw.endswith(b"\r") else b"")
    key, _, place = first.key.rpartition("#")
    if line_problem(raw):
        return []
    new_chunks = message_chunks(key, int(place.partition(".")[0]), first.seq, raw, parsed(raw))
    return [replace(chunk, msg_idx=first.msg_idx) for chunk in new_chunks]


STRATEGY = Strategy(
    name="make-blocks-loadable",
    safety=frozenset({Safety.LOSSY}),
    summary="gives blocks and fields that rollouts' loader refuses the nearest shape that it takes, so that the session loads again",
    cost=(
        "Encrypted thinking and signatures that are no text leave the history; a block of an unknown kind becomes its JSON text; "
        "arguments that are no object are kept as their text, next to empty arguments. Undo and the audit log keep the old lines."
    ),
    user_visible_effect="The session opens again. What came from another program is shown as text.",
    pros="One block of a kind that the loader does not know keeps the whole session from loading; everything else in it is in order.",
    cons="A newer version of the program may read the block as it is: where there is one, use that first.",
    write_kind="content",
    propose=propose,
    order=90,
)
