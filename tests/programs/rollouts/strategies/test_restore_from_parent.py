"""What `restore-from-parent` changes in the bytes of a session that does not load."""

import json
from typing import Any

import pytest

from tests.programs.rollouts.strategies.repaired_sessions import (
    AS_CHILD,
    CHILD,
    IN_PLACE,
    PARENT,
    TURN,
    call,
    codes,
    line,
    repaired,
    session,
)


def doctored(*more: dict[str, Any]) -> dict[str, bytes]:
    kept = [each for each in TURN if isinstance(each, dict) and each["role"] != "tool"]
    child = session(CHILD, [*kept, *more], parent_id=PARENT, branch_point=3, tags={"doctor": "fixed", "removed_indices": "[2]"})
    return session(PARENT, TURN) | child


@pytest.mark.parametrize("mode", [IN_PLACE, AS_CHILD])
def test_results_that_the_doctor_took_out_come_back_byte_for_byte(mode: str) -> None:
    files = doctored(line("user", "and?"))
    preview, written = repaired(files, "restore-from-parent", native_id=CHILD, mode=mode)
    assert "STORE404" in codes(preview.before)
    assert not {"STORE404", "TOOL102", "MSG401"} & set(codes(preview.after))
    parent = files[f"sessions/{PARENT}/messages.jsonl"].splitlines()
    assert written["messages.jsonl"].splitlines()[:4] == parent
    assert preview.plan.safety == frozenset()


def test_results_of_calls_that_the_child_does_not_hold_stay_in_the_parent() -> None:
    files = doctored()
    key = f"sessions/{PARENT}/messages.jsonl"
    later = [
        line("user", "more"),
        line("assistant", [call("z")]),
        line("tool", "later", tool_call_id="z"),
        line("tool", "twice", tool_call_id="a"),
    ]
    files[key] += b"".join(json.dumps(each).encode() + b"\n" for each in later)
    _, written = repaired(files, "restore-from-parent", native_id=CHILD)
    assert [json.loads(each)["content"] for each in written["messages.jsonl"].splitlines() if b'"tool"' in each] == ["files"]


@pytest.mark.parametrize(("point", "count"), [(2, 2), (None, 4), (99, 4)])
def test_an_emptied_session_gets_what_it_had_in_common_with_its_parent(point: int | None, count: int) -> None:
    child = session(CHILD, [], parent_id=PARENT, branch_point=point, updated_at="2025-12-24T10:30:00.000000")
    files = session(PARENT, TURN) | child
    preview, written = repaired(files, "restore-from-parent", native_id=CHILD)
    assert "STORE403" in codes(preview.before) and "STORE403" not in codes(preview.after)
    assert written["messages.jsonl"].splitlines() == files[f"sessions/{PARENT}/messages.jsonl"].splitlines()[:count]
