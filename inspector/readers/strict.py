"""What a strict provider would refuse in the messages of a reading."""

from collections.abc import Sequence

from inspector.conversation import queries
from inspector.conversation.model import Message


def strict_problems(messages: Sequence[Message]) -> list[str]:
    """What a strict provider refuses, one sentence each: calls without a result after them, results elsewhere or twice, an id twice in one answer.

    An id that a later turn uses again is accepted (Anthropic, twice): some models count theirs from 0 in every turn.
    """
    problems: list[str] = []
    waiting: dict[str, None] = {}
    answered: set[str] = set()

    def close() -> None:
        problems.extend(f"the call {id_[:60]!r} has no result after it" for id_ in waiting)
        waiting.clear()

    for message in messages:
        if message.role == "tool":
            for result in queries.results(message):
                if result.call_id in waiting:
                    del waiting[result.call_id]
                    answered.add(result.call_id)
                elif result.call_id in answered:
                    problems.append(f"the call {result.call_id[:60]!r} has more than one result (seq {result.seq})")
                else:
                    problems.append(f"the result for {result.call_id[:60]!r} (seq {result.seq}) does not follow its call")
            continue
        close()
        for call in queries.calls(message) if message.role == "assistant" else ():
            if call.call_id in waiting:
                problems.append(f"the id {call.call_id[:60]!r} is that of more than one call (seq {call.seq})")
            waiting[call.call_id] = None
    close()
    return problems
