"""What `promote-guessed-call` makes of a parameter whose type nothing says, and what it leaves as text."""

from tests.programs.dispatch.appended_stores import th
from tests.programs.dispatch.strategies.repaired_rows import CALL, MODES, leaking, nothing_to_do, repaired, rows

UNTYPED = "<function=head>\n<parameter=lines>\n7\n</parameter>\n</function>"


@MODES
def test_a_parameter_whose_type_nothing_says_becomes_text(mode: str) -> None:
    store = leaking(th(UNTYPED))
    assert nothing_to_do(store, "promote-leaked-call")
    (call,) = (row["chunk"] for row in rows(repaired(store, "promote-guessed-call", mode=mode)) if row["chunk"]["type"] == "tool-call")
    assert (call["toolName"], call["input"]) == ("head", {"lines": "7"})


def test_a_call_that_needs_no_guess_becomes_what_promote_leaked_call_makes_of_it() -> None:
    store = leaking(th(CALL))
    assert rows(repaired(store, "promote-guessed-call")) == rows(repaired(store, "promote-leaked-call"))


def test_a_call_that_is_cut_off_is_left_as_text() -> None:
    assert nothing_to_do(leaking(th(UNTYPED.removesuffix("</function>"))), "promote-guessed-call")
