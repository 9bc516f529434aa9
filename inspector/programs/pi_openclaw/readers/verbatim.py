"""A client that replays pi's path as it is stored: the line that every repair in memory hides."""

from inspector.conversation.model import Conversation, Reading
from inspector.programs.pi_openclaw.readers.context import Rules, context_of
from inspector.programs.pi_openclaw.readers.paths import pi_path
from inspector.programs.pi_openclaw.readers.rows import PI, is_below, rows
from inspector.programs.pi_openclaw.readers.walk import few, warnings_of
from inspector.readers.base import Reader
from inspector.readers.strict import strict_problems

NAME = "verbatim"


def read(path: Conversation) -> Reading:
    path_rows = rows(path)
    context = context_of(path_rows, Rules(edits=True, system=True, hooks=is_below(path, 3)))
    messages = tuple(context.sent)
    return Reading(
        NAME,
        tuple(context.messages),
        messages,
        tuple(context.dropped),
        warnings=(*warnings_of(path_rows, path.fact("id")), *context.warnings, *few(strict_problems(messages))),
    )


READER = Reader(
    NAME,
    PI,
    "a client that sends the path from the last line as it is stored",
    "Repairs nothing: compaction and edits of the context count, calls and results go out as they are on the path.",
    "the context rules of pi 1.5.2, without transformMessages",
    read,
    path=pi_path,
)
