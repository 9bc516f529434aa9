"""What a line costs its reader, the rules and the profile: counted in calls of functions, since seconds differ from machine to machine."""

import json
import sys
from typing import Any

from inspector.presentation.conversation.examined import Judges
from inspector.presentation.conversation.work import Task, done
from inspector.programs.claude_code.format import CLAUDE_CODE
from inspector.programs.formats import Cell, Listed, Record

STEPS = 60
MOST = 260
"""Calls for each line. They were 326 while each rule worked out by itself what several ask for, and nothing was masked; now they are 237."""


def session() -> bytes:
    """Steps of thinking, a text, a call and its result, as the program writes them: a line for each block."""
    lines: list[dict[str, Any]] = []

    def add(role: str, content: Any, **message: Any) -> None:
        number = len(lines)
        lines.append(
            {
                "parentUuid": f"u{number - 1}" if number else None,
                "isSidechain": False,
                "userType": "external",
                "cwd": "/work",
                "sessionId": "s",
                "version": "2.0.0",
                "gitBranch": "main",
                "type": role,
                "message": {"role": role, "content": content, **message},
                "uuid": f"u{number}",
                "timestamp": f"2026-09-21T00:{number // 60 % 60:02}:{number % 60:02}.000Z",
            }
        )

    for step in range(STEPS):
        answer = {"id": f"msg_{step}", "type": "message", "model": "claude-opus-4-5", "usage": {"input_tokens": 10}}
        add("user", f"question {step}")
        add("assistant", [{"type": "thinking", "thinking": "well", "signature": f"{step:064x}"}], **answer)
        add("assistant", [{"type": "text", "text": "I look."}], **answer)
        add("assistant", [{"type": "tool_use", "id": f"toolu_{step}", "name": "Bash", "input": {"command": "ls"}}], **answer)
        add("user", [{"type": "tool_result", "tool_use_id": f"toolu_{step}", "content": "a b c"}])
        add("assistant", [{"type": "text", "text": "done"}], **answer | {"id": f"msg_{step}b"})
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def test_a_line_is_read_and_judged_in_few_calls() -> None:
    record = Record("s.jsonl", Cell(session(), "file"))
    judges = Judges(CLAUDE_CODE.default_reader, CLAUDE_CODE.default_projection, CLAUDE_CODE.default_profile)
    task = Task(CLAUDE_CODE.name, Listed("s", "s.jsonl", {}), (record,), judges, 0)
    assert not (result := done(task)).examined or not result.examined.findings
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        done(task)
    finally:
        sys.setprofile(None)
    assert calls < MOST * STEPS * 6, calls / STEPS / 6
