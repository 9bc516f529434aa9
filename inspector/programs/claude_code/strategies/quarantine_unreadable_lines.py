"""Moves lines that cannot be read out of the session into a file next to it."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit, Set
from inspector.conversation.model import Kind
from inspector.programs.claude_code.chain import chain_of
from inspector.programs.claude_code.quarantine import QUARANTINED, named
from inspector.programs.claude_code.rules.malformed_record import fails_off_path, malformed
from inspector.rules.base import Case
from inspector.rules.unreadable_line import spread_records
from inspector.strategies.base import Strategy
from inspector.text import limits


def propose(case: Case) -> Iterator[Edit]:
    """Lines that hold no record, and lines of other branches that stop a resume; of a line that is split, also the fragments next to its records."""
    whole = case.tree or case.conversation
    # The newest versions read a record that is written over several lines.
    spread = {chunk.msg_idx for record in spread_records(whole.chunks) for chunk in record}
    lines = {
        chunk.msg_idx
        for chunk in whole.chunks
        if chunk.kind is Kind.UNREADABLE and "entry" not in chunk.payload and chunk.damage not in limits.OWN_DAMAGE
    } - spread
    chain = chain_of(case)
    lines |= {record.entry.chunks[0].msg_idx for record in malformed(case) if fails_off_path(chain, record)}
    numbers = sorted(number for number in lines if number is not None)
    if numbers and case.conversation.fact(QUARANTINED) is None:
        yield Set("conversation", QUARANTINED, None, named(numbers))


STRATEGY = Strategy(
    name="quarantine-unreadable-lines",
    safety=frozenset(),
    summary="moves lines that cannot be read, or stop a resume from another branch, out of the session into a file next to it, byte for byte",
    cost="No message of the path changes, and no byte is lost: in place, the lines go into a file SESSION.ID.quarantine next to the session, and an undo puts them back; a new session is written without them, and the old file keeps them.",
    user_visible_effect="None in Claude Code, which skips such lines; a program that reads the file line by line reads all of it again.",
    pros="What is left is a file of records only: no later record can be glued to a torn one, and tools that give up at a bad line read it.",
    cons="What unreadable lines said is not brought back: nothing invents the end of a record that was cut off.",
    write_kind="content",
    propose=propose,
    order=43,
)
