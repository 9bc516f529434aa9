"""How pi makes every call have its result before a request: `transformMessages`, its second pass."""

from collections.abc import Sequence
from types import MappingProxyType

from inspector.conversation.model import Chunk, Dropped, Message
from inspector.programs.pi_openclaw.readers.result_pairing import (
    FAILED,
    NO_RESULT,
    Paired,
    Pairing,
    calls_of,
    given_id,
    single,
    stop_reason,
    synthetic_result,
)


def pi_pairing(at_end: bool, holds_system: bool) -> Pairing:
    """Failed turns go, their results stay; synthetic results are added before the next user or assistant message, and `at_end`."""

    def paired(messages: Sequence[Message]) -> Paired:
        out: list[Message] = []
        dropped: list[Dropped] = []
        pending: list[Chunk] = []
        answered_ids: set[str] = set()
        deferred: list[Message] = []
        added = 0

        def close() -> None:
            nonlocal added
            missing = [call for call in pending if call.call_id not in answered_ids]
            added += len(missing)
            out.extend(synthetic_result(call, NO_RESULT, call.tool_name) for call in missing)
            out.extend(deferred)
            pending.clear()
            answered_ids.clear()
            deferred.clear()

        for message in single(messages):
            if message.role == "assistant":
                close()
                if stop_reason(message) in FAILED:
                    why = f"its turn ended as {stop_reason(message)!r}: left out whole; results of its calls are not"
                    dropped.append(Dropped(message.chunks, why))
                    continue
                if own_calls := calls_of(message, ("toolCall",), blank=True):
                    pending[:] = own_calls
                    answered_ids.clear()
            elif message.role == "tool":
                answered_ids.add(given_id(message.chunks[0], ("toolCallId",)))
            elif message.role == "user":
                close()
            elif message.role == "system" and holds_system and pending:
                deferred.append(message)
                continue
            out.append(message)
        if at_end:
            close()
        return Paired(out, dropped, MappingProxyType({"syntheticResults": added, "skippedAssistants": len(dropped)}))

    return paired
