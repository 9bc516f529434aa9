"""The public rollout files of the corpus, each finding checked by hand. Nothing of their content is here: names of folders, rules, and counts."""

from collections import Counter

import pytest

from inspector.programs.codex.format import CODEX
from inspector.rules.base import case_of
from inspector.rules.catalogue import all_findings
from inspector.sources.reading import UNREAD_FILES, read_store
from tests.corpus import CORPUS, needs

FOLDER = CORPUS / "codex"
FINDINGS: dict[str, dict[str, int]] = {
    "scout/rollout-2026-08-01T10-01-00-0199aaaa-0000-7000-8000-000000000002.jsonl": {},
    "scout/rollout-2026-08-01T10-05-00-0199aaaa-0000-7000-8000-000000000006.jsonl": {},
    "scout/rollout-2026-08-01T10-06-00-0199aaaa-0000-7000-8000-000000000007.jsonl": {},
    # Its id is no UUID, its compaction has no message, its last line is `{not valid json}`.
    "session-doctor/basic-session.jsonl": {"STORE801 warning": 1, "STORE811 error": 1, "STORE814 error": 1},
    # Hand-made lines of shapes that no rollout has: neither begins with a session_meta, and three records have no timestamp.
    "stage0/schema_drift.jsonl": {"STORE811 error": 1, "STORE812 note": 3},
    "stage0/session_simple.jsonl": {"STORE811 error": 1},
    # Put together and cut by hand: a history_mode that Codex does not have, images without an address (three, one of them in a compaction), an output
    # that is an object, arguments that are null, and six more session_meta whose ids are no UUIDs.
    "stage0/small.jsonl": {"STORE811 error": 1, "STORE812 error": 5, "STORE812 note": 6, "STORE814 error": 2},
}

pytestmark = [pytest.mark.corpus, needs("codex")]


def findings_of(name: str) -> Counter[str]:
    (stored,) = read_store(FOLDER / name, CODEX.name).conversations
    return Counter(f"{finding.code} {finding.severity}" for finding in all_findings(case_of(stored.conversation, CODEX.default_reader)))


@pytest.mark.parametrize("name", FINDINGS)
def test_no_finding_is_a_false_alarm(name: str) -> None:
    assert findings_of(name) == FINDINGS[name]


def test_every_file_is_in_the_table() -> None:
    assert {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.jsonl")} == set(FINDINGS)


def test_of_the_folder_three_are_read_and_the_others_are_named() -> None:
    """Codex takes files for threads by their names."""
    store = read_store(FOLDER)
    assert store.format.name == CODEX.name and len(store.conversations) == 3
    (problem,) = store.problems
    assert problem.where == UNREAD_FILES and all(name in problem.reason for name in FINDINGS if "rollout-" not in name)
