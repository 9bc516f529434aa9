"""The tree view: the path, the branches beside it, what damage hides, and where a missing result stands; drawn in bounded rows."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from inspector.presentation.tree.branches import branches_of, with_leaf
from inspector.presentation.tree.model import Branches
from inspector.presentation.tree.own_leaves import own_leaves
from inspector.presentation.tree.text import tree_lines, tree_report
from inspector.presentation.tree.view import WINDOW, share, tree_view
from inspector.rules.base import case_of
from tests.programs.pi_openclaw.shapes import entry, say, stored

Lines = Sequence[Mapping[str, Any] | bytes]
TEXT = "A('t')"
# The result is on a sibling of the entry that goes on.
BRANCH: Lines = (say("u1", None), say("a1", "u1", "A(c1)"), say("r1", "a1", "R(c1=ok)"), say("u2", "a1"))


def branches(lines: Lines, reader: str = "pi-1.5", leaf: str = "") -> Branches:
    found = branches_of(case_of(with_leaf(stored(lines), leaf), reader))
    assert found is not None
    return found


def states(found: Branches) -> dict[str, str]:
    return {node.key: found.state[node.index] for node in found.nodes}


def marks(found: Branches) -> list[tuple[str, str]]:
    return [(found.nodes[index].key, mark.kind) for index in sorted(found.marks) for mark in found.marks[index]]


def chain(count: int, above: str | None = None, name: str = "e") -> list[Mapping[str, Any]]:
    return [say(f"{name}{at}", f"{name}{at - 1}" if at else above, TEXT if at % 2 else "U") for at in range(count)]


def fused(*lines: Mapping[str, Any]) -> bytes:
    return b"".join(json.dumps(line).encode() for line in lines)


def test_a_result_on_another_branch_is_found_from_both_ends() -> None:
    found = branches(BRANCH)
    (missing,) = found.missing
    assert (missing.call.call_id, found.nodes[missing.node].key, missing.result) == ("c1", "a1", 2)
    assert missing.where == "it is on another branch, line 4"
    assert marks(found) == [("a1", "no result"), ("r1", "missing result")]
    assert states(found) == {"u1": "live", "a1": "live", "r1": "other", "u2": "live"}


def test_a_chosen_leaf_is_read_instead_and_has_its_result() -> None:
    found = branches(BRANCH, leaf="r1")
    assert [found.nodes[index].key for index in found.path] == ["u1", "a1", "r1"]
    assert found.chosen == "r1"
    assert not found.missing


def test_a_leaf_that_is_not_there_changes_nothing() -> None:
    found = branches(BRANCH, leaf="gone")
    assert (found.chosen, found.leaf_shown) == ("", "u2")
    assert tree_view(found, requested_leaf="gone").is_unknown


@pytest.mark.parametrize(
    ("lines", "where"),
    [
        ([say("u1", None), say("a1", "u1", "A(c1)"), say("u2", "a1")], "it is nowhere in the file"),
        ([say("r1", None, "R(c1=ok)"), say("a1", "r1", "A(c1)"), say("u2", "a1")], "it is before its call, line 2"),
        (
            [say("u1", None), say("a1", "u1", "A(c1)"), fused(say("r1", "a1", "R(c1=ok)"), say("x", "r1")), say("u2", "a1")],
            "it is on a line that no program reads, line 4",
        ),
        (
            [say("u1", None), say("r1", "u1", "R(c1=ok)"), say("a1", "u1", "A(c1)"), say("u2", "a1")],
            "one with its id is elsewhere, not below the call, line 3",
        ),
    ],
    ids=["nowhere", "before its call", "on a fused line", "elsewhere"],
)
def test_where_a_missing_result_stands(lines: Lines, where: str) -> None:
    assert [missing.where for missing in branches(lines).missing] == [where]


def test_each_call_of_an_id_that_is_used_again_has_its_own_result() -> None:
    shape = [say("u1", None), say("a1", "u1", "A(c1)"), say("u2", "a1"), say("a2", "u2", "A(c1)"), say("r2", "a2", "R(c1=ok)")]
    found = branches([*shape[:1], say("a0", "u1", "A(c1)"), say("r0", "a0", "R(c1=one)"), say("a1", "r0", "A(c1)"), say("u2", "a1")])
    assert [found.nodes[missing.node].key for missing in found.missing] == ["a1"]
    # A result further down the path is late, not missing: other rules tell of that.
    assert not branches([*shape[:3], say("r2", "u2", "R(c1=ok)")]).missing


def test_turns_above_a_torn_line_are_lost_and_the_line_stands_between() -> None:
    torn = json.dumps(say("u2", "a1")).encode()[:90]
    found = branches([say("u1", None), say("a1", "u1", TEXT), torn, say("a2", "u2", TEXT), say("u3", "a2")])
    assert states(found) == {"u1": "lost", "a1": "lost", "line:3": "not read", "a2": "live", "u3": "live"}
    assert [found.up[index] for index in range(5)] == [-1, 0, 1, 2, 3]
    assert marks(found) == [("line:3", "torn line"), ("a2", "dangling parent")]
    assert found.last_lost is not None and found.nodes[found.last_lost].key == "a1"
    assert tree_view(found).share == "2 of 4 entries, 50 %"


def test_both_records_of_a_fused_line_stand_between_and_count() -> None:
    found = branches([say("u1", None), say("a1", "u1", TEXT), fused(say("u2", "a1"), say("a2", "u2", TEXT)), say("u3", "a2")])
    assert states(found) == {"u1": "lost", "a1": "lost", "line:3/1": "not read", "line:3/2": "not read", "u3": "live"}
    assert (len(found.path), found.entries) == (1, 5)
    # What befell the line is said once above the tree, and at each of its records in it.
    assert [noted.mark.kind for noted in tree_view(found).damage] == ["fused line", "dangling parent"]


def test_where_a_reader_goes_on_over_a_missing_parent_nothing_is_lost() -> None:
    found = branches([say("u1", None), say("a1", "u1", TEXT), say("u3", "gone")], "openclaw-2026.9")
    assert set(states(found).values()) == {"live"}
    assert marks(found) == [("u3", "rebased")]


def test_a_parent_in_no_line_hides_what_stands_before_it_in_the_file() -> None:
    found = branches([say("u1", None), say("a1", "u1", TEXT), say("b1", "u1"), say("u3", "gone")])
    assert states(found) == {"u1": "lost", "a1": "other", "b1": "lost", "u3": "live"}
    assert marks(found) == [("u3", "dangling parent")]


def test_a_last_line_without_id_hides_all() -> None:
    found = branches([say("u1", None), say("a1", "u1", TEXT), {"foo": 1}])
    assert states(found)["a1"] == "lost" and states(found)["u1"] == "lost"
    assert ("line:3", "no-id") in marks(found)


def test_a_cycle_is_cut_once_and_marked() -> None:
    found = branches([say("u1", "a1"), say("a1", "u1", TEXT)])
    assert marks(found) == [("u1", "cycle")]
    assert (list(found.up), len(found.order)) == ([-1, 0], 2)


def test_a_reused_id_is_drawn_below_the_entry_that_it_replaced() -> None:
    found = branches([say("u1", None), say("a1", "u1", TEXT), say("u1", "a1"), say("a2", "u1", TEXT)], "openclaw-2026.7")
    assert states(found)["u1"] == "replaced"
    assert list(found.up) == [-1, 0, 1, 2]
    assert [key for key, kind in marks(found) if kind == "duplicate id"] == ["u1", "u1#2"]
    assert not found.ends(0)


def test_a_stale_compaction_pointer_is_damage_and_a_good_one_counts_what_it_stands_for() -> None:
    stale = branches([*chain(3), entry("k", "e2", type="compaction", summary="s", firstKeptEntryId="gone"), say("u", "k")])
    assert marks(stale) == [("k", "stale pointer")]
    good = branches([*chain(3), entry("k", "e2", type="compaction", summary="s", firstKeptEntryId="e2"), say("u", "k")])
    assert [mark.text for mark in good.marks[3]] == ["replaces 2 entries above it"]
    assert not good.damage
    assert [row.state_words for row in tree_view(good).rows] == ["after compaction", "after compaction", "live", "live", "live"]


def test_the_readers_differ_and_those_that_agree_stand_together() -> None:
    lines = [say("u1", None), say("a1", "u1", TEXT), say("u2", "a1"), entry("l", "u2", type="leaf", targetId="a1")]
    own = own_leaves(stored(lines), "openclaw")
    assert {reader: each.leaf for each in own for reader in each.readers} == {
        "verbatim": "l", "pi-0.68": "l", "pi-0.69": "l", "pi-0.87": "l", "pi-1.5": "l", "openclaw-2026.1": "l",
        "openclaw-2026.7": "a1", "openclaw-2026.9": "a1",
    }  # fmt: skip
    assert len(own) == 2
    # Their own leaf, whatever a person chose.
    assert own_leaves(with_leaf(stored(lines), "u1"), "openclaw") == own


def test_forks_leaves_and_their_tags() -> None:
    view = tree_view(branches(BRANCH), own_leaves(stored(BRANCH), "pi"))
    assert [(row.node.key, row.tags) for row in view.rows] == [
        ("u1", ()), ("a1", ("fork: 2 branches",)), ("r1", ("leaf",)), ("u2", ("live leaf",)),
    ]  # fmt: skip
    assert (view.leaves, view.forks, view.share) == (2, 1, "3 of 4 entries, 75 %")


def test_the_path_keeps_its_lane_and_branches_stand_beside_it() -> None:
    rows = tree_view(branches(BRANCH)).rows
    assert [row.rails.x for row in rows] == [10, 10, 23, 10]
    branch = rows[2].rails
    assert (branch.passing, branch.above, branch.curve_style, branch.below) == (((10, "live"),), "", "other", "")
    assert (rows[3].rails.above, rows[3].rails.below) == ("live", "")


def test_calls_of_one_answer_without_any_result_are_one_mark_that_says_how_the_answer_ended() -> None:
    answer = say("a1", "u1", "A(c1 c2 c3)")
    answer["message"]["stopReason"] = "aborted"
    found = branches([say("u1", None), answer, say("u2", "a1")])
    ((key, mark),) = [(found.nodes[index].key, mark) for index, mark in found.damage]
    assert len(found.missing) == 3 and (key, mark.kind) == ("a1", "no result")
    assert mark.text == (
        "run (c1) and 2 more have no result on this path: it is nowhere in the file; "
        "the answer ended as 'aborted', and newer programs leave it out"
    )


def test_straight_runs_are_folded_and_can_be_unfolded() -> None:
    found = branches([*chain(60), *chain(20, "e30", "b"), say("last", "e59")])
    view = tree_view(found)
    assert [(row.node.key, row.folded, row.last_line) for row in view.rows if row.folded] == [
        ("e1", 29, 31), ("b1", 18, 80), ("e31", 26, 58),
    ]  # fmt: skip
    assert view.rows[1].words == "15 assistant, 14 user"
    whole = tree_view(found, unfolded=1)
    assert [row.node.key for row in whole.rows[:31]] == [f"e{at}" for at in range(31)]


def test_what_a_compaction_stands_for_is_folded_in_small_trees_too() -> None:
    view = tree_view(branches([*chain(8), entry("c", "e7", type="compaction", summary="S", firstKeptEntryId="e6"), say("u", "c")]))
    assert [(row.node.key, row.folded, row.state_words) for row in view.rows] == [
        ("e0", 0, "after compaction"), ("e1", 5, "after compaction"), ("e6", 0, "live"), ("e7", 0, "live"), ("c", 0, "live"), ("u", 0, "live"),
    ]  # fmt: skip


def test_lines_are_counted_as_editors_do_and_rows_of_a_database_by_their_seq() -> None:
    file = stored(BRANCH)
    assert [node.line for node in branches(BRANCH).nodes] == [2, 3, 4, 5]
    rows = branches_of(case_of(replace(file, format="openclaw-sqlite"), "openclaw-2026.9"))
    assert rows is not None
    assert [node.line for node in rows.nodes] == [1, 2, 3, 4]
    assert rows.missing[0].where == "it is on another branch, event 3"
    torn = branches([say("u1", None), b'{"type":"mess'])
    assert [node.shown for node in torn.nodes] == ["u1", "line 3"]


def bushy() -> list[Mapping[str, Any]]:
    """A path of 60 with a forked branch of 7 beside every second entry; in one of them the result that the path lacks."""
    lines = chain(60)
    for at in range(0, 60, 2):
        lines += [*chain(5, f"e{at}", f"b{at}-"), *chain(2, f"b{at}-2", f"c{at}-")]
    lines[20] = say("e20", "e19", "A(c1)")
    return [*lines, say("r1", "b20-0", "R(c1=ok)"), say("end", "e59")]


def test_where_it_is_crowded_a_branch_is_one_row_unless_it_holds_what_must_be_seen() -> None:
    view = tree_view(branches(bushy()))
    shown = {row.node.key: row for row in view.rows}
    assert (shown["b0-0"].folded, shown["b0-0"].leaves, shown["b0-0"].rails.below) == (7, 2, "")
    assert not shown["b20-0"].folded
    assert "r1" in shown
    assert sum(row.state == "live" and not row.folded for row in view.rows) > 30


def test_a_folded_branch_can_be_unfolded_and_so_can_a_run_inside_it() -> None:
    lines = [*chain(20, "b0-4", "d"), *bushy()]
    index = {node.key: node.index for node in branches(lines).nodes}
    opened = {row.node.key: row.folded for row in tree_view(branches(lines), unfolded=index["b0-0"]).rows}
    assert (opened["b0-0"], opened["b0-3"], "d5" in opened) == (0, 21, False)
    inside = {row.node.key: row.folded for row in tree_view(branches(lines), unfolded=index["b0-3"]).rows}
    assert (inside["b0-0"], inside["b0-3"], inside["d5"]) == (0, 0, 0)
    assert inside["b2-0"] == 7


def test_damage_is_never_folded_away() -> None:
    lines = chain(80)
    lines[40] = say("e40", "e39", "A(c1)")
    view = tree_view(branches(lines))
    assert "e40" in [row.node.key for row in view.rows if row.marks]


def test_rows_come_in_windows_and_links_lead_into_the_right_one() -> None:
    lines = [
        say("root", None),
        *(say(f"b{at}", "root") for at in range(WINDOW)),
        say("a1", "root", "A(c1)"),
        say("u", "a1"),
        say("r1", "a1", "R(c1=ok)"),
        say("end", "u"),
    ]
    found = branches(lines)
    first, second = tree_view(found), tree_view(found, start=WINDOW)
    assert (len(first.rows), first.earlier, first.later) == (WINDOW, None, WINDOW)
    assert (second.earlier, second.later, second.rows[-1].node.key) == (0, None, "end")
    assert (first.missing[0].to, first.missing[0].start) == (WINDOW + 3, WINDOW)
    assert second.missing[0].start is None
    assert tree_view(found, start=10**9).rows[-1].node.key == "end"


SHAPES: Mapping[str, Callable[[int], tuple[str, str]]] = {
    "chain": lambda at: (f"e{at}", f"e{at - 1}"),
    "comb": lambda at: (f"e{at}", f"e{at - 1 - at % 2}"),
    "star": lambda at: (f"e{at}", "e0"),
    "orphans": lambda at: (f"e{at}", f"gone{at}"),
    "one id again and again": lambda at: (f"e{at % 7}", f"e{(at - 1) % 7}"),
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_twenty_thousand_entries_of_any_shape_are_drawn_in_one_walk(shape: str) -> None:
    count = 20_000
    named = [SHAPES[shape](at) for at in range(count)]
    lines = [say(id_, parent if at else None, "A(c1)" if at % 2 else "U") for at, (id_, parent) in enumerate(named)]
    case = case_of(stored(lines), "openclaw-2026.7")
    began = time.process_time()
    found = branches_of(case)
    assert found is not None
    view = tree_view(found)
    assert len(view.rows) <= WINDOW
    assert sorted(found.order) == list(range(count))
    assert max(found.lane) < 20
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("part", "whole", "said"),
    [
        (37, 189, "37 of 189 entries, 20 %"),
        (1, 1, "1 of 1 entry, 100 %"),
        (0, 0, "0 of 0 entries, 0 %"),
        (1, 1000, "1 of 1,000 entries, under 1 %"),
        (999, 1000, "999 of 1,000 entries, over 99 %"),
    ],
)
def test_the_share_never_rounds_to_all_or_nothing(part: int, whole: int, said: str) -> None:
    assert share(part, whole) == said


def test_the_text_stars_the_path_and_indents_branches() -> None:
    assert list(tree_lines(branches(BRANCH), own_leaves(stored(BRANCH), "pi"))) == [
        "As pi-1.5 reads it: 3 of 4 entries, 75 %; 2 leaves.",
        "* u1 user: go on",
        "* a1 assistant: → run {}",
        "    ! no result: run (c1) has no result on this path: it is on another branch, line 4",
        "  - r1 result: run: ok",
        "      · missing result: it answers run (c1) of line 3, and the path does not reach it",
        "* u2 user: go on <- leaf",
    ]


def test_an_id_cannot_forge_a_line_of_the_text() -> None:
    lines = list(tree_lines(branches([say("u1\n* forged", None)]), ()))
    assert lines[1] == "* u1\\n* forged user: go on <- leaf"


def test_the_report_names_leaves_path_damage_and_readers() -> None:
    report = tree_report(branches([*BRANCH, say("u3", "gone")], leaf="u2"), own_leaves(stored(BRANCH), "pi"))
    assert (report["leaf"], report["chosen"], report["path"]) == ("u2", True, ["u1", "a1", "u2"])
    assert [leaf["id"] for leaf in report["leaves"]] == ["r1", "u2", "u3"]
    assert (report["reachable"], report["entries"]) == (3, 5)
    assert [(each["id"], each["line"], each["what"]) for each in report["damage"]] == [("u3", 6, "dangling parent")]
    assert [(each["call"], each["result"]) for each in report["missing_results"]] == [("c1", "r1")]
    assert report["readers"]["pi-1.5"] == {"leaf": "u2", "reachable": 3}
