"""A crash and the session that it belongs to, linked to each other, and the newest crashes of all."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import QuerySet, Sum

from inspector.conversation.model import Conversation as Core
from inspector.models import Conversation, ConversationCount, loading
from inspector.presentation.conversation.panels import Alignment, Ending
from inspector.programs.formats import CRASH_ALONE, CRASH_FILE
from inspector.programs.registry import program_or_default
from inspector.text.error_words import words_of_error

SHOWN = 5


@dataclass(frozen=True, slots=True)
class Crash:
    """A crash in a list; `session` is the conversation that it belongs to, where one is known."""

    row: Conversation
    error: str
    session: Conversation | None

    @property
    def words(self) -> str:
        """Of the provider, in its error."""
        return words_of_error(self.error)


@dataclass(frozen=True, slots=True)
class CrashLinks:
    """What a conversation is linked to whose program writes crash files. Of a crash: its session and how the two align; of a session: its crashes and its ending."""

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


def crash_links(row: Conversation, format_name: str, ending: Ending | None, crashes: Sequence[str]) -> CrashLinks | None:
    """`format_name` is that of the conversation, also in a bundle. Of a session `ending` and the ids of its `crashes`. None for a program without crash files."""
    panels = program_or_default(format_name).panels
    if panels.aligned is None or panels.ending is None:
        return None
    if row.is_crash:
        conversation = loading.stored(row).conversation
        crash = crash_of(row, conversation)
        linked_by = LINKED_BY.get(conversation.fact("linkedBy") or "", "")
        alignment = panels.aligned(loading.stored(crash.session).conversation, conversation) if crash.session else None
        return CrashLinks(crash, linked_by, alignment, (), None)
    crashes_by_id = {crash_row.native_id: crash_row for crash_row in row.source.conversations.filter(native_id__in=crashes)}
    rows = tuple(crashes_by_id[name] for name in crashes if name in crashes_by_id)
    newest = tuple(Crash(crash_row, loading.stored(crash_row).conversation.fact("error") or "", row) for crash_row in rows[:SHOWN])
    return CrashLinks(None, "", None, rows, ending, newest)


def crash_files() -> QuerySet[Conversation]:
    return Conversation.objects.counted().filter(is_crash=True, is_gone=False)


def newest_crashes() -> tuple[tuple[Crash, ...], int]:
    """The SHOWN newest, and how many there are; also those that belong to no session."""
    total = ConversationCount.objects.counted().filter(is_crash=True, is_gone=False).aggregate(n=Sum("conversations"))["n"] or 0
    rows = crash_files().select_related("source").order_by("place", "id")[:SHOWN] if total else ()
    return tuple(crash_of(row, loading.stored(row).conversation) for row in rows), total


def why_never_written(row: Conversation) -> str:
    """Of a crash file; "" of a session."""
    if not row.is_crash:
        return ""
    return CRASH_FILE if crash_of(row, loading.stored(row).conversation).session else CRASH_ALONE


def crash_of(row: Conversation, conversation: Core) -> Crash:
    session = conversation.fact("session")
    session_row = row.source.conversations.filter(oid=Conversation.oid_of(row.source, session)).first() if session else None
    return Crash(row, conversation.fact("error") or "", session_row)
