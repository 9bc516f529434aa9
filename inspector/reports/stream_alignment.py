"""Which stored or traced answer a stream brought, and where the two part."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from inspector.conversation.model import Conversation
from inspector.streams.aligning import Difference, Payload, aligned, answer_of, last_answer, traced_answer
from inspector.streams.model import Assembled
from inspector.traces import observe
from inspector.traces.model import Trace

STEPS = 50
"""Steps of a trace, from its end, whose prompts are looked at: each is the whole history once more."""
_ALIKE = 24
"""Characters by which two texts are taken for the same answer, where no id of a call says it."""


@dataclass(frozen=True, slots=True)
class Beside:
    """`where`: the last answer of the store, or the answer that the prompt of a traced step shows."""

    where: str
    differences: tuple[Difference, ...]


def beside(answers: Sequence[Assembled], stored: Conversation, trace: Trace | None) -> tuple[Beside, ...]:
    """The answers that begin as this one did, or share a call with it; () where none does, so that nothing is compared with a stranger."""
    came = answer_of(answers)
    found = [(where, held) for where, held in _held(stored, trace) if _is_same(came, held)]
    return tuple(Beside(where, aligned(came, held)) for where, held in dict(found).items())


def _held(stored: Conversation, trace: Trace | None) -> Iterator[tuple[str, list[Payload]]]:
    yield "the last stored answer", last_answer(stored)
    for step in trace.steps()[-STEPS:] if trace else ():
        prompt = observe.prompt_body(trace, step) if trace else None
        messages = prompt.get("messages") if prompt else None
        if isinstance(messages, list):
            yield f"the answer in the prompt of step {step.step_id}", traced_answer(messages)


def _is_same(came: Sequence[Payload], held: Sequence[Payload]) -> bool:
    ids = {each["toolCallId"] for each in came if each.get("toolCallId")}
    if ids and any(isinstance(each.get("toolCallId"), str) and each["toolCallId"] in ids for each in held):
        return True
    for kind in ("text", "thinking"):
        ours, theirs = (
            "".join(each["text"] for each in side if each.get("type") == kind and isinstance(each.get("text"), str)).strip()
            for side in (came, held)
        )
        size = min(len(ours), len(theirs), _ALIKE)
        if size and ours[:size] == theirs[:size]:
            return True
    return False
