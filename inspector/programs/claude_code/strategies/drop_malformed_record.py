"""Takes a malformed message, block or attachment out of the session; the lines below a line that goes take its parent."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit, Remove, Safety
from inspector.programs.claude_code.chain import chain_of
from inspector.programs.claude_code.rules.malformed_record import malformed
from inspector.rules.base import Case
from inspector.strategies.base import Strategy


def propose(case: Case) -> Iterator[Edit]:
    """Only of the path, and only what nothing can be read of."""
    on_path = chain_of(case).on_path
    present = {chunk.key: chunk for chunk in case.conversation.chunks}
    for record in malformed(case):
        if record.entry.index in on_path:
            yield from (Remove(present[chunk.key]) for chunk in record.lost if chunk.key in present)


STRATEGY = Strategy(
    name="drop-malformed-record",
    safety=frozenset({Safety.LOSSY}),
    summary="takes a message, a block or an attachment that nothing can be read of out of the path; the lines below a line that goes take its parent",
    cost="The line goes, or the block where its message has others. What an attachment said beyond its broken member (names of tools, the output of a hook) is not sent any more; the program writes most of them again with the next turn.",
    user_visible_effect="The session can be resumed again.",
    pros="Users cure such sessions by deleting the line, and break the chain of parents by that: here the lines below it take its parent, so that nothing else is lost.",
    cons="What the line was to say is not known. An update of the program helps too, and changes no line: 2.1.277 and later leave it out.",
    write_kind="W2",
    propose=propose,
    order=45,
)
