"""What went wrong in a trace, the worst first, with the places to look at."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from inspector.presentation.trace.waterfall import SpanRow, TurnRows
from inspector.traces.model import Step

_KINDS = {
    "failed": ("request failed", "requests failed"),
    "fewer": ("prompt has fewer messages than were stored before it", "prompts have fewer messages than were stored before them"),
    "unrecorded": ("step has no recorded request, which is not the same as no request", "steps have no recorded request, which is not the same as no request"),
    "tool": ("tool result is an error", "tool results are errors"),
    "orphaned": ("tool call has no result", "tool calls have no result"),
    "half": ("span has only one end recorded", "spans have only one end recorded"),
    "retried": ("request failed and was retried", "requests failed and were retried"),
}  # fmt: skip
"""Kinds of what is wrong, the worst first -> words for one and for several."""

_LABELS = {
    "failed": "Failed",
    "fewer": "Fewer",
    "unrecorded": "Unknown",
    "tool": "Tool error",
    "orphaned": "No result",
    "half": "Half recorded",
    "retried": "Retried",
}

_ERRORS = ("error.message: ", "response.error_body: ")


@dataclass(frozen=True, slots=True)
class Place:
    """In words, with the ids of its turn and step, or ""."""

    words: str
    turn_id: str
    step_id: str
    detail: str = ""
    """How much of it is there: 2 of 3."""

    @property
    def own_turn(self) -> str:
        """The turn that an address names; "" where it names the step."""
        return "" if self.step_id else self.turn_id


@dataclass(frozen=True, slots=True)
class Walk:
    """From problem to problem in order of time; `number` of the chosen one counts from 1, None where none is chosen."""

    total: int
    number: int | None
    before: Place | None
    after: Place | None


@dataclass(frozen=True, slots=True)
class Concern:
    """`words` count what is wrong; `error` is what the provider or the network said of the first one."""

    kind: str
    words: str
    places: tuple[Place, ...]
    error: str

    @property
    def label(self) -> str:
        return label(self.kind)


def label(kind: str) -> str:
    """ "" where there is no such kind."""
    return _LABELS.get(kind, "")


def concerns(turns: Iterable[TurnRows], lane: Sequence[SpanRow]) -> tuple[Concern, ...]:
    places: dict[str, list[Place]] = {kind: [] for kind in _KINDS}
    errors: dict[str, str] = {}
    for row, step, place in _placed(turns, lane):
        for kind in _kinds(row, step):
            places[kind].append(place)
            error = next((problem.removeprefix(name) for problem in row.problems for name in _ERRORS if problem.startswith(name)), "")
            errors.setdefault(kind, error)
    return tuple(
        Concern(kind, f"{len(places[kind]):,} {words[len(places[kind]) > 1]}", tuple(dict.fromkeys(places[kind])), errors[kind])
        for kind, words in _KINDS.items()
        if places[kind]
    )


def in_order(turns: Iterable[TurnRows], kind: str) -> tuple[Place, ...]:
    """The steps (and turns) with a problem, each once, in order of time: with this kind of problem, or with any where `kind` is none of them."""
    return tuple(
        dict.fromkeys(
            replace(place, detail="")
            for row, step, place in _placed(turns, ())
            for own_kind in _kinds(row, step)
            if kind == own_kind or kind not in _KINDS
        )
    )


def walk(places: Sequence[Place], turn_id: str, step_id: str) -> Walk:
    chosen = next(
        (number for number, place in enumerate(places) if step_id and place.step_id == step_id),
        next((number for number, place in enumerate(places) if turn_id and place.turn_id == turn_id), None),
    )
    if chosen is None:
        return Walk(len(places), None, None, places[0] if places else None)
    return Walk(len(places), chosen + 1, places[chosen - 1] if chosen else None, places[chosen + 1] if chosen + 1 < len(places) else None)


def _placed(turns: Iterable[TurnRows], lane: Sequence[SpanRow]) -> Iterator[tuple[SpanRow, Step | None, Place]]:
    for turn in turns:
        step, depth = None, 0
        for row in turn.rows:
            if row.step or row.depth <= depth:
                step, depth = row.step, row.depth
            where = f"turn {turn.number}, step {step.index}" if step else f"turn {turn.number}"
            yield row, step, Place(where, turn.turn.turn_id, step.step_id if step else "", row.share)
    for row in lane:
        yield row, None, Place(f"{row.name} outside of turns", "", "")


def _kinds(row: SpanRow, step: Step | None) -> Iterator[str]:
    if row.is_failed_request:
        yield "retried" if step and row.span in step.requests[:-1] else "failed"
    if row.fewer:
        yield "fewer"
    if row.step and row.step.request is None:
        yield "unrecorded"
    for kind, name in (("tool", "isError"), ("orphaned", "orphaned")):
        if row.span.attributes.get(name) is True:
            yield kind
    if row.span.state != "complete":
        yield "half"
