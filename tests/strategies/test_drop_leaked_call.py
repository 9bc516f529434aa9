"""What `drop-leaked-call` writes in stored rows, what stays byte for byte, and what it leaves alone."""

import pytest

from inspector.conversation.edits import Safety
from inspector.strategies.catalogue import strategy
from tests.programs.dispatch.appended_stores import Block, th, tx
from tests.programs.dispatch.strategies.repaired_rows import MODES, codes, leaking, repaired, rows


@MODES
def test_leaked_calls_at_the_end_of_a_turn_are_dropped_whole(mode: str) -> None:
    preview = repaired(leaking("so far", th("<function=run_shell>..."), tx("<invoke ...")), "drop-leaked-call", mode=mode)
    assert [row["chunk"]["text"] for row in rows(preview)] == ["go", "so far", "and?", "sorry"]
    assert "THINK301" not in codes(preview)


CALL = "<function=run_shell>\n<parameter=command>\nls\n</parameter>\n</function>"
ONLY, GENERAL = (
    "The call leaves the history: what is removed holds nothing else.",
    "The whole chunk leaves the history, with what the model wrote before the call.",
)


@pytest.mark.parametrize(
    ("chunk", "cost"),
    [(th(CALL), ONLY), (th(f"\n{CALL}\n"), ONLY), (tx(CALL), ONLY), (th(f"I look.\n{CALL}"), GENERAL)],
    ids=["alone", "between blank lines", "in text", "after words"],
)
def test_it_costs_the_words_before_a_call_only_where_there_are_any(chunk: Block, cost: str) -> None:
    """A reviewer was told of a lossy repair that words leave, of a chunk that held none."""
    case = repaired(leaking("so far", chunk), "drop-leaked-call").before.case
    own = strategy("drop-leaked-call").of(case)
    assert own.cost == cost and own.safety == {Safety.LOSSY}
