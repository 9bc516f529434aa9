"""What went wrong in a trace, the worst first, with the places to look at."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Concern:
    """`words` count what is wrong; `error` is what the provider or the network said of the first one."""

    kind: str
    words: str
    places: tuple[Place, ...]
    error: str

    @property
    def label(self) -> str:
        return _LABELS[self.kind]


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
