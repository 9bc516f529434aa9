"""Which result answers which call, where an id is used again and one of the calls is in a row that nobody can read."""

import pytest

from inspector.conversation.pairing import answered
from inspector.rules.base import Case
from inspector.rules.base import answered as answered_in
from inspector.strategies.catalogue import strategy
from tests.programs.pi_openclaw.session_files import a, call, header, lines, r, text, u
from tests.programs.pi_openclaw.strategies.repaired_trees import case_of, of_shape, stored


def pairs(case: Case) -> list[tuple[str, list[str]]]:
    return [(str(answer.call.payload["input"].get("x", "")), [result.text for result in answer.results]) for answer in answered_in(case)]


@pytest.mark.parametrize(
    ("shape", "wanted"),
    [
        ("U A(c1) R(c1=one) U A(c1) R(c1=two) U", [["one"], ["two"]]),
        # The one before its call is of the call that has none.
        ("U R(c1=one) A(c1) U", [["one"]]),
        ("U R(c1=one) A(c1) R(c1=two) U A(c1) U", [["two"], ["one"]]),
        # Of a call that is nowhere: what is in its place stays there.
        ("U R(c1=one) A(c1) R(c1=two) U", [["two"]]),
        # A second result of the first call, and not one of the next.
        ("U A(c1) R(c1=one) R(c1=again) U A(c1) R(c1=two) U", [["one", "again"], ["two"]]),
        ("U A(c1) R(c1=one) R(c1=again) U A(c1) U", [["one"], ["again"]]),
    ],
)
def test_a_result_takes_no_place_of_another(shape: str, wanted: list[list[str]]) -> None:
    assert [[result.text for result in answer.results] for answer in answered(of_shape(shape).messages)] == wanted


def torn(*calls: int) -> Case:
    """A session whose first call is in a torn line; each later one has a result where `calls` says so."""
    rows = [u("e1", None), a("e2", "e1", call("c1", x=1)), r("e3", "e2", "c1", "one"), a("e4", "e3", text("well")), u("e5", "e4")]
    for number, has_result in enumerate(calls, 2):
        rows.append(a(f"c{number}", rows[-1]["id"], call("c1", x=number)))
        if has_result:
            rows.append(r(f"r{number}", rows[-1]["id"], "c1", f"of {number}"))
    data = lines(header(), *rows, u("end", rows[-1]["id"])).splitlines(keepends=True)
    data[2] = data[2][:-30] + b"\n"
    return case_of(stored(b"".join(data)).conversation, "verbatim")


def test_the_result_of_a_call_in_a_torn_line_is_given_to_no_other_call() -> None:
    """`move-results` wrote it as what the later call returned, and was safe."""
    assert pairs(torn(0)) == [("2", [])]
    assert list(strategy("move-results").edits(torn(0))) == []


def test_one_torn_line_shifts_no_pairs() -> None:
    """`rename-repeated-ids` gave each later result the id of the next call."""
    assert pairs(torn(1, 1)) == [("2", ["of 2"]), ("3", ["of 3"])]
    assert {edit.new.text or str(edit.new.payload["input"]) for edit in strategy("rename-repeated-ids").edits(torn(1, 1))} == {
        "of 3",
        "{'x': 3}",
    }  # type: ignore[union-attr]


def test_thousands_of_results_and_of_torn_lines_are_looked_through_once() -> None:
    """Each result before its call was looked for in every torn line: 8,000 of each took seven seconds."""
    many, rows = 8_000, [u("e0", None)]
    for number in range(many):
        rows.append(r(f"r{number}", rows[-1]["id"], f"c{number}"))
    for number in range(many):
        rows.append(a(f"a{number}", rows[-1]["id"], call(f"c{number}")))
    torn_lines = b"".join(b'{"id":"t%d","text":"{\\"id\\":\\"c%d\\n' % (number, number) for number in range(1, many))
    case = case_of(stored(lines(header(), *rows) + torn_lines).conversation, "verbatim")
    assert [answer.call.call_id for answer in answered_in(case) if answer.results] == ["c0"]
