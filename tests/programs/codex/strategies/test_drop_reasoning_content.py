"""Reasoning of another provider loses its content, and nothing else."""

import pytest

from tests.programs.codex.threads import assistant, reasoning, thread, user
from tests.programs.codex.writing_threads import edits_of, repaired, values

DROP = "drop-reasoning-content"
CONTENT = [{"type": "reasoning_text", "text": "I think"}]


@pytest.mark.parametrize("summary", [[], [{"type": "summary_text", "text": "short"}]])
def test_the_item_stays_with_its_id_and_summary(summary: list[dict[str, str]]) -> None:
    data = thread(user("q1"), reasoning(content=CONTENT, summary=summary, unknown=1), assistant("a1"))
    after = repaired(data, DROP)
    assert values(after)[2]["payload"] == {**values(data)[2]["payload"], "content": None}
    assert [*after.splitlines()[:2], *after.splitlines()[3:]] == [*data.splitlines()[:2], *data.splitlines()[3:]]
    assert not edits_of(after, DROP)


def test_reasoning_without_content_stays() -> None:
    assert not edits_of(thread(user("q1"), reasoning(content=None), reasoning(content=[]), assistant("a1")), DROP)
