"""The page of one stream, from its exchange: its first sentence, both sides as lanes, the request, what one side alone cannot show.

What is expensive is computed once (`StreamView`) and kept by the caller; a window of it is cheap.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inspector.presentation.stream.corrected import CorrectedMessage, corrected_message
from inspector.presentation.stream.lanes import Band, LaneCell, Lanes, WrittenCall, lanes
from inspector.presentation.stream.marks import StreamMark, marks_of
from inspector.presentation.stream.messages import SideMessage, side_messages
from inspector.presentation.stream.report import LEAKED_CALLS, StreamAnalysis
from inspector.presentation.stream.words import span_words, when
from inspector.presentation.visible import beginning
from inspector.rules.base import Severity
from inspector.streams.assembling import items
from inspector.streams.corrections import RE_ENCODE, REPAIRED, STREAM_STRATEGIES, StreamStrategy
from inspector.streams.drafting import StreamChange
from inspector.streams.model import LACKS, Exchange, Side
from inspector.streams.violations import STREAM_RULES, StreamRule

WINDOW = 120
"""Rows on one page."""
AXIS = 1000
"""Width of the overview in units of the drawing."""
MOST_TICKS = 400
TOOLS_SHOWN = 12
QUESTION_SHOWN = 160


@dataclass(frozen=True, slots=True)
class StreamView:
    """All that a page says of an exchange, whatever window it shows."""

    analysis: StreamAnalysis
    lanes: Lanes
    messages: tuple[SideMessage, ...]
    marks: tuple[StreamMark, ...]
    corrected: CorrectedMessage | None

    @property
    def exchange(self) -> Exchange:
        return self.analysis.exchange

    @property
    def is_two_sided(self) -> bool:
        return len(self.exchange.sides) == 2


@dataclass(frozen=True, slots=True)
class LaneWindow:
    """Rows `first` to `last` of `matching`; `earlier` and `later` are numbers to go on from, None at the ends."""

    rows: tuple["LaneRow", ...]
    first: int
    last: int
    matching: int
    earlier: int | None
    later: int | None


@dataclass(frozen=True, slots=True)
class LaneRow:
    """A row as it is drawn. `over`: sides that have got their terminal or their end, and nothing here. `number` counts rows from 0."""

    number: int
    band: Band
    backend: LaneCell | None
    client: LaneCell | None
    clock: str
    input: str
    over: frozenset[str]
    first_over: frozenset[str]
    is_selected: bool
    becomes: Mapping[Side, tuple[StreamChange, ...]]
    """What a repair makes of the events of each side."""


@dataclass(frozen=True, slots=True)
class RequestView:
    """The request in a few words. `tools` are the first names of `tool_count`; `question`: the first line of the user's last message."""

    is_known: bool
    model: str = ""
    messages: int = 0
    tools: tuple[str, ...] = ()
    tool_count: int = 0
    settings: tuple[tuple[str, str], ...] = ()
    question: str = ""

    @property
    def searched(self) -> str:
        """By which its conversation is found."""
        return " ".join(self.question.split()[:8])


@dataclass(frozen=True, slots=True)
class OverviewTick:
    side: str
    x: float
    width: float
    kind: str
    row: int
    label: str


_COLORS = (
    ("start", "usage"),
    ("text", "thinking", "refusal"),
    ("call", "arguments"),
    ("finish", "terminal", "end"),
    ("error", "malformed"),
)
"""Kinds that are drawn in one color; all others in another one."""


@dataclass(frozen=True, slots=True)
class Steps:
    """The finding before and after the selected one; None at the ends. `number` of `total`, 0 where none is selected."""

    number: int
    total: int
    before: StreamMark | None
    after: StreamMark | None


@dataclass(frozen=True, slots=True)
class Overview:
    """Both lanes at a glance: `ticks` are rows, `wrong` the rows with errors, `after_close` what a closed side did not get any more (x and width)."""

    ticks: tuple[OverviewTick, ...]
    wrong: tuple[OverviewTick, ...]
    after_close: Mapping[str, tuple[float, float]]
    start: str
    end: str

    @property
    def legend(self) -> tuple[tuple[str, str], ...]:
        """A kind of each color that is drawn, with the kinds that have it."""
        kinds = list(dict.fromkeys(tick.kind for tick in self.ticks))
        others = tuple(kind for kind in kinds if not any(kind in color for color in _COLORS))
        drawn = [[kind for kind in color if kind in kinds] for color in (others, *_COLORS)]
        return (
            *((names[0], ", ".join(names)) for names in drawn if names),
            *([("wrong", "an error is found there")] if self.wrong else []),
        )


def viewed(analysis: StreamAnalysis) -> StreamView:
    """Reads the capture five times more than the analysis did, and each side once more for secrets that events share; one that is repaired a few times more."""
    marks = sorted(
        (mark for event_marks in marks_of(analysis).values() for mark in event_marks), key=lambda mark: (mark.weight, mark.event)
    )
    messages = side_messages(analysis)
    return StreamView(
        analysis, lanes(analysis, tuple(_written_calls(analysis, messages, marks))), messages, tuple(marks), corrected_message(analysis)
    )


def _written_calls(analysis: StreamAnalysis, messages: Sequence[SideMessage], marks: Sequence[StreamMark]) -> Iterator[WrittenCall]:
    """From the event that begins a call to the one that ends its block, as the messages show it."""
    for mark in marks:
        if mark.name in LEAKED_CALLS and (own := analysis.judged.alone.get(mark.side)):
            first = next((block.first for answer in own.answers for block in answer.blocks if block.last == mark.event), mark.event)
            begins = [
                part.event
                for message in messages
                if message.side is mark.side
                for part in message.parts
                if part.how == "as-text" and first <= part.event <= mark.event
            ]
            if begins:
                yield WrittenCall(mark.side, min(begins), mark.event)


def evidence(view: StreamView) -> tuple[tuple[StreamMark, ...], ...]:
    """The marks of each row of the table, worst first."""
    rows: dict[tuple[str, Side], list[StreamMark]] = {}
    for mark in view.marks:
        rows.setdefault((mark.code, mark.side), []).append(mark)
    return tuple(tuple(marks) for marks in rows.values())


def steps(view: StreamView, selected: tuple[Side, int] | None) -> Steps:
    """Findings in the order of the lanes, from the selected event."""
    marks = [mark for band in view.lanes.bands for mark in band.marks]
    firsts = [
        mark
        for number, mark in enumerate(marks)
        if not number or (marks[number - 1].side, marks[number - 1].event) != (mark.side, mark.event)
    ]
    at = next((number for number, mark in enumerate(firsts) if (mark.side, mark.event) == selected), None)
    if at is None:
        return Steps(0, len(firsts), None, firsts[0] if firsts else None)
    return Steps(at + 1, len(firsts), firsts[at - 1] if at else None, firsts[at + 1] if at + 1 < len(firsts) else None)


def headline(view: StreamView) -> str:
    """The first sentence: what happened, where a stream was ended too early, else the verdict of lists and scans."""
    if not any(view.lanes.events.values()):
        return "Nothing of this answer was captured: there is not one event in it."
    premature = next((mark for mark in view.marks if mark.name == "premature-terminal"), None)
    return _premature(view, premature) if premature is not None else view.analysis.verdict


def _premature(view: StreamView, mark: StreamMark) -> str:
    lanes = view.lanes
    place = lanes.place(Side.CLIENT, mark.event)
    before = lanes.bands[place].records if place is not None else 0
    total = lanes.records.get(Side.BACKEND, 0)
    word = "its terminal"
    if place is not None and (cell := lanes.bands[place].cells.get(Side.CLIENT)):
        word = cell.words.split(",")[0] or word
    remaining = total - before
    if remaining <= 0:
        return f"The stream was ended too early: the client got {word} before content that the backend had sent."
    still = f"{remaining} more came from the backend"
    never = "" if Side.CLIENT not in lanes.closed else ", and none of them could reach the client"
    end = lanes.bands[lanes.closed[Side.CLIENT] + 1 :] if Side.CLIENT in lanes.closed else ()
    if any(Side.CLIENT in band.cells and band.cells[Side.CLIENT].ended is None for band in end):
        never = ", after an end at which clients hang up"
    return f"The stream was ended too early: the client got {word} at input {before:,} of {total:,}. {still[0].upper()}{still[1:]}{never}."


def request_view(request: Mapping[str, Any] | None) -> RequestView:
    """The request, bounded; values of any shape, since the request is captured text."""
    if request is None:
        return RequestView(False)
    tools = [name for tool in items(request.get("tools")) if (name := _tool_name(tool))]
    messages = request.get("messages") if "messages" in request else request.get("input")
    model = request.get("model")
    plain = ("stream", "tool_choice", "max_tokens", "max_completion_tokens", "max_output_tokens", "temperature")
    settings = tuple((name, _setting(request[name])) for name in plain if isinstance(request.get(name), str | int | float | bool))
    return RequestView(
        True,
        beginning(model, 200) if isinstance(model, str) else "",
        len(items(messages)) or isinstance(messages, str),
        tuple(beginning(name, 120) for name in tools[:TOOLS_SHOWN]),
        len(tools),
        settings,
        next((beginning(text, QUESTION_SHOWN) for message in reversed(items(messages)) if (text := _line_of_user(message))), ""),
    )


def _line_of_user(message: Any) -> str:
    if not isinstance(message, dict) or message.get("role") != "user":
        return ""
    content = message.get("content")
    parts = [content, *(part.get("text") for part in items(content) if isinstance(part, dict))]
    lines = [line.strip() for part in parts if isinstance(part, str) for line in part.splitlines()]
    return next(filter(None, lines), "")


def _setting(value: str | int | float | bool) -> str:
    """As JSON writes it: `true`, and not as Python would."""
    return str(value).lower() if isinstance(value, bool) else beginning(str(value), 80)


def _tool_name(tool: Any) -> str:
    if not isinstance(tool, dict):
        return ""
    function = tool.get("function")
    name = function.get("name") if isinstance(function, dict) else tool.get("name") or tool.get("type")
    return name if isinstance(name, str) else ""


def not_shown(view: StreamView) -> tuple[StreamRule, ...]:
    """Rows of the table that only both sides could prove, where one is missing."""
    return () if view.is_two_sided else tuple(row for row in STREAM_RULES if row.two_sided)


def lacking(view: StreamView) -> tuple[str, ...]:
    """What this kind of capture does not keep, in sentences."""
    sentences = [f"{LACKS[word][0].upper()}{LACKS[word][1:]}." for word in sorted(view.exchange.lacks) if word in LACKS]
    if view.is_two_sided and not view.exchange.ordered:
        sentences.append(
            "The order of both sides was not kept: what is in one row need not have happened at once, and nothing is claimed about before and after."
        )
    return tuple(sentences)


def repairing(view: StreamView) -> tuple[StreamStrategy, ...]:
    """The strategies of a correction that name a row which was violated, in their order."""
    names = {mark.name for mark in view.marks if mark.severity is Severity.ERROR or mark.name in REPAIRED}
    return tuple(strategy for strategy in STREAM_STRATEGIES if strategy.rules & names and strategy.name != RE_ENCODE)


def window(
    view: StreamView, start: int | None = None, selected: tuple[Side, int] | None = None, lane: str = "", kind: str = "", only: bool = False
) -> LaneWindow:
    """Rows from number `start` on, or around the event `selected`; narrowed to one lane, one kind of events, or what is wrong."""
    place = view.lanes.place(*selected) if selected else None
    numbers = [number for number, band in enumerate(view.lanes.bands) if _matches(band, lane, kind, only) or number == place]
    first = 0
    if start is not None:
        first = next((at for at, number in enumerate(numbers) if number >= start), max(len(numbers) - WINDOW, 0))
    elif place is not None:
        at = numbers.index(place)
        first = at - WINDOW // 4 if at >= WINDOW else 0
    chosen = numbers[first : first + WINDOW]
    rows = tuple(_shown(view, number, numbers[first + at - 1] if first + at else None, place, lane) for at, number in enumerate(chosen))
    last = first + len(chosen)
    return LaneWindow(
        rows,
        first,
        last,
        len(numbers),
        numbers[max(first - WINDOW, 0)] if first else None,
        numbers[last] if last < len(numbers) else None,
    )


def _matches(band: Band, lane: str, kind: str, only: bool) -> bool:
    cells = [cell for side, cell in band.cells.items() if not lane or side.value == lane]
    if kind:
        cells = [cell for cell in cells if cell.kind == kind or kind in cell.kinds]
    return bool(cells) and (not only or any(cell.marks or cell.more for cell in cells))


def _shown(view: StreamView, number: int, above: int | None, place: int | None, lane: str) -> LaneRow:
    band = view.lanes.bands[number]
    backend, client = (band.cells.get(side) if lane in ("", side.value) else None for side in Side)
    over = frozenset(side.value for side, closed in view.lanes.closed.items() if number > closed and side not in band.cells)
    first = frozenset(
        side.value
        for side, closed in view.lanes.closed.items()
        if side.value in over and (above is None or above <= _quiet(view.lanes, side, closed, number))
    )
    axis = [cell for cell in (backend, client) if cell is not None]
    times = [(cell.at, cell.until) for cell in axis if cell.at is not None]
    start = min((at for at, _ in times if at is not None), default=None)
    end = max((until for _, until in times if until is not None), default=None)
    clock = span_words(start, end)
    becomes = {cell.side: changes for cell in axis if (changes := _changes(view, cell))}
    return LaneRow(number, band, backend, client, clock, _input(view, band), over, first, number == place, becomes)


def _changes(view: StreamView, cell: LaneCell) -> tuple[StreamChange, ...]:
    return view.corrected.of_events(cell.side, cell.first, cell.last) if view.corrected and cell.ended is None else ()


def _quiet(lanes: Lanes, side: Side, closed: int, number: int) -> int:
    """The last row before `number` in which the side still had something."""
    return next((at for at in range(number - 1, closed - 1, -1) if side in lanes.bands[at].cells), closed)


def _input(view: StreamView, band: Band) -> str:
    """Which records of the backend a row holds, or after which one it is where it contains none; of a side alone its events have numbers enough."""
    if not view.is_two_sided:
        return ""
    cell = band.cells.get(Side.BACKEND)
    if cell is None:
        return f"after input {band.records:,}" if band.records and view.exchange.ordered else ""
    if cell.ended is not None or not cell.inputs[1]:
        return ""
    first, last = cell.inputs
    return f"input {first:,}" if first == last else f"input {first:,}–{last:,}"


def overview(view: StreamView) -> Overview:
    """Bounded: rows that fall on one place of the drawing are drawn once."""
    bands, span = view.lanes.bands, view.lanes.span
    timed = span is not None and span[1] > span[0] and "times" not in view.exchange.lacks
    step = AXIS / max(len(bands), 1)

    def place(number: int, cell: LaneCell) -> tuple[float, float]:
        if timed and span is not None and cell.at is not None:
            scale = (AXIS - 6) / (span[1] - span[0])
            return round((cell.at - span[0]) * scale, 1), round(max(((cell.until or cell.at) - cell.at) * scale, 4), 1)
        return round(number * step, 1), round(max(step - 1, 2), 1)

    ticks, wrong, seen_places = list[OverviewTick](), list[OverviewTick](), set[tuple[str, int, bool]]()
    for number, band in enumerate(bands):
        for side, cell in band.cells.items():
            x, width = place(number, cell)
            is_error = any(mark.severity is Severity.ERROR for mark in cell.marks)
            key = (side.value, int(x * MOST_TICKS / AXIS), is_error)
            if key in seen_places and cell.kind not in ("terminal", "end"):
                continue
            seen_places.add(key)
            tick = OverviewTick(side.value, x, width, cell.kind, number, cell.summary)
            ticks.append(tick)
            if is_error:
                wrong.append(tick)
    after_close: dict[str, tuple[float, float]] = {}
    for side, number in view.lanes.closed.items():
        x, width = place(number, bands[number].cells[side])
        ends = [
            sum(place(at, cell))
            for at, band in enumerate(bands[number:], number)
            for other, cell in band.cells.items()
            if other is not side
        ]
        if ends and max(ends) > x + width + 1:
            after_close[side.value] = (x + width, round(max(ends) - x - width, 1))
    start, end = (when(span[0]), when(span[1])) if timed and span is not None else ("", "")
    return Overview(tuple(ticks[: 4 * MOST_TICKS]), tuple(wrong[:MOST_TICKS]), after_close, start, end)


def as_lines(rows: Sequence[LaneRow], matching: int) -> list[str]:
    """Rows as text, one a line, for an issue: where, what the backend did, what the client got, what is wrong with it."""
    lines = []
    for row in rows:
        place = " ".join(word for word in (row.input, f"({row.clock})" if row.clock else "") if word)
        cells = [f"{cell.side.value}: {_line(cell)}" for cell in (row.backend, row.client) if cell is not None]
        wrong = [f"<- {mark.severity.value} {mark.name}" for mark in row.band.marks]
        lines.append(" | ".join([place, *cells]) + "".join(f"  {remark}" for remark in wrong))
    if matching > len(rows):
        lines.append(f"... {len(rows):,} of {matching:,} rows")
    return lines


def _line(cell: LaneCell) -> str:
    text = f" {beginning(' '.join(cell.text.split()), 100)!r}" if cell.text else ""
    return f"{cell.summary}{text}"
