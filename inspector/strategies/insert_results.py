"""Puts a synthetic result right after each call that has none: one strategy for each wording."""

from collections.abc import Collection, Iterator
from dataclasses import replace

from inspector.conversation import queries
from inspector.conversation.edits import Edit, Safety
from inspector.conversation.model import Chunk, Kind
from inspector.programs.base import SyntheticResult
from inspector.rules.base import Case, answered
from inspector.rules.synthetic_texts import OURS
from inspector.strategies.arrangement import by_message, is_tree, placed
from inspector.strategies.base import Strategy
from inspector.strategies.insertion import end_of_results, inserted

PLAIN_WORDS = SyntheticResult(OURS)


def propose(case: Case) -> Iterator[Edit]:
    """After the results that its message already has, in call order."""
    if case.program.synthetic.chunk is None:
        return with_results(case, case.program.synthetic.words.get(case.conversation.format, PLAIN_WORDS))
    return inserted(
        case,
        [(end_of_results(case, index), (interrupted(case, call),)) for index, call in queries.unanswered_calls(case.messages)],
    )


def interrupted(case: Case, call: Chunk) -> Chunk:
    """The result of one call in the words of the program that keeps the store."""
    if case.program.synthetic.chunk is not None:
        return replace(case.program.synthetic.chunk(call), key=f"new:{call.key}")
    return _result(call, case.program.synthetic.words.get(case.conversation.format, PLAIN_WORDS))


def with_results(case: Case, words: SyntheticResult) -> Iterator[Edit]:
    """Not for a failed answer of a session: pi leaves it out of each request and keeps the result, which would then have no call.

    Nor for a call of a session without an id: no program pairs a result with it, so that it needs an id first (TOOL205). Nor for one whose own outcome is in a ledger: that is known, and words in its place would hide it.
    """
    if by_message(case):
        return
    unsent = {chunk.key for dropped in case.reading.dropped if dropped.intentional for chunk in dropped.chunks} if is_tree(case) else set()
    settled = set(case.program.calls.settled(case))
    open_calls = [
        answer
        for answer in answered(case)
        if not answer.results
        and answer.call.key not in settled
        and (answer.call.call_id or not is_tree(case))
        and answer.call.key not in unsent
        and not case.program.calls.has_failed(case.messages[answer.message])
    ]
    fit = not_mistaken(case, {answer.call.key for answer in open_calls})
    yield from placed(case, [(answer.batch_end, _result(answer.call, words)) for answer in open_calls if answer.call.key in fit], {})


def not_mistaken(case: Case, chosen: Collection[str]) -> frozenset[str]:
    """Of the open calls with these keys those that may have a result put in: of two calls of one id in a message the first is read as the one that has it."""
    occupied: set[tuple[int, str]] = set()
    fit = set()
    for answer in answered(case):
        place = (answer.message, answer.call.call_id)
        if answer.results or place in occupied:
            continue
        if answer.call.key in chosen:
            fit.add(answer.call.key)
        else:
            occupied.add(place)
    return frozenset(fit)


def _result(call: Chunk, words: SyntheticResult) -> Chunk:
    payload = {
        "type": "tool-result",
        "toolCallId": call.call_id,
        "toolName": call.tool_name or words.nameless,
        "content": words.text,
        "isError": True,
        **({"extra": {"details": dict(words.details)}, "wire": words.wire} if words.details else {}),
    }
    return Chunk(f"new:{call.key}", 0, "tool", Kind.TOOL_RESULT, payload, 0, 0, at=call.at)


def result_strategy(name: str, words: SyntheticResult, summary: str, pros: str, cons: str, order: int, cost: str = "") -> Strategy:
    """The strategy that gives open calls a result in these words, whatever program has the store; a person picks one of several such."""
    return Strategy(
        name=name,
        safety=frozenset({Safety.INVENTED}),
        summary=f"inserts {summary}, right after each call that has none",
        cost=f"One synthetic result per call, marked as an error{cost}.",
        user_visible_effect="A failed tool run appears where the turn was interrupted.",
        pros=pros,
        cons=cons,
        write_kind="W3",
        propose=lambda case: with_results(case, words),
        manual_only=True,
        order=order,
    )


STRATEGY = (
    Strategy(
        name="insert-interrupted-result",
        safety=frozenset({Safety.INVENTED}),
        summary="inserts an interrupted result right after each call that has none, and renumbers the messages where the store numbers them",
        cost="One synthetic result per call, marked as an error where the format can say so.",
        user_visible_effect="A failed tool run appears where the turn was interrupted. Clients that hold rows by number should reload.",
        pros="It says that the call was interrupted, at the place where providers accept a result. The call is not run again.",
        cons="No tool produced this result: the tool may have run, in part or whole, before the interruption. A user message directly after it is refused by mistral-common to 1.11.0 (mistral-strict.MI-2).",
        write_kind="W3",
        propose=propose,
        instead="Put the tool's own result after its call, where a log or an archive still has it: then nothing is invented.",
        order=440,
    ),
    result_strategy(
        "insert-plain-result",
        PLAIN_WORDS,
        summary="a result that says that the call was interrupted, in Inspector's words",
        pros="It says what is known and no more: the call was interrupted, and no result was recorded. No program takes it for its own.",
        cons="A program that knows only its own placeholders takes it for a real result, and may drop the real one as a duplicate should it turn up later.",
        order=430,
    ),
)
