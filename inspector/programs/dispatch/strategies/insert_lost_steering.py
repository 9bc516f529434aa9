"""Puts back what the user said while a turn was running: a prompt holds it, no row does."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit
from inspector.conversation.model import Chunk, Kind
from inspector.rules.base import Case
from inspector.strategies.base import Strategy
from inspector.strategies.insertion import Placed, end_of_results, inserted
from inspector.traces.witness import turn_of, turn_witnesses


def propose(case: Case) -> Iterator[Edit]:
    """After the results of the step before which it came in. Where no stored row names that step, the place is unknown and nothing is inserted."""
    if case.trace is None:
        return
    places: list[Placed] = []
    witnesses = turn_witnesses(case.trace)
    # The last turn of a running conversation has not written everything yet.
    for turn in witnesses[:-1] if case.running else witnesses:
        stored = _texts_from(case, turn.turn_id) if turn.between else set()
        for number, steering in enumerate(turn.between):
            words = [text for text in steering.texts if text.strip() and text not in stored]
            index = _message_of(case, steering.after)
            if words and index is not None:
                key, seq = f"new:steering:{turn.turn_id}:{number}", case.messages[index].chunks[-1].seq
                chunks = [Chunk(f"{key}.{at}", seq, "user", Kind.TEXT, {"type": "text", "text": text}) for at, text in enumerate(words)]
                places.append((end_of_results(case, index), chunks))
    yield from inserted(case, places)


def _texts_from(case: Case, turn_id: str) -> set[str]:
    """Texts of the rows from the first one on that names the turn."""
    of_turn = (chunk.step_id is not None and turn_of(chunk.step_id)[0] == turn_id for chunk in case.conversation.chunks)
    first = next((place for place, is_of_turn in enumerate(of_turn) if is_of_turn), 0)
    return {chunk.text for chunk in case.conversation.chunks[first:] if chunk.kind is Kind.TEXT}


def _message_of(case: Case, step_id: str) -> int | None:
    """Place of the last message that holds a chunk of the step; None where none does."""
    indexes = [index for index, message in enumerate(case.messages) if any(chunk.step_id == step_id for chunk in message.chunks)]
    return indexes[-1] if indexes and step_id else None


STRATEGY = Strategy(
    name="insert-lost-steering",
    safety=frozenset(),
    summary="inserts what the user said while a turn ran, which a prompt of the trace holds and no row does, and renumbers the messages",
    cost="One user message for each, as the prompt had it; rows after it move up.",
    user_visible_effect="The user's own words appear where they were said, in the middle of the turn. Clients that hold rows by number should reload.",
    pros="The model answered to these words; without them its answer has no reason, and the next turn does not know of them.",
    cons="Only texts come back: an image sent along is not in it.",
    write_kind="W3",
    propose=propose,
    order=200,
)
