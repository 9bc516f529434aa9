"""Puts back the result of a call from what a line keeps next to its message."""

from collections.abc import Iterator
from dataclasses import replace

from inspector.conversation.edits import Edit, Replace
from inspector.conversation.model import Chunk, Kind
from inspector.programs.base import FROM_LEDGER
from inspector.programs.claude_code.stored_outcomes import Outcome, stored_outcomes
from inspector.rules.base import Case
from inspector.strategies.arrangement import entry_of, placed
from inspector.strategies.base import Strategy


def propose(case: Case) -> Iterator[Edit]:
    """A placeholder and a line that lost its block get the result where they are; else it gets a line of its own, once these have theirs."""
    outcomes = stored_outcomes(case)
    on_path = {chunk.key for chunk in case.conversation.chunks}
    missing: list[Outcome] = []
    for outcome in outcomes:
        own = outcome.placeholder or (outcome.line if _is_empty(outcome.line) and outcome.line.key in on_path else None)
        if own is None:
            missing.append(outcome)
        else:
            yield Replace(own, replace(own, role="tool", kind=Kind.TOOL_RESULT, payload={**_payload(outcome), **entry_of(own)}))
    if missing and len(missing) == len(outcomes):
        yield from placed(case, [(outcome.batch_end, _result(outcome)) for outcome in missing], {})


def _is_empty(line: Chunk) -> bool:
    return line.kind is Kind.CONTROL and "empty" in line.payload


def _result(outcome: Outcome) -> Chunk:
    return Chunk(f"{FROM_LEDGER}{outcome.line.key}", 0, "tool", Kind.TOOL_RESULT, _payload(outcome), 0, 0, at=outcome.line.at)


def _payload(outcome: Outcome) -> dict[str, object]:
    return {
        "type": "tool-result",
        "toolCallId": outcome.call.call_id,
        "toolName": outcome.call.tool_name,
        "content": outcome.text,
        "isError": outcome.is_error,
    }


STRATEGY = Strategy(
    name="recover-stored-result",
    safety=frozenset(),
    summary="gives a call without a real result what a line of the session keeps as `toolUseResult`",
    cost="One line for each call, or a changed one where a placeholder was. Of a command its output and its errors are one text, one below the other.",
    user_visible_effect="The output of the tool is shown where a placeholder or nothing was.",
    pros="It is what the tool said. It is taken only where the file has exactly one outcome for the call, by the id of the call or of its line.",
    cons="What the model was given may have been shortened or numbered by the program: the words are those of the tool. Files in tool-results and of agents are not read here.",
    write_kind="W3",
    propose=propose,
    order=185,
)
