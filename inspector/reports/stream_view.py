"""The page of one stream, from its exchange: the sentence that stands first, both sides as lanes, what was asked, what one side alone cannot show.

What is dear is made once (`Looked`) and kept by the caller; a window of it is cheap.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inspector.reports.stream_lanes import Band, Cell, Lanes, lanes
from inspector.reports.stream_marks import Mark, marks_of
from inspector.reports.stream_report import Analysis
from inspector.reports.stream_said import Said, said
from inspector.reports.stream_words import span_words, when
from inspector.rules.base import Severity
from inspector.streams.corrections import RE_ENCODE, REPAIRED, STRATEGIES, Strategy
from inspector.streams.model import LACKS, Exchange, Side
from inspector.streams.violations import ROWS, Row

WINDOW = 120
"""Rows on one page."""
AXIS = 1000
"""Width of the overview in units of the drawing."""
MOST_TICKS = 400
TOOLS_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Looked:
    """All that a page says of an exchange, whatever window it shows."""

    analysis: Analysis
    lanes: Lanes
    said: tuple[Said, ...]
    marks: tuple[Mark, ...]

    @property
    def exchange(self) -> Exchange:
        return self.analysis.exchange

    @property
    def is_two_sided(self) -> bool:
        return len(self.exchange.sides) == 2


@dataclass(frozen=True, slots=True)
class Window:
    """Rows `first` to `last` of `matching`; `earlier` and `later` are numbers to go on from, None at the ends."""

    rows: tuple["Shown", ...]
    first: int
    last: int
    matching: int
    earlier: int | None
    later: int | None


@dataclass(frozen=True, slots=True)
class Shown:
    """A row as it is drawn. `over`: sides that have got their terminal or their end, and nothing here. `number` counts rows from 0."""

    number: int
    band: Band
    backend: Cell | None
    client: Cell | None
    clock: str
    input: str
    over: frozenset[str]
    first_over: frozenset[str]
    is_hit: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """The request in a few words. `tools` are the first names of `tool_count`."""

    is_known: bool
    model: str = ""
    messages: int = 0
    tools: tuple[str, ...] = ()
    tool_count: int = 0
    settings: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Tick:
    side: str
    x: float
    width: float
    kind: str
    row: int
    label: str


@dataclass(frozen=True, slots=True)
class Steps:
    """Where the finding before and after the one that is looked at stands; None at the ends. `number` of `total`, 0 where none is looked at."""

    number: int
    total: int
    before: Mark | None
    behind: Mark | None


@dataclass(frozen=True, slots=True)
class Overview:
    """Both lanes at a glance: `ticks` are rows, `wrong` the rows with errors, `gone` what a closed side did not get any more (x and width)."""

    ticks: tuple[Tick, ...]
    wrong: tuple[Tick, ...]
    gone: Mapping[str, tuple[float, float]]
    start: str
    end: str


def looked(analysis: Analysis) -> Looked:
    """Reads the capture five times more than the analysis did."""
    marks = sorted((mark for each in marks_of(analysis).values() for mark in each), key=lambda mark: (mark.weight, mark.event))
    return Looked(analysis, lanes(analysis), said(analysis), tuple(marks))


def evidence(looked: Looked) -> tuple[tuple[Mark, ...], ...]:
    """The marks of each row of the table, worst first."""
    rows: dict[tuple[str, Side], list[Mark]] = {}
    for mark in looked.marks:
        rows.setdefault((mark.code, mark.side), []).append(mark)
    return tuple(tuple(marks) for marks in rows.values())


def steps(looked: Looked, hit: tuple[Side, int] | None) -> Steps:
    """Findings in the order of the lanes, from the event that is looked at."""
    held = [mark for band in looked.lanes.bands for mark in band.marks]
    firsts = [
        mark for number, mark in enumerate(held) if not number or (held[number - 1].side, held[number - 1].event) != (mark.side, mark.event)
    ]
    at = next((number for number, mark in enumerate(firsts) if (mark.side, mark.event) == hit), None)
    if at is None:
        return Steps(0, len(firsts), None, firsts[0] if firsts else None)
    return Steps(at + 1, len(firsts), firsts[at - 1] if at else None, firsts[at + 1] if at + 1 < len(firsts) else None)


def headline(looked: Looked) -> str:
    """The one sentence that stands first: what happened, where a stream was ended too early, else the verdict of lists and scans."""
    if not any(looked.lanes.events.values()):
        return "Nothing of this answer was captured: there is not one event in it."
    premature = next((mark for mark in looked.marks if mark.name == "premature_terminal"), None)
    return _premature(looked, premature) if premature is not None else looked.analysis.verdict


def _premature(looked: Looked, mark: Mark) -> str:
    lanes = looked.lanes
    place = lanes.place(Side.CLIENT, mark.event)
    before = lanes.bands[place].records if place is not None else 0
    total = lanes.records.get(Side.BACKEND, 0)
    word = "its terminal"
    if place is not None and (cell := lanes.bands[place].cells.get(Side.CLIENT)):
        word = cell.words.split(",")[0] or word
    rest = total - before
    if rest <= 0:
        return f"The stream was ended too early: the client got {word} before content that the backend had sent."
    still = f"{rest} more came from the backend"
    never = "" if Side.CLIENT not in lanes.closed else ", and none of them could reach the client"
    end = lanes.bands[lanes.closed[Side.CLIENT] + 1 :] if Side.CLIENT in lanes.closed else ()
    if any(Side.CLIENT in band.cells and band.cells[Side.CLIENT].ended is None for band in end):
        never = ", after an end at which clients hang up"
    return f"The stream was ended too early: the client got {word} at input {before:,} of {total:,}. {still[0].upper()}{still[1:]}{never}."


def request_view(request: Mapping[str, Any] | None) -> Asked:
    """What was asked, bounded; values of any shape, since the request is captured text."""
    if request is None:
        return Asked(False)
    tools = [name for tool in _items(request.get("tools")) if (name := _tool_name(tool))]
    messages = request.get("messages") if "messages" in request else request.get("input")
    model = request.get("model")
    plain = ("stream", "tool_choice", "max_tokens", "max_completion_tokens", "max_output_tokens", "temperature")
    settings = tuple((name, _setting(request[name])) for name in plain if isinstance(request.get(name), str | int | float | bool))
    return Asked(
        True,
        model[:200] if isinstance(model, str) else "",
        len(_items(messages)) or isinstance(messages, str),
        tuple(name[:120] for name in tools[:TOOLS_SHOWN]),
        len(tools),
        settings,
    )


def _setting(value: str | int | float | bool) -> str:
    """As JSON spells it: `true`, and not as Python would."""
    return str(value).lower() if isinstance(value, bool) else str(value)[:80]


def _items(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _tool_name(tool: Any) -> str:
    if not isinstance(tool, dict):
        return ""
    function = tool.get("function")
    name = function.get("name") if isinstance(function, dict) else tool.get("name") or tool.get("type")
    return name if isinstance(name, str) else ""


def not_shown(looked: Looked) -> tuple[Row, ...]:
    """Rows of the table that only both sides could prove, where one is missing."""
    return () if looked.is_two_sided else tuple(row for row in ROWS if row.two_sided)


def lacking(looked: Looked) -> tuple[str, ...]:
    """What this kind of capture does not keep, in sentences."""
    said = [f"{LACKS[word][0].upper()}{LACKS[word][1:]}." for word in sorted(looked.exchange.lacks) if word in LACKS]
    if looked.is_two_sided and not looked.exchange.ordered:
        said.append(
            "The order of both sides was not kept: what stands in one row need not have happened at once, and nothing is claimed about before and after."
        )
    return tuple(said)


def repairing(looked: Looked) -> tuple[Strategy, ...]:
    """The strategies of a correction that name a row which was violated, in their order."""
    names = {mark.name for mark in looked.marks if mark.severity is Severity.ERROR or mark.name in REPAIRED}
    return tuple(strategy for strategy in STRATEGIES if strategy.rows & names and strategy.name != RE_ENCODE)


def window(
    looked: Looked, start: int | None = None, hit: tuple[Side, int] | None = None, lane: str = "", kind: str = "", only: bool = False
) -> Window:
    """Rows from number `start` on, or around the event `hit`; narrowed to one lane, one kind of events, or what is wrong."""
    place = looked.lanes.place(*hit) if hit else None
    numbers = [number for number, band in enumerate(looked.lanes.bands) if _matches(band, lane, kind, only) or number == place]
    first = 0
    if start is not None:
        first = next((at for at, number in enumerate(numbers) if number >= start), max(len(numbers) - WINDOW, 0))
    elif place is not None:
        at = numbers.index(place)
        first = at - WINDOW // 4 if at >= WINDOW else 0
    chosen = numbers[first : first + WINDOW]
    rows = tuple(_shown(looked, number, numbers[first + at - 1] if first + at else None, place, lane) for at, number in enumerate(chosen))
    last = first + len(chosen)
    return Window(
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


def _shown(looked: Looked, number: int, above: int | None, place: int | None, lane: str) -> Shown:
    band = looked.lanes.bands[number]
    backend, client = (band.cells.get(side) if lane in ("", side.value) else None for side in Side)
    over = frozenset(side.value for side, closed in looked.lanes.closed.items() if number > closed and side not in band.cells)
    first = frozenset(
        side.value
        for side, closed in looked.lanes.closed.items()
        if side.value in over and (above is None or above <= _quiet(looked.lanes, side, closed, number))
    )
    axis = [cell for cell in (backend, client) if cell is not None]
    times = [(cell.at, cell.until) for cell in axis if cell.at is not None]
    start = min((at for at, _ in times if at is not None), default=None)
    end = max((until for _, until in times if until is not None), default=None)
    clock = span_words(start, end)
    return Shown(number, band, backend, client, clock, _input(looked, band), over, first, number == place)


def _quiet(lanes: Lanes, side: Side, closed: int, number: int) -> int:
    """The last row before `number` in which the side still had something."""
    return next((at for at in range(number - 1, closed - 1, -1) if side in lanes.bands[at].cells), closed)


def _input(looked: Looked, band: Band) -> str:
    """Which records of the backend, or of the only side, a row holds; after which one it stands where it holds none."""
    side = Side.BACKEND if Side.BACKEND in looked.exchange.sides else Side.CLIENT
    cell = band.cells.get(side)
    name = "input" if looked.is_two_sided else "record"
    if cell is None:
        return f"after {name} {band.records:,}" if band.records and looked.exchange.ordered else ""
    if cell.ended is not None or not cell.inputs[1]:
        return ""
    first, last = cell.inputs
    return f"{name} {first:,}" if first == last else f"{name} {first:,}–{last:,}"


def overview(looked: Looked) -> Overview:
    """Bounded: rows that fall on one place of the drawing are drawn once."""
    bands, span = looked.lanes.bands, looked.lanes.span
    timed = span is not None and span[1] > span[0] and "times" not in looked.exchange.lacks
    step = AXIS / max(len(bands), 1)

    def place(number: int, cell: Cell) -> tuple[float, float]:
        if timed and span is not None and cell.at is not None:
            scale = (AXIS - 6) / (span[1] - span[0])
            return round((cell.at - span[0]) * scale, 1), round(max(((cell.until or cell.at) - cell.at) * scale, 4), 1)
        return round(number * step, 1), round(max(step - 1, 2), 1)

    ticks, wrong, seen = list[Tick](), list[Tick](), set[tuple[str, int, bool]]()
    for number, band in enumerate(bands):
        for side, cell in band.cells.items():
            x, width = place(number, cell)
            bad = any(mark.severity is Severity.ERROR for mark in cell.marks)
            key = (side.value, int(x * MOST_TICKS / AXIS), bad)
            if key in seen and cell.kind not in ("terminal", "end"):
                continue
            seen.add(key)
            tick = Tick(side.value, x, width, cell.kind, number, cell.said)
            ticks.append(tick)
            if bad:
                wrong.append(tick)
    gone: dict[str, tuple[float, float]] = {}
    for side, number in looked.lanes.closed.items():
        x, width = place(number, bands[number].cells[side])
        ends = [
            sum(place(at, cell))
            for at, band in enumerate(bands[number:], number)
            for other, cell in band.cells.items()
            if other is not side
        ]
        if ends and max(ends) > x + width + 1:
            gone[side.value] = (x + width, round(max(ends) - x - width, 1))
    start, end = (when(span[0]), when(span[1])) if timed and span is not None else ("", "")
    return Overview(tuple(ticks[: 4 * MOST_TICKS]), tuple(wrong[:MOST_TICKS]), gone, start, end)


def as_lines(rows: Sequence[Shown], matching: int) -> list[str]:
    """Rows as text, one a line, for an issue: where, what the backend did, what the client got, what is wrong with it."""
    lines = []
    for row in rows:
        place = " ".join(word for word in (row.input, f"({row.clock})" if row.clock else "") if word)
        said = [f"{cell.side.value}: {_line(cell)}" for cell in (row.backend, row.client) if cell is not None]
        wrong = [f"<- {mark.severity.value} {mark.name}" for mark in row.band.marks]
        lines.append(" | ".join([place, *said]) + "".join(f"  {each}" for each in wrong))
    if matching > len(rows):
        lines.append(f"... {len(rows):,} of {matching:,} rows")
    return lines


def _line(cell: Cell) -> str:
    text = f" {' '.join(cell.text.split())[:100]!r}" if cell.text else ""
    return f"{cell.said}{text}"
