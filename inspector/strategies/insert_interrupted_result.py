"""Puts an interrupted result right after each call that has none."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from inspector.conversation import queries
from inspector.conversation.edits import Edit, Safety
from inspector.conversation.model import Chunk, Kind
from inspector.programs.dispatch.readers import interrupted_result
from inspector.programs.gbrain.strategies.insert_ledger_results import not_mistaken, settled_runs
from inspector.programs.pi_openclaw.readers.result_pairing import MISSING, NO_RESULT
from inspector.programs.pi_openclaw.readers.rows import OPENCLAW, OPENCLAW_SQLITE, PI
from inspector.programs.pi_openclaw.strategies.drop_failed_turns import is_failed
from inspector.rules.base import Case, answered
from inspector.rules.synthetic_texts import OURS, ROLLOUTS
from inspector.strategies.arrangement import is_dispatch, is_tree, placed
from inspector.strategies.base import Strategy
from inspector.strategies.insertion import end_of_results, inserted


@dataclass(frozen=True, slots=True)
class Words:
    """What a made-up result says. `details` is what OpenClaw keeps beside the content, and knows its own by; `nameless` names a tool without name."""

    text: str
    details: Mapping[str, Any] = field(default_factory=dict)
    nameless: str = ""


PLAIN_WORDS = Words(OURS)
PI_WORDS = Words(NO_RESULT)
OPENCLAW_WORDS = Words(MISSING, {"openclawSyntheticMissingToolResult": True, "reason": "missing_tool_result"}, "unknown")
# In the words of the program that keeps the store, so that it knows them again.
_OWN = {"rollouts": Words(ROLLOUTS), PI: PI_WORDS, OPENCLAW: OPENCLAW_WORDS, OPENCLAW_SQLITE: OPENCLAW_WORDS}


def propose(case: Case) -> Iterator[Edit]:
    """After the results that its message already has, in call order."""
    if not is_dispatch(case):
        return made_up(case, _OWN.get(case.conversation.format, PLAIN_WORDS))
    return inserted(
        case,
        [(end_of_results(case, index), (interrupted(case, call),)) for index, call in queries.unanswered_calls(case.messages)],
    )


def interrupted(case: Case, call: Chunk) -> Chunk:
    """The result of one call in the words of the program that keeps the store."""
    if is_dispatch(case):
        return replace(interrupted_result(call), key=f"new:{call.key}")
    return _result(call, _OWN.get(case.conversation.format, PLAIN_WORDS))


def made_up(case: Case, words: Words) -> Iterator[Edit]:
    """Not for a failed answer of a session: pi leaves it out of each request and keeps the result, which would then have no call.

    Nor for a call whose own outcome a ledger has: that is known, and words in its place would hide it.
    """
    if is_dispatch(case):
        return
    unsent = {chunk.key for dropped in case.reading.dropped for chunk in dropped.chunks} if is_tree(case) else set()
    known = {found.call.key for found, _ in settled_runs(case)}
    open_calls = [
        found
        for found in answered(case)
        if not found.results
        and found.call.key not in known
        and found.call.key not in unsent
        and not (is_tree(case) and is_failed(case.messages[found.message]))
    ]
    fit = not_mistaken(case, {found.call.key for found in open_calls})
    yield from placed(case, [(found.batch_end, _result(found.call, words)) for found in open_calls if found.call.key in fit], {})


def _result(call: Chunk, words: Words) -> Chunk:
    payload = {
        "type": "tool-result",
        "toolCallId": call.call_id,
        "toolName": call.tool_name or words.nameless,
        "content": words.text,
        "isError": True,
        **({"extra": {"details": dict(words.details)}, "wire": "pi"} if words.details else {}),
    }
    return Chunk(f"new:{call.key}", 0, "tool", Kind.TOOL_RESULT, payload, 0, 0, at=call.at)


STRATEGY = Strategy(
    name="insert-interrupted-result",
    safety=frozenset({Safety.INVENTED}),
    summary="inserts an interrupted result right after each call that has none, and renumbers the messages",
    cost="One made-up result per call, marked as an error where the store can say so; where rows have numbers without gaps those after it move up by one.",
    noticed_by_user="A failed tool run appears where the turn was interrupted. Clients that hold rows by number should reload.",
    argued_for="It is what the loader makes up on every read anyway, put where providers accept it. The call is not run again.",
    argued_against="No tool produced this result: the tool may have run, in part or whole, before the interruption.",
    write_kind="W3",
    propose=propose,
    order=440,
)
