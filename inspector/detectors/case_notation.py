"""The notation of a whole case: a conversation, and lines for what stands beside it (archive, stranded messages, metrics, trace).

archive 1 user 0.0 text hello                        a row of what it was compacted from, in the notation
stranded 0 {"role":"user","chunks":[...]}            a whole-message row of the older generation, as stored
bleeding C1                                          another id whose rows a listing returns with ours
metrics turn-1782600000000-a 2                       a metrics row: the turn took two steps
step turn-1782600000000-a#0 tokens=900/20            an observed step; also: unclosed, unopened, finish=stop, at=MS
prompt turn-1782600000000-a#0 1 user 0.0 text go     a row of the prompt that this step was given, in the notation
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from inspector.conversation import jsontext, notation, queries
from inspector.conversation.model import Conversation, TurnMetrics
from inspector.detectors.base import Case, case_of
from inspector.formats.base import Cell, Record
from inspector.formats.dispatch_rows import read_stranded
from inspector.traces.model import Trace, TraceRecord
from inspector.traces.tree import build
from inspector.traces.witness import turn_of, turn_time

BESIDE = ("archive", "stranded", "bleeding", "metrics", "step", "prompt")
STEP_MS = 1000
"""Steps of a turn start this far apart, the first one a millisecond after the turn."""


def apart(text: str) -> tuple[str, dict[str, list[str]]]:
    """The lines of the conversation, and those of each kind beside it without the word that names the kind."""
    beside: dict[str, list[str]] = {name: [] for name in BESIDE}
    own: list[str] = []
    for line in text.split("\n"):
        word, _, rest = line.partition(" ")
        beside.get(word, own).append(rest if word in beside else line)
    return "\n".join(own), beside


def load_case(text: str, reader_name: str, taken_at: int | None = None) -> Case:
    """Raises NotationError, UnknownReader."""
    own, beside = apart(text)
    conversation, _ = notation.load(own)
    stranded = tuple(
        read_stranded(Record(f"stranded-{number}", Cell(jsontext.encode(line.partition(" ")[2]))), number)
        for number, line in enumerate(beside["stranded"])
    )
    whole = replace(conversation, metrics=metrics_in(beside["metrics"]), stranded=stranded)
    return case_of(whole, reader_name, trace_in(beside), taken_at, archive_in(beside["archive"]), tuple(beside["bleeding"]))


def archive_in(lines: Iterable[str]) -> Conversation | None:
    text = "\n".join(lines)
    return notation.load(text, native_id="archive")[0] if text else None


def metrics_in(lines: Iterable[str]) -> tuple[TurnMetrics, ...]:
    rows = [line.split() for line in lines]
    return tuple(TurnMetrics(f"metrics-{turn}", turn, tuple(f"{turn}#{at}" for at in range(int(count)))) for turn, count in rows)


def trace_in(beside: Mapping[str, Iterable[str]], native_id: str = "case") -> Trace | None:
    """The trace of the `step` and `prompt` lines; None where there are none. Turns last from their first step to their last."""
    steps = [line.split() for line in beside["step"]]
    if not steps:
        return None
    prompts: dict[str, list[str]] = {}
    for line in beside["prompt"]:
        step, _, row = line.partition(" ")
        prompts.setdefault(step, []).append(row)
    bodies = {step: _body(rows) for step, rows in prompts.items()}
    records: list[TraceRecord] = []
    turns: dict[str, list[int]] = {}
    for step, *words in steps:
        turn, index = turn_of(step)
        options = dict(word.partition("=")[::2] for word in words)
        start = int(options.get("at", (turn_time(turn) or 0) + 1 + (index or 0) * STEP_MS))
        turns.setdefault(turn, []).append(start)
        records += _records(step, turn, start, options, step if step in bodies else None, native_id)
    for turn, starts in turns.items():
        records += _span(turn, "turn", turn, "", starts[0] - 1, starts[-1] + STEP_MS, native_id)
    return build(native_id, records, bodies.get)


def _body(rows: Iterable[str]) -> bytes:
    messages = queries.true_messages(notation.load("\n".join(rows))[0].chunks)
    said = [{"role": message.role, "chunks": [dict(chunk.payload) for chunk in message.chunks]} for message in messages]
    return jsontext.encode(jsontext.compact({"messages": said, "tools": []}))


def _records(step: str, turn: str, start: int, options: Mapping[str, str], body: str | None, native_id: str) -> list[TraceRecord]:
    asked, _, answered = options.get("tokens", "0/0").partition("/")
    closing = {
        "finishReason": options.get("finish", "tool_calls"),
        "usage.inputTokens": int(asked),
        "usage.outputTokens": int(answered or 0),
    }
    opened, closed = _span(step, "step", turn, turn, start, start + STEP_MS - 1, native_id)
    found = [opened] * ("unopened" not in options) + [replace(closed, attributes=closing)] * ("unclosed" not in options)
    if body is not None:
        inner, done = _span(f"{step} prompt", "prompt", turn, step, start, start, native_id)
        found += [replace(inner, body=body), done]
    return found


def _span(span: str, name: str, turn: str, parent: str, start: int, end: int, native_id: str) -> list[TraceRecord]:
    opened = TraceRecord(f"{span} open", "span-open", start, 0, "session-orchestrator", name, "", "", span, parent, native_id, turn)
    return [opened, replace(opened, id=f"{span} close", kind="span-close", timestamp=end, order=1, duration_ms=end - start, status="ok")]
