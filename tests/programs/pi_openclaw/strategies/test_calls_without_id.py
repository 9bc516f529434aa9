"""A call without an id: pi looks for a result of `undefined`, so that none that is written answers it, and it needs an id first."""

from typing import Any

import pytest

from inspector.rules.base import findings
from inspector.rules.catalogue import RULES
from tests.programs.pi_openclaw.session_files import a, call, header, lines, r, u
from tests.programs.pi_openclaw.strategies.repaired_trees import MODES, of, recommended, repaired, said, written

NO_ID = {name: value for name, value in call("c1").items() if name != "id"}
OPEN, STRAY = (
    (u("u1", None), a("a1", "u1", NO_ID), u("u2", "a1")),
    (u("u1", None), a("a1", "u1", NO_ID), r("r1", "a1", "c1", "x"), u("u2", "r1")),
)


@pytest.mark.parametrize("name", ["insert-interrupted-result", "insert-pi-result", "insert-openclaw-result", "insert-plain-result"])
def test_no_result_is_put_in_for_it(name: str) -> None:
    case = of(*OPEN, reader="pi-0.87")
    assert repaired(case, name).conversation == case.conversation
    # One that has an id gets its own.
    mixed = of(u("u1", None), a("a1", "u1", NO_ID, call("c2")), u("u2", "a1"), reader="verbatim")
    assert said(repaired(mixed, "insert-pi-result")) == "U A( c2) R(c2=NRP) U"


def test_no_result_that_follows_becomes_its_own() -> None:
    case = of(*STRAY, reader="pi-0.87")
    assert repaired(case, "adopt-results").conversation == case.conversation


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("rows", "second", "told"),
    [(OPEN, "insert-interrupted-result", "U A({}) R({}=NRP) U"), (STRAY, "adopt-results", "U A({}) R({}=x) U")],
    ids=["none", "a stranger"],
)
def test_it_gets_an_id_and_then_its_result(rows: tuple[Any, ...], second: str, told: str, mode: str) -> None:
    names, final = recommended(of(*rows, reader="pi-0.87"))
    assert names == ["rename-invalid-ids", second]
    (new,) = {chunk.call_id for chunk in final.conversation.chunks if chunk.call_id}
    assert said(final) == told.format(new, new)
    assert said(written(lines(header(), *rows), names, mode, reader="pi-0.87")) == told.format(new, new)


def test_the_rule_names_what_gives_it_one() -> None:
    (found,) = (each for each in findings(of(*OPEN), RULES) if each.code == "TOOL205")
    assert found.repaired_by == ("rename-invalid-ids",)
