"""What trace and ledger know of calls that the conversation holds only as text: were they run all the same, and what came of it?"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from inspector.conversation.js_json import canonical
from inspector.conversation.jsontext import Unreadable, parse
from inspector.conversation.model import Chunk, Execution
from inspector.rules.base import Case
from inspector.strategies.recover_result_from_trace import dicts, recorded_results, result_row
from inspector.traces import observe
from inspector.traces.model import Trace


@dataclass(frozen=True, slots=True)
class Run:
    """`result` makes the chunk that answers the call once that has the run's own id."""

    call_id: str
    result: Callable[[Chunk], Chunk]


class Recorded:
    """Runs that belong to no stored call, by name and arguments. Each is given once."""

    def __init__(self, case: Case, taken: set[str]) -> None:
        self._case, self._taken = case, taken
        self._calls: Mapping[str, list[str]] | None = None

    def take(self, name: str, given: Mapping[str, Any], chunk: Chunk) -> Run | None:
        """The run of a call that stands as text in `chunk`; None where none is known, or several that gave different things."""
        key = _key(name, given)
        found = [*self._of_ledger(key, chunk)] or [*self._of_trace(key)]
        if not found or len({said for said, _ in found}) > 1:
            return None
        self._taken.add(found[0][1].call_id)
        return found[0][1]

    def _of_ledger(self, key: str, chunk: Chunk) -> Iterator[tuple[str, Run]]:
        for run in self._case.conversation.ledger:
            if run.message_idx != chunk.msg_idx or run.call_id in self._taken:
                continue
            known = self._case.program.ledger_result(chunk, run)
            if known is not None and isinstance(run.input, dict) and _key(run.tool_name, run.input) == key:
                yield canonical([run.status, run.output, run.error]), Run(run.call_id, partial(self._result, run))

    def _result(self, run: Execution, call: Chunk) -> Chunk:
        result = self._case.program.ledger_result(call, run)
        assert result is not None, "it had ended"
        return result

    def _of_trace(self, key: str) -> Iterator[tuple[str, Run]]:
        if self._case.trace is None:
            return
        if self._calls is None:
            self._calls = _traced(self._case.trace)
        wanted = {call_id for call_id in self._calls.get(key, ()) if call_id not in self._taken}
        known = recorded_results(self._case.trace, wanted) if wanted else {}
        for call_id in self._calls.get(key, ()):
            if call_id in known and call_id in wanted:
                found = known[call_id]
                yield canonical([found["content"], found["isError"]]), Run(call_id, partial(result_row, known=found))


def _traced(trace: Trace) -> dict[str, list[str]]:
    """Name and arguments -> ids of the calls that prompts and requests hold, each once, in order."""
    found: dict[str, list[str]] = {}
    for step in trace.steps():
        prompt, request = observe.prompt_body(trace, step), observe.parsed_request(trace, step)
        for message in dicts(prompt and prompt["messages"]):
            for chunk in dicts(message.get("chunks")):
                if chunk.get("type") == "tool-call":
                    _note(found, chunk.get("toolName"), chunk.get("input"), chunk.get("toolCallId"))
        for message in dicts(request and request.get("messages")):
            for call in dicts(message.get("tool_calls")):
                function = call.get("function")
                if isinstance(function, dict):
                    _note(found, function.get("name"), _parsed(function.get("arguments")), call.get("id"))
    return found


def _note(found: dict[str, list[str]], name: Any, given: Any, call_id: Any) -> None:
    if isinstance(name, str) and isinstance(given, dict) and isinstance(call_id, str) and call_id:
        ids = found.setdefault(_key(name, given), [])
        if call_id not in ids:
            ids.append(call_id)


def _parsed(text: Any) -> Any:
    try:
        return parse(text) if isinstance(text, str) else None
    except Unreadable:
        return None


def _key(name: str, given: Mapping[str, Any]) -> str:
    try:
        return canonical([name, dict(given)])
    except ValueError:
        return ""
