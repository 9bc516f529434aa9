"""What `strip-error-chunks` removes, and what only looks like an error."""

from tests.programs.dispatch.appended_stores import A, U, appended, er
from tests.programs.dispatch.strategies.repaired_rows import MODES, key, nothing_to_do, repaired, rows


@MODES
def test_the_errors_of_an_answer_go_and_its_words_stay(mode: str) -> None:
    preview = repaired(appended([U("go")], [A("so far", er())], [U("and?")]), "strip-error-chunks", mode=mode)
    assert [row["chunk"]["text"] for row in rows(preview)] == ["go", "so far", "and?"]


def test_in_place_no_other_row_changes() -> None:
    changes = repaired(appended([U("go")], [A("so far", er())], [U("and?")]), "strip-error-chunks").changes
    assert [(change.key, change.after) for change in changes] == [(key(3), None)]


def test_an_error_of_the_user_and_words_about_one_are_left_alone() -> None:
    assert nothing_to_do(appended([U("go", er())], [A("HTTP 401: no")]), "strip-error-chunks")
