"""TOOL102: a tool call without its result, and the conversation went on."""

from collections.abc import Iterator

from inspector.conversation import queries
from inspector.conversation.model import Chunk
from inspector.programs.pi_openclaw.rules.session_calls import is_session, unanswered
from inspector.programs.pi_openclaw.rules.session_effects import effects
from inspector.rules.base import DISPATCH, ROLLOUTS, Case, Fault, Hit, Rule, Severity
from inspector.rules.unanswered_tail_call import is_tail


def check(case: Case) -> Iterator[Hit]:
    by_message: dict[int, list[Chunk]] = {}
    for index, call in unanswered(case):
        if not is_tail(case, index):
            by_message.setdefault(index, []).append(call)
    for chunks in by_message.values():
        names = ", ".join(dict.fromkeys(call.tool_name for call in chunks))[:80]
        yield Hit(
            chunks,
            f"{'A call' if len(chunks) == 1 else f'{len(chunks)} calls'} of {names} at seq {queries.span_text([call.seq for call in chunks])} "
            f"{'has' if len(chunks) == 1 else 'have'} no result, and later messages follow. {_then(case)}",
            evidence=effects("missing") if is_session(case) else (),
        )


def _then(case: Case) -> str:
    if case.conversation.format in DISPATCH:
        return "The loader puts its made-up result at the end of the history, where providers refuse it."
    if case.conversation.format == ROLLOUTS:
        return "rollouts makes up a result for each request since cd8a0c9; versions before send the call as it is, and providers refuse it."
    if is_session(case):
        return "No branch of the file holds a real one. The programs make one up for each request; a client that sends the path as it is stored is refused."
    return "Providers refuse the request as it is."


RULE = Rule(
    code="TOOL102",
    state="C2",
    name="unanswered-call",
    severity=Severity.ERROR,
    silent=False,
    fault=Fault.STORE,
    summary="a tool call in the middle of the history has no result",
    why=(
        "Providers want each call answered directly after its message. Dispatch's loader appends its made-up result at the end of the history instead, "
        "and a request body is sent as it stands, so every request is refused, for ever."
    ),
    example="1 user 0.0 text go\n2 assistant 0.0 tool-call a ls {}\n3 user 0.0 text and?",
    check=check,
    references=("derived from reconcile() r3, 98b0638, of Dispatch", "rollouts docs/THINKING_BLOCK_BUG.md"),
    repaired_by=("recover-result-from-trace", "insert-interrupted-result"),
    fixed_in_code="Make up the missing result directly after its call instead of at the end.",
)
