"""Session files of public repositories, each finding checked by hand: how many of each rule, and that no call and no result is a false orphan.

The files are of other people, so that nothing of their content is here: the name of the folder that each came in, rules, and counts.
"""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from inspector.conversation import queries
from inspector.programs.claude_code.format import CLAUDE_CODE
from inspector.rules.base import Case, case_of
from inspector.rules.catalogue import all_findings
from inspector.sources.reading import read_store
from tests.corpus import CORPUS, needs

FOLDER = CORPUS / "claude-code"
FILES = {
    "ccl-fixtures": 14,
    "ccl-real": 6,
    "dkimuson": 1,
    "entire": 7,
    "nemo": 1,
    "randlee": 7,
    "scout": 4,
    "session-doctor": 1,
    "stage0": 2,
    "vscode": 5,
}
FINDINGS: dict[str, dict[str, int]] = {
    # Hand-made: a fork, and two files in which no line names a parent; pieces of an agent; an agent that ends with thinking, which has no signature.
    "ccl-fixtures": {"TREE201 note": 1, "TREE205 note": 1, "TREE205 warning": 2, "THINK201 warning": 1, "THINK401 note": 1},
    # The one answer of an agent holds calls as text, and the results that it made up for them.
    "ccl-real": {"THINK301 error": 1},
    # Recorded in the middle of a turn: one ends with a call, one with thinking; two hold two records on one line, one an agent whose file is not there.
    "entire": {"STORE802 note": 2, "STORE904 note": 1, "THINK401 note": 1, "TOOL101 note": 1},
    # A generator wrote it: every seventh call has no result, as many results have no call, and no thinking has a signature.
    "nemo": {"TOOL101 note": 1, "TOOL102 error": 48, "TOOL202 error": 48, "THINK201 warning": 286},
    # Agents that begin in the middle of a session.
    "randlee": {"TREE201 note": 5},
    # The result names a call that nobody made, and the call before it has none.
    "session-doctor": {"TOOL102 error": 1, "TOOL202 error": 1},
    # A call and its result without an id in both files, and thinking without a signature in one.
    "stage0": {"TOOL213 error": 2, "THINK201 warning": 1},
    # Two sessions without files of their agents (of one and of three), and one result of 89 KB.
    "vscode": {"STORE904 note": 2, "TOOL501 note": 1},
}
"""By folder, then by rule and severity."""

pytestmark = [pytest.mark.corpus, needs("claude-code")]


@dataclass
class Raw:
    """What a file says, line by line, whatever leads to a line."""

    lines: list[dict[str, Any]] = field(default_factory=list)

    @property
    def calls(self) -> set[str]:
        return ids_of(self.lines, "tool_use", "id")

    @property
    def results(self) -> set[str]:
        return ids_of(self.lines, "tool_result", "tool_use_id")

    @property
    def true_orphans(self) -> set[str]:
        """Calls without a result, and results without a call, in all of the file."""
        return self.calls ^ self.results

    @property
    def results_of_slices(self) -> set[str]:
        parents = {None, *(line.get("uuid") for line in self.lines)}
        return ids_of((line for line in self.lines if line.get("parentUuid") not in parents), "tool_result", "tool_use_id")

    @property
    def walked_orphans(self) -> set[str]:
        """The same of the lines that the parents of the last message lead to, as a reader would have it that follows nothing else."""
        by_id = {line["uuid"]: line for line in self.lines if line.get("uuid")}
        walked: list[dict[str, Any]] = []
        line = next((line for line in reversed(self.lines) if line.get("type") in ("user", "assistant")), None)
        while line is not None and line not in walked:
            walked.append(line)
            line = by_id.get(line.get("parentUuid"))
        return ids_of(walked, "tool_use", "id") ^ ids_of(walked, "tool_result", "tool_use_id")


def blocks(line: dict[str, Any]) -> list[dict[str, Any]]:
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def ids_of(lines: Iterable[dict[str, Any]], kind: str, member: str) -> set[str]:
    return {block[member] for line in lines for block in blocks(line) if block.get("type") == kind and block.get(member)}


def raw(path: Path) -> Raw:
    file = Raw()
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            file.lines.append(value)
    return file


@cache
def cases() -> dict[str, Case]:
    """By the path of its file below the folder; all are read as one store, as a person names it."""
    conversations = read_store(FOLDER, CLAUDE_CODE.name).conversations
    return {stored.records[0].key.partition("/")[2]: case_of(stored.conversation, CLAUDE_CODE.default_reader) for stored in conversations}


def family(name: str) -> str:
    return name.partition("/")[0]


def seqs(case: Case, *codes: str) -> set[int]:
    return {seq for finding in all_findings(case) if finding.code in codes for seq in finding.seqs}


def test_every_file_is_read() -> None:
    assert Counter(map(family, cases())) == FILES


def test_findings_are_those_that_were_checked() -> None:
    counts: dict[str, Counter[str]] = {}
    for name, case in cases().items():
        counts.setdefault(family(name), Counter()).update(
            f"{finding.code} {finding.severity}" for finding in all_findings(case) for _ in range(finding.times)
        )
    assert {name: dict(of_rules) for name, of_rules in counts.items() if of_rules} == FINDINGS


def test_what_is_sent_has_its_partner_wherever_the_file_holds_it() -> None:
    """A walk along parents alone makes orphans of calls and results on sibling branches and of pieces that are not adjacent; the reader makes none."""
    false_orphans: Counter[str] = Counter()
    for name, case in cases().items():
        file = raw(FOLDER / name)
        false_orphans["of a walk"] += len(file.walked_orphans - file.true_orphans)
        called: set[str] = set()
        answered: set[str] = set()
        for message in case.reading.messages:
            for result in queries.results(message):
                assert result.call_id in called or result.call_id not in file.calls, (name, result.seq)
            answered |= {result.call_id for result in queries.results(message)}
            called |= {call.call_id for call in queries.calls(message)}
        assert not (called & file.results) - answered, name
    assert false_orphans["of a walk"] == 22


def test_only_calls_and_results_without_a_partner_in_the_file_are_reported() -> None:
    for name, case in cases().items():
        file = raw(FOLDER / name)
        chunks = {chunk.seq: chunk for chunk in case.conversation.chunks}
        for seq in seqs(case, "TOOL101", "TOOL102"):
            assert chunks[seq].call_id not in file.results, (name, seq)
        for seq in seqs(case, "TOOL202"):
            assert chunks[seq].call_id not in file.calls, (name, seq)


def test_all_of_them_on_the_path_are_reported() -> None:
    """But for the results with which a slice begins, in a line whose parent is in no line: their calls are in another file."""
    for name, case in cases().items():
        file = raw(FOLDER / name)
        sent = {chunk.call_id for message in case.reading.messages for chunk in (*queries.calls(message), *queries.results(message))}
        # What a resume leaves out because nothing answers it was on the path.
        sent |= {chunk.call_id for dropped in case.reading.dropped if not dropped.intentional for chunk in dropped.chunks if chunk.call_id}
        chunks = {chunk.seq: chunk for chunk in case.conversation.chunks}
        reported = {chunks[seq].call_id for seq in seqs(case, "TOOL101", "TOOL102", "TOOL202")}
        assert reported == (file.true_orphans & sent) - file.results_of_slices, name


def results_only(line: dict[str, Any]) -> bool:
    return line.get("type") == "user" and any(block.get("type") == "tool_result" for block in blocks(line))


def has_results_on_sibling_branches(file: Raw) -> bool:
    children: dict[Any, list[dict[str, Any]]] = {}
    for line in spoken(file):
        children.setdefault(line.get("parentUuid"), []).append(line)
    return any(len(lines) > 1 and any(map(results_only, lines)) for parent, lines in children.items() if parent)


def has_pieces_that_are_not_adjacent(file: Raw) -> bool:
    ids = [line["message"].get("id") if line["type"] == "assistant" else None for line in spoken(file)]
    return any(id_ and id_ != before and id_ in ids[:at] for at, (before, id_) in enumerate(zip([None, *ids], ids, strict=False)))


def ends_with_a_call(file: Raw) -> bool:
    lines = spoken(file)
    return bool(lines) and any(block.get("type") == "tool_use" for block in blocks(lines[-1]))


def starts_with_a_result(file: Raw) -> bool:
    lines = spoken(file)
    return bool(lines) and results_only(lines[0])


def has_records_of_thinking_only(file: Raw) -> bool:
    return any(blocks(line) and all(block.get("type") == "thinking" for block in blocks(line)) for line in spoken(file))


def spoken(file: Raw) -> list[dict[str, Any]]:
    return [line for line in file.lines if line.get("type") in ("user", "assistant") and isinstance(line.get("message"), dict)]


SHAPES = {
    has_results_on_sibling_branches: 5,
    has_pieces_that_are_not_adjacent: 3,
    ends_with_a_call: 2,
    starts_with_a_result: 1,
    has_records_of_thinking_only: 16,
}
"""Shapes that look like damage and are none, and how many files have them."""


@pytest.mark.parametrize("has_shape", SHAPES, ids=lambda shape: shape.__name__)
def test_a_shape_that_looks_like_damage_is_none(has_shape: Any) -> None:
    files = {name: case for name, case in cases().items() if has_shape(raw(FOLDER / name))}
    assert len(files) == SHAPES[has_shape]
    # One is damaged in other places, as every finding in it is checked above.
    assert all(not seqs(case, "TOOL102", "TOOL202") for name, case in files.items() if family(name) != "nemo")


def test_a_call_at_the_end_is_noted_only() -> None:
    severities = [
        finding.severity.value for case in cases().values() for finding in all_findings(case) if finding.rule == "unanswered-tail-call"
    ]
    assert severities == ["note", "note"]
