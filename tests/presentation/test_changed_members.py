"""What a preview says of a chunk whose words stay."""

from dataclasses import replace
from typing import Any

import pytest

from inspector.conversation.model import Chunk, Kind
from inspector.presentation.repair.changed_members import MOST, changed_members

RESULT = Chunk(
    kind=Kind.TOOL_RESULT, key="k", seq=1, raw=b"", role="tool", payload={"toolCallId": "a", "content": "done", "extra": {"error": False}}
)


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ({"toolCallId": "a", "content": "done", "extra": {"error": False}}, []),
        ({"toolCallId": "b", "content": "done", "extra": {"error": False}}, [("toolCallId", "a", "b")]),
        ({"toolCallId": "a", "content": "done", "extra": {"error": True}}, [("extra.error", "false", "true")]),
        ({"toolCallId": "a", "content": "done", "extra": {}}, [("extra.error", "false", "")]),
        ({"toolCallId": "a", "content": "done", "extra": {"error": False, "at": [1, "x"]}}, [("extra.at", "", '[1,"x"]')]),
    ],
)
def test_each_member_that_differs_is_named_with_both_values(after: dict[str, Any], expected: list[tuple[str, str, str]]) -> None:
    assert [tuple(member) for member in changed_members(RESULT, replace(RESULT, payload=after))] == expected


def test_a_list_is_compared_place_by_place_and_no_more_than_some_are_named() -> None:
    before, after = (replace(RESULT, payload={"of": [sign] * 40}) for sign in ("x", "y"))
    members = changed_members(before, after)
    assert len(members) == MOST and members[1] == ("of.1", "x", "y")
