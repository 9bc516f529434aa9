"""The `event` table of a database: every state that a message and a part went through, with its time. It is what the program recorded itself of its runs.

Taken from it: which answers ran when, with which tools; and outcomes of tools whose part does not have them. A part or a message that an event removed was taken
away on purpose, and is left out. Known from a store of 1.18.33 (`formats/agent_stores.md` 4.1); older databases and trees of files have no such table.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from inspector.conversation.model import Conversation
from inspector.programs.opencode.chunks import outcome
from inspector.programs.opencode.sessions import Session
from inspector.text import jsontext
from inspector.text.jsontext import object_of
from inspector.traces.model import Trace, TraceRecord
from inspector.traces.tree import build

RUNS, OUTCOMES = "runsInEvents", "outcomesInEvents"
"""Facts: answers with their times and tools, and outcomes that no part has; both as JSON lists."""
_MESSAGE, _PART = "message.updated", "message.part.updated"
_GONE = ("message.removed", "message.part.removed")


@dataclass(slots=True)
class _Tool:
    call_id: str
    name: str
    status: str
    start: int | None
    end: int | None
    outcome: tuple[str, bool] | None
    seq: int


@dataclass(slots=True)
class _Answer:
    parent: str
    created: int
    completed: int | None = None
    finish: str = ""
    tools: dict[str, _Tool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EventOutcome:
    """What came of the call in the part `part`, by the event `seq` of the session."""

    part: str
    text: str
    is_error: bool
    seq: int


def facts_of(session: Session) -> dict[str, str]:
    """Values of the facts; {} where the store keeps no events of the session."""
    answers = _answers(session.events)
    if not answers:
        return {}
    runs = [
        [
            id_,
            one.parent,
            one.created,
            one.completed,
            one.finish,
            [[tool.call_id, tool.name, tool.status, tool.start, tool.end] for tool in one.tools.values()],
        ]
        for id_, one in answers.items()
    ]
    settled = {part: tool for one in answers.values() for part, tool in one.tools.items() if tool.outcome is not None}
    lost = [
        [part.id, *(tool.outcome or ("", False)), tool.seq]
        for message in session.messages
        for part in message.parts
        if (tool := settled.get(part.id)) is not None and _is_open(part.value, tool.call_id)
    ]
    return {RUNS: jsontext.compact(runs), **({OUTCOMES: jsontext.compact(lost)} if lost else {})}


def outcomes_in(conversation: Conversation) -> dict[str, EventOutcome]:
    """By the part of the call."""
    fact = conversation.fact(OUTCOMES)
    return {values[0]: EventOutcome(*values) for values in jsontext.parse(fact)} if fact else {}


def trace_of(tree: Conversation) -> Trace | None:
    """A turn for each message of the user, a step for each answer, a span for each tool. No request is recorded: only that there was one, and when."""
    fact = tree.fact(RUNS)
    return build(tree.native_id, list(_records(tree.native_id, jsontext.parse(fact)))) if fact else None


def _answers(events: Sequence[Mapping[str, Any]]) -> dict[str, _Answer]:
    answers: dict[str, _Answer] = {}
    for event in events:
        kind, data = str(event.get("type")), event.get("data")
        if not kind.startswith((_MESSAGE, _PART, *_GONE)) or not isinstance(data, str):
            continue
        if not kind.startswith(_GONE) and '"tool"' not in data and '"assistant"' not in data:
            # Most events are of words, and hold all of them again.
            continue
        value = object_of(data)
        if kind.startswith(_GONE):
            answers.pop(str(value.get("messageID")), None) if kind.startswith(_GONE[0]) else _forget(answers, str(value.get("partID")))
        elif kind.startswith(_MESSAGE) and isinstance(info := value.get("info"), dict) and info.get("role") == "assistant":
            _take_message(answers, info)
        elif kind.startswith(_PART) and isinstance(part := value.get("part"), dict) and part.get("type") == "tool":
            _take_part(answers, part, event.get("seq"))
    return answers


def _forget(answers: Mapping[str, _Answer], part: str) -> None:
    for answer in answers.values():
        answer.tools.pop(part, None)


def _take_message(answers: dict[str, _Answer], info: Mapping[str, Any]) -> None:
    id_, times = info.get("id"), info.get("time")
    times = times if isinstance(times, dict) else {}
    if isinstance(id_, str) and (created := _time(times.get("created"))) is not None:
        answer = answers.setdefault(id_, _Answer(str(info.get("parentID") or id_), created))
        answer.completed = _time(times.get("completed"))
        answer.finish = info["finish"] if isinstance(info.get("finish"), str) else ""


def _take_part(answers: Mapping[str, _Answer], part: Mapping[str, Any], seq: Any) -> None:
    answer, state = answers.get(str(part.get("messageID"))), part.get("state")
    id_, call_id = part.get("id"), part.get("callID")
    if answer is None or not isinstance(state, dict) or not isinstance(id_, str) or not isinstance(call_id, str):
        return
    times = state.get("time")
    times = times if isinstance(times, dict) else {}
    # A state that comes after the end of a tool, as when its output is cleared, does not take the end away.
    before = answer.tools.get(id_)
    ended = outcome(state)
    if ended is None and before is not None and before.outcome is not None:
        return
    number = seq if isinstance(seq, int) else 0
    answer.tools[id_] = _Tool(
        call_id, str(part.get("tool")), str(state.get("status")), _time(times.get("start")), _time(times.get("end")), ended, number
    )


def _is_open(part: Mapping[str, Any] | None, call_id: str) -> bool:
    state = part.get("state") if part else None
    return isinstance(state, dict) and part is not None and part.get("callID") == call_id and outcome(state) is None


def _time(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 253_402_300_800_000 else None


def _records(native_id: str, runs: Sequence[Sequence[Any]]) -> Iterator[TraceRecord]:
    order = 0

    def record(
        half: str, span: str, parent: str, turn: str, name: str, at: int, duration: int | None, status: str, attributes: dict[str, Any]
    ) -> TraceRecord:
        nonlocal order
        order += 1
        about = (span, parent, native_id, turn, duration, status, attributes)
        return TraceRecord(f"{span} {half}", f"span-{half}", at, order, "opencode", name, "", "", *about)

    for id_, turn, created, completed, finish, tools in runs:
        yield record("open", id_, "", turn, "step", created, None, "", {})
        for call_id, name, status, start, end in tools:
            if start is not None:
                span, about = f"{id_}/{call_id}", {"name": name, "toolCallId": call_id}
                yield record("open", span, id_, turn, "tool-call", start, None, "", about)
                if end is not None:
                    is_error = {"isError": status == "error"}
                    yield record(
                        "close",
                        span,
                        id_,
                        turn,
                        "tool-call",
                        max(start, end),
                        max(0, end - start),
                        "error" if status == "error" else "ok",
                        is_error,
                    )
        if completed is not None:
            closing = {"finishReason": finish} if finish else {}
            yield record("close", id_, "", turn, "step", max(created, completed), max(0, completed - created), "ok", closing)
