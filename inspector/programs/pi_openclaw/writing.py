"""The bytes that carry out a plan on a session file of pi or OpenClaw: the path goes to the end, into the middle, or into a file of its own.

The three ways are those that pi 0.73.1, 0.87.1 and OpenClaw 2026.9.6 all read as planned; what is written is read again before it is given out.
"""

from collections.abc import Sequence

from inspector.conversation.edits import Plan, Set
from inspector.conversation.tree import LEAF
from inspector.programs.formats import Cell, Change, Stored, WriteMode, WriteRefused
from inspector.programs.pi_openclaw.encoding import iso
from inspector.programs.pi_openclaw.facts import NO_HEADER, header_problem
from inspector.programs.pi_openclaw.file import opened
from inspector.programs.pi_openclaw.folder import SAFE_ID
from inspector.programs.pi_openclaw.in_place import inserted, replayed
from inspector.programs.pi_openclaw.ledger import Ledger, latest
from inspector.programs.pi_openclaw.lines import keeps_ids
from inspector.programs.pi_openclaw.listing import NEW, entry, index_of
from inspector.programs.pi_openclaw.new_file import new_file
from inspector.programs.pi_openclaw.path import planned

REPLAY, INSERT = "replay-suffix", "insert-and-reparent"
MODES: tuple[WriteMode, ...] = (
    WriteMode(
        REPLAY,
        "puts the path, from the first change on, at the end of the file, with new ids and one new time; the old lines stay as they are, as a branch",
        own_risk="appends the changed end again, the old one stays as a branch",
        own_merit="no stored byte changes",
        cost="What is put at the end again has new ids and one new time there; its old lines keep theirs.",
        appends=True,
    ),
    WriteMode(INSERT, "gives rows another parent, and puts new ones, where there are any, into the middle; ids stay", "in-place"),
    WriteMode(NEW, "writes the path as a new session file next to this one, which stays as it is", "fork"),
)
LISTED_MODES = (
    *MODES[:2],
    WriteMode(NEW, "writes the path as a new session file next to this one, which stays as it is, and its entry in sessions.json", "fork"),
)
"""Those of OpenClaw, which opens the sessions that sessions.json names."""
_NO_HEADER = "The file does not begin with a session header, so no program opens it"
_NO_IDS = "This file is of version 1, in which entries have no ids; write a new session (--mode new-session), or let pi open the file once."


def options(mode: str, stored: Stored, fresh_id: str) -> dict[str, str]:
    """Id and time of what is new. Both follow from the stored entries and `fresh_id`, so that the same question has the same answer."""
    last = latest(chunk.payload.get("entry") for chunk in stored.conversation.chunks)
    values = {"fresh_id": fresh_id, "now": iso(last + 1)}
    return values | {"fork_id": fresh_id} if mode == NEW else values


def target(plan: Plan) -> str:
    """Native id of the conversation that holds the result."""
    return plan.options.get("fork_id", "") if plan.mode == NEW else plan.conversation


def write(plan: Plan, stored: Stored) -> Sequence[Change]:
    """The changes that carry out `plan`, whose edits are about the path `stored.conversation`; none where it changes nothing.

    `stored.records` holds the whole file. Raises WriteRefused, EditMismatch.
    """
    if not plan.edits:
        return []
    if not stored.records:
        raise WriteRefused("Only sessions.json names this session and its file is gone; put the file back from a backup first.")
    record = stored.records[0]
    file = opened(record.value.data)
    path = planned(stored.conversation, plan.edits, file)
    chooses_leaf = any(isinstance(edit, Set) and edit.field == LEAF for edit in plan.edits)
    if not path.is_new and not chooses_leaf:
        return []
    if not path.steps:
        raise WriteRefused("Nothing would be left on the path; start a new session in the program instead.")
    if any(step.base and step.base.type == "leaf" for step in path.steps):
        raise WriteRefused("This path leads over OpenClaw's own leaf rows, as only pi reads it; plan the repair with a reader of OpenClaw.")
    # The last stored row of a path is written under an id of its own, with what the plan puts after it.
    bases = [step.base for step in path.steps if step.base]
    nameless = next((base for base in bases[:-1] if not base.id), None)
    if nameless is not None:
        raise WriteRefused(
            f"Line {nameless.line + 1:,} of the file is on this path and has no id under which it could be written; choose another leaf, or another reader."
        )
    if plan.mode == NEW and not SAFE_ID.fullmatch(target(plan)):
        # A plan may come from a file, and the id becomes the name of one.
        raise WriteRefused("The id that the plan has for the new session is none that a program takes; make the plan again.")
    writing = Ledger.of(plan, stored, file, path)
    if plan.mode == NEW:
        change = new_file(plan, record.key, writing)
        index = index_of(stored.conversation, record.key) if writing.in_openclaw else ""
        # The file comes first: a list without it is whole, an entry without its file is not.
        return [change, entry(plan, stored.conversation, index)] if index else [change]
    if problem := header_problem(file.session):
        raise WriteRefused(
            f"{_NO_HEADER if problem == NO_HEADER else problem.partition(':')[0]}; write a new session (--mode new-session)."
        )
    if not file.lines[0].lstrip().startswith(b"{"):
        raise WriteRefused("Other lines come before the session header, which belongs first; write a new session (--mode new-session).")
    if not keeps_ids(file.session.header):
        raise WriteRefused(_NO_IDS)
    if not path.is_new and file.last is not None and file.last.id == (end.id if (end := path.steps[-1].base) else ""):
        return []
    data = inserted(writing) if plan.mode == INSERT else replayed(writing)
    return [Change(record.key, record.value, Cell(data, record.value.type))]


__all__ = ["LISTED_MODES", "MODES", "NEW", "options", "target", "write"]
