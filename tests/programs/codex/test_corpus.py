"""The public rollout files next to this repository, each finding checked by hand. Skipped where they are not there."""

import os
from pathlib import Path

import pytest

from inspector.programs.catalogue import format_named
from inspector.programs.formats import Cell, Record
from inspector.rules.base import case_of
from inspector.rules.catalogue import all_findings

CORPUS = Path(os.environ.get("INSPECTOR_SHARED", Path(__file__).parents[4] / "shared")) / "corpus" / "codex"
FINDINGS = {
    "scout/rollout-2026-08-01T10-01-00-0199aaaa-0000-7000-8000-000000000002.jsonl": [],
    "scout/rollout-2026-08-01T10-05-00-0199aaaa-0000-7000-8000-000000000006.jsonl": [],
    "scout/rollout-2026-08-01T10-06-00-0199aaaa-0000-7000-8000-000000000007.jsonl": [],
    # Its id is no UUID, its compaction has no message, its last line is `{not valid json}`.
    "session-doctor/basic-session.jsonl": ["STORE801", "STORE811", "STORE814"],
}

pytestmark = [pytest.mark.corpus, pytest.mark.skipif(not CORPUS.exists(), reason=f"{CORPUS} is not there")]


@pytest.mark.parametrize("name", FINDINGS)
def test_no_finding_is_a_false_alarm(name: str) -> None:
    record = Record(name, Cell((CORPUS / name).read_bytes(), "file"))
    conversation = next(iter(format_named("codex").read([record]))).conversation
    assert sorted(finding.code for finding in all_findings(case_of(conversation, "codex"))) == FINDINGS[name]
