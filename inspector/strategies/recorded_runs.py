"""What trace and ledger know of calls that the conversation holds only as text: were they run all the same, and what came of it?"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from inspector.conversation.model import Chunk, Execution
from inspector.rules.base import Case
from inspector.strategies.recover_result_from_trace import dicts, recorded_results, result_row
from inspector.text.js_json import canonical
from inspector.text.jsontext import Unreadable, parse
from inspector.traces import observe
from inspector.traces.model import Trace


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """`result` makes the chunk that answers the call once that has the run's own id."""

    call_id: str
    result: Callable[[Chunk], Chunk]


class RecordedRuns:
    """Runs that belong to no stored call, by name and arguments. Each is given once."""

    def __init__(self, case: Case, used_ids: set[str]) -> None:
        self._case, self._used_ids = case, used_ids
        self._calls: Mapping[str, list[str]] | None = None

    def take(self, name: str, arguments: Mapping[str, Any], chunk: Chunk) -> RecordedRun | None:
        """The run of a call that is text in `chunk`; None where none is known, or several that gave different things."""
        key = _key(name, arguments)
        runs = [*self._of_ledger(key, chunk)] or [*self._of_trace(key)]
        if not runs or len({outcome for outcome, _ in runs}) > 1:
            return None
        self._used_ids.add(runs[0][1].call_id)
        return runs[0][1]

    def _of_ledger(self, key: str, chunk: Chunk) -> Iterator[tuple[str, RecordedRun]]:
        for run in self._case.conversation.ledger:
            if run.message_idx != chunk.msg_idx or run.call_id in self._used_ids:
                continue
            result = self._case.program.repairs.ledger_result(chunk, run)
            if result is not None and isinstance(run.input, dict) and _key(run.tool_name, run.input) == key:
                yield canonical([run.status, run.output, run.error]), RecordedRun(run.call_id, partial(self._result, run))

    def _result(self, run: Execution, call: Chunk) -> Chunk:
        chunk_of_run = self._case.program.repairs.ledger_result(call, run)
        assert chunk_of_run is not None, "it had ended"
        return chunk_of_run

    def _of_trace(self, key: str) -> Iterator[tuple[str, RecordedRun]]:
        if self._case.trace is None:
            return
        if self._calls is None:
            self._calls = _traced(self._case.trace)
        call_ids = {call_id for call_id in self._calls.get(key, ()) if call_id not in self._used_ids}
        results = recorded_results(self._case.trace, call_ids) if call_ids else {}
        for call_id in self._calls.get(key, ()):
            if call_id in results and call_id in call_ids:
                result = results[call_id]
                yield canonical([result["content"], result["isError"]]), RecordedRun(call_id, partial(result_row, recorded=result))


def _traced(trace: Trace) -> dict[str, list[str]]:
    """Name and arguments -> ids of the calls that prompts and requests hold, each once, in order."""
    ids_by_key: dict[str, list[str]] = {}
    for step in trace.steps():
        prompt, request = observe.prompt_body(trace, step), observe.parsed_request(trace, step)
        for message in dicts(prompt and prompt["messages"]):
            for chunk in dicts(message.get("chunks")):
                if chunk.get("type") == "tool-call":
                    _note(ids_by_key, chunk.get("toolName"), chunk.get("input"), chunk.get("toolCallId"))
        for message in dicts(request and request.get("messages")):
            for call in dicts(message.get("tool_calls")):
                function = call.get("function")
                if isinstance(function, dict):
                    _note(ids_by_key, function.get("name"), _parsed(function.get("arguments")), call.get("id"))
    return ids_by_key


def _note(ids_by_key: dict[str, list[str]], name: Any, arguments: Any, call_id: Any) -> None:
    if isinstance(name, str) and isinstance(arguments, dict) and isinstance(call_id, str) and call_id:
        ids = ids_by_key.setdefault(_key(name, arguments), [])
        if call_id not in ids:
            ids.append(call_id)


def _parsed(text: Any) -> Any:
    try:
        return parse(text) if isinstance(text, str) else None
    except Unreadable:
        return None


def _key(name: str, arguments: Mapping[str, Any]) -> str:
    try:
        return canonical([name, dict(arguments)])
    except ValueError:
        return ""
