"""Removes thinking: all of it, that of earlier turns, or that without a signature."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from inspector.conversation import queries
from inspector.conversation.edits import Edit, Remove, Replace, Safety
from inspector.conversation.model import Chunk, Kind
from inspector.rules.base import Case
from inspector.strategies.arrangement import by_message, entry_of
from inspector.strategies.base import Strategy

THINKING = (Kind.THINKING, Kind.REDACTED_THINKING)
EMPTY = {"type": "control", "empty": "[]"}


def stripped(case: Case, is_chosen: Callable[[Chunk], bool]) -> Iterator[Edit]:
    """An assistant message that contains nothing else stays as an empty one, so that it does not vanish from between two of the user's.

    Dispatch has no rows for an empty message, and its newest loader drops such a message anyway; in Responses a reasoning item is on its own.
    """
    has_own_items = by_message(case) or case.conversation.format in case.program.single_items
    for message in case.messages:
        removed = [chunk for chunk in message.chunks if chunk.kind in THINKING and is_chosen(chunk)]
        if len(removed) == len(message.chunks) and not has_own_items:
            yield Replace(removed[0], replace(removed[0], kind=Kind.CONTROL, payload={**EMPTY, **entry_of(removed[0])}))
            removed = removed[1:]
        yield from (Remove(chunk) for chunk in removed)


def latest_turn(case: Case) -> frozenset[str]:
    """Keys of the chunks in the turn of the last assistant message, whose thinking providers want back unchanged, also after the user's next message."""
    answered = [turn for turn in queries.turns(case.messages) if any(message.role == "assistant" for message in turn)]
    return frozenset(chunk.key for message in answered[-1] for chunk in message.chunks) if answered else frozenset()


def _of_earlier_turns(case: Case) -> Iterator[Edit]:
    kept_keys = latest_turn(case)
    return stripped(case, lambda chunk: chunk.key not in kept_keys)


STRATEGY = (
    Strategy(
        name="drop-unsigned-thinking",
        safety=frozenset({Safety.LOSSY}),
        summary="removes thinking that has no signature",
        cost="What the model thought there leaves the history.",
        user_visible_effect="Answers are shown without this thinking.",
        pros="A stream that ended early leaves thinking without its signature, which Anthropic refuses; no signature can be created for it.",
        cons="With thinking switched on, a turn of tool calls must start with thinking (AN-15): where the unsigned block was its first, turning it into text is refused as well.",
        write_kind="W2",
        propose=lambda case: stripped(case, lambda chunk: chunk.kind is Kind.THINKING and not chunk.payload.get("signature")),
        instead="Send the thinking with its signature, as the provider gave it, where a log still has it.",
        manual_only=True,
        order=450,
    ),
    Strategy(
        name="strip-old-thinking",
        safety=frozenset({Safety.LOSSY}),
        summary="removes thinking from every turn before that of the last assistant message",
        when="thinking of an earlier turn has a signature that the provider refuses",
        cost="What the model thought in earlier turns leaves the history.",
        user_visible_effect="Earlier answers are shown without their thinking.",
        pros=(
            "Anthropic asks for the thinking of the latest turn only and ignores older blocks. The whole turn of the last answer stays, because each step of a turn of tool calls "
            "must keep its thinking."
        ),
        cons=(
            "It does not help where the rejected blocks are those of the latest message. "
            "Gemini 3 and DeepSeek want older reasoning back; and removing blocks before a signed one may unsettle it."
        ),
        write_kind="W2",
        propose=_of_earlier_turns,
        manual_only=True,
        order=470,
    ),
    Strategy(
        name="strip-thinking",
        safety=frozenset({Safety.LOSSY}),
        summary="removes every thinking block, redacted ones too",
        cost="What the model thought leaves the history.",
        user_visible_effect="Answers are shown without their thinking.",
        pros="No signature, order or pairing of thinking can be refused any more; with thinking switched off for the next request nothing is missing.",
        cons="With thinking switched on, a running turn of tool calls must start with its thinking (AN-15), and the model loses the thread of it.",
        write_kind="W2",
        propose=lambda case: stripped(case, lambda chunk: True),
        manual_only=True,
        order=480,
    ),
)
