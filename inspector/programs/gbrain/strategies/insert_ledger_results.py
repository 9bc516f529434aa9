"""Puts in the results that the store keeps next to the messages, in its ledger of tool runs."""

from collections.abc import Iterator
from dataclasses import replace

from inspector.conversation.edits import Edit
from inspector.conversation.model import Chunk, Execution
from inspector.conversation.pairing import Answered
from inspector.programs.base import FROM_LEDGER
from inspector.programs.gbrain.readers import SETTLED, by_message, runs_of, settled
from inspector.rules.base import Case, answered
from inspector.strategies.arrangement import placed
from inspector.strategies.base import Strategy
from inspector.strategies.insert_results import not_mistaken

"""What the key of such a result starts with; after it comes the key of the run's own record."""


def settled_runs(case: Case) -> list[tuple[Answered, Execution]]:
    """Each call without a result, and the run of it that came to its end. No run is given to two calls: one found by its id goes before one by its place."""
    by_index = by_message(case.conversation.ledger)
    if not by_index:
        return []
    pairs = [answer for answer in answered(case) if not answer.results]
    run_of_call: dict[str, Execution] = {}
    for number in dict.fromkeys(answer.message for answer in pairs):
        message = case.messages[number]
        candidates = [(call, run) for call, run in runs_of(message, by_index.get(message.chunks[0].msg_idx or 0, ())) if run is not None]
        used_keys: set[str] = set()
        for call, run in sorted(candidates, key=lambda pair: pair[0].call_id != pair[1].call_id):
            if run.key not in used_keys and run.status in SETTLED and not run.damage:
                run_of_call[call.key] = run
            used_keys.add(run.key)
    return [(answer, run_of_call[answer.call.key]) for answer in pairs if answer.call.key in run_of_call]


def propose(case: Case) -> Iterator[Edit]:
    settled_now = settled_runs(case)
    fit = not_mistaken(case, {answer.call.key for answer, _ in settled_now})
    results = [(answer.batch_end, ledger_result(answer.call, run)) for answer, run in settled_now if answer.call.key in fit]
    if results:
        yield from placed(case, results, {})


def ledger_result(call: Chunk, run: Execution) -> Chunk:
    """What the run gave, as the answer to `call`."""
    return replace(settled(call, run), key=f"{FROM_LEDGER}{run.key}", seq=0, at=run.ended_at or call.at)


STRATEGY = Strategy(
    name="insert-ledger-results",
    safety=frozenset(),
    summary="inserts the result that the ledger of tool runs has for each call that has none: the output, or the error of a failed run",
    cost="No stored block changes: one row of results after each message with such calls, at the index that is free there.",
    user_visible_effect="Nothing is run again; the next attempt goes on with what the tools really said.",
    pros=(
        "The outputs are there, in another table. Each call gets its own, by message and place, then by id, then by place alone in rows from before places were kept: "
        "two calls of one id never share one. The rows fill the gaps in the indexes, so that counting rows and counting from the highest index agree again."
    ),
    cons="gbrain does the same by itself since #2820 when it takes the job up: where that version runs, a retry is enough.",
    write_kind="W3",
    propose=propose,
    order=190,
)
