"""Which stored or traced answer a stream brought, and where the two differ."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from inspector.conversation.model import Conversation
from inspector.streams.aligning import AnswerDifference, Payload, aligned, answer_of, last_answer, traced_answer
from inspector.streams.model import Assembled
from inspector.traces import observe
from inspector.traces.model import Trace

STEPS = 50
"""Steps of a trace, from its end, whose prompts are looked at: each is the whole history once more."""
_ALIKE = 24
"""Characters by which two texts are taken for the same answer, where no id of a call decides."""


@dataclass(frozen=True, slots=True)
class AnswerComparison:
    """`where`: the last answer of the store, or the answer that the prompt of a traced step shows."""

    where: str
    differences: tuple[AnswerDifference, ...]


def compared_answers(answers: Sequence[Assembled], stored: Conversation, trace: Trace | None) -> tuple[AnswerComparison, ...]:
    """The answers that begin as this one did, or share a call with it; () where none does, so that nothing is compared with a stranger."""
    streamed = answer_of(answers)
    candidates = [(where, stored_answer) for where, stored_answer in _candidates(stored, trace) if _is_same(streamed, stored_answer)]
    return tuple(AnswerComparison(where, aligned(streamed, stored_answer)) for where, stored_answer in dict(candidates).items())


def _candidates(stored: Conversation, trace: Trace | None) -> Iterator[tuple[str, list[Payload]]]:
    yield "the last stored answer", last_answer(stored)
    for step in trace.steps()[-STEPS:] if trace else ():
        prompt = observe.prompt_body(trace, step) if trace else None
        messages = prompt.get("messages") if prompt else None
        if isinstance(messages, list):
            yield f"the answer in the prompt of step {step.step_id}", traced_answer(messages)


def _is_same(streamed: Sequence[Payload], stored_answer: Sequence[Payload]) -> bool:
    ids = {payload["toolCallId"] for payload in streamed if payload.get("toolCallId")}
    if ids and any(isinstance(payload.get("toolCallId"), str) and payload["toolCallId"] in ids for payload in stored_answer):
        return True
    for kind in ("text", "thinking"):
        ours, theirs = (
            "".join(payload["text"] for payload in side if payload.get("type") == kind and isinstance(payload.get("text"), str)).strip()
            for side in (streamed, stored_answer)
        )
        size = min(len(ours), len(theirs), _ALIKE)
        if size and ours[:size] == theirs[:size]:
            return True
    return False
