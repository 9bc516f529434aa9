"""What the import of opencode 1.18.33 rejects. Each case was imported by the program too: it ends there, and keeps what came before."""

from typing import Any

import pytest

from inspector.programs.opencode.import_schema import MESSAGE, PART, SESSION, problem
from tests.programs.opencode.stores import CLEAN, CREATED, KILLED, answer, step, text, tool, user, whole
from tests.programs.opencode.stores import SESSION as INFO

DONE = {"start": CREATED, "end": CREATED + 1}
FAILURE = {"name": "APIError", "data": {"message": "it broke", "isRetryable": False}}


def _entry(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    (entry,) = whole([answer(2, *parts, **more)])["messages"]
    return dict(entry)


def of_message(**more: Any) -> str:
    return problem(_entry(**more)["info"], MESSAGE)


def of_part(part: dict[str, Any]) -> str:
    return problem(_entry(part)["parts"][0], PART)


def test_sessions_of_the_program_are_taken() -> None:
    assert problem(INFO, SESSION) == ""
    for entry in whole([*CLEAN, *KILLED])["messages"]:
        assert problem(entry["info"], MESSAGE) == "" and [problem(part, PART) for part in entry["parts"]] == [""] * len(entry["parts"])


@pytest.mark.parametrize(
    "more",
    [{"error": FAILURE}, {"error": {"name": "MessageOutputLengthError", "data": {}}}, {"summary": True}, {"cost": 0.5}, {"other": None}, {"finish": None}],
    ids=str,
)  # fmt: skip
def test_messages_that_are_taken(more: dict[str, Any]) -> None:
    assert of_message(**more) == ""


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"role": "system"}, "role is none of user, assistant"),
        ({"role": None}, "role is none of user, assistant"),
        ({"parentID": None}, "parentID is missing"),
        ({"parentID": "2"}, "parentID: no id that begins with msg"),
        ({"time": {"created": 1.5}}, "time: created: no whole number from 0 on"),
        ({"time": {"created": True}}, "time: created: no number"),
        ({"path": "/srv"}, "path: no object"),
        ({"cost": "1"}, "cost: no number"),
        ({"time": {"created": float("inf")}}, "time: created: no number"),
        ({"error": {"name": "APIError", "data": {}}}, "error: data: message is missing"),
        ({"error": {"name": "AnyError", "data": {}}}, "error: name is none of"),
        ({"summary": {"diffs": []}}, "summary: neither true nor false"),
    ],
    ids=str,
)
def test_messages_that_are_not(more: dict[str, Any], reason: str) -> None:
    assert of_message(**more).startswith(reason)


@pytest.mark.parametrize(
    "part",
    [
        text("", synthetic=True, time={"start": 1}, anything=None),
        {"type": "reasoning", "text": "", "time": {"start": 0}},
        {"type": "patch", "hash": "a", "files": []},
        {"type": "compaction", "auto": True},
        {"type": "file", "mime": "a/b", "url": ""},
        tool("call_a", "pending", raw="", time=None),
        tool("call_a", "running"),
        tool("call_a", "error"),
        tool("call_a", attachments=[]),
        tool("call_a", time={**DONE, "compacted": 5}),
    ],
    ids=str,
)
def test_parts_that_are_taken(part: dict[str, Any]) -> None:
    assert of_part(part) == ""


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        ({"type": "hologram"}, "type is none of text"),
        (text("a", metadata=None), "metadata: no object"),
        ({"type": "reasoning", "text": "", "time": {}}, "time: start is missing"),
        ({"type": "patch", "hash": "a", "files": [1]}, "files: [0]: no text"),
        ({"type": "compaction"}, "auto is missing"),
        (tool("call_a", "weird"), "state: status is none of"),
        (tool("call_a", "pending"), "state: raw is missing"),
        (tool("call_a", title=None), "state: title: no text"),
        (tool("call_a", input="ls"), "state: input: no object"),
        (tool("call_a", time={"start": 1}), "state: time: end is missing"),
        (tool("call_a", attachments=[{}]), "state: attachments: [0]: id is missing"),
        (step() | {"id": "2"}, "id: no id that begins with prt"),
    ],
    ids=str,
)
def test_parts_that_are_not(part: dict[str, Any], reason: str) -> None:
    assert of_part(part).startswith(reason)


@pytest.mark.parametrize(("cost", "reason"), [(0, ""), (10**300, ""), (10**400, "cost: no number"), (float("inf"), "cost: no number")])
def test_a_number_that_javascript_reads_as_infinity_is_none(cost: float, reason: str) -> None:
    assert of_message(cost=cost) == reason


def test_a_message_of_the_user_needs_its_agent_and_model() -> None:
    info = {**user(1)[0], "sessionID": INFO["id"]}
    assert problem(info, MESSAGE) == ""
    assert problem({**info, "model": {"providerID": "fake"}}, MESSAGE) == "model: modelID is missing"
    assert problem({name: value for name, value in info.items() if name != "agent"}, MESSAGE) == "agent is missing"
    assert problem([], MESSAGE) == "role is none of user, assistant"
