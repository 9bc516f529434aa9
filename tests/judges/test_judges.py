"""The real judges, asked again: what verdicts.json keeps is what they say. Skipped where they are not installed."""

import json

import pytest

from tests.judges.reading import HISTORIES, requests
from tests.judges.running import JUDGES, VERDICTS, Judge

pytestmark = pytest.mark.judges


@pytest.mark.parametrize("judge", JUDGES, ids=lambda judge: judge.name)
def test_the_judge_says_again_what_is_kept(judge: Judge) -> None:
    if reason := judge.missing():
        pytest.skip(reason)
    told = json.loads(VERDICTS.read_text("utf-8"))
    answer = judge.ask(requests(judge.name))
    assert answer["version"] == told["versions"][judge.name]
    assert answer["verdicts"] == {name: told["histories"][name][judge.name] for name in HISTORIES}
