"""What `relabel-answer` labels as an answer again: a line of the user's with the id and the model of one."""

import json
from typing import Any

import pytest

from inspector.planning.preview import compose
from inspector.strategies.catalogue import strategy
from tests.programs.claude_code.session_lines import a, call, case, encoded, lines, r, said, text, u
from tests.programs.claude_code.strategies.repaired_sessions import SAME_FILE, codes, each_mode, written

NAME = "relabel-answer"
ANSWER = a("a1", "u1", "m1", text("I look."), 1)
GO, NEXT = u("u1", None), u("u2", "a1", "and?", 2)


def as_users(answer: dict[str, Any]) -> dict[str, Any]:
    return {**answer, "type": "user", "message": {**answer["message"], "role": "user"}}


@each_mode
def test_the_answer_is_the_models_again(mode: str) -> None:
    assert codes(case(GO, as_users(ANSWER), NEXT)) == ["MSG801"]
    later, _ = written([NAME], mode, GO, as_users(ANSWER), NEXT)
    assert said(later.conversation) == ["user:go", "assistant:I look.", "user:and?"] and codes(later) == []


def test_type_and_role_change_and_nothing_else() -> None:
    _, data = written([NAME], SAME_FILE, GO, as_users(ANSWER), NEXT)
    first, changed, last = data.splitlines()
    assert (first, json.loads(changed), last) == (encoded(GO), ANSWER, encoded(NEXT))


def test_a_call_that_was_the_users_has_its_result_again() -> None:
    called, result = a("a1", "u1", "m1", call("t1"), 1), r("r1", "a1", "t1")
    assert "TOOL202" in codes(case(GO, as_users(called), result))
    later, data = written([NAME], SAME_FILE, GO, as_users(called), result)
    assert said(later.conversation) == ["user:go", "assistant:t1", "tool:done"] and codes(later) == []
    assert data.splitlines(keepends=True)[2] == lines(result)


@pytest.mark.parametrize("name", ["id", "model"])
def test_a_line_without_the_id_or_the_model_of_an_answer_is_left(name: str) -> None:
    """A person may paste what a model said."""
    line = as_users(ANSWER)
    del line["message"][name]
    assert compose(case(GO, line, NEXT), [strategy(NAME)]) == ()
