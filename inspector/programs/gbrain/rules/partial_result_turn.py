"""TOOL603: a row of results that leaves calls of its turn without one."""

from collections.abc import Iterator

from inspector.programs.gbrain.readers import RECOVERED
from inspector.programs.gbrain.rules.gbrain_calls import by_turn, calls_text, open_calls, path_text, runs_text
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    for turn in by_turn([open_call for open_call in open_calls(case) if open_call.is_partial]):
        row = turn[0].row
        settled = sum(open_call.is_settled for open_call in turn)
        ledger_note = "" if not settled else f", though the ledger holds {'its outcome' if len(turn) == 1 else f'the outcome of {settled}'}"
        yield Match(
            [open_call.call for open_call in turn],
            f"{calls_text(turn)} no result, and the row after has results (seq {row.results[0].seq}): gbrain writes those of a turn in one row, so that something else "
            f"changed it. Since #2820 gbrain takes such a turn for answered and sends {RECOVERED!r}{ledger_note}.{path_text(case)}",
            evidence=runs_text(turn),
        )


RULE = Rule(
    code="TOOL603",
    state="GB3",
    name="partial-result-turn",
    severity=Severity.ERROR,
    silent=False,
    origin=Origin.STORE,
    summary="the row of results after a message does not answer all of its calls",
    why=(
        "Mapped one for one the history is refused. gbrain since #2820 does not look into the ledger where any result follows: the model reads that a result is unavailable, "
        "though it may be there."
    ),
    example="@format gbrain\n1 user 0.0 text go\n2 assistant 1.0 tool-call a head {}\n3 assistant 1.1 tool-call b body {}\n4 tool 2.0 tool-result a f",
    check=check,
    references=("gbrain reconcileGatewayReplay and repairToolPairing",),
    repaired_by=("insert-ledger-results", "insert-recovered-result", "insert-plain-result"),
    fixed_in_code="Look into the ledger for each call that the row of results does not answer.",
)
