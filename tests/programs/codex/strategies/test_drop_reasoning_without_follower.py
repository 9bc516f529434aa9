"""Reasoning that led to nothing goes; all other reasoning stays."""

from typing import Any

import pytest

from tests.programs.codex.threads import assistant, call, event, item, output, reasoning, thread, user
from tests.programs.codex.writing_threads import edits_of, repaired

DROP = "drop-reasoning-without-follower"


def test_its_line_goes_and_so_does_the_event_that_shows_it() -> None:
    summary = [{"type": "summary_text", "text": "I think"}]
    data = thread(user("q1"), reasoning(summary=summary), event("agent_reasoning", text="I think"), user("q2"), assistant("a2"))
    lines = data.splitlines(keepends=True)
    assert repaired(data, DROP) == b"".join([*lines[:2], *lines[4:]])


@pytest.mark.parametrize("content", [None, [], [{"type": "text", "text": "t"}], [{"type": "reasoning_text", "text": "t"}]])
def test_content_that_is_not_sent_goes_with_it(content: Any) -> None:
    """Rollouts keep `content: null`. What is sent of such reasoning is not what is stored, and an edit of it would fit no line."""
    data = thread(user("q1"), reasoning(content=content), user("q2"), assistant("a2"))
    lines = data.splitlines(keepends=True)
    assert repaired(data, DROP) == b"".join([*lines[:2], *lines[3:]])


def test_what_led_to_a_call_or_an_answer_stays() -> None:
    assert not edits_of(thread(user("q1"), reasoning("rs_1"), call("c1"), output("c1"), reasoning("rs_2"), assistant("a1")), DROP)


def test_what_has_no_id_stays() -> None:
    assert not edits_of(thread(user("q1"), item({"type": "reasoning", "summary": [], "encrypted_content": "e"}), user("q2")), DROP)
