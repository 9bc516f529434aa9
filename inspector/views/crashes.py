"""A crash and the session that it belongs to, each beside the other, and the newest crashes of all."""

from dataclasses import dataclass

from django.db.models import F

from inspector.conversation.model import Conversation as Core
from inspector.models import Conversation, loading
from inspector.programs.rollouts.crash import PREFIX
from inspector.reports.crash_alignment import Alignment, Ending, aligned, ending
from inspector.reports.visible import visible

SHOWN = 5
PIECES = 200


@dataclass(frozen=True, slots=True)
class Crash:
    """A crash in a list; `session` is the conversation that it belongs to, where one is known."""

    row: Conversation
    error: str
    session: Conversation | None


@dataclass(frozen=True, slots=True)
class Beside:
    """What stands beside a conversation of rollouts. Of a crash: its session and how the two align; of a session: its crashes and its ending."""

    crash: Crash | None
    linked_by: str
    alignment: Alignment | None
    crashes: tuple[Conversation, ...]
    ending: Ending | None
    newest: tuple[Crash, ...] = ()
    """Of these crashes the first SHOWN, with their errors."""


LINKED_BY = {
    "session_id": "the crash file names it",
    "content": "ids of calls and signatures are equal",
    "time": "only the time of the crash fits",
}


def beside(row: Conversation, found: Core, taken_at: int | None) -> Beside | None:
    """None for anything that is no session or crash of rollouts."""
    if found.native_id.startswith(PREFIX):
        crash = _crash(row, found)
        how = LINKED_BY.get(found.fact("linkedBy") or "", "")
        alignment = aligned(loading.stored(crash.session).conversation, found) if crash.session else None
        return Beside(crash, how, alignment, (), None)
    if found.format != "rollouts":
        return None
    names = [visible(name) for name in (found.fact("crashes") or "").split(", ") if name]
    held = {each.native_id: each for each in row.source.conversations.filter(native_id__in=names)}
    rows = tuple(held[name] for name in names if name in held)
    newest = tuple(Crash(each, loading.stored(each).conversation.fact("error") or "", row) for each in rows[:SHOWN])
    return Beside(None, "", None, rows, ending(found, taken_at), newest)


def newest_crashes() -> tuple[tuple[Crash, ...], int]:
    """The SHOWN newest, and how many there are; also those that belong to no session."""
    found = Conversation.objects.filter(native_id__startswith=PREFIX, source__format="rollouts", is_gone=False)
    rows = found.select_related("source").order_by(F("last_activity").desc(nulls_last=True), "-native_id")[:SHOWN]
    return tuple(_crash(row, loading.stored(row).conversation) for row in rows), found.count()


def _crash(row: Conversation, found: Core) -> Crash:
    session = found.fact("session")
    known = row.source.conversations.filter(oid=Conversation.oid_of(row.source, session)).first() if session else None
    return Crash(row, found.fact("error") or "", known)
