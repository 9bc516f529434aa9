"""Puts a short message of the user before a history that starts otherwise."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit, Safety
from inspector.rules.base import Case
from inspector.strategies.base import Strategy
from inspector.strategies.insertion import before
from inspector.strategies.made_up_messages import said

WORDS = "Begin."


def propose(case: Case) -> Iterator[Edit]:
    first = next((message for message in case.messages if message.role != "system"), None)
    if first is None and case.messages:
        yield from said(case, [(case.messages[-1].chunks[-1].key, "user", WORDS)])
    elif first is not None and first.role == "assistant":
        yield from said(case, [(before(case, first.chunks[0]), "user", WORDS)])


STRATEGY = Strategy(
    name="start-with-user",
    safety=frozenset({Safety.INVENTED}),
    summary=f"puts the message {WORDS!r} of the user before a history that starts with the assistant, or after a lone system prompt",
    cost="The user is made to say something that they did not say.",
    user_visible_effect="A message that they did not write stands at the start.",
    pros="Templates, Gemini and older Anthropic models want the user first; rollouts sends the same word in such a case.",
    cons="What really came first was cut away, by compaction as a rule: an archive may still have it.",
    write_kind="W3",
    propose=propose,
    manual_only=True,
    order=540,
)
