"""TOOL101: the last thing in the conversation is a tool call without its result."""

from collections.abc import Container, Iterator

from inspector.conversation import queries
from inspector.conversation.model import Message
from inspector.rules.base import Case, Match, Origin, Rule, Severity, cached_per_case, unanswered


def is_tail(case: Case, index: int) -> bool:
    """Whether nothing but results of calls follows the message at `index`."""
    return index >= _last_of_more(case)


@cached_per_case
def _last_of_more(case: Case) -> int:
    """Index of the last message that is more than results of calls; -1 where all are. Asked once: of many calls each would look at all that follows it.

    A result of no call at all is more: whoever wrote it had gone on. One without an id may be that of the last call.
    """
    called_ids = {call.call_id for message in case.messages for call in queries.calls(message)}
    return next((at for at in range(len(case.messages) - 1, -1, -1) if not _is_of_calls(case.messages[at], called_ids)), -1)


def _is_of_calls(message: Message, called_ids: Container[str]) -> bool:
    return message.role == "tool" and all(not result.call_id or result.call_id in called_ids for result in queries.results(message))


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
    why="Providers reject a request that ends so, unless the loader adds a result on reading, as some do while nothing follows. Once the user writes again it becomes TOOL102. A crash or restart came between the call and its result.",
    example="1 user 0.0 text go\n2 assistant 1.0 tool-call a ls {}",
    check=check,
    references=("Dispatch reconcile.ts 904c6d7",),
    repaired_by=("recover-result-from-trace", "insert-interrupted-result"),
    fixed_in_code="Store the results of a step in the same transaction as its calls.",
)
