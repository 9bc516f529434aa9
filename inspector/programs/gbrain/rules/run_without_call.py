"""TOOL604: a run in the ledger whose call no message holds."""

from collections.abc import Iterator, Mapping, Sequence

from inspector.conversation.model import Chunk, Execution
from inspector.programs.gbrain.readers import by_message, by_row
from inspector.programs.gbrain.rules.gbrain_calls import path_text, rows_with_calls, run_text
from inspector.rules.base import Case, Match, Origin, Rule, Severity

ONESHOT = "oneshot-"
"""The start of ids of pages that gbrain wrote without asking the model for a call: no message has one, by design."""


def check(case: Case) -> Iterator[Match]:
    matched: set[str] = set()
    called: dict[int, set[str]] = {}
    open_ids: dict[str, int] = {}
    for row in rows_with_calls(case):
        called[row.index] = {call.call_id for call, _ in row.runs}
        matched |= {run.key for _, run in row.runs if run is not None}
        for call, run in row.runs:
            if run is None:
                open_ids.setdefault(call.call_id, row.index)
    first = {index: chunks[0] for index, chunks in by_row(case.conversation.chunks) if index is not None}
    for index, runs in by_message(case.conversation.ledger).items():
        # A second row of one call is that call's all the same.
        ids = called.get(index, set())
        unmatched = [run for run in runs if run.key not in matched and run.call_id not in ids and not run.call_id.startswith(ONESHOT)]
        if unmatched:
            yield _match(case, index, unmatched, first, open_ids)


def _match(case: Case, index: int, runs: Sequence[Execution], first: Mapping[int, Chunk], open_ids: Mapping[str, int]) -> Match:
    names = ", ".join(dict.fromkeys(run.tool_name[:60] for run in runs))[:80]
    what = f"a run of {names}" if len(runs) == 1 else f"{len(runs)} runs of {names}"
    where = (
        "whose message does not make that call"
        if index in first
        else "and the history has no such message: it was never stored, or its index was taken"
    )
    elsewhere = sorted({open_ids[run.call_id] for run in runs if run.call_id in open_ids})
    same = f" A call of the same id at index {elsewhere[0]} has no run of its own." if elsewhere else ""
    return Match(
        [first[index]] if index in first else (),
        f"The ledger notes {what} for index {index}, {where}.{same}{path_text(case)}",
        evidence=tuple((f"{run.tool_name[:40]} {run.call_id[:40]!r}", run_text(run)) for run in runs[:8]),
    )


RULE = Rule(
    code="TOOL604",
    state="GB4",
    name="run-without-call",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.STORE,
    summary="the ledger notes a run whose call no message holds",
    why=(
        "The tool ran, and the turn that asked for it is not in the history: it was lost where its index was taken, or rows were changed from outside. The model does not know what was done."
    ),
    example='@format gbrain\n@execution 3.0 c body complete output={"b":1}\n1 user 0.0 text go\n2 assistant 1.0 text done',
    check=check,
    references=("gbrain's ledger: rows are found by job, message and place", "rows of ids oneshot-... have no call by design"),
    no_repair_reason="What the model said when it made the call is nowhere; the evidence names what was run, for a person to judge.",
    fixed_in_code="Write the turn and the first run of its calls in one transaction.",
)
