"""What `list-answer-text` changes of an answer whose content is text."""

import json
from typing import Any

from inspector.planning.preview import compose
from inspector.strategies.catalogue import strategy
from tests.programs.claude_code.session_lines import MODEL, a, case, line, said, text, u
from tests.programs.claude_code.strategies.repaired_sessions import codes, each_mode, written

NAME = "list-answer-text"


def answer(content: Any, **more: Any) -> dict[str, Any]:
    return line("assistant", "a1", "u1", {"id": "m1", "role": "assistant", "model": MODEL, "content": content, "x": 1.0}, 1, **more)


@each_mode
def test_the_text_gets_a_list_around_it(mode: str) -> None:
    values = (u("u1", None), answer("done"), u("u2", "a1", "more", 2))
    assert codes(case(*values)) == ["STORE901"]
    later, data = written([NAME], mode, *values)
    assert codes(later) == [] and said(later.conversation) == ["user:go", "assistant:done", "user:more"]
    message = json.loads(data.splitlines()[1])["message"]
    assert message == {"id": "m1", "role": "assistant", "model": MODEL, "content": [text("done")], "x": 1.0}
    assert json.loads(data.splitlines()[0])["message"]["content"] == "go"


def test_other_answers_and_the_text_of_a_user_are_left() -> None:
    for values in ((u("u1", None), a("a1", "u1", "m1", text("done"))), (u("u1", None), answer("API Error", isApiErrorMessage=True))):
        assert "STORE901" not in codes(case(*values))
        assert compose(case(*values), [strategy(NAME)]) == ()
