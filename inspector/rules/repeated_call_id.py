"""TOOL205: calls that share an id, or have none, so that the call of a result is not certain."""

from collections import Counter
from collections.abc import Iterator

from inspector.conversation import queries
from inspector.conversation.model import Chunk
from inspector.rules.base import Case, Match, Origin, Rule, Severity

IN_ONE_MESSAGE = "repeated-call-id in one message"
_OF_ALL = "one result counts as the answer of all of them."
_THEN = "which of them it answers is not known."


def check(case: Case) -> Iterator[Match]:
    """Ids that start again with each step are no damage as long as each call has a result; of a session TOOL102 says which has none, of gbrain TOOL601 to TOOL603."""
    again = case.program.calls.repeated(case)
    by_id: dict[str, list[tuple[int, Chunk]]] = {}
    for index, message in enumerate(case.messages):
        if message.role == "assistant":
            for call in (call for call in queries.calls(message) if call.key not in again):
                by_id.setdefault(call.call_id, []).append((index, call))
    # Nearly every call has an id, and one of its own.
    repeated = {call_id: calls for call_id, calls in by_id.items() if len(calls) > 1 or not call_id}
    results = Counter(chunk.call_id for message in case.messages for chunk in queries.results(message)) if repeated else Counter[str]()
    for call_id, calls in repeated.items():
        in_message = Counter(index for index, _ in calls)
        chunks = [call for _, call in calls]
        twice = [call for index, call in calls if in_message[index] > 1]
        if not call_id:
            text = f"{_calls(chunks)} no id: a result without an id counts as the answer of every such call."
            # In a session that is a tree nothing can be its result before it has one.
            yield Match(chunks, text, repaired_by=("rename-invalid-ids",) if case.program.numbering.by_place else None)
        elif twice:
            yield Match(
                twice,
                f"{_calls(twice)} the id {call_id[:60]!r} in one message: {case.program.errors.consequences.get(IN_ONE_MESSAGE, _OF_ALL)}",
            )
        elif 0 < results[call_id] < len(chunks) and not case.running and not case.program.calls.settles_ids:
            result_count = "one result" if results[call_id] == 1 else f"{results[call_id]} results"
            yield Match(
                chunks,
                f"{_calls(chunks)} the id {call_id[:60]!r}, which has {result_count}: {case.program.errors.consequences.get(RULE.name, _THEN)}",
            )


def _calls(chunks: list[Chunk]) -> str:
    where = f"seq {queries.span_text([chunk.seq for chunk in chunks])}"
    return f"{len(chunks)} calls ({where}) have" if len(chunks) > 1 else f"The call at {where} has"


RULE = Rule(
    code="TOOL205",
    state="I1",
    name="repeated-call-id",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.STREAM,
    summary="calls share an id or have none, so one result answers several",
    why=(
        "Where calls and results are matched by id alone, a call whose id another result has counts as answered: no result is added for it, and the model gets the "
        "wrong outcome. Anthropic rejects a turn with a repeated id (AN-5)."
    ),
    example="1 user 0.0 text go\n2 assistant 1.0 tool-call a ls {}\n3 assistant 1.1 tool-call a pwd {}\n4 tool 2.0 tool-result a f name=ls",
    check=check,
    references=(
        "derived from stream.ts 4a71e06 of Dispatch: a missing id becomes an empty one, a second finish reason emits the calls again",
    ),
    repaired_by=(),
    no_repair_reason="Results that share an id cannot be distinguished by the rows alone.",
    fixed_in_code="Give a call without an id, or with one that the step has already seen, a fresh id when the stream is read; emit the calls of a step once.",
)
