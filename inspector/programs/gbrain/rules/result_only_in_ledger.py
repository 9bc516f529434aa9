"""TOOL601: calls whose outcome is in the ledger, and not in the history that is sent."""

from collections.abc import Iterator

from inspector.programs.gbrain.facts import LEGACY, PATH
from inspector.programs.gbrain.readers import HEAD
from inspector.programs.gbrain.rules.gbrain_calls import by_turn, calls_text, open_calls, path_text, runs_text
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    """Of turns without any row of results: TOOL603 speaks of those that have one."""
    for turn in by_turn([open_call for open_call in open_calls(case) if open_call.is_settled and not open_call.is_partial]):
        failed = sum(open_call.run is not None and open_call.run.status == "failed" for open_call in turn)
        ended = "complete" if not failed else "failed" if failed == len(turn) else f"{len(turn) - failed} complete, {failed} failed"
        yield Match(
            [open_call.call for open_call in turn],
            f"{calls_text(turn)} no result in the history, and the ledger holds {'its outcome' if len(turn) == 1 else 'their outcomes'} ({ended}). "
            f"{_retry(case)}{path_text(case)}",
            evidence=runs_text(turn),
        )


def _retry(case: Case) -> str:
    if case.reading.reader == HEAD:
        return "gbrain since #2820 puts it in on a retry and writes the row; versions before are refused by the SDK, every time."
    if case.conversation.fact(PATH) == LEGACY:
        return "A retry on the same path puts it in by itself; mapped one for one for the gateway, it is refused by the SDK every time."
    return "A retry that maps the messages one for one is refused by the SDK, every time."


RULE = Rule(
    code="TOOL601",
    state="GB1",
    name="result-only-in-ledger",
    severity=Severity.ERROR,
    silent=False,
    origin=Origin.STORE,
    summary="the result of a call is only in the ledger, and the history has none",
    why=(
        "gbrain's gateway loop noted runs of tools in a table of their own and, before #2820, wrote no row of results. A retry then sends calls without results, "
        "AI_MissingToolResultsError ends it, and so does every later one. Nothing is lost: the outcomes are in the ledger."
    ),
    example='@format gbrain\n@execution 1.0 a head complete output={"h":3}\n1 user 0.0 text go\n2 assistant 1.0 tool-call a head {}',
    check=check,
    references=("gbrain pull request 1934", "gbrain #2820, 86962b242 (2026-07-16)"),
    repaired_by=("insert-ledger-results",),
    fixed_in_code="Write the row of results before the next request is made, and heal older jobs from the ledger when they are taken up (#2820).",
)
