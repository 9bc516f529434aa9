"""What the merge rules share: which true messages a reader's message holds, and what the trace rules out as another cause."""

from collections.abc import Iterator

from inspector.conversation.model import Chunk, Message
from inspector.conversation.queries import span_text
from inspector.rules.base import Case, cached_per_case
from inspector.traces import observe

CODES = ("MSG101", "MSG102", "MSG103", "MSG104")
"""The rules on messages that are read as one."""


def merges(case: Case) -> Iterator[tuple[Message, list[Message]]]:
    """Each message of the reading that holds chunks of several true messages, with those messages in order."""
    owner = _owner(case)
    for message in case.reading.grouped:
        if len(message.chunks) < 2:
            continue
        indexes = list(dict.fromkeys(owner[chunk.key] for chunk in message.chunks if chunk.key in owner))
        if len(indexes) > 1:
            yield message, [case.messages[index] for index in indexes]


@cached_per_case
def _owner(case: Case) -> dict[str, int]:
    """Key of a chunk -> the index of its true message."""
    return {chunk.key: index for index, message in enumerate(case.messages) for chunk in message.chunks}


def listing(messages: list[Message]) -> tuple[tuple[str, str], ...]:
    """The messages as evidence rows, bounded: the first few and how many more."""
    rows = [
        (f"seq {span_text(message.seqs)}", f"{message.role}: {', '.join(chunk.kind for chunk in message.chunks)}"[:120])
        for message in messages[:8]
    ]
    if len(messages) > 8:
        rows.append(("and", f"{len(messages) - 8} more messages"))
    return tuple(rows)


def indexes(messages: list[Message]) -> str:
    values = sorted({message.chunks[0].msg_idx for message in messages if message.chunks[0].msg_idx is not None})
    return span_text(values)


def foreign(message: Message, messages: list[Message]) -> list[Chunk]:
    """Chunks that the reader labels with a role which is not theirs."""
    return [chunk for part in messages if part.role != message.role for chunk in part.chunks]


def ruled_out(case: Case) -> tuple[tuple[str, str], ...]:
    """Other causes of a model that stops calling tools, and what the trace and the rows say against each."""
    rows: list[tuple[str, str]] = []
    if case.trace is None:
        return (("other causes", "no trace was imported: what was sent, and with which tools, is not known"),)
    steps = case.trace.steps()
    counted = [(step, count) for step in steps if (count := observe.tool_count(case.trace, step)) is not None]
    if counted:
        step, count = counted[-1]
        rows.append(
            (
                "the tools were not sent",
                f"{count} tools went with {step.step_id}" if count else f"not ruled out: {step.step_id} carried no tools",
            )
        )
    called = [step for step in steps if step.tool_calls]
    stored = {chunk.step_id for message in case.messages for chunk in message.chunks if chunk.kind == "tool-call" and chunk.step_id}
    structured = [step.step_id for step in called] or sorted(stored)
    if structured:
        rows.append(("the model cannot call tools", f"{structured[0]} made structured calls"))
    if steps and (finish := observe.finish_reason(steps[-1])):
        rows.append(("the stream was cut off", f"the last step closed with finish reason {finish}"))
    rows.append(("the stream parser lost a call", "not ruled out: the response stream is not recorded"))
    return tuple(rows)
