"""The truncation that was proposed for OpenClaw (PR 3565) and never merged: cut before the first call without any result, then pair by span.

Simulated from the proposal's text. It looks for results in the whole history, so that a late one hides a gap, and then drops the late one: the reviewers' P1.
"""

from collections.abc import Sequence

from inspector.conversation.model import Chunk, Dropped, Message
from inspector.programs.pi_openclaw.readers.result_pairing import (
    KEYS_OF_2026_1,
    TYPES_OF_CALL,
    Paired,
    calls_of,
    counts_of,
    duplicate_of,
    given_id,
    orphan_of,
    single,
    still_dropped,
)


def pairing_pr3565(messages: Sequence[Message]) -> Paired:
    source = single(messages)
    answered = {_id(message) for message in source if message.role == "tool"} - {""}
    end = next((at for at, message in enumerate(source) if any(call.call_id not in answered for call in _calls(message))), len(source))
    out: list[Message] = []
    dropped = [Dropped(message.chunks, "forgotten: it follows the first call without a result") for message in source[end:]]
    seen_ids: set[str] = set()
    duplicates = orphans = at = 0
    changed = end < len(source)
    while at < end:
        message = source[at]
        at += 1
        calls = _calls(message)
        if not calls:
            if message.role == "tool":
                orphans += 1
                dropped.append(orphan_of(message))
            else:
                out.append(message)
            continue
        call_ids = {call.call_id for call in calls}
        span: dict[str, Message] = {}
        other_messages: list[Message] = []
        while at < end and source[at].role != "assistant":
            following = source[at]
            at += 1
            id_ = _id(following) if following.role == "tool" else ""
            if following.role != "tool":
                other_messages.append(following)
            elif id_ not in call_ids:
                orphans += 1
                dropped.append(orphan_of(following))
            elif id_ in seen_ids or id_ in span:
                duplicates += 1
                dropped.append(duplicate_of(following))
            else:
                span[id_] = following
        out.append(message)
        changed |= bool(span and other_messages)
        out += [span[id_] for id_ in dict.fromkeys(call.call_id for call in calls) if id_ in span]
        seen_ids |= set(span)
        out += other_messages
    changed |= bool(duplicates or orphans)
    return Paired(out, still_dropped(dropped, out), counts_of(0, duplicates, orphans, changed))


def _calls(message: Message) -> list[Chunk]:
    return list(calls_of(message, TYPES_OF_CALL))


def _id(message: Message) -> str:
    return given_id(message.chunks[0], KEYS_OF_2026_1)
