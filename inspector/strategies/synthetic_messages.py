"""Puts short messages that nobody wrote where a provider requires one: at the start, at the end, or between a result and the user."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from inspector.conversation import queries
from inspector.conversation.edits import Edit, Insert, Safety, apply, between
from inspector.conversation.model import Chunk, Kind
from inspector.rules.base import Case
from inspector.strategies.arrangement import by_message
from inspector.strategies.base import Strategy
from inspector.strategies.insertion import before, inserted
from inspector.strategies.numbering import renumbered

BEGIN, ENDED, CONTINUE = "Begin.", "The turn ended here.", "Continue."

SyntheticMessage = tuple[str | None, str, str]
"""The key that it follows (None = at the front), its role and its words."""


def with_messages(case: Case, messages: Sequence[SyntheticMessage]) -> Iterator[Edit]:
    chunks = [(after, _chunk(case, number, after, role, words)) for number, (after, role, words) in enumerate(messages)]
    if not chunks:
        return
    if by_message(case):
        yield from inserted(case, [(after, (chunk,)) for after, chunk in chunks])
        return
    yield from between(case.conversation, renumbered(apply(case.conversation, [Insert(after, chunk) for after, chunk in chunks])))


def _chunk(case: Case, number: int, after: str | None, role: str, words: str) -> Chunk:
    spare = max((chunk.msg_idx or 0 for chunk in case.conversation.chunks), default=0) + 1 + number
    return Chunk(f"new:{role}:{after or 'front'}", 0, role, Kind.TEXT, {"type": "text", "text": words}, spare, 0)


def _start_with_user(case: Case) -> Iterator[Edit]:
    first = next((message for message in case.messages if message.role != "system"), None)
    if first is None and case.messages:
        yield from with_messages(case, [(case.messages[-1].chunks[-1].key, "user", BEGIN)])
    elif first is not None and first.role == "assistant":
        yield from with_messages(case, [(before(case, first.chunks[0]), "user", BEGIN)])


def _answer_before_user(case: Case) -> Iterator[Edit]:
    neighbors = pairwise(case.messages)
    ends = [first.chunks[-1].key for first, second in neighbors if first.role == "tool" and second.role == "user"]
    return with_messages(case, [(key, "assistant", ENDED) for key in ends])


def _end_with_user(case: Case) -> Iterator[Edit]:
    """Not after an open call: that wants its result first."""
    last = case.messages[-1] if case.messages else None
    if last is not None and last.role == "assistant" and not queries.calls(last):
        yield from with_messages(case, [(last.chunks[-1].key, "user", CONTINUE)])


STRATEGY = (
    Strategy(
        name="start-with-user",
        safety=frozenset({Safety.INVENTED}),
        summary=f"puts the message {BEGIN!r} of the user before a history that starts with the assistant, or after a lone system prompt",
        when="the history does not start with the user",
        cost="The history contains a message that the user did not write.",
        user_visible_effect="A message that they did not write appears at the start.",
        pros="Templates, Gemini and older Anthropic models want the user first.",
        cons="What really came first was cut away, by compaction as a rule: an archive may still have it.",
        write_kind="W3",
        propose=_start_with_user,
        manual_only=True,
        order=540,
    ),
    Strategy(
        name="answer-before-user",
        safety=frozenset({Safety.INVENTED}),
        summary=f"puts the answer {ENDED!r} between a tool result and the user's next message",
        when="the user's message directly follows a result",
        cost="The history contains an answer that no model gave, once for each turn that was interrupted.",
        user_visible_effect="A short answer that no model gave appears where the turn was interrupted.",
        pros="Mistral's older rules, and templates in which roles alternate, take no user directly after a tool.",
        cons="Other providers take it as it is; the model may learn to answer like that.",
        write_kind="W3",
        propose=_answer_before_user,
        manual_only=True,
        order=550,
    ),
    Strategy(
        name="end-with-user",
        safety=frozenset({Safety.INVENTED}),
        summary=f"puts the message {CONTINUE!r} of the user after an answer that ends the history",
        when="the history ends with the assistant",
        cost="The history contains a message that the user did not write.",
        user_visible_effect="A message that they did not write appears at the end.",
        pros="Newer models take no history that ends with an answer; where a request has to go out now, this is the least that can be said.",
        cons="As a rule nothing is wrong with such a history: the next message of the user repairs it by itself.",
        write_kind="W3",
        propose=_end_with_user,
        manual_only=True,
        order=560,
    ),
)
