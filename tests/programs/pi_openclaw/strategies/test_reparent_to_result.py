"""What `reparent-to-result` does to sessions that are trees: the path after it, and what the written file contains."""

from dataclasses import replace

import pytest

from inspector.conversation.edits import Safety
from inspector.conversation.model import Fact
from inspector.conversation.tree import LEAF
from inspector.planning.recommend import composed
from inspector.programs.pi_openclaw.readers.result_pairing import MISSING, NO_RESULT
from inspector.rules.base import Case, case_of, findings
from inspector.rules.catalogue import RULES
from tests.programs.pi_openclaw.session_files import a, call, header, lines, r, text, u
from tests.programs.pi_openclaw.shapes import chain
from tests.programs.pi_openclaw.strategies.repaired_trees import BRANCH, MODES, of, recommended, refused, repaired, said, texts, written


def keys(case: Case) -> list[str]:
    return [chunk.key.removesuffix(".0") for chunk in case.conversation.chunks]


def test_the_branch_case_is_repaired_with_the_real_output_and_nothing_made_up() -> None:
    case = of(*BRANCH)
    assert texts(case) == ["list it", "c1", "and?"]
    names, final = recommended(case)
    assert names == ["reparent-to-result"]
    assert texts(final) == ["list it", "c1", "a.py b.py", "and?"] and refused(final) == []
    assert keys(final) == ["u1", "a1", "r1", "u2"]


@pytest.mark.parametrize("mode", MODES)
def test_the_branch_case_as_written(mode: str) -> None:
    later = written(lines(header(), *BRANCH), ["reparent-to-result"], mode)
    assert texts(later) == ["list it", "c1", "a.py b.py", "and?"]
    if mode == "insert-and-reparent":
        assert keys(later) == ["u1", "a1", "r1", "u2"], "only a parent is another one"
        assert [chunk.parent for chunk in later.conversation.chunks] == [None, "u1", "a1", "r1"]


@pytest.mark.parametrize("mode", MODES)
def test_a_result_further_down_the_file_is_copied_so_that_no_parent_comes_later(mode: str) -> None:
    rows = (*BRANCH[:2], BRANCH[3], BRANCH[2])
    later = written(lines(header(), *rows), ["reparent-to-result"], mode, leaf="u2")
    assert texts(later) == ["list it", "c1", "a.py b.py", "and?"]


@pytest.mark.parametrize("mode", MODES)
def test_parallel_results_that_were_written_as_siblings_are_chained(mode: str) -> None:
    rows = [
        u("u1", None),
        a("a1", "u1", call("c1"), call("c2"), call("c3")),
        r("r1", "a1", "c1", "one"),
        r("r2", "a1", "c2", "two"),
        r("r3", "a1", "c3", "three"),
        u("u2", "r3"),
    ]
    case = of(*rows)
    assert said(case) == "U A(c1 c2 c3) R(c3=three) U"
    names, final = recommended(case)
    assert names == ["reparent-to-result"] and said(final) == "U A(c1 c2 c3) R(c1=one) R(c2=two) R(c3=three) U"
    assert said(written(lines(header(), *rows), names, mode)) == said(final)


def test_a_real_result_on_another_branch_takes_the_place_of_a_made_up_one() -> None:
    rows = [*BRANCH[:3], r("s1", "a1", "c1", MISSING, isError=True), u("u2", "s1", "and?")]
    assert texts(repaired(of(*rows, format_name="openclaw"), "reparent-to-result")) == ["list it", "c1", "a.py b.py", "and?"]


def test_a_real_result_on_the_path_is_never_exchanged() -> None:
    rows = [*BRANCH[:3], r("r2", "a1", "c1", "other"), u("u2", "r2", "and?")]
    assert repaired(of(*rows), "reparent-to-result").conversation == of(*rows).conversation


@pytest.mark.parametrize("mode", MODES)
def test_what_another_branch_said_before_its_late_result_stays_there(mode: str) -> None:
    rows = [*BRANCH[:2], u("x1", "a1", "hello?"), a("x2", "x1", text("busy")), r("r1", "x2", "c1", "late"), u("u2", "a1", "and?")]
    data = lines(header(), *rows)
    assert texts(repaired(of(*rows), "reparent-to-result")) == ["list it", "c1", "late", "and?"]
    later = written(data, ["reparent-to-result"], mode)
    assert texts(later) == ["list it", "c1", "late", "and?"]
    if mode != "new-session":
        assert later.tree is not None
        other = replace(later.tree, facts={**later.tree.facts, LEAF: Fact(LEAF, "r1")})
        assert texts(case_of(other, "verbatim")) == ["list it", "c1", "hello?", "busy", "late"]


def test_the_result_of_another_turn_that_used_the_same_id_is_not_taken() -> None:
    other = a("x2", "x1", call("c1"), timestamp=1700000000009)
    rows = [*BRANCH[:2], u("x1", "a1"), other, r("x3", "x2", "c1", "not this"), u("u2", "a1", "and?")]
    names, final = recommended(of(*rows))
    assert names == ["insert-interrupted-result"] and texts(final) == ["list it", "c1", NO_RESULT, "and?"]


@pytest.mark.parametrize("earlier", ["add-empty-thinking", "shorten-ids", "end-with-user"])
def test_a_repair_that_writes_the_call_again_hides_no_result(earlier: str) -> None:
    """The call on the path was another entry then, below which nothing was: a synthetic result was offered, and the real one was "on no branch"."""
    data = lines(header(), *BRANCH)
    case = written(data, [earlier], "replay-suffix")
    assert "TREE106" in {found.code for found in findings(case, RULES)}
    assert "a.py b.py" in texts(repaired(case, "reparent-to-result"))


@pytest.mark.parametrize("earlier", ["add-empty-thinking", "rename-repeated-ids"])
def test_a_result_that_was_written_again_is_on_no_other_branch(earlier: str) -> None:
    """The first call has none, as before: what is on the old branch is the second one's, which the path has too."""
    case = written(lines(header(), *chain("U A(c1) U A(c1) R(c1=two) U")), [earlier], "replay-suffix")
    assert not {"TREE106"} & {found.code for found in findings(case, RULES)}


@pytest.mark.parametrize(("calls", "safety"), [(1, frozenset()), (2, {Safety.INVENTED})])
def test_which_of_two_calls_of_one_id_it_answers_is_a_guess(calls: int, safety: set[Safety]) -> None:
    case = of(BRANCH[0], a("a1", "u1", *[call("c1")] * calls), *BRANCH[2:])
    ((used,), _) = composed(case, ["reparent-to-result"])
    assert used.safety == safety


def test_parents_that_form_a_cycle_end_every_search() -> None:
    rows = [u("l1", "l2"), a("l2", "l1", call("c1")), r("l3", "l2", "c1", "of the cycle"), *BRANCH[:2], BRANCH[3]]
    assert texts(repaired(of(*rows), "reparent-to-result")) == ["list it", "c1", "and?"]


def test_a_result_that_stands_nowhere_is_made_up_as_before() -> None:
    case = of(*BRANCH[:2], BRANCH[3])
    assert repaired(case, "reparent-to-result").conversation == case.conversation
