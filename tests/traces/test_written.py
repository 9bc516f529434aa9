"""Which rows a step wrote: those of its calls, and of an answer of words alone those that follow what the step was given."""

import pytest

from inspector.rules.case_notation import load_case
from inspector.traces.written import written

A, B = "turn-1782590000000-a", "turn-1782590060000-b"
ROWS = f"""1 user 0.0 text go
2 assistant 1.0 tool-call a ls {{}} step="{A}#0"
3 tool 2.0 tool-result a f name=ls step="{A}#0"
4 assistant 3.0 text done
5 user 4.0 text more
6 assistant 5.0 thinking "<invoke>ls</invoke>"
7 assistant 5.1 text "\\n\\n"
"""
STEPS = f"""step {A}#0
step {A}#1
step {B}#0
prompt {A}#0 1 user 0.0 text go
prompt {B}#0 1 user 0.0 text go
prompt {B}#0 2 assistant 1.0 text done
prompt {B}#0 3 user 2.0 text more
"""


def seqs(text: str) -> dict[str, list[int]]:
    case = load_case(text, "dispatch-legacy")
    assert case.trace is not None
    return {step: [chunk.seq for chunk in chunks] for step, chunks in written(case.trace, case.conversation.chunks).items()}


def test_a_step_of_words_alone_has_the_rows_that_follow() -> None:
    assert seqs(ROWS + STEPS) == {f"{A}#0": [2, 3], f"{A}#1": [4], f"{B}#0": [6, 7]}


def test_without_a_prompt_a_turn_of_words_alone_is_not_placed() -> None:
    without = "\n".join(line for line in STEPS.split("\n") if not line.startswith("prompt"))
    assert seqs(ROWS + without) == {f"{A}#0": [2, 3], f"{A}#1": [4]}


def test_an_answer_that_left_no_row_takes_none_of_another_turn() -> None:
    assert seqs(ROWS.replace("4 assistant 3.0 text done\n", "") + STEPS) == {f"{A}#0": [2, 3], f"{B}#0": [6, 7]}
    cut = ROWS[: ROWS.index("6 assistant")]
    assert seqs(cut + STEPS) == {f"{A}#0": [2, 3], f"{A}#1": [4]}


def test_words_that_were_said_more_often_than_the_trace_shows_place_no_turn() -> None:
    assert seqs(ROWS + "8 user 6.0 text more\n9 assistant 7.0 text again\n" + STEPS) == {f"{A}#0": [2, 3], f"{A}#1": [4]}


def test_what_the_user_said_meanwhile_is_stepped_over() -> None:
    steered = ROWS.replace("4 assistant 3.0 text done\n5 user 4.0 text more", "4 user 3.0 text stop\n5 assistant 4.0 text stopped")
    steered = steered[: steered.index("6 assistant")]
    prompts = f"""step {A}#0
step {A}#1
prompt {A}#1 1 user 0.0 text go
prompt {A}#1 2 assistant 1.0 tool-call a ls {{}} step="{A}#0"
prompt {A}#1 3 tool 2.0 tool-result a f name=ls step="{A}#0"
prompt {A}#1 4 user 3.0 text stop
"""
    assert seqs(steered + prompts) == {f"{A}#0": [2, 3], f"{A}#1": [5]}


@pytest.mark.parametrize(
    "row", [f'4 assistant 3.0 tool-call z rm {{}} step="{A}#9"', "4 system 3.0 text note", "4 tool 3.0 tool-result z x name=rm"]
)
def test_a_row_of_something_else_is_not_taken(row: str) -> None:
    assert f"{A}#1" not in seqs(ROWS.replace("4 assistant 3.0 text done", row) + STEPS)


def test_the_words_before_a_call_are_of_its_step() -> None:
    rows = f"""1 user 0.0 text go
2 assistant 1.0 thinking hm
3 assistant 1.1 tool-call a ls {{}} step="{A}#0"
4 tool 2.0 tool-result a f name=ls step="{A}#0"
step {A}#0
"""
    assert seqs(rows) == {f"{A}#0": [2, 3, 4]}
