"""Our profiles say of every history what the real judge said of it: verdicts.json is the judges' own answer, kept."""

import json

import pytest

from inspector.profiles.catalogue import profile
from tests.folding import in_one_test
from tests.judges.reading import HISTORIES, verdict
from tests.judges.running import JUDGES, VERDICTS

TOLD = json.loads(VERDICTS.read_text("utf-8"))
NAMES = [judge.name for judge in JUDGES]


def test_every_history_was_judged_by_every_judge() -> None:
    assert len(HISTORIES) >= 200
    assert list(TOLD["histories"]) == list(HISTORIES)
    assert list(TOLD["versions"]) == NAMES
    assert all(list(told) == NAMES for told in TOLD["histories"].values())


@pytest.mark.parametrize("judge", NAMES)
def test_each_judge_takes_some_histories_and_refuses_some(judge: str) -> None:
    assert {told[judge]["ok"] for told in TOLD["histories"].values()} == {True, False}


@pytest.mark.parametrize("judge", NAMES)
@in_one_test("name", HISTORIES)
def test_our_verdict_is_that_of_the_judge(name: str, judge: str) -> None:
    told, ours = TOLD["histories"][name][judge], verdict(name, judge)
    assert ours.sendable == told["ok"], told["error"] or [found.text for found in ours.violations]


@pytest.mark.parametrize("judge", NAMES)
@in_one_test("name", HISTORIES)
def test_the_text_of_the_judge_is_one_of_ours_and_is_recognised(name: str, judge: str) -> None:
    error = TOLD["histories"][name][judge]["error"]
    if error is not None:
        same = [found for found in verdict(name, judge).violations if error.endswith(found.text)]
        assert same
        rules = {rule.id: rule for rule in profile(judge).rules}
        assert any(pattern.search(error) for found in same for pattern in rules[found.id].patterns())
