"""What `fix-counter` writes: the counter alone, and nothing where it is right."""

import pytest

from inspector.programs.formats import Cell
from tests.programs.dispatch.appended_stores import A, Store, U, appended
from tests.programs.dispatch.strategies.repaired_rows import nothing_to_do, repaired

COUNTER = "conv:c1:seq"


def counted(counter: str | None) -> Store:
    values = appended([U("go")], [A("done")]).values
    return Store({**{key: value for key, value in values.items() if key != COUNTER}, **({} if counter is None else {COUNTER: counter})})


@pytest.mark.parametrize("counter", ["1", "9", "NaN", "", None])
def test_the_counter_becomes_the_number_of_the_last_row(counter: str | None) -> None:
    (change,) = repaired(counted(counter), "fix-counter").changes
    assert (change.key, change.after) == (COUNTER, Cell(b"2"))


def test_a_counter_that_is_the_number_of_the_last_row_is_left_alone() -> None:
    assert nothing_to_do(counted("2"), "fix-counter")
