"""Puts back the result of a call from what a line keeps next to its message, or from another file of the session."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from inspector.conversation.edits import Edit, Replace
from inspector.conversation.model import Chunk, Kind
from inspector.programs.base import FROM_LEDGER
from inspector.programs.claude_code.stored_outcomes import Outcome, stored_outcomes
from inspector.rules.base import Case
from inspector.strategies.arrangement import entry_of, placed
from inspector.strategies.base import Strategy


def _of_lines(case: Case) -> Iterator[Edit]:
    return _edits(case, [outcome for outcome in stored_outcomes(case) if outcome.line])


def _of_files(case: Case) -> Iterator[Edit]:
    return _edits(case, [outcome for outcome in stored_outcomes(case) if outcome.file and outcome.is_certain])


def _of_agents(case: Case) -> Iterator[Edit]:
    return _edits(case, [outcome for outcome in stored_outcomes(case) if not outcome.is_certain])


def _edits(case: Case, outcomes: Sequence[Outcome]) -> Iterator[Edit]:
    """A placeholder and a line that lost its block get the result where they are; else it gets a line of its own, once these have theirs."""
    on_path = {chunk.key for chunk in case.conversation.chunks}
    missing: list[Outcome] = []
    for outcome in outcomes:
        line = outcome.line
        own = outcome.placeholder or (line if line and _is_empty(line) and line.key in on_path else None)
        if own is None:
            missing.append(outcome)
        else:
            yield Replace(own, replace(own, role="tool", kind=Kind.TOOL_RESULT, payload={**_payload(outcome), **entry_of(own)}))
    if missing and len(missing) == len(outcomes):
        yield from placed(case, [(outcome.batch_end, _result(outcome)) for outcome in missing], {})


def _is_empty(line: Chunk) -> bool:
    return line.kind is Kind.CONTROL and "empty" in line.payload


def _result(outcome: Outcome) -> Chunk:
    source = outcome.line or outcome.call
    return Chunk(f"{FROM_LEDGER}{source.key}", 0, "tool", Kind.TOOL_RESULT, _payload(outcome), 0, 0, at=source.at)


def _payload(outcome: Outcome) -> dict[str, object]:
    return {
        "type": "tool-result",
        "toolCallId": outcome.call.call_id,
        "toolName": outcome.call.tool_name,
        "content": outcome.text,
        "isError": outcome.is_error,
    }


_SHOWN = "The output of the tool is shown where a placeholder or nothing was."
_COST = "One line for each call, or a changed one where a placeholder was."
STRATEGY = (
    Strategy(
        name="recover-stored-result",
        safety=frozenset(),
        summary="gives a call without a real result what a line of the session keeps as `toolUseResult`",
        cost=f"{_COST} Of a command its output and its errors are one text, one below the other.",
        user_visible_effect=_SHOWN,
        pros="It is what the tool said. It is taken only where the file has exactly one outcome for the call, by the id of the call or of its line.",
        cons="What the model was given may have been shortened or numbered by the program: the words are those of the tool.",
        write_kind="W3",
        propose=_of_lines,
        order=185,
    ),
    Strategy(
        name="recover-result-from-file",
        safety=frozenset(),
        summary="gives a call without a real result what a file of the session holds of it: its output in tool-results, or the answer of its agent",
        cost=f"{_COST} Of an output that is too large the notice that the program gives the model: the path of the file, and its first 2,000 characters.",
        user_visible_effect=_SHOWN,
        pros="It is what came of the call. It is taken only from a file that names the call, or from the one agent that was given its prompt, and that ended.",
        cons="What the program adds to the answer of an agent (its id, its use of tokens) is not written again. The path of an output is that of the file now.",
        write_kind="W3",
        propose=_of_files,
        order=186,
    ),
    Strategy(
        name="recover-agent-words",
        safety=frozenset(),
        summary="gives a call without a real result the last words of its agent, whose file does not say whether it had ended",
        cost=_COST,
        user_visible_effect="The last words of the agent are shown where a placeholder or nothing was.",
        pros="They are the agent's own words. Versions to about 2.1.40 store no reason for the end of an answer, so that most of such files are whole.",
        cons="An agent that was killed between these words and its next call ends with the same line: read them before you take them for an answer.",
        write_kind="W3",
        propose=_of_agents,
        manual_only=True,
        order=187,
    ),
)
