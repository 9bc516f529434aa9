"""Takes the mark of failure from an answer whose calls are whole and all have their results."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from inspector.conversation import queries
from inspector.conversation.edits import Edit, Replace, Safety
from inspector.conversation.model import Chunk, Kind, Message
from inspector.conversation.pairing import answered
from inspector.programs.pi_openclaw.readers.rows import mapping
from inspector.programs.pi_openclaw.rules.session_calls import has_failed
from inspector.rules.base import Case
from inspector.rules.synthetic_texts import is_synthetic
from inspector.strategies.arrangement import is_tree
from inspector.strategies.base import Strategy


def propose(case: Case) -> Iterator[Edit]:
    """Not where a call is half-written, a result is missing, synthetic or elsewhere, or thinking was cut off before its signature came."""
    if not is_tree(case):
        return
    open_ = {
        answer.message
        for answer in answered(case.messages)
        if not any(result.key in answer.batch and not is_synthetic(result) for result in answer.results)
    }
    for index, message in enumerate(case.messages):
        if has_failed(message) and queries.calls(message) and index not in open_ and _is_whole(message):
            yield from (Replace(chunk, replace(chunk, payload={**chunk.payload, "entry": _done(chunk)})) for chunk in message.chunks)


def _is_whole(message: Message) -> bool:
    return all(
        isinstance(chunk.payload.get("input"), Mapping)
        and "noInput" not in chunk.payload
        and "partialJson" not in mapping(chunk.payload.get("extra"))
        if chunk.kind is Kind.TOOL_CALL
        else chunk.kind is not Kind.THINKING or bool(chunk.payload.get("signature"))
        for chunk in message.chunks
    )


def _done(chunk: Chunk) -> dict[str, object]:
    return {**mapping(chunk.payload.get("entry")), "stopReason": "toolUse"}


STRATEGY = Strategy(
    name="keep-failed-turn",
    safety=frozenset({Safety.INVENTED}),
    summary="marks an answer that failed or was aborted as done, where its calls are whole and each has its real result after it",
    cost="One value in one line. The file then says that the answer ended with its calls, which it did not; the error text next to it stays.",
    user_visible_effect="Nothing, but that the session answers again, and the model knows what its tools returned.",
    pros=(
        "The tools ran and their output is real. pi leaves the answer out and sends the results alone, which is refused permanently; to drop both forgets what was done, "
        "and the model may do it again."
    ),
    cons=(
        "The answer may have been cut off after its last call: what else the model was about to call or say is lost, and the model does not know. "
        "The output of a tool that was stopped with it may be half."
    ),
    write_kind="W3",
    propose=propose,
    manual_only=True,
    order=300,
)
