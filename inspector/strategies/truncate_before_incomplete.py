"""Cuts the path off before the first call that its results do not follow."""

from collections.abc import Iterator

from inspector.conversation import queries
from inspector.conversation.edits import Edit, Remove, Safety
from inspector.conversation.model import Chunk, Conversation, Message
from inspector.rules.base import Case, answered
from inspector.strategies.arrangement import is_tree
from inspector.strategies.base import Strategy

NAME = "truncate-before-incomplete"
_SHOWN = 60


def propose(case: Case) -> Iterator[Edit]:
    """OpenClaw's pull request 3565, on the path alone: a result elsewhere in the file, or further down the path, does not make a call complete.

    The cut goes back over answers without calls right before it, so that no answer ends the history. Where it would leave nothing, the last message
    of the user stays: a session without any message cannot go on.
    """
    first = incomplete(case) if is_tree(case) else None
    if first is None:
        return
    while first and case.messages[first - 1].role == "assistant":
        first -= 1
    kept_keys = _kept_keys(case.messages, first)
    start = case.messages[first].chunks[0].key
    is_cut = False
    for chunk in case.conversation.chunks:
        is_cut = is_cut or chunk.key == start
        if is_cut and chunk.key not in kept_keys:
            yield Remove(chunk)


def incomplete(case: Case) -> int | None:
    """Index of the first message with a call whose result is not directly after it; what the reader does not hand to the model does not count."""
    unsent = {chunk.key for dropped in case.reading.dropped for chunk in dropped.chunks}
    for answer in answered(case):
        if answer.call.key not in unsent and not any(result.key in answer.batch for result in answer.results):
            return answer.message
    return None


def _kept_keys(messages: tuple[Message, ...], first: int) -> set[str]:
    if any(message.role in ("user", "assistant") for message in messages[:first]):
        return set()
    last = next((message for message in reversed(messages[first:]) if message.role == "user"), None)
    return {chunk.key for chunk in last.chunks} if last else set()


def forgotten(before: Conversation, after: Conversation) -> Iterator[str]:
    """In the user's terms what a cut takes away: a sentence, or nothing where the path ends as it did."""
    remaining_keys = {chunk.key.rpartition("moved:")[2] for chunk in after.chunks}
    removed = [
        message for message in queries.true_messages(before.chunks) if not any(chunk.key in remaining_keys for chunk in message.chunks)
    ]
    remaining = [
        message for message in queries.true_messages(before.chunks) if any(chunk.key in remaining_keys for chunk in message.chunks)
    ]
    if not removed:
        return
    user_messages = [message for message in removed if message.role == "user"]
    end = next((chunk for message in reversed(remaining) for chunk in message.chunks if chunk.text.strip()), None)
    side = "after" if end is not None and end.seq < removed[0].chunks[0].seq else "before"
    words = f"everything {side} {_start_of(end)}" if end is not None else "everything"
    newest = (
        f", with what the user said last, {_start_of(user_messages[-1].chunks[0])}"
        if user_messages and user_messages[-1] is removed[-1]
        else ""
    )
    yield f"The session forgets {words}: {len(removed):,} messages, {len(user_messages):,} of them the user's{newest}."


def _start_of(chunk: Chunk) -> str:
    words = " ".join(chunk.text[: _SHOWN * 4].split())
    return f"{words[:_SHOWN]!r} (seq {chunk.seq})"


STRATEGY = Strategy(
    name=NAME,
    safety=frozenset({Safety.LOSSY}),
    summary="cuts the path off before the first call that its result does not follow, and before answers right before that call",
    cost=(
        "The session forgets everything after the last message before that call: later questions, answers and results, the user's newest message too. "
        "Where nothing would be left, only the newest message of the user stays. The old branch stays in the file."
    ),
    user_visible_effect="The agent answers again, and has forgotten what came after that point: ask again.",
    pros=(
        "Always a valid history, only a shorter one; no synthetic errors that confuse the model, no rules for every edge case, "
        "and users need not know how a session is stored."
    ),
    cons=(
        "It throws away everything after the first gap, the newest message of the user included, though the result may be on another branch or later."
    ),
    write_kind="W2",
    propose=propose,
    manual_only=True,
    order=380,
)
