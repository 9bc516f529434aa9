"""TOOL101: the last thing in the conversation is a tool call without its result."""

from collections.abc import Iterator

from inspector.rules.base import Case, Match, Origin, Rule, Severity, cached_per_case, unanswered


def is_tail(case: Case, index: int) -> bool:
    """Whether nothing but results of its own calls follows the message at `index`."""
    return index >= _last_without_results(case)


@cached_per_case
def _last_without_results(case: Case) -> int:
    """Index of the last message that is no result; -1 where all are. Asked once: of many calls each would look at all that follows it."""
    return next((at for at in range(len(case.messages) - 1, -1, -1) if case.messages[at].role != "tool"), -1)


def check(case: Case) -> Iterator[Match]:
    if case.running and not case.program.liveness.unknown_ms:
        return
    chunks = [call for index, call in unanswered(case) if is_tail(case, index)]
    if chunks:
        text = f"The conversation ends with {_count(len(chunks))} without a result: {_then(case)}"
        calls = case.program.calls
        is_noted = case.running or calls.answers_open or not calls.pending_is_damage
        yield Match(chunks, text, severity=Severity.NOTE if is_noted else None, evidence=case.program.errors.effects("missing"))


def _then(case: Case) -> str:
    if case.running:
        return "the turn may still run. Times in this store name no zone, so that half a day must pass before it counts as interrupted."
    return case.program.errors.consequences.get(RULE.name, "providers want its result before anything else is said.")


def _count(number: int) -> str:
    return "a tool call" if number == 1 else f"{number} tool calls"


RULE = Rule(
    code="TOOL101",
    state="C1",
    name="unanswered-tail-call",
    severity=Severity.WARNING,
    silent=False,
    origin=Origin.STORE,
    summary="the conversation ends with a tool call that has no result",
    why="A crash or restart between the call and its result. Some loaders repair it on reading as long as nothing follows; once the user writes again it becomes TOOL102.",
    example="1 user 0.0 text go\n2 assistant 0.0 tool-call a ls {}",
    check=check,
    references=("Dispatch reconcile.ts 904c6d7",),
    repaired_by=("recover-result-from-trace", "insert-interrupted-result"),
    fixed_in_code="Store the results of a step in the same transaction as its calls.",
)
