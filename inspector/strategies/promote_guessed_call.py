"""Makes tool calls that arrived as text calls also where the type of a parameter must be guessed."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit, Safety
from inspector.rules.base import Case
from inspector.strategies.base import Strategy
from inspector.strategies.promote_leaked_call import promoted


def propose(case: Case) -> Iterator[Edit]:
    return promoted(case, guesses=True)


STRATEGY = Strategy(
    name="promote-guessed-call",
    safety=frozenset({Safety.INVENTED}),
    summary="makes calls that arrived as text tool calls, as promote-leaked-call does, also where it must be guessed that a parameter is text",
    cost="What promote-leaked-call costs, and parameters that are guessed: their syntax does not say whether 7 is a number or a text, no schema is known, and they become text. The finding names them.",
    user_visible_effect="A tool run appears where the turn broke off, perhaps with a parameter of the wrong type.",
    pros="Most tools take such a value either way, and the person who asks for it has seen which parameters are meant.",
    cons="The model reads a call that it did not make in this form. With the trace beside the store the declared schema types the values, and nothing is guessed.",
    write_kind="W3",
    propose=propose,
    manual_only=True,
    order=360,
)
