"""The rows of the conformance table for gbrain's replay (1.6 of the format's facts), as data: what readers, rules, strategies and the real SDK are tested on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inspector.conversation.model import Conversation
from inspector.programs.formats import Record, Stored
from inspector.programs.gbrain.format import GBRAIN
from inspector.programs.gbrain.tables import EXECUTIONS, JOBS, MESSAGES, RELATIONS
from inspector.programs.relation_rows import record_of, relation_of
from inspector.text import jsonb

Block = Mapping[str, Any]


@dataclass(frozen=True)
class Run:
    """A row of the ledger: the message and the place of the call in it, its id and tool, and how it ended."""

    index: int
    ordinal: int | None
    call: str
    tool: str
    status: str = "complete"
    output: Any = None
    error: str | None = None


@dataclass(frozen=True)
class Case:
    """One row: messages by index as (role, blocks), the ledger, and what the SDK of version 6 says of the 1:1 map ("" = it accepts)."""

    number: str
    what: str
    messages: Mapping[int, tuple[str, Sequence[Block]]]
    ledger: Sequence[Run] = ()
    refusal: str = ""
    repairable: bool = True


def text(words: str) -> Block:
    return {"type": "text", "text": words}


def call(id_: str, name: str, **given: Any) -> Block:
    return {"type": "tool-call", "toolCallId": id_, "toolName": name, "input": given}


def result(id_: str, name: str, output: Any, is_error: bool = False) -> Block:
    return {"type": "tool-result", "toolCallId": id_, "toolName": name, "output": output, **({"isError": True} if is_error else {})}


def missing(*ids: str) -> str:
    if len(ids) == 1:
        return f"Tool result is missing for tool call {ids[0]}."
    return f"Tool results are missing for tool calls {', '.join(ids)}."


ASKED = ("user", [text("go")])
AB = ("assistant", [call("a", "head", n=3), call("b", "body")])
A = ("assistant", [call("a", "head")])

ROWS = (
    Case(
        "1",
        "two calls, both complete",
        {0: ASKED, 1: AB},
        (Run(1, 0, "a", "head", output={"h": 3}), Run(1, 1, "b", "body", output={"b": 1})),
        missing("a", "b"),
    ),
    Case("2", "one failed, one without a row", {0: ASKED, 1: AB}, (Run(1, 0, "a", "head", "failed", error="boom"),), missing("a", "b")),
    Case("3", "failed without a text", {0: ASKED, 1: A}, (Run(1, 0, "a", "head", "failed"),), missing("a")),
    Case("4", "pending", {0: ASKED, 1: A}, (Run(1, 0, "a", "head", "pending"),), missing("a")),
    Case("5", "complete, output null", {0: ASKED, 1: A}, (Run(1, 0, "a", "head", output=None),), missing("a")),
    Case("6", "words only", {0: ASKED, 1: ("assistant", [text("done")])}),
    Case("7", "the run is noted at another index", {0: ASKED, 1: A}, (Run(3, 0, "a", "head", output={"h": 3}),), missing("a")),
    Case(
        "8",
        "a job of the direct path with a result row of its own",
        {
            0: ASKED,
            1: ("assistant", [{"type": "tool_use", "id": "t1", "name": "head", "input": {}}]),
            2: ("user", [{"type": "tool_result", "tool_use_id": "t1", "content": '{"h":3}'}]),
        },
        (Run(1, None, "t1", "head", output={"h": 3}),),
    ),
    Case(
        "9",
        "one id twice in a turn",
        {0: ASKED, 1: ("assistant", [call("a", "head", n=1), call("a", "head", n=2)])},
        (Run(1, 0, "a", "head", output="first"), Run(1, 1, "a", "head", output="second")),
        missing("a"),
    ),
    Case(
        "10",
        "two turns, indexes with gaps",
        {0: ASKED, 1: A, 3: ("assistant", [call("c", "body")])},
        (Run(1, 0, "a", "head", output={"h": 3}), Run(3, 0, "c", "body", output={"b": 1})),
        missing("a", "c"),
    ),
    Case(
        "11",
        "two turns as the loop writes them today",
        {0: ASKED, 1: A, 2: ("user", [result("a", "head", {"h": 3})]), 3: ("assistant", [text("done")])},
        (Run(1, 0, "a", "head", output={"h": 3}),),
    ),
    Case("12", "a tool that is not registered, without a row", {0: ASKED, 1: ("assistant", [call("a", "nosuch")])}, (), missing("a")),
    Case(
        "13",
        "the result follows words of the user",
        {0: ASKED, 1: A, 2: ("user", [text("and?")]), 3: ("user", [result("a", "head", {"h": 3})])},
        (),
        missing("a"),
        repairable=False,
    ),
    Case("14", "the next message answers another id", {0: ASKED, 1: A, 2: ("user", [result("z", "head", 1)])}, (), missing("a")),
    Case(
        "15",
        "an output that was a date",
        {0: ASKED, 1: A},
        (Run(1, 0, "a", "head", output={"at": "2026-06-07T10:00:00.000Z"}),),
        missing("a"),
    ),
)
BY_NUMBER = {row.number: row for row in ROWS}


def records(row: Case, job: int = 1, status: str = "failed", error: str | None = None) -> list[Record]:
    """The records as the server gives them."""
    made = [
        _record(
            JOBS,
            id=str(job),
            name="subagent",
            queue="default",
            status=status,
            data=jsonb.printed({"prompt": "go", "model": "glm:glm-4.6"}),
            error_text=error,
        )
    ]
    for index, (role, blocks) in row.messages.items():
        made.append(
            _record(
                MESSAGES,
                job_id=str(job),
                message_idx=str(index),
                role=role,
                content_blocks=jsonb.printed(list(blocks)),
                schema_version="1",
                ended_at=_time(index),
            )
        )
    for number, run in enumerate(row.ledger, start=1):
        made.append(
            _record(
                EXECUTIONS,
                id=str(job * 100 + number),
                job_id=str(job),
                message_idx=str(run.index),
                tool_use_id=run.call,
                tool_name=run.tool,
                input="{}",
                status=run.status,
                output=jsonb.printed(run.output) if run.status == "complete" and run.output is not None else None,
                error=run.error,
                ordinal=None if run.ordinal is None else str(run.ordinal),
                started_at=_time(run.index),
                ended_at=None if run.status == "pending" else _time(run.index, 1),
            )
        )
    return sorted(made, key=lambda record: record.key)


def _record(table: str, **columns: str | None) -> Record:
    relation = relation_of(RELATIONS, table)
    assert relation is not None
    return record_of(relation, {name: columns.get(name) for name in relation.columns})


def _time(index: int, seconds: int = 0) -> str:
    return f"2026-06-07 10:{index:02}:{seconds:02}+00"


def stored(row: Case) -> Stored:
    (found,) = GBRAIN.read(records(row))
    return found


def conversation(number: str) -> Conversation:
    return stored(BY_NUMBER[number]).conversation
