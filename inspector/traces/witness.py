"""What a trace testifies of turns: what was asked in each, what was said while it ran, and how many steps it took."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from inspector.traces import observe
from inspector.traces.model import Span, Step, Trace, Turn

_TURN_TIME = re.compile(r"turn-(\d{12,14})-", re.ASCII)


@dataclass(frozen=True, slots=True)
class PromptText:
    """Words of one user message of a prompt. `after` is the step whose chunks come before it in the prompt, "" where none does."""

    texts: tuple[str, ...]
    after: str


@dataclass(frozen=True, slots=True)
class TurnWitness:
    """One observed turn, from the last of its prompts that can be read: within a turn the prompt only grows.

    `asked` is the message that began it, None where no prompt shows it; `between` came in while it ran. `start` is epoch ms.
    """

    turn_id: str
    start: int
    question: PromptText | None
    between: tuple[PromptText, ...]


def turn_witnesses(trace: Trace) -> tuple[TurnWitness, ...]:
    """Every turn that has steps, in order; worked out once for a trace. Bodies are hostile text: nothing in them raises."""
    witnesses = trace.worked_out.get("turns")
    if witnesses is None:
        witnesses = trace.worked_out["turns"] = tuple(_witness(trace, turn) for turn in trace.turns if turn.steps)
    return tuple(witnesses)


def turn_time(turn_id: str) -> int | None:
    """Epoch milliseconds that a turn id carries, or None."""
    match = _TURN_TIME.match(turn_id)
    return int(match.group(1)) if match else None


def turn_of(step_id: str) -> tuple[str, int | None]:
    """Turn id and number of a step id: `turn-1782600000000-ab#3` -> (`turn-1782600000000-ab`, 3); None where there is no number."""
    turn, _, number = step_id.rpartition("#")
    return (turn, int(number)) if turn and number.isascii() and number.isdecimal() and len(number) < 9 else (step_id, None)


def spans_of(turn: Turn) -> list[Span]:
    """All spans of a turn, each once, whatever they hang under."""
    spans: list[Span] = []
    waiting = [*([turn.span] if turn.span else []), *(step.span for step in turn.steps), *turn.other]
    seen_spans: set[int] = set()
    while waiting:
        span = waiting.pop()
        if id(span) not in seen_spans:
            seen_spans.add(id(span))
            spans.append(span)
            waiting += span.children
    return spans


def _witness(trace: Trace, turn: Turn) -> TurnWitness:
    start = (turn.span or turn.steps[0].span).start
    for step in reversed(turn.steps):
        body = observe.prompt_body(trace, step)
        if body is not None:
            return _read(trace, turn, step, body["messages"], start)
    return TurnWitness(turn.turn_id, start, None, ())


def _read(trace: Trace, turn: Turn, step: Step, messages: Sequence[Any], start: int) -> TurnWitness:
    read_messages = [_prompt_message(message) for message in messages]
    own = next(
        (place for place, (_, _, steps) in enumerate(read_messages) if any(turn_of(step_id)[0] == turn.turn_id for step_id in steps)), None
    )
    first = turn.steps[0]
    base = len(read_messages) if step is first else _count(first)
    # Where a count and the chunks of the turn disagree, the place that claims less counts.
    places = [place for place in (base, own) if place is not None]
    if not places or max(places) > len(read_messages):
        return TurnWitness(turn.turn_id, start, None, ())
    question = read_messages[base - 1] if base else read_messages[own - 1] if own else None
    between: list[PromptText] = []
    after = ""
    for place, (role, texts, steps) in enumerate(read_messages):
        if place >= max(places) and role == "user" and any(texts):
            between.append(PromptText(texts, after))
        after = steps[-1] if steps else after
    begun = PromptText(question[1], "") if question is not None and question[0] == "user" else None
    return TurnWitness(turn.turn_id, start, begun, tuple(between))


def _prompt_message(message: Any) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Role, texts and step ids of a message of a prompt body; empty where it is of another form."""
    fields = message if isinstance(message, dict) else {}
    role, chunks = fields.get("role"), fields.get("chunks")
    parts = [chunk for chunk in chunks if isinstance(chunk, dict)] if isinstance(chunks, list) else []
    texts = tuple(part["text"] for part in parts if part.get("type") == "text" and isinstance(part.get("text"), str))
    steps = tuple(part["stepId"] for part in parts if isinstance(part.get("stepId"), str))
    return role if isinstance(role, str) else "", texts, steps


def _count(first: Step) -> int | None:
    noted = first.prompt.attributes.get("messageCount") if first.prompt else None
    return noted if isinstance(noted, int) and not isinstance(noted, bool) and noted > 0 else None
