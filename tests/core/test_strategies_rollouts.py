"""What makes a rollouts session unloadable, and what repairs it, on the bytes of its files."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from inspector.conversation.edits import Plan, Safety
from inspector.planning import preview as previews
from inspector.programs.formats import Cell, Record, Stored, after
from inspector.programs.rollouts.format import ROLLOUTS
from inspector.programs.rollouts.loading import line_problem, session_problem
from inspector.rules.base import Case, Severity, at_least, case_of, findings
from inspector.rules.catalogue import RULES
from inspector.strategies.catalogue import strategy

PARENT, CHILD = "20251223_152205_b0fba6", "20251224_100000_0a1b2c"
ENDPOINT = {"provider": "anthropic", "model": "m"}
IN_PLACE, AS_CHILD = "in-place", "child"
TAKEN_AT = 1_800_000_000_000


def line(role: str, content: Any, **more: Any) -> dict[str, Any]:
    names = dict.fromkeys(("provider", "api", "model", "tool_call_id", "details"))
    return {"role": role, "content": content} | names | {"timestamp": "2025-12-23T15:22:06.000000"} | more


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words, "text_signature": None}


def call(id: str, **more: Any) -> dict[str, Any]:
    rest = dict.fromkeys(("thought_signature", "parse_error", "raw_arguments"))
    return {"type": "toolCall", "id": id, "name": "bash", "arguments": {"cmd": "ls"}} | rest | more


def session(native_id: str, lines: Sequence[dict[str, Any] | bytes], **more: Any) -> dict[str, bytes]:
    meta = {
        "session_id": native_id,
        "parent_id": None,
        "branch_point": None,
        "endpoint": ENDPOINT,
        "environment": {"type": "none", "config": {}},
        "environment_state": None,
        "status": "aborted",
        "reward": None,
        "tags": {},
        "created_at": "2025-12-23T15:22:05.000000",
        "updated_at": "2025-12-23T15:22:05.000000",
    } | more
    raw = [each if isinstance(each, bytes) else json.dumps(each, ensure_ascii=False).encode() + b"\n" for each in lines]
    return {
        f"sessions/{native_id}/session.json": json.dumps(meta, indent=2).encode(),
        f"sessions/{native_id}/messages.jsonl": b"".join(raw),
    }


def opened(files: dict[str, bytes], native_id: str = PARENT) -> tuple[Case, Stored]:
    found = {each.conversation.native_id: each for each in ROLLOUTS.read(Record(key, Cell(data, "file")) for key, data in files.items())}
    stored = found[native_id]
    parent = found.get(stored.conversation.fact("parent") or "")
    case = case_of(stored.conversation, "rollouts", None, TAKEN_AT, parent.conversation if parent else None)
    return case, stored


def repaired(
    files: dict[str, bytes], *names: str, native_id: str = PARENT, mode: str = IN_PLACE
) -> tuple[previews.Preview, dict[str, bytes]]:
    """The preview, and the files of the session that holds the result."""
    case, stored = opened(files, native_id)
    chosen = [strategy(name) for name in names]
    plan = Plan(
        "s",
        native_id,
        mode,
        names,
        previews.safety_of(chosen),
        previews.digest(stored),
        previews.compose(case, chosen),
        ROLLOUTS.options(mode, stored, "f"),
    )
    preview = previews.preview(case, stored, ROLLOUTS, plan, chosen, "rollouts-anthropic", "anthropic-2026-07")
    target = ROLLOUTS.target(plan)
    written = {record.key: record.value.data for record in after(stored.records, preview.changes)}
    return preview, {key.rpartition("/")[2]: data for key, data in written.items() if target in key}


def loads(written: dict[str, bytes]) -> bool:
    return not session_problem(written["session.json"]) and not any(line_problem(each) for each in written["messages.jsonl"].splitlines())


def codes(side: previews.PreviewSide) -> list[str]:
    return [finding.code for finding in side.findings]


TURN: list[dict[str, Any] | bytes] = [
    line("user", "go"),
    line("assistant", [text("I look."), call("a")], provider="anthropic", api="anthropic-messages", model="m"),
    line("tool", "files", tool_call_id="a"),
    line("assistant", [text("Done.")], provider="anthropic", api="anthropic-messages", model="m"),
]


def test_a_session_as_rollouts_writes_it_has_no_findings() -> None:
    case, _ = opened(session(PARENT, TURN, status="completed"))
    assert findings(case, RULES) == []


def test_a_session_whose_tool_still_runs_has_nothing_above_a_note() -> None:
    files = session(PARENT, TURN[:2], status="pending", updated_at="2027-01-15T07:59:00.000000")
    case, _ = opened(files)
    assert case.running
    found = findings(case, RULES)
    assert [finding.code for finding in found] == ["TOOL101"]
    assert not [finding for finding in found if at_least(finding.severity, Severity.WARNING)]


def test_a_session_with_a_crash_file_is_not_taken_for_running() -> None:
    files = session(PARENT, TURN[:2], status="pending", updated_at="2027-01-15T07:59:00.000000")
    crash = {"timestamp": "2027-01-15T07:59:30", "session_id": PARENT, "error_message": "400", "messages": []}
    case, _ = opened(files | {"crashes/20270115_075930_aaaaaa.txt": json.dumps(crash).encode()})
    assert case.conversation.fact("crashes")
    assert [finding.severity for finding in findings(case, RULES) if finding.code == "TOOL101"] == [Severity.WARNING]


@pytest.mark.parametrize("torn", [b'{"role": "assistant", "content": [{"type": "te', b"\xff\xfe\n", b"[1]\n"])
@pytest.mark.parametrize("mode", [IN_PLACE, AS_CHILD])
def test_a_torn_line_goes_and_the_others_keep_every_byte(torn: bytes, mode: str) -> None:
    files = session(PARENT, [*TURN, torn])
    preview, written = repaired(files, "drop-unreadable-lines", mode=mode)
    assert codes(preview.before) == ["STORE402"]
    assert codes(preview.after) == []
    assert written["messages.jsonl"] == files[f"sessions/{PARENT}/messages.jsonl"].removesuffix(torn)
    assert preview.plan.safety == {Safety.LOSSY}


def test_the_finding_of_a_torn_line_shows_its_bytes() -> None:
    case, _ = opened(session(PARENT, [*TURN, b'{"role": "assi']))
    found = next(finding for finding in findings(case, RULES) if finding.code == "STORE402")
    assert ("begins with", '{"role": "assi') in found.evidence


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        ([{"type": "redacted_thinking", "data": "x"}, text("so")], [text("so")]),
        ([{"type": "redacted_thinking", "data": "x"}], [text("[redacted thinking]")]),
        ([call("a", arguments='{"cmd": "ls"}')], [call("a")]),
        ([call("a", arguments=[1])], [call("a", arguments={}, parse_error="the arguments are no object", raw_arguments="[1]")]),
        ([call("a", arguments=None)], [call("a", arguments={})]),
        (
            [{"type": "thinking", "thinking": "hm", "thinking_signature": 7}],
            [{"type": "thinking", "thinking": "hm", "thinking_signature": None}],
        ),
        ({"type": "text", "text": "so"}, [{"type": "text", "text": "so"}]),
        ({"a": 1}, '{"a":1}'),
        (5, "5"),
        ([{"type": "search_result", "url": "u"}], [text('{"type":"search_result","url":"u"}')]),
        (["so"], [text("so")]),
        ([{"type": "text", "text": None}], [{"type": "text", "text": ""}]),
        ([{"type": "image_url", "image_url": {"url": "data:x"}}], [{"type": "image", "image_url": "data:x", "detail": None}]),
    ],
)
@pytest.mark.parametrize("mode", [IN_PLACE, AS_CHILD])
def test_what_the_loader_refuses_becomes_what_it_takes(content: Any, wanted: Any, mode: str) -> None:
    files = session(PARENT, [*TURN, line("user", "more"), line("assistant", content, provider="anthropic"), line("user", "and?")])
    preview, written = repaired(files, "make-blocks-loadable", mode=mode)
    assert "STORE401" in codes(preview.before) and "STORE401" not in codes(preview.after)
    assert preview.before.case.reading.failure and not preview.after.case.reading.failure
    assert loads(written)
    lines = written["messages.jsonl"].splitlines(keepends=True)
    before = files[f"sessions/{PARENT}/messages.jsonl"].splitlines(keepends=True)
    assert json.loads(lines[5])["content"] == wanted
    assert lines[:5] + lines[6:] == before[:5] + before[6:]


def test_tool_use_of_another_program_becomes_a_call_of_this_one() -> None:
    block = {"type": "tool_use", "id": "b", "name": "bash", "input": {"cmd": "pwd"}}
    files = session(PARENT, [line("user", "go"), line("assistant", [block]), line("tool", "/", tool_call_id="b")])
    preview, written = repaired(files, "make-blocks-loadable")
    assert loads(written) and codes(preview.after) == []
    assert json.loads(written["messages.jsonl"].splitlines()[1])["content"][0]["type"] == "toolCall"


@pytest.mark.parametrize(
    ("given", "wanted"), [(1766503326, "2025-12-23T15:22:06.000000"), (1766503326000, "2025-12-23T15:22:06.000000"), ([], None)]
)
def test_fields_of_a_message_that_are_no_text_are_brought_to_one(given: Any, wanted: str | None) -> None:
    files = session(PARENT, [line("user", "go", timestamp=given, details=[1], model=5)])
    _, written = repaired(files, "make-blocks-loadable")
    found = json.loads(written["messages.jsonl"])
    assert loads(written)
    assert (found["timestamp"], found["details"], found["model"]) == (wanted, {"value": [1]}, None)


def test_a_later_strategy_of_the_same_plan_works_on_the_mended_line() -> None:
    thinking = {"type": "thinking", "thinking": "hm", "thinking_signature": 7}
    redacted = {"type": "redacted_thinking", "data": "x"}
    files = session(
        PARENT, [line("user", "go"), line("assistant", [redacted, thinking, text("so")], provider="anthropic", timestamp=1766503326)]
    )
    preview, written = repaired(files, "make-blocks-loadable", "thinking-to-text")
    assert loads(written) and "THINK201" not in codes(preview.after)
    message = json.loads(written["messages.jsonl"].splitlines()[1])
    assert [block["text"] for block in message["content"]] == ["<thinking>\nhm\n</thinking>", "so"]
    assert message["timestamp"] == "2025-12-23T15:22:06.000000"


ERA_B = {
    "model": "m",
    "provider": "anthropic",
    "temperature": 0.5,
    "max_tokens": 100,
    "thinking": True,
    "thinking_budget": 4096,
    "extra": {"top_k": 1},
}


@pytest.mark.parametrize("mode", [IN_PLACE, AS_CHILD])
def test_an_endpoint_of_era_b_is_written_as_today(mode: str) -> None:
    old = [b'{"role": "user", "content": "caf\\u00e9", "timestamp": "2025-12-06T10:00:00.000000"}\n']
    files = session(PARENT, old, endpoint=ERA_B)
    preview, written = repaired(files, "migrate-endpoint", mode=mode)
    assert codes(preview.before) == ["STORE407"] and codes(preview.after) == []
    endpoint = json.loads(written["session.json"])["endpoint"]
    assert (endpoint["thinking"], endpoint["extra_params"]) == ({"type": "enabled", "budget_tokens": 4096}, {"top_k": 1})
    assert (endpoint["temperature"], endpoint["max_tokens"], endpoint["max_retries"]) == (0.5, 100, 10)
    assert written["messages.jsonl"] == old[0]


def test_unknown_keys_and_an_unknown_status_go_together() -> None:
    files = session(PARENT, TURN, endpoint=ENDPOINT | {"region": "eu"}, status="waiting", note="kept")
    preview, written = repaired(files, "migrate-endpoint")
    found = json.loads(written["session.json"])
    assert loads(written) and "STORE401" not in codes(preview.after)
    assert "region" not in found["endpoint"] and found["status"] == "pending" and found["note"] == "kept"
    assert [change.key.rpartition("/")[2] for change in preview.changes] == ["session.json"]


def test_a_session_without_an_environment_is_left_alone() -> None:
    files = session(PARENT, TURN)
    key = f"sessions/{PARENT}/session.json"
    meta = json.loads(files[key])
    del meta["environment"]
    case, _ = opened(files | {key: json.dumps(meta).encode()})
    assert [finding.code for finding in findings(case, RULES)] == ["STORE401"]
    assert list(strategy("migrate-endpoint").propose(case)) == []


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


@pytest.mark.parametrize("name", ["drop-unreadable-lines", "make-blocks-loadable", "migrate-endpoint", "restore-from-parent"])
def test_a_clean_session_is_left_alone(name: str) -> None:
    case, _ = opened(session(PARENT, TURN) | session(CHILD, TURN, parent_id=PARENT, branch_point=4), CHILD)
    assert list(strategy(name).propose(case)) == []


def test_a_late_result_takes_the_place_of_the_made_up_one() -> None:
    made_up = line("tool", "[interrupted - no result provided]", tool_call_id="a")
    files = session(PARENT, [*TURN[:2], made_up, line("user", "and?"), TURN[2], line("assistant", [text("Done.")], provider="anthropic")])
    preview, written = repaired(files, "move-results", "keep-first-result")
    assert [json.loads(each)["content"] for each in written["messages.jsonl"].splitlines() if b'"role": "tool"' in each] == ["files"]
    assert codes(preview.after) == []
