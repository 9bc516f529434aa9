"""What `unsigned-thinking-to-text` turns into text: thinking with words and no signature, and no other."""

from typing import Any

import pytest

from inspector.planning.preview import compose
from inspector.strategies.catalogue import strategy
from tests.programs.claude_code.session_lines import a, case, lines, said, text, thinking, u
from tests.programs.claude_code.strategies.repaired_sessions import SAME_FILE, codes, each_mode, written

NAME = "unsigned-thinking-to-text"
GO, DONE = u("u1", None), a("a2", "a1", "m1", text("done"), 1)


@each_mode
@pytest.mark.parametrize("block", [thinking("cut off", ""), thinking("cut off", " "), {"type": "thinking", "thinking": "cut off"}])
def test_thinking_without_a_signature_is_text_of_its_answer(block: dict[str, Any], mode: str) -> None:
    assert codes(case(GO, a("a1", "u1", "m1", block, 1), DONE)) == ["THINK201"]
    later, _ = written([NAME], mode, GO, a("a1", "u1", "m1", block, 1), DONE)
    assert said(later.conversation) == ["user:go", "assistant:<thinking>\ncut off\n</thinking>", "assistant:done"]
    assert codes(later) == []


def test_signed_thinking_of_the_same_session_and_all_other_lines_keep_their_bytes() -> None:
    rest = (DONE, u("u2", "a2", "and?", 2), a("b1", "u2", "m2", thinking("two", "SIG2"), 3), a("b2", "b1", "m2", text("well"), 3))
    _, data = written([NAME], SAME_FILE, GO, a("a1", "u1", "m1", thinking("cut off", ""), 1), *rest)
    as_text = a("a1", "u1", "m1", text("<thinking>\ncut off\n</thinking>"), 1)
    assert data == lines(GO, as_text, *rest)


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(thinking("hm", "SIG1"), id="signed"),
        pytest.param(thinking("", "SIG1"), id="signed, its words in no line"),
        pytest.param(thinking(" \n", ""), id="no words that a text could say"),
        pytest.param({"type": "redacted_thinking", "data": "SIG1"}, id="redacted"),
        pytest.param(text("<thinking>\nhm\n</thinking>"), id="text already"),
    ],
)
def test_other_blocks_are_left(block: dict[str, Any]) -> None:
    assert compose(case(GO, a("a1", "u1", "m1", block, 1), DONE), [strategy(NAME)]) == ()
