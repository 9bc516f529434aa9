"""Anthropic Messages as of July 2026: calls and results are paired by turns, and the end of the request has rules of its own."""

from collections.abc import Iterator
from itertools import pairwise, takewhile

from inspector.profiles.anthropic_blocks import in_blocks
from inspector.profiles.anthropic_models import takes_prefill
from inspector.profiles.anthropic_rules import RULES, violation
from inspector.profiles.anthropic_turns import THINKING, SpeakerTurn, TurnBlock, turns
from inspector.profiles.base import Profile, Request, Violation
from inspector.profiles.bodies import by_place, entry
from inspector.projections.base import ANTHROPIC

_NOBODY = SpeakerTurn("")


def check(request: Request) -> Iterator[Violation]:
    """In order of place. AN-1 is reported at the message with the call, whose index the API names too (some recordings name the one after it:
    readers of an error text look one message to each side); AN-3 and AN-4, which have its text, at the block that is out of place."""
    yield from by_place(_violations(request))


def _violations(request: Request) -> Iterator[Violation]:
    all_turns = turns(request.messages)
    yield from in_blocks(request, all_turns)
    for n, message in enumerate(map(entry, request.messages)):
        if message.get("role") == "user" and message.get("content") in ("", [], None):
            yield violation("AN-12", f"messages.{n}", n=n)
    for before, turn in pairwise((_NOBODY, *all_turns)):
        yield from _results(before, turn)
    for place, (turn, after) in enumerate(pairwise((*all_turns, _NOBODY))):
        if turn.role == "assistant":
            yield from _calls(turn, after, at_end=place >= len(all_turns) - 2)
            yield from _after_calls(turn)
    yield from _ending(request, all_turns)
    latest = next((turn for turn in reversed(all_turns) if turn.role == "assistant"), _NOBODY)
    if request.thinking is not False:
        # With thinking switched off the same history is accepted: the fix that users of Claude Code found.
        yield from _run_together(latest)
    if request.thinking:
        yield from _without_thinking(all_turns)


def _calls(turn: SpeakerTurn, after: SpeakerTurn, at_end: bool) -> Iterator[Violation]:
    """AN-1 and AN-3, once for each message with calls. Results may be split over messages, in any order; any other block ends their run."""
    answers = after.blocks if after.role == "user" else []
    leading = {block.call_id for block in takewhile(_is_result, answers)}
    late = {block.call_id: block for block in reversed(answers) if _is_result(block) and block.call_id not in leading}
    open_ended = at_end and (after is _NOBODY or after.role == "user") and all(map(_is_result, answers))
    calls: dict[int, list[str]] = {}
    for block in turn.blocks:
        if block.kind == "tool_use" and block.call_id not in leading:
            calls.setdefault(block.n, []).append(block.call_id)
    for n, ids in calls.items():
        missing = [call for call in dict.fromkeys(ids) if call not in late]
        displaced = [call for call in dict.fromkeys(ids) if call in late]
        if missing:
            yield violation("AN-1", f"messages.{n}", open_ended, n=n, ids=", ".join(missing))
        if displaced:
            first = min((late[call] for call in displaced), key=lambda block: (block.n, block.m))
            yield violation("AN-3", first.path, n=n, ids=", ".join(displaced))


def _after_calls(turn: SpeakerTurn) -> Iterator[Violation]:
    """AN-4, once for a turn: at the first thing that was said or thought after a call."""
    calls: list[TurnBlock] = []
    for block in turn.blocks:
        if block.kind == "tool_use":
            calls.append(block)
        elif calls and (block.kind == "text" or block.kind in THINKING):
            rule = "AN-4" if block.kind == "text" else "AN-4t"
            yield violation(rule, block.path, n=calls[0].n, ids=", ".join(call.call_id for call in calls))
            return


def _results(before: SpeakerTurn, turn: SpeakerTurn) -> Iterator[Violation]:
    if turn.role != "user":
        return
    calls = {block.call_id for block in before.blocks if block.kind == "tool_use" and before.role == "assistant"}
    answered: set[str] = set()
    for block in filter(_is_result, turn.blocks):
        if block.call_id not in calls:
            yield violation("AN-2", block.path, n=block.n, m=block.m, id=block.call_id)
        elif block.call_id in answered:
            yield violation("AN-6", block.path, n=block.n, m=block.m, id=block.call_id)
        answered.add(block.call_id)


def _is_result(block: TurnBlock) -> bool:
    return block.kind == "tool_result"


def _ending(request: Request, all_turns: list[SpeakerTurn]) -> Iterator[Violation]:
    """AN-10, AN-11, AN-19: only the next message is missing, so all are open-ended. What is not known of a model is not held against it."""
    last = len(request.messages) - 1
    if not all_turns or all_turns[-1].role != "assistant":
        return
    final = all_turns[-1].blocks[-1] if all_turns[-1].blocks and all_turns[-1].blocks[-1].n == last else None
    if takes_prefill(request.model) is False:
        yield violation("AN-10", f"messages.{last}", open_ended=True)
    elif final is not None and final.kind == "text":
        text = final.value.get("text")
        if isinstance(text, str) and text.strip() and text != text.rstrip():
            yield violation("AN-11", final.path, open_ended=True)
    if final is not None and final.kind in THINKING:
        yield violation("AN-19", f"messages.{last}", open_ended=True, n=last)


def _unclear(request: Request) -> str:
    """Of AN-10, what the model's name does not say."""
    if not request.messages or entry(request.messages[-1]).get("role") != "assistant" or takes_prefill(request.model) is not None:
        return ""
    unknown = f"whether {request.model} is one of these is not known" if request.model else "which model it is for is not known"
    return f"the last message is the assistant's, which Claude from 4.6 on rejects (AN-10): {unknown}"


def _run_together(latest: SpeakerTurn) -> Iterator[Violation]:
    """AN-16 as far as one body shows it: thinking after a call, or in a second message of the latest turn, is of another response than
    the thinking before it, and the API reads both as one. It cannot know changed words, a block left out, or a merge that left no call."""
    called = False
    first: int | None = None
    for block in latest.blocks:
        if block.kind == "tool_use":
            called = True
        elif block.kind in THINKING:
            if called or first not in (None, block.n):
                yield violation("AN-16", block.path, n=block.n, m=block.m)
                return
            first = block.n


def _without_thinking(all_turns: list[SpeakerTurn]) -> Iterator[Violation]:
    """AN-15. The turn goes on through results of tools, and a model need not think again after each: one start with thinking is enough."""
    has_thinking = False
    start: TurnBlock | None = None
    for turn in all_turns:
        if turn.role == "user" and not any(map(_is_result, turn.blocks)):
            has_thinking, start = False, None
        elif turn.role == "assistant" and turn.blocks:
            has_thinking = has_thinking or turn.blocks[0].kind in THINKING
            if any(block.kind == "tool_use" for block in turn.blocks):
                start = turn.blocks[0]
    if start is not None and not has_thinking:
        yield violation("AN-15", f"messages.{start.n}.content.0.type", n=start.n, kind=start.kind)


ANTHROPIC_PROFILE = Profile(
    "anthropic-2026-07",
    "Anthropic Messages, July 2026",
    "Whether signatures are genuine and thinking is as it was received, and tokens are not judged; of images only their header is looked at. "
    "Whether the last message may be the assistant's depends on the model (AN-10): it is not claimed where the model is not known.",
    RULES,
    check,
    wire=ANTHROPIC,
    models=("anthropic", "claude"),
    unclear=_unclear,
)

_ANTHROPICS_ALONE = frozenset(
    [
        "AN-10",
        "AN-11",
        "AN-15",
        "AN-16",
        "AN-17",
        "AN-17e",
        "AN-17m",
        "AN-17r",
        "AN-18",
        "AN-19",
        "AN-20",
        "AN-20b",
        "AN-20e",
        "AN-20m",
        "AN-20p",
        "AN-20t",
        "AN-20y",
        "AN-20n",
        "AN-24",
        "AN-25",
    ]
)
"""What others that speak Messages are not known to ask: signatures, the place of thinking, prefill, and limits."""


def check_compatible(request: Request) -> Iterator[Violation]:
    """The shapes of Messages, without what Anthropic alone asks."""
    return (refused for refused in check(request) if refused.id not in _ANTHROPICS_ALONE)


ANTHROPIC_COMPATIBLE = Profile(
    "anthropic-compatible",
    "Another provider over Anthropic Messages",
    "What such a provider asks for is not published as a rule: calls, results, roles and empty content are judged as Anthropic does; signatures, thinking, "
    "prefill and limits are not.",
    tuple(rule for rule in RULES if rule.id not in _ANTHROPICS_ALONE),
    check_compatible,
    wire=ANTHROPIC,
    part_of=ANTHROPIC_PROFILE.name,
)

OFFERED = (ANTHROPIC_PROFILE, ANTHROPIC_COMPATIBLE)
