"""Outcomes that only the events of a database have: what `recover-output-from-events` puts back, and what it leaves."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from inspector.conversation.edits import apply
from inspector.planning.preview import compose
from inspector.programs.opencode.events import trace_of
from inspector.programs.opencode.reader import NAME
from inspector.rules.base import Case, case_of
from inspector.rules.catalogue import all_findings
from inspector.sources.places import place
from inspector.sources.reading import read_store
from inspector.strategies.catalogue import strategy
from tests.commands.running import run
from tests.programs.opencode.stores import CREATED, ID, KILLED, database, whole

STRATEGY = "recover-output-from-events"
LATER = CREATED + 3_600_000
COMPLETED = {
    "status": "completed",
    "input": {"command": "ls"},
    "output": "late\n",
    "title": "ls",
    "metadata": {},
    "time": {"start": CREATED, "end": CREATED + 40},
}
FAILED = {"status": "error", "input": {"command": "ls"}, "error": "no such file", "time": {"start": CREATED, "end": CREATED + 40}}
RUNNING = {"status": "running", "input": {"command": "ls"}, "time": {"start": CREATED}}
Event = tuple[str, dict[str, Any]]


def messages() -> list[Event]:
    return [("message.updated.1", {"sessionID": ID, "info": entry["info"]}) for entry in whole(KILLED)["messages"]]


def part(call_id: str, state: dict[str, Any]) -> Event:
    (own,) = (one for entry in whole(KILLED)["messages"] for one in entry["parts"] if one.get("callID") == call_id)
    return "message.part.updated.1", {"sessionID": ID, "part": {**own, "state": state}, "time": CREATED}


def removed(event: Event) -> Event:
    own = event[1]["part"]
    return "message.part.removed.1", {"sessionID": ID, "messageID": own["messageID"], "partID": own["id"]}


def store(folder: Path, *events: Event) -> str:
    path = database(folder, KILLED)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "CREATE TABLE event (id text PRIMARY KEY, aggregate_id text NOT NULL, seq integer NOT NULL, type text NOT NULL, data text NOT NULL)"
        )
        rows = [(f"evt_{seq}", ID, seq, kind, json.dumps(data)) for seq, (kind, data) in enumerate((*messages(), *events))]
        connection.executemany("INSERT INTO event VALUES (?, ?, ?, ?, ?)", rows)
        connection.commit()
    return path


def case(path: str) -> Case:
    (stored,) = read_store(place(path)).conversations
    return case_of(stored.conversation, NAME, taken_at=LATER)


def results(case: Case) -> dict[str, tuple[str, bool]]:
    """By the ids of calls, after the strategy; {} where it changes nothing."""
    edits = compose(case, [strategy(STRATEGY)])
    chunks = apply(case.conversation, edits).chunks if edits else ()
    return {chunk.call_id: (chunk.text, chunk.is_error) for chunk in chunks if chunk.role == "tool"}


@pytest.mark.parametrize(("state", "after"), [(COMPLETED, ("late\n", False)), (FAILED, ("no such file", True))])
def test_the_outcome_comes_back(tmp_path: Path, state: dict[str, Any], after: tuple[str, bool]) -> None:
    found = case(store(tmp_path, part("call_d", RUNNING), part("call_d", state)))
    assert results(found)["call_d"] == after
    (finding,) = all_findings(found)
    assert finding.code == "TOOL702" and STRATEGY in finding.repaired_by and "Event 6 of the session has its" in finding.message


@pytest.mark.parametrize(
    "events",
    [
        pytest.param((), id="no event of the tool"),
        pytest.param((part("call_d", RUNNING),), id="it never ended"),
        pytest.param((part("call_d", COMPLETED), removed(part("call_d", COMPLETED))), id="the part was removed"),
        pytest.param((part("call_c", COMPLETED),), id="another tool, which has its output"),
        pytest.param(
            (("message.part.updated.1", {"part": 7}), ("session.updated.1", {}), ("message.updated.1", {"info": {"role": "assistant"}})),
            id="events of no shape",
        ),
    ],
)
def test_what_is_left(tmp_path: Path, events: tuple[Event, ...]) -> None:
    assert results(case(store(tmp_path, *events))) == {}


def test_a_database_without_events_is_as_before(tmp_path: Path) -> None:
    found = case(database(tmp_path, KILLED))
    assert results(found) == {} and trace_of(found.conversation) is None


def test_the_events_are_the_trace_of_the_session(tmp_path: Path) -> None:
    trace = trace_of(case(store(tmp_path, part("call_a", COMPLETED), part("call_b", FAILED), part("call_d", RUNNING))).conversation)
    assert trace is not None and [len(turn.steps) for turn in trace.turns] == [2, 1]
    tools = [
        [(span.attributes["toolCallId"], span.state, span.attributes.get("isError")) for span in step.tool_calls] for step in trace.steps()
    ]
    assert tools == [[("call_a", "complete", False), ("call_b", "complete", True)], [], [("call_d", "never closed", None)]]
    assert all(not step.requests and step.prompt is None for step in trace.steps())


@pytest.mark.django_db
def test_commands_show_the_trace_and_write_the_import_file(tmp_path: Path) -> None:
    path = store(tmp_path, part("call_a", COMPLETED), part("call_d", COMPLETED))
    shown = run("show", path, "--trace")
    assert shown.status == 0 and "call_d" in shown.out, shown
    out = tmp_path / "new.json"
    applied = run("repair", path, "--conversation", ID, "--strategy", STRATEGY, "--out", out)
    assert applied.status == 0, applied
    states = {
        one["callID"]: one["state"] for entry in json.loads(out.read_text())["messages"] for one in entry["parts"] if one["type"] == "tool"
    }
    assert states["call_d"]["status"] == "completed" and states["call_d"]["output"] == "late\n"
