"""Why a call is rejected though a reader inserts a result for it: only what is so is said."""

from dataclasses import replace

import pytest

from inspector.conversation.model import Chunk, Conversation, Kind, Message, Reading
from inspector.presentation.whatif.inserted import unhelpful
from inspector.profiles.base import Violation
from inspector.profiles.judging import judged
from inspector.rules.base import Case, case_of

ASK = Chunk("ask", 1, "user", Kind.TEXT, {"text": "go"})
CALL = Chunk("call", 2, "assistant", Kind.TOOL_CALL, {"toolCallId": "c1", "toolName": "ls", "input": {}})
ANSWER = Chunk("answer", 3, "assistant", Kind.TEXT, {"text": "done"})
RESULT = Chunk("inserted", 2, "tool", Kind.TOOL_RESULT, {"toolCallId": "c1", "toolName": "ls", "content": "interrupted"})


def read_as(*messages: Message) -> Case:
    case = case_of(Conversation(format="dispatch", native_id="c", chunks=(ASK, CALL, ANSWER)), "exact")
    return replace(case, reading=Reading("exact", messages, messages))


def reasons(case: Case, violation: Violation | None) -> dict[str, str]:
    return unhelpful(case, "exact", "dispatch-openai", "openai-chat", violation)


def stored(chunk: Chunk) -> Message:
    return Message(chunk.role, (chunk,))


INSERTED = Message("tool", (RESULT,), synthetic=True)


def test_a_result_after_other_messages_comes_too_late() -> None:
    case = read_as(stored(ASK), stored(CALL), stored(ANSWER), INSERTED)
    (violation, *_) = judged(case.reading, case.conversation, "openai-chat", "dispatch-openai")[1].violations
    assert reasons(case, violation) == {"inserted": "it comes after seq 3, and OC-1 takes a result only right after its call, seq 2"}


@pytest.mark.parametrize("messages", [(CALL, "result", ANSWER), (CALL, ANSWER, "result")], ids=["next to its call", "late as well"])
def test_a_call_that_is_rejected_wherever_its_result_is_does_not_blame_the_place(messages: tuple[Chunk | str, ...]) -> None:
    unnamed = replace(CALL, payload={**CALL.payload, "toolCallId": "", "toolName": ""})
    case = read_as(stored(ASK), *(INSERTED if isinstance(one, str) else stored(unnamed if one is CALL else one) for one in messages))
    (reason,) = reasons(case, Violation("OC-9", "messages.1", (2,), "no name")).values()
    assert reason == "OC-9 rejects the message of the call, seq 2, for something else than a missing result"


def test_a_result_whose_call_is_not_rejected_needs_no_reason() -> None:
    case = read_as(stored(ASK), stored(CALL), INSERTED, stored(ANSWER))
    assert not reasons(case, None) and not reasons(case, Violation("OC-2", "messages.3", (3,), "of another row"))
