"""Which stored messages a client's prompt merges into one, and which it leaves out."""

import pytest

from inspector.rules.case_notation import load_case
from inspector.traces.prompted import Differences, differences

STEP = "turn-1782590060000-b#0"
ROWS = """1 user 0.0 text go
2 assistant 1.0 text done
3 user 2.0 text more
4 assistant 3.0 text written
"""
GO, DONE, MORE = "user 0.0 text go", "assistant 1.0 text done", "user 2.0 text more"


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ((GO, DONE, MORE), Differences((), ())),
        ((GO, "user 0.1 text done", MORE), Differences((("user", (1, 2)),), ())),
        ((GO, MORE), Differences((), (2,))),
        ((DONE, MORE), Differences((), (1,))),
        ((GO, DONE), Differences((), (3,))),
        ((GO, "assistant 1.0 text changed", MORE), None),
        ((MORE, GO), None),
        ((GO, DONE, MORE, "assistant 3.0 text written"), None),
        ((), None),
    ],
    ids=[
        "as stored", "merged", "left out in the middle", "at the front", "at the end",
        "other words", "another order", "what the step wrote", "no body",
    ],
)  # fmt: skip
def test_differences_are_named_where_every_part_of_the_prompt_is_a_stored_row(
    prompt: tuple[str, ...], expected: Differences | None
) -> None:
    lines = [f"prompt {STEP} {number} {line}" for number, line in enumerate(prompt, 1)]
    case = load_case(ROWS + "\n".join([f"step {STEP}", *lines]) + "\n", "dispatch-legacy")
    assert case.trace is not None
    assert differences(case.trace, case.trace.steps()[0], case.conversation.chunks, written_from=4) == expected
