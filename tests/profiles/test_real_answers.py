"""Bodies and what the provider that they were sent to answered: every file of the folder of evidence, whose README says the answer.

The folder stands outside this repository; fixtures of the same shapes are in the tests of each profile and in tests/programs/request_bodies/test_clean_requests.py.
"""

import json
import os
from pathlib import Path

import pytest

from inspector.profiles.judging import judged
from inspector.programs.catalogue import format_named
from inspector.programs.formats import Cell, Record
from inspector.projections.base import OPENAI_RESPONSES
from inspector.rules.base import Severity, at_least, case_of, findings
from inspector.rules.catalogue import RULES
from inspector.wires.detection import format_of

_ROOT = Path(__file__).parent.parent.parent
_SHARED = Path(os.environ.get("INSPECTOR_SHARED") or _ROOT.parent / "shared").absolute()
FOLDER = _SHARED / "evidence" / "verdicts"

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not FOLDER.is_dir(), reason=f"{FOLDER} is not there: INSPECTOR_SHARED names its folder"),
]

Refused = list[tuple[str, str]]
# File -> format, profile, what is refused and where, rules of ours that say more than a note.
ANSWERS: dict[str, tuple[str, str, Refused, list[str]]] = {
    "gemini-empty-text": ("gemini-request", "gemini", [], []),
    "gemini-thought-signature-only": ("gemini-request", "gemini-3", [], []),
    "gemini-calls-in-two-contents": ("gemini-request", "gemini-3", [], []),
    "gemini-invalid-role": ("gemini-request", "gemini", [("GE-11", "contents.0")], []),
    "anthropic-id-reused-later-turn": ("anthropic-request", "anthropic-2026-07", [], []),
    "anthropic-blank-text-before-call": ("anthropic-request", "anthropic-2026-07", [], []),
    "anthropic-empty-id": (
        "anthropic-request",
        "anthropic-2026-07",
        [("AN-7", "messages.1.content.0.tool_use.id"), ("AN-7", "messages.2.content.0.tool_result.tool_use_id")],
        ["TOOL205"],
    ),
    "anthropic-split-calls-results-together": ("anthropic-request", "anthropic-2026-07", [], []),
    "anthropic-server-tool-body-read-as-openai": ("anthropic-request", "anthropic-2026-07", [], []),
    "openrouter-body-read-as-anthropic": ("openai-chat-request", "openai-chat", [], []),
    "anthropic-preview-and-scan-disagree": ("anthropic-request", "anthropic-2026-07", [("AN-2", "messages.2.content.0")], ["TOOL202"]),
    "bedrock-newline-text": ("bedrock-request", "bedrock", [], []),
    "bedrock-nova-server-tool": ("bedrock-request", "bedrock", [], []),
    "responses-tool-search": ("openai-responses-request", "openai-responses", [], []),
    "responses-reasoning-without-its-item": ("openai-responses-request", "openai-responses", [("OR-3", "input.1")], []),
    "mistral-empty-id": (
        "mistral-request",
        "mistral",
        [("MI-11", "messages.1.tool_calls.0"), ("MI-11", "messages.2")],
        ["TOOL205"],
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_our_answer_is_the_providers(name: str) -> None:
    format_name, profile, refused, rules = ANSWERS[name]
    data = (FOLDER / f"{name}.json").read_bytes()
    assert format_of(data) == format_name
    format_ = format_named(format_name)
    (stored,) = format_.read([Record(f"{name}.json", Cell(data, "file"))])
    case = case_of(stored.conversation, format_.default_reader)
    prompt, judgement = judged(case.reading, stored.conversation, profile, format_.default_projection)
    assert [(violation.id, violation.path) for violation in judgement.violations] == refused
    assert judgement.sendable is (refused == [])
    assert [found.code for found in findings(case, RULES) if at_least(found.severity, Severity.WARNING)] == rules
    sent = json.loads(data)[prompt.root]
    implied = {"type": "message"} if prompt.root == "input" and OPENAI_RESPONSES in format_.default_projection else {}
    assert prompt.values == [{**(implied if "role" in value else {}), **value} for value in sent]


def test_every_body_of_the_folder_has_its_answer_here() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == ANSWERS.keys()
