"""The table of attacks and faults is of tests that exist, and its counts are those of the run."""

from pathlib import Path

import pytest

from tests import reliability
from tests.reliability import PAGE, ROOT, ROWS, TRIES, Tally, files, rows_of, table


def test_every_pattern_names_tests() -> None:
    chosen, unused = files(), []
    for _, _, patterns in ROWS:
        for pattern in patterns:
            path, _, name = pattern.partition("::")
            matching = [Path(ROOT / each) for each in chosen if reliability.fnmatchcase(each, path)]
            word = name.strip("*").removeprefix("test*").strip("*")
            if not any(word in file.read_text() for file in matching):
                unused.append(pattern)
    assert unused == []


def test_the_page_has_a_row_for_each_kind() -> None:
    page = PAGE.read_text()
    assert [kind for kind, _, _ in ROWS if f"| {kind} |" not in page] == []


def test_a_test_belongs_to_the_rows_that_name_it() -> None:
    kinds = [ROWS[number][0] for number in rows_of("tests/views/test_inbox.py::test_a_hostile_title_is_shown_and_not_run[a/b::c]")]
    assert kinds == ["Scripts, markup and control characters in conversations"]
    assert rows_of("tests/views/test_inbox.py::test_the_inbox") == []


def test_what_failed_is_tried_and_did_not_hold() -> None:
    tally = Tally()
    place = ("tests/fuzz/test_targets.py", 1, "test")
    for outcome, when, properties in (
        ("passed", "setup", []),
        ("passed", "call", []),
        ("failed", "call", []),
        ("failed", "setup", []),
        ("skipped", "setup", []),
        ("passed", "call", [(TRIES, 40)]),
    ):
        report = pytest.TestReport("tests/fuzz/test_targets.py::test", place, {}, outcome, None, when, user_properties=properties)  # type: ignore[arg-type]
        tally.pytest_runtest_logreport(report)
    assert "| Any bytes | are read or refused in a sentence | 43 | 41 | 1 |" in table(tally)
