"""What `truncate-before-incomplete` does to sessions that are trees: the path after it, and what the written file contains."""

import pytest

from inspector.conversation.edits import Safety
from inspector.strategies.catalogue import strategy
from inspector.strategies.truncate_before_incomplete import forgotten
from tests.folding import in_one_test
from tests.programs.pi_openclaw.session_files import a, call, entry, header, lines, text, u
from tests.programs.pi_openclaw.shapes import chain
from tests.programs.pi_openclaw.strategies.repaired_trees import (
    BRANCH,
    MODES,
    TABLE,
    of,
    of_shape,
    recommended,
    refused,
    repaired,
    said,
    texts,
    written,
)


@in_one_test(
    ("shape", "left"),
    [
        ("U A(c1) R(c1=ok) U", "U A(c1) R(c1=ok) U"),
        ("U A(c1) U", "U"),
        ("U A(c1)", "U"),
        ("U A(c1 c2) R(c2=ok) U", "U"),
        ("U A(c1) R(c1=ok) A(c2) U", "U A(c1) R(c1=ok)"),
        # A late result is none for the request, which was the reviewers' objection.
        ("U A(c1) U A('t') U A(c9) R(c1=late) R(c9=ok) U", "U"),
        ("U A('t') U A(c1) U R(c1=late)", "U A('t') U"),
        # An answer that would end the history goes with the one after it.
        ("U A('t') U A('well') A('so') A(c1) U", "U A('t') U"),
        ("U A(c0) R(c0=ok) A('so') A(c1) U", "U A(c0) R(c0=ok)"),
        # With nothing before the cut only the user's newest message is left to go on with.
        ("A(c1) U", "U"),
        ("A('hi') A(c1) U A('t') U", "U"),
        ("S A(c1) U", "S U"),
    ],
)
def test_the_cut_goes_before_the_first_call_that_its_result_does_not_follow(shape: str, left: str) -> None:
    final = repaired(of_shape(shape), "truncate-before-incomplete")
    assert said(final) == left
    assert refused(final) == []


def test_a_cut_is_not_fooled_by_a_result_on_another_branch() -> None:
    assert texts(repaired(of(*BRANCH), "truncate-before-incomplete")) == ["list it"]


def test_after_the_result_was_moved_there_is_nothing_to_cut() -> None:
    final = repaired(of_shape("U A(c1) U A('t') U A(c9) R(c1=late) R(c9=ok) U"), "move-results", "truncate-before-incomplete")
    assert said(final) == "U A(c1) R(c1=late) U A('t') U A(c9) R(c9=ok) U"


def test_what_was_compacted_away_cuts_nothing_off() -> None:
    rows = [
        u("u1", None, "old"),
        a("a1", "u1", call("c1")),
        u("u2", "a1", "kept"),
        entry("compaction", "k1", "u2", summary="so far", firstKeptEntryId="u2", tokensBefore=9),
        u("u3", "k1", "new"),
    ]
    case = of(*rows)
    assert repaired(case, "truncate-before-incomplete").conversation == case.conversation
    assert repaired(case, "insert-interrupted-result").conversation == case.conversation


def test_a_cut_says_in_the_users_terms_what_is_forgotten() -> None:
    rows = [
        u("u1", None, "fix the login"),
        a("a1", "u1", call("c1")),
        u("u2", "a1", "and the tests"),
        a("a2", "u2", text("x")),
        u("u3", "a2", "now?"),
    ]
    case = of(*rows)
    (sentence,) = forgotten(case.conversation, repaired(case, "truncate-before-incomplete").conversation)
    assert sentence == (
        "The session forgets everything after 'fix the login' (seq 1): 4 messages, 2 of them the user's, with what the user said last, 'now?' (seq 5)."
    )
    first = of(*chain("A(c1) U A('t') U"))
    (sentence,) = forgotten(first.conversation, repaired(first, "truncate-before-incomplete").conversation)
    assert sentence == "The session forgets everything before 'go on' (seq 4): 3 messages, 1 of them the user's."
    assert list(forgotten(case.conversation, case.conversation)) == []


def test_no_one_gets_a_cut_who_did_not_ask_for_it() -> None:
    for shape, _ in TABLE.values():
        assert "truncate-before-incomplete" not in recommended(of_shape(shape))[0]
    found = strategy("truncate-before-incomplete")
    assert found.manual_only and found.safety == {Safety.LOSSY} and "forgets everything" in found.cost


@pytest.mark.parametrize("mode", MODES)
def test_a_cut_as_written_is_the_end_of_the_path(mode: str) -> None:
    later = written(lines(header(), *chain("U A(c1) R(c1=ok) A(c2) U")), ["truncate-before-incomplete"], mode)
    assert said(later) == "U A(c1) R(c1=ok)"
