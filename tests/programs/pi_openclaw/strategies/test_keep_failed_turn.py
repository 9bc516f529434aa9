"""What `keep-failed-turn` does to sessions that are trees: the path after it, and what the written file contains."""

import pytest

from inspector.rules.base import case_of
from tests.programs.pi_openclaw.session_files import a, call, header, lines, r, u
from tests.programs.pi_openclaw.shapes import chain
from tests.programs.pi_openclaw.strategies.repaired_trees import MODES, codes, of, of_shape, repaired, said, written


@pytest.mark.parametrize("reader", ["verbatim", "pi-1.5"])
@pytest.mark.parametrize("mode", MODES)
def test_an_aborted_turn_with_all_its_results_may_be_kept_instead(mode: str, reader: str) -> None:
    rows = chain("U A(c1)^aborted R(c1=partial) U")
    case = of(*rows, reader=reader)
    assert "TOOL209" in codes(case)
    assert said(repaired(case, "keep-failed-turn")) == "U A(c1) R(c1=partial) U"
    later = written(lines(header(), *rows), ["keep-failed-turn"], mode)
    assert said(case_of(later.conversation, "pi-1.5")) == "U A(c1) R(c1=partial) U" and codes(later) == []


@pytest.mark.parametrize(
    "shape",
    [
        "U A(c1)^error U",
        "U A(c1 c2)^aborted R(c1=ok) U",
        "U A(c1)^aborted R(c1=SYN) U",
        "U A(c1)^aborted U R(c1=late)",
        "U A('half')^aborted U",
        "U A(c1) R(c1=ok) U",
    ],
)
def test_what_is_not_whole_is_not_kept_as_if_it_were(shape: str) -> None:
    case = of_shape(shape)
    assert repaired(case, "keep-failed-turn").conversation == case.conversation


def test_an_aborted_turn_with_half_written_arguments_or_unsigned_thinking_is_not_kept() -> None:
    for block in (call("c1") | {"partialJson": '{"path'}, {"type": "toolCall", "id": "c1", "name": "ls", "arguments": None}):
        case = of(u("u1", None), a("a1", "u1", block, stopReason="aborted"), r("r1", "a1", "c1"))
        assert repaired(case, "keep-failed-turn").conversation == case.conversation
    thought = {"type": "thinking", "thinking": "hm"}
    case = of(u("u1", None), a("a1", "u1", thought, call("c1"), stopReason="aborted"), r("r1", "a1", "c1"))
    assert repaired(case, "keep-failed-turn").conversation == case.conversation
