"""A request body is judged by the rules of the provider that it was sent to, before and after a repair."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.commands.running import run
from tests.profiles.evidence import evidence

pytestmark = pytest.mark.only_settles

CLAUDE = {"model": "claude-opus-4-8", "max_tokens": 99}
ASK = {"role": "user", "content": [{"type": "text", "text": "x"}]}
ANSWER = {"role": "assistant", "content": [{"type": "text", "text": "I will look."}]}
LOST_RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "r"}]}
LOST_TOOL = {"role": "tool", "tool_call_id": "t1", "content": "r"}
SYSTEM = {"role": "system", "content": [{"type": "text", "text": "From now on be brief."}]}


def written(tmp_path: Path, body: Any) -> Path:
    path = tmp_path / "request.json"
    path.write_text(json.dumps(body))
    return path


def shape(path: Path) -> str:
    return str(run("scan", path, "--json").json["source"]["format"])


@pytest.mark.parametrize(
    ("name", "format_name"),
    [
        ("anthropic-server-tool-body-read-as-openai.json", "anthropic-request"),
        ("openrouter-body-read-as-anthropic.json", "openai-chat-request"),
    ],
)
def test_bodies_that_a_provider_answered_are_read_in_the_shape_that_it_takes(name: str, format_name: str) -> None:
    assert shape(evidence(name)) == format_name


def repaired(path: Path, profile: str) -> tuple[dict[str, Any], Path]:
    """What the preview says of `profile` after the repair, and the repaired body."""
    out = path.parent / "repaired.json"
    assert run("repair", path, "--for", profile, "--out", out).status == 0
    plan = run("repair", path, "--for", profile, "--plan", "--json").json
    return plan, out


@pytest.mark.parametrize(
    ("body", "format_name", "profile"),
    [
        # The result that goes is the only block that no other shape has; the members of the body still show it.
        ({**CLAUDE, "system": "s", "messages": [ASK, ANSWER, LOST_RESULT, SYSTEM]}, "anthropic-request", "anthropic-2026-07"),
        ({**CLAUDE, "messages": [ASK, ANSWER, LOST_RESULT, SYSTEM, ASK]}, "anthropic-request", "anthropic-2026-07"),
        ({"model": "anthropic/claude-opus-4", "messages": [ASK, ANSWER, LOST_TOOL]}, "openai-chat-request", "openai-chat"),
        ({"model": "claude-opus-4", "stop": ["#"], "messages": [ASK, ANSWER, LOST_TOOL]}, "openai-chat-request", "openai-chat"),
    ],
)
def test_a_repaired_body_is_read_and_judged_as_the_preview_judged_it(tmp_path: Path, body: Any, format_name: str, profile: str) -> None:
    path = written(tmp_path, body)
    assert shape(path) == format_name
    plan, out = repaired(path, profile)
    report = run("scan", out, "--profile", profile, "--json").json
    assert report["source"]["format"] == format_name and plan["warnings"] == []
    assert plan["profiles"][profile]["after"] == "passes all known rules" and report["conversations"][0]["profiles"][profile]["sendable"]


def test_the_preview_of_a_body_that_was_read_in_another_shape_afterwards(tmp_path: Path) -> None:
    path = written(tmp_path, json.loads(evidence("anthropic-preview-and-scan-disagree.json").read_text()))
    _, out = repaired(path, "anthropic-2026-07")
    report = run("scan", out, "--profile", "anthropic-2026-07", "--json").json
    assert report["source"]["format"] == "anthropic-request" and report["conversations"][0]["profiles"]["anthropic-2026-07"]["sendable"]


@pytest.mark.parametrize(
    ("body", "format_name", "profile"),
    [
        ([ASK, ANSWER, LOST_RESULT], "anthropic-request", "anthropic-2026-07"),
        ({"model": "claude-opus-4", "max_tokens": 9, "messages": [ASK, ANSWER, LOST_TOOL]}, "openai-chat-request", "openai-chat"),
    ],
)
def test_a_repair_that_takes_out_what_showed_the_shape_says_how_to_read_the_result(
    tmp_path: Path, body: Any, format_name: str, profile: str
) -> None:
    path = written(tmp_path, body)
    assert shape(path) == format_name
    plan, out = repaired(path, profile)
    assert plan["warnings"] == [
        f"The repaired body no longer shows which wire shape it has: name the format when you read it, with --format {format_name}."
    ]
    assert f"--format {format_name}" in run("repair", path, "--for", profile, "--out", "-").err
    assert run("scan", out, "--format", format_name, "--profile", profile).status == 0


def test_a_repair_says_nothing_of_a_shape_that_the_body_did_not_show_before(tmp_path: Path) -> None:
    blank = {"role": "assistant", "content": [{"type": "text", "text": ""}, {"type": "text", "text": "y"}]}
    path = written(tmp_path, [ASK, blank, ASK])
    plan = run("repair", path, "--format", "anthropic-request", "--strategy", "drop-empty-blocks", "--plan", "--json").json
    assert plan["edits"] and plan["warnings"] == []
