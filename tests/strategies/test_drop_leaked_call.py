"""What `drop-leaked-call` writes in stored rows, what stays byte for byte, and what it leaves alone."""

from tests.programs.dispatch.appended_stores import th, tx
from tests.programs.dispatch.strategies.repaired_rows import MODES, codes, leaking, repaired, rows


@MODES
def test_leaked_calls_at_the_end_of_a_turn_are_dropped_whole(mode: str) -> None:
    preview = repaired(leaking("so far", th("<function=run_shell>..."), tx("<invoke ...")), "drop-leaked-call", mode=mode)
    assert [row["chunk"]["text"] for row in rows(preview)] == ["go", "so far", "and?", "sorry"]
    assert "THINK301" not in codes(preview)
