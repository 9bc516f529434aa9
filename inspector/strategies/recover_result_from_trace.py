"""Puts back the real result of a call that the store lost, from the prompt or request of a later step."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from inspector.conversation import queries
from inspector.conversation.edits import Edit
from inspector.conversation.model import Chunk, Kind
from inspector.rules.base import Case, observed_trace
from inspector.rules.synthetic_texts import is_placeholder
from inspector.strategies.base import Strategy
from inspector.strategies.insertion import end_of_results, inserted
from inspector.traces import observe
from inspector.traces.model import Trace

# What the kernel itself answers for a tool is always an error (run-turn.ts); a request body does not carry the mark.
_KERNEL = ("Unknown tool: ", "Tool execution error: ")


def propose(case: Case) -> Iterator[Edit]:
    """Only where exactly one text is known for the call, and only one call has its id."""
    calls = queries.unanswered_calls(case.messages)
    ids = Counter(chunk.call_id for chunk in case.conversation.chunks if chunk.kind is Kind.TOOL_CALL)
    unique_ids = {call.call_id for _, call in calls if call.call_id and ids[call.call_id] == 1}
    trace = observed_trace(case) if unique_ids else None
    if trace is None:
        return
    recorded = recorded_results(trace, unique_ids)
    yield from inserted(
        case,
        [(end_of_results(case, index), (result_row(call, recorded[call.call_id]),)) for index, call in calls if call.call_id in recorded],
    )


def recorded_results(trace: Trace, call_ids: set[str]) -> dict[str, Mapping[str, Any]]:
    """Result chunks by call id, for ids of `wanted` for which all prompts and requests agree on one text.

    A synthetic result of the loader is none. Prompts say more than requests (isError, stepId) and win.
    """
    prompts: dict[str, list[Mapping[str, Any]]] = {}
    requests: dict[str, list[Mapping[str, Any]]] = {}
    for step in trace.steps():
        prompt, request = observe.prompt_body(trace, step), observe.parsed_request(trace, step)
        for message in dicts(prompt and prompt["messages"]):
            for chunk in dicts(message.get("chunks")):
                if chunk.get("type") == "tool-result":
                    _note(prompts, call_ids, chunk.get("toolCallId"), chunk)
        for message in dicts(request and request.get("messages")):
            if message.get("role") == "tool":
                _note(requests, call_ids, message.get("tool_call_id"), message)
    errors = {
        str(span.attributes.get("toolCallId")): span.attributes.get("isError")
        for step in trace.steps()
        for span in step.tool_calls
        if span.closed
    }
    agreed: dict[str, Mapping[str, Any]] = {}
    for call_id in call_ids:
        chunks = [*prompts.get(call_id, ()), *requests.get(call_id, ())]
        if len({chunk["content"] for chunk in chunks}) == 1:
            error = errors.get(call_id)
            agreed[call_id] = {"isError": error if isinstance(error, bool) else chunks[0]["content"].startswith(_KERNEL), **chunks[0]}
    return agreed


def _note(by_id: dict[str, list[Mapping[str, Any]]], call_ids: set[str], call_id: Any, chunk: Mapping[str, Any]) -> None:
    content = chunk.get("content")
    if isinstance(call_id, str) and call_id in call_ids and isinstance(content, str) and not is_placeholder(content):
        by_id.setdefault(call_id, []).append(chunk)


def dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def result_row(call: Chunk, recorded: Mapping[str, Any]) -> Chunk:
    """The row that a recorded result (`recorded_results`) is as the answer to `call`."""
    payload: dict[str, Any] = {
        "type": "tool-result",
        "toolCallId": call.call_id,
        "toolName": call.tool_name,
        "content": recorded["content"],
        "isError": recorded["isError"] is True,
    }
    step_id = recorded.get("stepId", call.step_id)
    if isinstance(step_id, str):
        payload["stepId"] = step_id
    return Chunk(f"new:{call.key}", call.seq, "tool", Kind.TOOL_RESULT, payload, at=call.at)


STRATEGY = Strategy(
    name="recover-result-from-trace",
    safety=frozenset(),
    summary="inserts the real result of a call that has none, where the trace still holds it, and renumbers the messages",
    cost="One row per call, as a later request sent it; rows after it move up by one.",
    user_visible_effect="The output of the tool appears where it belongs. Clients that hold rows by number should reload.",
    pros="The result is what the model was really given. It is taken only where every prompt and request agrees on one text for the call.",
    cons="Where only a request is left, whether it was an error is taken from the tool's span or, failing that, from the kernel's own wording.",
    write_kind="W3",
    propose=propose,
    order=180,
    reads_trace=True,
)
