"""The real judges, asked again: what the files of verdicts keep is what they say. Skipped where they are not installed."""

import pytest

from tests.judges.inquiries import INQUIRIES, Inquiry
from tests.judges.running import Judge

pytestmark = pytest.mark.judges
EACH = [pytest.param(inquiry, judge, id=f"{inquiry.name}-{judge.name}") for inquiry in INQUIRIES for judge in inquiry.judges]


@pytest.mark.parametrize(("inquiry", "judge"), EACH)
def test_the_judge_says_again_what_is_kept(inquiry: Inquiry, judge: Judge) -> None:
    if reason := judge.missing():
        pytest.skip(reason)
    answer = judge.ask(inquiry.requests(judge.profile))
    assert answer["version"] == inquiry.told["versions"][judge.name]
    assert answer["verdicts"] == {name: told[judge.name] for name, told in inquiry.told["histories"].items() if judge.name in told}
