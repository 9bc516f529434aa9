"""TOOL207: a real result that is elsewhere than after the message of its call."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence

from inspector.conversation.model import Chunk
from inspector.conversation.pairing import Answered
from inspector.rules.base import Case, Match, Origin, Rule, Severity, answered, answered_together, cached_per_case
from inspector.rules.synthetic_texts import is_synthetic


@cached_per_case
def _displaced(case: Case) -> list[tuple[Answered, Chunk]]:
    """Only one result of a call has a place: the first real one. A synthetic one in that place does not keep it."""
    moved: list[tuple[Answered, Chunk]] = []
    anywhere = _after_their_calls(case) if case.program.calls.paired_by_id else frozenset()
    for answer in answered(case):
        if all(result.key in answer.batch for result in answer.results):
            continue
        real = [result for result in answer.results if not is_synthetic(result)]
        if not any(result.key in answer.batch for result in real or answer.results):
            moved += ((answer, result) for result in (real or list(answer.results))[:1] if result.key not in anywhere)
    return moved


def _after_their_calls(case: Case) -> frozenset[str]:
    place = {chunk.key: number for number, message in enumerate(case.messages) for chunk in message.chunks}
    return frozenset(result.key for answer in answered(case) for result in answer.results if place[result.key] > answer.message)


def displaced(case: Case) -> list[tuple[str, Chunk]]:
    """Results that are not where their call's results belong, each with the key after which it belongs."""
    return [(answer.batch_end, result) for answer, result in _displaced(case)]


def check(case: Case) -> Iterator[Match]:
    place = {chunk.key: number for number, message in enumerate(case.messages) for chunk in message.chunks}
    places: dict[str, list[int]] = {}
    for number, message in enumerate(case.messages):
        places.setdefault(message.role, []).append(number)
    in_place = answered_together(case)
    for answer, result in _displaced(case):
        # What is in no place of its own for one provider is in place for the one that the body is for.
        if result.key in in_place:
            continue
        own = place[result.key]
        if own <= answer.message:
            where = "is before its call" if own < answer.message or case.messages[own].role == "assistant" else "is next to its call"
        elif case.messages[own].role != "tool":
            where = f"is in a message of the {case.messages[own].role or 'unknown role'}"
        else:
            between = _roles_between(places, answer.message, own)
            where = f"comes late, after a message of the {' and the '.join(between) or 'unknown role'}"
        yield Match(
            (result,),
            f"The result at seq {result.seq} {where}: it belongs directly after the message of its call (seq {answer.call.seq}).",
            evidence=(
                ("call", f"{answer.call.tool_name[:60]} {answer.call.call_id[:60]!r} at seq {answer.call.seq}"),
                *case.program.errors.effects("displaced"),
            ),
        )


def _roles_between(places: Mapping[str, Sequence[int]], start: int, end: int) -> list[str]:
    """The roles of the messages between two of them but "tool", each once, by the first message of each."""
    firsts = {
        role: numbers[at] for role, numbers in places.items() if role != "tool" and (at := bisect_right(numbers, start)) < len(numbers)
    }
    return sorted((role for role, first in firsts.items() if first < end), key=firsts.__getitem__)


RULE = Rule(
    code="TOOL207",
    state="RO11",
    name="displaced-result",
    severity=Severity.ERROR,
    silent=False,
    origin=Origin.STORE,
    summary="a tool result is elsewhere than directly after the message of its call",
    why=(
        "Providers take results only directly after the message with their calls. A result that came late, early, or after words of the user is refused; "
        "programs that add a synthetic result for the call then leave two for it, and the real one in the wrong place."
    ),
    example="@format rollouts\n1 user 0.0 text go\n2 assistant 1.0 tool-call a ls {}\n3 user 2.0 text and?\n4 tool 3.0 tool-result a f",
    check=check,
    references=("rollouts transform_messages.py 0779491: rows 6 and 7 of its golden table",),
    repaired_by=("move-results",),
    fixed_in_code="Store the results of a batch together, before anything that the user says meanwhile.",
)
