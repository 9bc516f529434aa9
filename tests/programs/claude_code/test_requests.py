"""Requests that a session recorded itself: rebuilt from the hashes of their messages, proven by their digest, shown next to the lines."""

import hashlib
import json
from typing import Any

from inspector.conversation.model import Conversation
from inspector.planning.preview import compose
from inspector.programs.claude_code.requests import Recorded, recorded, trace_of
from inspector.projections.catalogue import projection
from inspector.projections.observed import observed
from inspector.rules.base import case_of
from inspector.rules.catalogue import all_findings
from inspector.strategies.catalogue import strategy
from inspector.traces import observe
from tests.profiles.evidence import evidence
from tests.programs.claude_code.session_lines import a, call, said, stored, text, u

SHAPE = {"system": [{"type": "text", "text": "s"}], "tools": [{"name": "Bash", "input_schema": {}}]}
MARK = {"type": "ephemeral"}


def sha(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def message(role: str, *blocks: Any) -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


def shape() -> dict[str, Any]:
    return {"type": "api-request-shape", "sessionId": "s", "shapeHash": sha(SHAPE), "shape": SHAPE}


def blob(value: dict[str, Any]) -> dict[str, Any]:
    return {"type": "api-request-blob", "sessionId": "s", "hash": sha(value), "message": value}


def request(id_: str, messages: list[dict[str, Any]], base: str = "", keep: int = 0) -> dict[str, Any]:
    """As the program writes it: the last block of the last message is marked for the cache, and the mark is in the digest."""
    params = {"model": "claude-sonnet-4-5", "max_tokens": 9}
    marked = json.loads(json.dumps(messages))
    marked[-1]["content"][-1]["cache_control"] = MARK
    path = ["messages", len(messages) - 1, "content", len(messages[-1]["content"]) - 1]
    return {
        **{"type": "api-request", "id": id_, "timestamp": "2026-08-01T10:00:01.000Z", "shapeHash": sha(SHAPE), "params": params},
        **({"base": base} if base else {}),
        **{"keep": keep, "tail": [sha(value) for value in messages[keep:]], "cacheControl": [{"path": path, "value": MARK}]},
        "requestDigest": sha({**params, **SHAPE, "messages": marked}),
    }


ASKED = message("user", text("<system-reminder>now</system-reminder>"), text("go"))
ANSWER = message("assistant", text("I look."), call("t1", command="ls"))
RESULT = message("user", {"tool_use_id": "t1", "type": "tool_result", "content": "one file"})
LINES = (
    u("u1", None, "go"),
    shape(),
    blob(ASKED),
    request("q1", [ASKED]),
    a("a1", "u1", "msg_1", text("I look."), requestRef="q1"),
    a("a2", "a1", "msg_1", call("t1", command="ls"), requestRef="q1"),
)
LATER = request("q2", [ASKED, ANSWER, RESULT], "q1", 1)


def found(*values: Any) -> tuple[Conversation, Recorded]:
    tree = stored(*values).conversation
    return tree, recorded(tree)


def test_a_request_is_rebuilt_from_records_and_lines_and_proven() -> None:
    _, requests = found(*LINES, blob(RESULT), LATER)
    assert [requests.is_proven(each) for each in requests.requests] == [True, True]
    second = requests.body(requests.requests[1])
    assert second is not None and [len(each["content"]) for each in second["messages"]] == [2, 2, 1]
    assert second["messages"][2]["content"][0]["cache_control"] == MARK and second["tools"] == SHAPE["tools"]


def test_what_the_store_lost_comes_back_from_the_request_that_held_it() -> None:
    """The line of the result never reached the disk; the next request had it."""
    session = stored(*LINES, blob(RESULT), LATER, u("u2", "a2", "and?", 2))
    case = case_of(session.conversation, "claude-code")
    (insert,) = compose(case, [strategy("recover-result-from-trace")])
    assert getattr(insert, "chunk").text == "one file"  # noqa: B009 (an Insert, as the next line shows)
    assert getattr(insert, "after") == "a2.0"  # noqa: B009


def test_it_is_shown_next_to_the_lines_that_it_was_made_of() -> None:
    tree, _ = found(*LINES, blob(RESULT), LATER)
    trace = trace_of(tree)
    assert trace is not None and [observe.finish_reason(step) for step in trace.steps()] == [None, None]
    first = observed(trace, trace.steps()[0], tree.chunks, projection("anthropic"))
    assert first is not None and [chunk.key for each in first.prompt_messages for chunk in each.chunks] == ["observed:0.0", "u1.0"]
    assert [part.chunk.key for value in first.prompt.messages for part in value.parts] == ["observed:0.0", "u1.0"]


def test_a_line_that_was_edited_afterwards_is_named() -> None:
    changed = a("a1", "u1", "msg_1", text("I never looked."), requestRef="q1")
    values = [*LINES[:4], changed, LINES[5], blob(RESULT), LATER]
    tree, requests = found(*values)
    assert requests.missing(requests.requests[1]) == (1,) and requests.body(requests.requests[1]) is None
    codes = [finding.code for finding in all_findings(case_of(tree, "claude-code"))]
    assert codes.count("TRACE401") == 1
    assert tree.fact("lastRequest") == "1 of its 3 messages is in no line as sent"
    assert "TRACE401" not in [finding.code for finding in all_findings(case_of(found(*LINES, blob(RESULT), LATER)[0], "claude-code"))]


def test_records_that_are_nonsense_are_no_error() -> None:
    odd = [
        {"type": "api-request", "id": 5},
        {"type": "api-request", "id": "q", "keep": -1, "tail": 7, "cacheControl": [{"path": ["x", 1]}, 3]},
    ]
    tree, requests = found(u("u1", None), *odd, {"type": "api-request-blob", "message": []}, {"type": "api-request-shape", "shape": 1})
    assert [requests.body(each) for each in requests.requests] == [None]
    assert trace_of(tree) is not None and said(tree) == ["user:go"]


def test_the_requests_of_a_real_session_are_proven() -> None:
    (session,) = (
        stored(evidence("session_with_api_request_records.jsonl", "examples/traces/agents/claude-code").read_bytes().rstrip(b"\n")),
    )
    requests = recorded(session.conversation)
    assert len(requests.requests) == 2 and all(requests.is_proven(each) for each in requests.requests)
    assert session.conversation.fact("lastRequest") == "rebuilt, and proven by its digest"
