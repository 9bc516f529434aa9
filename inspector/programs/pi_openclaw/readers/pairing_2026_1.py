"""`repairToolUseResultPairing` of OpenClaw 2026.1.30: by span, defects included."""

from collections.abc import Sequence

from inspector.conversation.model import Dropped, Message
from inspector.programs.pi_openclaw.readers.result_pairing import (
    KEYS_OF_2026_1,
    MISSING,
    TYPES_OF_CALL,
    Paired,
    calls_of,
    counts_of,
    duplicate_of,
    given_id,
    orphan_of,
    single,
    still_dropped,
    synthetic_result,
)


def pairing_2026_1(messages: Sequence[Message]) -> Paired:
    """Spans end at the next assistant; one set of seen ids; failed turns get synthetic results too. A duplicate at the very end survives."""
    source = single(messages)
    out: list[Message] = []
    dropped: list[Dropped] = []
    seen_ids: set[str] = set()
    added = duplicates = orphans = at = 0
    changed = False

    def push(message: Message, id_: str) -> None:
        nonlocal duplicates
        if id_ in seen_ids:
            duplicates += 1
            if not message.synthetic:
                dropped.append(duplicate_of(message))
            return
        seen_ids.add(id_)
        out.append(message)

    while at < len(source):
        message = source[at]
        at += 1
        calls = calls_of(message, TYPES_OF_CALL)
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
        while at < len(source) and source[at].role != "assistant":
            following = source[at]
            at += 1
            id_ = given_id(following.chunks[0], KEYS_OF_2026_1) if following.role == "tool" else ""
            if following.role != "tool":
                other_messages.append(following)
            elif id_ not in call_ids:
                orphans += 1
                dropped.append(orphan_of(following))
            elif id_ in seen_ids:
                duplicates += 1
                dropped.append(duplicate_of(following))
            elif id_ in span:
                # Not counted: with nothing after it the span looks unchanged, and the stored list is sent as it is.
                dropped.append(duplicate_of(following))
            else:
                span[id_] = following
        out.append(message)
        changed |= bool(span and other_messages)
        for call in calls:
            if call.call_id not in span:
                added += 1
            push(span.get(call.call_id) or synthetic_result(call, MISSING, call.tool_name or "unknown"), call.call_id)
        out += other_messages
    changed |= bool(added or duplicates or orphans)
    if not changed:
        return Paired(source, [], counts_of(0, 0, 0, False))
    return Paired(out, still_dropped(dropped, out), counts_of(added, duplicates, orphans, changed))
