"""Why the request is rejected at a call though the reader inserts a result for it."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from inspector.conversation.model import Kind, Message
from inspector.conversation.queries import span_text
from inspector.presentation.whatif.differences import client
from inspector.profiles.base import Violation
from inspector.profiles.judging import judged
from inspector.rules.base import Case


def unhelpful(case: Case, name: str, projection: str, profile: str, violation: Violation | None) -> dict[str, str]:
    """By the key of each inserted result whose call `violation` rejects: the reason, as a clause. `projection` is the deployed one.

    That it is not next to its call is a reason only where the call is no longer rejected with all inserted messages next to their calls.
    """
    messages = case.reading.messages
    results = [
        (at, chunk)
        for at, message in enumerate(messages)
        if message.synthetic
        for chunk in message.chunks
        if chunk.kind is Kind.TOOL_RESULT and violation and chunk.seq in violation.seqs
    ]
    if not results or not violation:
        return {}
    calls = {chunk.seq: at for at, message in enumerate(messages) for chunk in message.chunks if chunk.kind is Kind.TOOL_CALL}
    moved = replace(case.reading, messages=_next_to_calls(messages, calls))
    judgement = judged(moved, case.conversation, profile, client(name).projection(projection))[1]
    rejected = {seq for other in judgement.violations for seq in other.seqs}
    reasons = {}
    for at, chunk in results:
        between = [seq for message in messages[calls.get(chunk.seq, at) + 1 : at] for seq in message.seqs]
        is_late = between and chunk.seq not in rejected
        reasons[chunk.key] = (
            f"it comes after seq {span_text(sorted(between))}, and {violation.id} takes a result only right after its call, seq {chunk.seq}"
            if is_late
            else f"{violation.id} rejects the message of the call, seq {chunk.seq}, for something else than a missing result"
        )
    return reasons


def _next_to_calls(messages: Sequence[Message], calls: dict[int, int]) -> tuple[Message, ...]:
    after: dict[int, list[Message]] = defaultdict(list)
    for at, message in enumerate(messages):
        seqs = [chunk.seq for chunk in message.chunks if chunk.seq in calls] if message.synthetic else []
        after[calls[seqs[0]] if seqs else at].append(message)
    # The message of a call comes before what was moved to it: it is there already when a later one is added.
    return tuple(chain.from_iterable(after[at] for at in sorted(after)))
