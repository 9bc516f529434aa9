"""TOOL602: calls without a result of which the ledger does not know how they ended."""

from collections.abc import Iterator, Sequence

from inspector.programs.gbrain.rules.gbrain_calls import OpenCall, by_turn, calls_text, open_calls, path_text, runs_text
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    for turn in by_turn([open_call for open_call in open_calls(case) if not open_call.is_settled and not open_call.is_partial]):
        yield Match(
            [open_call.call for open_call in turn],
            f"{calls_text(turn)} no result, and the ledger does not say how {'it' if len(turn) == 1 else 'they'} ended ({_states_text(turn)}). "
            f"{_retry(turn)}{path_text(case)}",
            evidence=runs_text(turn),
        )


def _retry(turn: Sequence[OpenCall]) -> str:
    what = "the tool on a retry, where it is registered" if len(turn) == 1 else "the tools on a retry, where they are registered"
    pending = any(open_call.run is not None for open_call in turn)
    ends = ", or end the job where one that is pending may not run twice" if pending else ""
    return f"gbrain since #2820 would run {what}, whatever was done before{ends}."


def _states_text(turn: Sequence[OpenCall]) -> str:
    absent = sum(open_call.run is None for open_call in turn)
    unread = sum(open_call.run is not None and bool(open_call.run.damage) for open_call in turn)
    pending = len(turn) - absent - unread
    counts = ((pending, "pending"), (absent, "without a row"), (unread, "not readable"))
    named = [(count, word) for count, word in counts if count]
    return named[0][1] if len(named) == 1 else ", ".join(f"{count} {word}" for count, word in named)


RULE = Rule(
    code="TOOL602",
    state="GB2",
    name="unsettled-call",
    severity=Severity.ERROR,
    silent=False,
    origin=Origin.STORE,
    summary="a call has no result, and its run is pending in the ledger or not noted there",
    why=(
        "A worker stopped before or inside the tool. Mapped one for one the history is refused; since #2820 the tool is run again where it is registered, which may do a thing twice, "
        "and a pending run of a tool that is not idempotent ends the job."
    ),
    example="@format gbrain\n@execution 1.0 a head pending\n1 user 0.0 text go\n2 assistant 1.0 tool-call a head {}",
    check=check,
    references=("gbrain reconcileGatewayReplay", "gbrain pull request 1934: the text that it puts in"),
    repaired_by=("insert-replay-result", "insert-recovered-result", "insert-plain-result"),
    fixed_in_code="Ask the operator before a tool is run again whose earlier run may have had effects.",
)
