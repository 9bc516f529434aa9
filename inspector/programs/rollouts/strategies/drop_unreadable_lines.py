"""Takes out the lines of a rollouts session that are no JSON object."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit, Remove, Safety
from inspector.programs.rollouts.format import NAME as ROLLOUTS
from inspector.programs.rollouts.rules.unloadable_session import is_session, is_torn, refused_lines
from inspector.rules.base import Case
from inspector.strategies.base import Strategy


def propose(case: Case) -> Iterator[Edit]:
    if case.conversation.format == ROLLOUTS and is_session(case):
        for chunks, problem in refused_lines(case):
            if is_torn(chunks, problem):
                yield Remove(chunks[0])


STRATEGY = Strategy(
    name="drop-unreadable-lines",
    safety=frozenset({Safety.LOSSY}),
    summary="takes out the lines of a messages file that are torn or no JSON object, so that the session loads again",
    cost="The bytes of these lines leave the history; the finding shows them, and undo and the audit log keep them whole.",
    user_visible_effect="The session opens again. The message whose line was torn, as a rule the last one, is not in it.",
    pros="rollouts loads a session whole or not at all: half a line at the end keeps everything before it from being read.",
    cons="What was torn may hold words that are nowhere else: read its bytes first. A crash file of the same moment may hold the message.",
    write_kind="W2",
    propose=propose,
    order=30,
)
