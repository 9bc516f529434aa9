"""Sessions as files, and what a plan of strategies writes in them."""

import json
from collections.abc import Sequence
from typing import Any

from inspector.conversation.edits import Plan
from inspector.planning import preview as previews
from inspector.programs.formats import Cell, Record, Stored, after
from inspector.programs.rollouts.format import ROLLOUTS
from inspector.programs.rollouts.loading import line_problem, session_problem
from inspector.rules.base import Case, case_of
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

ERA_B = {
    "model": "m",
    "provider": "anthropic",
    "temperature": 0.5,
    "max_tokens": 100,
    "thinking": True,
    "thinking_budget": 4096,
    "extra": {"top_k": 1},
}
