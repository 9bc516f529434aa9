"""Strategies for gbrain's jobs: nothing stored is renumbered, removed or spelled otherwise."""

import pytest

from inspector.planning.preview import NothingToDo, compose
from inspector.profiles.judging import judged
from inspector.programs.formats import Stored, WriteRefused, after
from inspector.programs.gbrain.readers import VERSIONS
from inspector.programs.gbrain.tables import MESSAGES
from inspector.rules.base import case_of
from inspector.strategies.catalogue import STRATEGIES, strategy
from inspector.text import jsonb
from inspector.text.jsontext import compact
from tests.folding import in_one_test
from tests.programs.gbrain.conformance_rows import ASKED, ROWS, Case, Run, call, stored
from tests.programs.gbrain.strategies.repaired_jobs import JOBS, recommended, rows, tried

READERS = [version.name for version in VERSIONS]


@pytest.mark.parametrize("name", JOBS)
def test_each_strategy_writes_what_it_previews_or_says_in_one_sentence_why_not(name: str) -> None:
    job = JOBS[name]
    before = rows(job)
    for reader in READERS:
        for names in [(each.name,) for each in STRATEGIES] + [tuple(recommended(job))]:
            try:
                made = tried(job, *names, reader=reader)
            except NothingToDo:
                continue
            except WriteRefused as refused:
                assert refused.reason.endswith(".") and "\n" not in refused.reason, names
                continue
            now = rows(job, made)
            assert all(change.key.startswith(f"{MESSAGES}:") and change.after is not None for change in made.changes), names
            assert before.keys() <= now.keys(), names
            assert after(after(job.records, made.changes), [change.reversed() for change in reversed(made.changes)]) == sorted(
                job.records, key=lambda each: each.key
            )
            assert all(isinstance(jsonb.parse(now[int(change.key.rpartition(":")[2])]), list) for change in made.changes), names
            assert not compose(made.after.case, [strategy(each) for each in names]), f"{names}: a second run finds something to do"


@pytest.mark.parametrize("goal", ["ai-sdk-6", "ai-sdk-7", "anthropic-2026-07", "openai-chat"])
@in_one_test("name", JOBS)
def test_what_is_recommended_for_a_provider_can_be_written(name: str, goal: str) -> None:
    names = recommended(JOBS[name], goal)
    assert not names or tried(JOBS[name], *names).changes


@pytest.mark.parametrize("name", ["rename-repeated-ids", "shorten-ids", "rename-invalid-ids", "sanitize-tool-names"])
def test_no_call_loses_its_run_in_the_ledger(name: str) -> None:
    """gbrain would not find it under another id, and run the tool a second time."""
    long = "x" * 80 + "!"
    job = stored(
        Case(
            "",
            "",
            {0: ASKED, 1: ("assistant", [call(long, "he ad"), call(long, "body")])},
            (Run(1, 0, long, "he ad", output=1), Run(1, 1, long, "body", output=2)),
        )
    )
    with pytest.raises(WriteRefused, match="run the tool again"):
        tried(job, name)
    made = tried(job, "insert-ledger-results", name)
    assert [
        words
        for _, words, _ in (
            (chunk.call_id, chunk.text, chunk.is_error) for chunk in made.after.case.conversation.chunks if chunk.role == "tool"
        )
    ] == ["1", "2"]


@pytest.mark.parametrize("reader", READERS)
@in_one_test("profile", ["ai-sdk-6", "ai-sdk-7"])
@in_one_test("row", [row for row in ROWS if row.repairable], ids=lambda row: row.number)
def test_after_the_recommended_repair_no_reader_is_refused(row: Case, profile: str, reader: str) -> None:
    job = stored(row)
    names = recommended(job, profile)
    assert bool(names) == bool(row.refusal)
    repaired = tried(job, *names).after.case.conversation if names else job.conversation
    found = case_of(repaired, reader)
    assert judged(found.reading, repaired, profile, "ai-sdk")[1].sendable and not found.reading.failure


@pytest.mark.parametrize("row", [row for row in ROWS if row.repairable and row.refusal], ids=lambda row: row.number)
def test_what_is_recommended_says_what_the_ledger_has_before_it_makes_anything_up(row: Case) -> None:
    job = stored(row)
    made = tried(job, *recommended(job))
    outcomes = {compacted(run) for run in row.ledger if run.status != "pending" and run.index in row.messages}
    assert outcomes <= {chunk.text for chunk in made.after.case.conversation.chunks if chunk.role == "tool"}
    assert said_before(job) <= {chunk.text for chunk in made.after.case.conversation.chunks}


def compacted(run: Run) -> str:
    if run.status == "failed":
        return run.error or "tool failed"
    return run.output if isinstance(run.output, str) else compact(run.output)


def said_before(job: Stored) -> set[str]:
    return {chunk.text for chunk in job.conversation.chunks}
