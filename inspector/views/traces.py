"""What was observed of one conversation: the waterfall of its spans, and the bodies that were sent, byte for byte."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from django.http import Http404, HttpResponse

from inspector.cache_headers import exact
from inspector.conversation.model import Chunk
from inspector.middleware import OperatorRequest
from inspector.models import Conversation, ConversationRule, Source, analyses, loading
from inspector.presentation.conversation.whole import LARGE
from inspector.presentation.json_text import json_fields
from inspector.presentation.trace import span_words, waterfall
from inspector.presentation.trace.concerns import Concern, Walk, concerns, in_order, label, walk
from inspector.presentation.trace.report import trace_report
from inspector.presentation.trace.waterfall import LogLine, SpanRow, TurnRows
from inspector.presentation.visible import beginning
from inspector.programs.base import no_trace
from inspector.programs.registry import program_or_default
from inspector.rules.base import Origin, Severity
from inspector.text import jsontext
from inspector.text.jsontext import Unreadable
from inspector.traces.model import Step, Trace
from inspector.views import facts
from inspector.views.choice import conversation_or_404
from inspector.views.pages import as_json, page, unless_unchanged

ROWS_SHOWN = 600
"""Spans of turns on one page; further turns are one link away, a longer turn is cut."""

LANE_SHOWN = 200
PROBLEMS_SHOWN = 20
DAMAGE_SHOWN = 4
DIFFERENCES_SHOWN = 20
"""Prompts on one page whose bodies are read to name what was merged or left out."""

FOLDED_FROM = 12
"""In a trace of more turns than this, those without a problem are folded."""

BODY_SHOWN = 200_000
INDENTED = "JSON, indented for reading"
_FORMATTED = 4_000_000
"""Bytes of the largest body that is parsed and indented for reading."""


@dataclass(frozen=True, slots=True)
class Window:
    """The turns on the page. `earlier` and `later` are ids of turns to start from, None at the ends; `cut` spans are left out."""

    turns: tuple[TurnRows, ...]
    earlier: str | None
    later: str | None
    before: int
    after: int
    cut: int
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TracePage:
    conversation: Conversation
    native_id: str
    sources: tuple[Source, ...]
    headline: str
    concerns: tuple[Concern, ...]
    damage: tuple[ConversationRule, ...]
    """What was found in the store, which may be the cause: errors first."""
    shared: tuple[tuple[str, str], ...]
    """Names and values of the attributes that are the same in all spans that have them."""
    problems: tuple[str, ...]
    source_problems: tuple[dict[str, str], ...]
    window: Window
    walk: Walk
    turns: int
    turns_with_problems: int
    problem: str
    """Only the turns with this kind of problem are shown; "any" for those with any, "" for all turns."""
    lane: tuple[SpanRow, ...]
    lane_cut: int
    logs: tuple[LogLine, ...]
    logs_cut: int
    is_empty: bool
    turn: str
    step: str

    @property
    def merging(self) -> ConversationRule | None:
        """The worst finding on how a reader reads several messages: why a prompt may have fewer of them."""
        return next((rule for rule in self.damage if rule.first.origin == Origin.READER and len(rule.first.seqs) > 1), None)

    @property
    def problem_label(self) -> str:
        return label(self.problem)

    @property
    def missing(self) -> int:
        return len(self.problems) + len(self.source_problems)


@dataclass(frozen=True, slots=True)
class BodyPage:
    conversation: Conversation
    digest: str
    size: int
    owners: tuple[tuple[str, str], ...]
    text: str
    form: str
    is_cut: bool

    @property
    def language(self) -> str:
        return "json" if self.form == INDENTED else "text"


@unless_unchanged(facts.of_analysis)
def trace(request: OperatorRequest, oid: str) -> HttpResponse:
    conversation = conversation_or_404(oid)
    content = _trace_page(conversation, *_observed(conversation), *(request.GET.get(name, "") for name in ("turn", "step", "problem")))
    return page(request, "trace.html", content, twins=("json",))


@unless_unchanged(facts.of_analysis)
def trace_json(request: OperatorRequest, oid: str) -> HttpResponse:
    conversation = conversation_or_404(oid)
    stored = loading.stored(conversation).conversation
    observed = loading.observed_trace(conversation, stored) or Trace(stored.native_id)
    sources = conversation.source.traces.order_by("path")
    return as_json(
        {
            "conversation": conversation.oid,
            "sources": [json_fields(source, "path format read_at problems") for source in sources],
            **trace_report(observed, stored.chunks),
        }
    )


@unless_unchanged(facts.of_analysis)
def body(request: OperatorRequest, oid: str, digest: str) -> HttpResponse:
    conversation, data, owners = _body(oid, digest)
    text, form = _readable(data)
    content = BodyPage(conversation, digest, len(data), tuple(owners), beginning(text, BODY_SHOWN), form, len(text) > BODY_SHOWN)
    return page(request, "trace_body.html", content)


def body_raw(request: OperatorRequest, oid: str, digest: str) -> HttpResponse:
    """The exact bytes, never shown in place: what was sent is hostile content."""
    _, data, _ = _body(oid, digest)
    is_json = data.lstrip()[:1] in (b"{", b"[")
    response = HttpResponse(data, content_type="application/json" if is_json else "text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="body-{digest[:16]}.{"json" if is_json else "txt"}"'
    response["X-Content-Type-Options"] = "nosniff"
    return exact(response)


def is_known_to_have_none(conversation: Conversation) -> bool:
    """Of a large conversation whose page is kept, where no trace was imported and its program writes none: nothing of it needs to be read to say so."""
    if conversation.chunk_count < LARGE or conversation.source.traces.exists():
        return False
    kept = analyses.stored(conversation, analyses.own_ways(conversation))
    return kept is not None and program_or_default(kept.headline().overview.format).own_trace is no_trace


def _observed(conversation: Conversation) -> tuple[Trace, Sequence[Chunk]]:
    """The trace, and the chunks that are stored."""
    if is_known_to_have_none(conversation):
        return Trace(conversation.native_id), ()
    stored = loading.stored(conversation).conversation
    return loading.observed_trace(conversation, stored) or Trace(stored.native_id), stored.chunks


def _trace_page(conversation: Conversation, observed: Trace, chunks: Sequence[Chunk], turn: str, step: str, problem: str) -> TracePage:
    sources, shared = tuple(conversation.source.traces.order_by("path")), waterfall.shared_attributes(observed)
    turns = tuple(replace(rows, rows=waterfall.with_timings(rows.rows)) for rows in waterfall.turns(observed, chunks, frozenset(shared)))
    lane = waterfall.lane(observed, frozenset(shared))
    wrong = concerns(turns, lane)
    known_step = observed.step(step)
    chosen_id = known_step.turn_id if known_step else turn
    places, with_problems = in_order(turns, problem), {place.turn_id for place in in_order(turns, "")}
    shown = _only(turns, {place.turn_id for place in places}) if problem else _folded(turns, with_problems | {chosen_id})
    window = _window(shown, turn, step, known_step)
    return TracePage(
        conversation=conversation,
        native_id=conversation.native_id,
        sources=sources,
        headline=waterfall.counts(observed) if wrong else waterfall.headline(observed),
        concerns=wrong,
        damage=tuple(
            conversation.rules.exclude(severity=Severity.NOTE).select_related("first").order_by("severity", "first_id")[:DAMAGE_SHOWN]
        ),
        shared=span_words.attributes(shared),
        problems=observed.problems,
        source_problems=tuple({"source": source.name, **problem} for source in sources for problem in source.problems[:PROBLEMS_SHOWN]),
        window=replace(window, turns=waterfall.with_differences(window.turns, observed, chunks, DIFFERENCES_SHOWN)),
        walk=walk(places, turn, step),
        turns=len(turns),
        turns_with_problems=len(with_problems),
        problem=problem,
        lane=lane[-LANE_SHOWN:],
        lane_cut=max(0, len(lane) - LANE_SHOWN),
        logs=tuple(map(LogLine, observed.logs[-LANE_SHOWN:])),
        logs_cut=max(0, len(observed.logs) - LANE_SHOWN),
        is_empty=not (observed.turns or observed.lane or observed.logs),
        turn=turn,
        step=step,
    )


def _only(turns: Sequence[TurnRows], ids: Collection[str]) -> tuple[TurnRows, ...]:
    """The turns of these ids, which say how many are left out before them."""
    shown = [rows for rows in turns if rows.turn.turn_id in ids]
    left_out = [rows.number - before - 1 for before, rows in zip([0, *(rows.number for rows in shown)], shown, strict=False)]
    return tuple(
        replace(rows, gap=f"{number:,} other turn{'s' * (number > 1)}") if number else rows
        for number, rows in zip(left_out, shown, strict=True)
    )


def _folded(turns: Sequence[TurnRows], open_ids: Collection[str]) -> tuple[TurnRows, ...]:
    return tuple(replace(rows, is_folded=len(turns) > FOLDED_FROM and rows.turn.turn_id not in open_ids) for rows in turns)


def _window(turns: Sequence[TurnRows], turn: str, step: str, known_step: Step | None) -> Window:
    """All turns where they fit; else from the chosen turn, or the turn of the chosen step, on; else the last ones."""
    places = {rows.turn.turn_id: place for place, rows in enumerate(turns)}
    fits = sum(len(rows.rows) for rows in turns) <= ROWS_SHOWN
    first = places.get(turn) if turn or known_step is None or fits else places.get(known_step.turn_id)
    note = f"This trace has no step {step}." if step and known_step is None else ""
    if turn and first is None:
        note = f"There is no turn {turn} among these: the last ones are shown."
    start, end = _fitting(turns, first)
    shown = list(turns[start:end])
    cut = max(0, len(shown[0].rows) - ROWS_SHOWN) if shown else 0
    if cut:
        shown[0] = replace(shown[0], rows=shown[0].rows[:ROWS_SHOWN])
    earlier = turns[_fitting(turns[:start], None)[0]].turn.turn_id if start else None
    later = turns[end].turn.turn_id if end < len(turns) else None
    return Window(tuple(shown), earlier, later, start, len(turns) - end, cut, note)


def _fitting(turns: Sequence[TurnRows], first: int | None) -> tuple[int, int]:
    """As many turns as fit, at least one: from `first` on, or the last ones."""
    start = end = len(turns) if first is None else first
    room = ROWS_SHOWN
    if first is None:
        while start > 0 and (start == end or len(turns[start - 1].rows) <= room):
            start -= 1
            room -= len(turns[start].rows)
        return start, end
    while end < len(turns) and (start == end or len(turns[end].rows) <= room):
        room -= len(turns[end].rows)
        end += 1
    return start, end


def _body(oid: str, digest: str) -> tuple[Conversation, bytes, list[tuple[str, str]]]:
    """Only what this conversation's trace names: other bodies of the database are other people's conversations."""
    conversation = conversation_or_404(oid)
    observed = loading.observed_trace(conversation, loading.stored(conversation).conversation)
    owners = waterfall.body_owners(observed, digest) if observed else []
    data = loading.body(digest) if owners else None
    if data is None:
        raise Http404("The trace of this conversation has no such body.")
    return conversation, data, owners


def _readable(data: bytes) -> tuple[str, str]:
    """The text to show, and in words how it relates to the bytes."""
    if len(data) <= _FORMATTED:
        try:
            value = jsontext.parse(jsontext.decode(data))
        except Unreadable as problem:
            return data.decode("utf-8", "backslashreplace"), f"as stored: {problem.reason}"
        return json.dumps(value, indent=2, ensure_ascii=False), INDENTED
    return data[: 4 * BODY_SHOWN].decode("utf-8", "backslashreplace"), "as stored: too large to be indented here"
