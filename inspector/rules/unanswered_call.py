"""TOOL102: a tool call without its result, and the conversation went on."""

from collections.abc import Iterator

from inspector.conversation import queries
from inspector.conversation.model import Chunk
from inspector.rules.base import Case, Match, Origin, Rule, Severity, unanswered
from inspector.rules.unanswered_tail_call import is_tail

_THEN = "Providers refuse the request as it is."


def check(case: Case) -> Iterator[Match]:
    by_message: dict[int, list[Chunk]] = {}
    for index, call in unanswered(case):
        if not is_tail(case, index):
            by_message.setdefault(index, []).append(call)
    for chunks in by_message.values():
        names = ", ".join(dict.fromkeys(call.tool_name for call in chunks))[:80]
        yield Match(
            chunks,
            f"{'A call' if len(chunks) == 1 else f'{len(chunks)} calls'} of {names} at seq {queries.span_text([call.seq for call in chunks])} "
            f"{'has' if len(chunks) == 1 else 'have'} no result, and later messages follow. {case.program.errors.consequences.get(RULE.name, _THEN)}",
            severity=Severity.NOTE if case.program.calls.answers_open else None,
            evidence=case.program.errors.effects("missing"),
        )


RULE = Rule(
    code="TOOL102",
    state="C2",
    name="unanswered-call",
    severity=Severity.ERROR,
    silent=False,
    origin=Origin.STORE,
    summary="a tool call inside the history has no result",
    why="Providers want each call answered directly after its message: they reject a request that has such a call, on every turn, until it is repaired.",
    example="1 user 0.0 text go\n2 assistant 1.0 tool-call a ls {}\n3 user 2.0 text and?",
    check=check,
    references=("derived from reconcile() r3, 98b0638, of Dispatch", "rollouts docs/THINKING_BLOCK_BUG.md"),
    repaired_by=("recover-result-from-trace", "insert-interrupted-result"),
    fixed_in_code="Add the missing result directly after its call, not at the end of the history.",
)
