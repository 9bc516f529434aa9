"""What `rename-invalid-ids` makes of a history, what it leaves alone, and that a second run finds nothing."""

import re
from typing import Any

import pytest

from inspector.rules.catalogue import all_findings
from inspector.strategies.catalogue import strategy
from tests.strategies.before_and_after import (
    ANTHROPIC,
    OPENAI,
    SESSION,
    assert_an_id_that_is_not_taken_is_renamed_with_its_result,
    case_in,
    previewed,
    said,
    stored,
    text,
    written,
)


@pytest.mark.parametrize(
    ("name", "call_id", "is_renamed"),
    [
        ("rename-invalid-ids", "call:1", True),
        ("rename-invalid-ids", "c" * 41, True),
        ("rename-invalid-ids", "c" * 40, False),
        ("rename-invalid-ids", "toolu_01-x", False),
    ],
)
@pytest.mark.parametrize("format_name", [ANTHROPIC, OPENAI, SESSION])
def test_an_id_that_is_not_taken_is_renamed_with_its_result(name: str, call_id: str, is_renamed: bool, format_name: str) -> None:
    assert_an_id_that_is_not_taken_is_renamed_with_its_result(name, call_id, is_renamed, format_name)


CALL, OTHER_CALL = {"type": "tool_use", "name": "ls", "input": {}}, {"type": "tool_use", "name": "pwd", "input": {}}
RESULT, OTHER_RESULT = {"type": "tool_result", "content": "f"}, {"type": "tool_result", "content": "/"}
NAMED_CALL, NAMED_RESULT = {**CALL, "id": "toolu_1"}, {**RESULT, "tool_use_id": "toolu_1"}


def after(calls: list[dict[str, Any]], results: list[dict[str, Any]]) -> tuple[list[Any], list[Any]]:
    """The ids of the calls, and those that the results name, after the repair."""
    body = {"model": "m", "max_tokens": 9, "messages": [said("user", text("go")), said("assistant", *calls), said("user", *results)]}
    messages = written(previewed(body, ["rename-invalid-ids"]))["messages"]
    return [block.get("id") for block in messages[1]["content"]], [block.get("tool_use_id") for block in messages[2]["content"]]


@pytest.mark.parametrize(
    ("calls", "results"),
    [
        ([CALL], [RESULT]),
        ([CALL, OTHER_CALL], [RESULT, OTHER_RESULT]),
        # One has an id, which it keeps; the result of the other has none either.
        ([NAMED_CALL, OTHER_CALL], [NAMED_RESULT, OTHER_RESULT]),
        ([NAMED_CALL], [RESULT]),
    ],
)
def test_a_missing_id_is_given_to_the_call_and_its_result(calls: list[dict[str, Any]], results: list[dict[str, Any]]) -> None:
    ids, named = after(calls, results)
    assert ids == named and len(set(ids)) == len(calls)
    assert all(
        id_ == "toolu_1" if call is NAMED_CALL else re.fullmatch(r"[A-Za-z0-9]{9}", id_) for id_, call in zip(ids, calls, strict=True)
    )


def test_the_request_passes_then() -> None:
    body = {"model": "m", "max_tokens": 9, "messages": [said("user", text("go")), said("assistant", CALL), said("user", RESULT)]}
    preview = previewed(body, ["rename-invalid-ids"])
    assert [violation.id for violation in preview.before.judgement.violations] == ["AN-7", "AN-7"]
    assert preview.after.judgement.sendable and not preview.after.findings


@pytest.mark.parametrize(("calls", "results"), [([CALL, OTHER_CALL], [RESULT]), ([CALL], [RESULT, OTHER_RESULT])])
def test_where_a_result_may_be_of_several_calls_nothing_is_renamed(calls: list[dict[str, Any]], results: list[dict[str, Any]]) -> None:
    body = {"model": "m", "max_tokens": 9, "messages": [said("user", text("go")), said("assistant", *calls), said("user", *results)]}
    case = case_in(stored(body)[1].conversation)
    assert list(strategy("rename-invalid-ids").propose(case)) == []
    (finding,) = [finding for finding in all_findings(case) if finding.rule == "call-without-id"]
    assert finding.repaired_by == () and finding.no_repair_reason
