"""Streams that were once judged wrongly, against what the provider or client really made of them. The files are not part of the repository."""

import os
from pathlib import Path

import pytest

from inspector.presentation.stream.report import StreamAnalysis, analysed
from inspector.rules.base import Severity
from inspector.sources import captures

FOLDER = Path(os.environ.get("INSPECTOR_EVIDENCE") or Path(__file__).parents[2].parent / "shared" / "evidence" / "verdicts").absolute()

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="INSPECTOR_EVIDENCE names no folder with evidence")


def only(name: str) -> StreamAnalysis:
    path = FOLDER / name
    kind = captures.kind_of(captures.of_path(path), name)
    assert kind is not None
    (found,) = captures.read(path, kind).exchanges
    return analysed(found)


def serious(found: StreamAnalysis) -> list[str]:
    return [each.code for each in found.findings if each.severity is not Severity.NOTE]


def test_json_lines_under_their_own_type_are_no_wrong_framing() -> None:
    assert serious(only("xjsonl.yaml")) == []


def test_a_ui_message_stream_is_not_judged_as_openai_chat() -> None:
    found = only("ui-message-stream-v1.sse")

    assert (found.findings, found.protocol) == ((), "AI SDK UI message stream")
    assert found.verdict == "Not judged: AI SDK UI message stream is not read here."


def test_a_client_that_lost_a_choice_is_named() -> None:
    found = only("n2-choice-lost.capture.jsonl")

    assert [(each.rule, each.severity, each.message) for each in found.findings if each.severity is not Severity.NOTE] == [
        ("choice-lost", Severity.ERROR, "Choice 1 of the backend did not reach the client: Beta answer, quite different.")
    ]
