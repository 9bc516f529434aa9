"""TOOL202: a tool result that answers no call of the message before it."""

from collections.abc import Iterator, Mapping

from inspector.conversation import queries
from inspector.conversation.model import Chunk, Kind
from inspector.rules.base import Case, Match, Origin, Rule, Severity, answers, orphaned
from inspector.rules.displaced_result import displaced
from inspector.rules.repeated_output import superfluous
from inspector.rules.several_results import differing


def check(case: Case) -> Iterator[Match]:
    """Orphans of the store itself, and those that only the reader makes by burying the call in another message."""
    stored = {chunk.key for _, chunk in orphaned(case)}
    read = [
        chunk for _, chunk in queries.orphaned_results(answers(case.conversation, case.reading.messages)) if chunk.kind is Kind.TOOL_RESULT
    ]
    if not stored and not read:
        return
    calls = {call.call_id: call for message in case.messages for call in queries.calls(message)}
    program, explained = case.program, _explained(case)
    unexplained = stored - explained
    nameless = {result.key: owner for owner, result in program.calls.nameless_results(case)}
    for chunk in (chunk for message in case.messages for chunk in message.chunks if chunk.key in unexplained):
        call = calls.get(chunk.call_id)
        if call is None and (owner := nameless.get(chunk.key)) is not None:
            text = f"The result at seq {chunk.seq} has no id; it follows the only call of its answer (seq {owner.seq}), which has no other, and is probably its own."
            yield Match((chunk,), text, evidence=program.errors.effects("orphan"))
            continue
        where = f"the call with its id is at seq {call.seq}" if call else "no call has its id"
        yield Match(
            (chunk,),
            f"The result at seq {chunk.seq} answers no call of the message before it: {where}.",
            evidence=program.errors.effects("orphan"),
        )
    place_of = {chunk.key: index for index, message in enumerate(case.reading.messages) for chunk in message.chunks}
    for chunk in read:
        if chunk.key in stored or chunk.key.startswith("synthesized:") or (program.calls.explains_read_results and chunk.key in explained):
            continue
        if not program.calls.buries:
            continue
        if cut := program.calls.cut_result(case, chunk, calls.get(chunk.call_id)):
            yield Match((chunk,), cut, evidence=program.errors.effects("orphan"))
            continue
        yield Match((chunk,), _buried(case, chunk, calls.get(chunk.call_id), place_of), origin=Origin.READER)


def _explained(case: Case) -> set[str]:
    """Keys of results of which another rule says how they came to be there: TOOL203, TOOL204 (of Dispatch), TOOL206, TOOL207 to TOOL209, TREE105."""
    repeated = [chunk for chunks in superfluous(case) for chunk in chunks]
    several = [chunk for first_result, others in differing(case) for chunk in (first_result, *others)]
    chunks = [*repeated, *several, *(chunk for _, chunk in displaced(case))]
    chunks += case.program.calls.explained_results(case)
    return {chunk.key for chunk in chunks}


def _buried(case: Case, result: Chunk, call: Chunk | None, place_of: Mapping[str, int]) -> str:
    if call is not None and call.key in place_of:
        index = place_of[call.key]
        role = case.reading.messages[index].role
        return f"The result at seq {result.seq} is read without its call: the call (seq {call.seq}) is inside MSG {index}, which is read as {role}."
    return f"The result at seq {result.seq} is read without its call, though the store holds both."


RULE = Rule(
    code="TOOL202",
    state="R1",
    name="orphaned-tool-result",
    severity=Severity.ERROR,
    silent=False,
    origin=Origin.STORE,
    summary="a tool result is without its call",
    why="OpenAI and its kin answer 400 to a tool message without a call before it; others ignore it, and the model does not know what it is the result of.",
    example='1 user 0.0 text go\n2 tool 1.0 tool-result a "f" name=ls',
    check=check,
    references=("Dispatch notes/tool-call-in-thinking-bug.md, 2026-06-28",),
    repaired_by=("renumber-messages", "adopt-results", "drop-orphaned-results"),
    fixed_in_code="Where the reader hides the call in another message, correct its grouping (MSG101). Let compaction and deletion take a call only together with its results.",
)
