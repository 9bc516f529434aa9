"""What is folded into one item fails as its items would: each case by its name, with its line and reason."""

import re

import pytest

from tests.folding import in_one_test


def test_every_case_runs_and_each_that_fails_is_named() -> None:
    ran = []

    @in_one_test(("number", "limit"), [(1, 2), pytest.param(3, 2, id="too large"), (5, 9), (7, 6)])
    def small(number: int, limit: int) -> None:
        ran.append(number)
        assert number < limit

    with pytest.raises(pytest.fail.Exception, match=r"2 of 4 cases failed") as failure:
        small()
    assert ran == [1, 3, 5, 7]
    lines = [re.sub(r":\d+:", ":LINE:", line) for line in str(failure.value).splitlines() if line.startswith("[")]
    assert lines == [
        "[too large] test_folding.py:LINE: AssertionError: assert 3 < 2",
        "[7-6] test_folding.py:LINE: AssertionError: assert 7 < 6",
    ]


def test_any_error_is_a_failure_of_its_case() -> None:
    @in_one_test("divisor", [0, 1], ids=["nothing", "one"])
    def divided(divisor: int) -> None:
        assert 1 / divisor

    with pytest.raises(pytest.fail.Exception, match=r"\[nothing\] test_folding.py:\d+: ZeroDivisionError"):
        divided()


def test_it_is_skipped_where_all_cases_are() -> None:
    @in_one_test("limit", [0, 1])
    def above(number: int, limit: int) -> None:
        if number <= limit:
            pytest.skip("too small")

    above(number=1)
    with pytest.raises(pytest.skip.Exception, match="too small"):
        above(number=0)


def test_long_cases_are_dealt_out_to_several_items() -> None:
    ran = []

    @in_one_test("number", range(5), most=2)
    def noted(number: int) -> None:
        ran.append(number)

    (mark,) = noted.pytestmark
    for cut in mark.args[1]:
        noted(**{mark.args[0]: cut})
    assert len(mark.args[1]) == 3 and ran == [0, 1, 2, 3, 4]


def test_no_cases_and_marked_cases_are_mistakes() -> None:
    with pytest.raises(AssertionError, match="nothing would be tested"):
        in_one_test("number", [])
    with pytest.raises(AssertionError, match="an item of its own"):
        in_one_test("number", [pytest.param(1, marks=pytest.mark.slow)])
