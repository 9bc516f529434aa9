"""Gives each call that repeats an id an id of its own, with its result."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace

from inspector.conversation.edits import Edit, Replace, Safety
from inspector.conversation.model import Chunk
from inspector.rules.base import Case, answered
from inspector.strategies.base import CaseCost, Strategy


def propose(case: Case) -> Iterator[Edit]:
    """The first call of an id keeps it. The result that answers a call goes with it; one that nobody can assign stays with the first."""
    used_ids = {chunk.call_id for chunk in case.conversation.chunks}
    next_numbers: dict[str, int] = {}
    for answer in answered(case):
        if answer.call.call_id not in next_numbers:
            next_numbers[answer.call.call_id] = 2
            continue
        fresh = free_id(answer.call.call_id or "call", used_ids, next_numbers[answer.call.call_id])
        # Those before it are taken: a provider may use one id in every turn.
        next_numbers[answer.call.call_id] = int(fresh.rpartition("_")[2]) + 1
        for chunk in (answer.call, *answer.results):
            yield Replace(chunk, with_id(chunk, fresh))


def cost_of(case: Case, is_renamed: Callable[[str], bool] = bool) -> CaseCost | None:
    """Where one message has several calls of one id that is renamed, and fewer results, which of them came back is a guess."""
    results = defaultdict[tuple[int, str], list[int]](list)
    for answer in answered(case):
        if is_renamed(answer.call.call_id):
            results[answer.message, answer.call.call_id].append(len(answer.results))
    if not any(sum(counts) and not all(counts) for counts in results.values()):
        return None
    return CaseCost(frozenset({Safety.INVENTED}), _GUESSED)


_GUESSED = "Only ids change. But of calls with one id in one message fewer have a result than there are: it is given to the first, and nothing stored says so."


def free_id(stem: str, used_ids: set[str], number: int = 2) -> str:
    """The id with the next number after it, from `number` on, that nobody has; it is taken from then on."""
    while (fresh := f"{stem}_{number}") in used_ids:
        number += 1
    used_ids.add(fresh)
    return fresh


def with_id(chunk: Chunk, call_id: str) -> Chunk:
    return replace(chunk, payload={**chunk.payload, "toolCallId": call_id})


STRATEGY = Strategy(
    name="rename-repeated-ids",
    safety=frozenset(),
    summary="gives the second and each further call of one id, and its result, an id of its own",
    when="several calls have one id, so that the result of one is taken for that of another",
    cost="Only ids change; what was called and what came back stays.",
    user_visible_effect="Nothing: ids are not shown.",
    pros="One id on two calls makes one result answer both; providers refuse the request, or match the wrong output.",
    cons="Logs and traces know the call by its old id. With results that are interleaved, or fewer than the calls of one id in a message, which one belongs to which call is taken from their order.",
    write_kind="content",
    propose=propose,
    cost_of=cost_of,
    manual_only=True,
    order=230,
)
