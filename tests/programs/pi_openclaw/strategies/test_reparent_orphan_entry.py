"""What `reparent-orphan-entry` does to sessions that are trees: the path after it, and what the written file contains."""

import json

import pytest

from inspector.conversation.edits import Safety
from inspector.rules.base import Severity, findings
from inspector.rules.catalogue import RULES
from inspector.strategies.catalogue import strategy
from tests.programs.pi_openclaw.session_files import a, entry, header, lines, text, u
from tests.programs.pi_openclaw.strategies.repaired_trees import MODES, codes, of, repaired, texts, written


def test_an_entry_below_the_header_is_a_root_and_gets_no_other_parent() -> None:
    session = header()["id"]
    case = of(entry("custom", "x1", None, customType="ui"), u("u1", session, "one"), a("a1", "u1", text("two")))
    assert codes(case, Severity.NOTE) == [] and case.reading.warnings == ()
    assert repaired(case, "reparent-orphan-entry").conversation == case.conversation
    assert strategy("reparent-orphan-entry").of(case) == strategy("reparent-orphan-entry")


@pytest.mark.parametrize("mode", MODES)
def test_the_branch_that_a_dangling_parent_leaves_behind_is_only_a_note(mode: str) -> None:
    rows = [u("u1", None, "one"), a("a1", "u1", text("two")), u("u2", "gone", "three"), a("a2", "u2", text("four"))]
    later = written(lines(header(), *rows), ["reparent-orphan-entry"], mode)
    assert codes(later) == []
    left = [found for found in findings(later, RULES) if found.code == "TREE101"]
    assert len(left) == (mode == "replay-suffix") and all("no request takes" in found.message for found in left)


@pytest.mark.parametrize("mode", MODES)
def test_an_entry_without_parent_in_the_file_goes_on_from_the_one_before_it(mode: str) -> None:
    rows = [
        u("u1", None, "one"),
        a("a1", "u1", text("two")),
        u("u2", "gone", "three"),
        a("a2", "u2", text("four")),
        u("u3", "lost", "five"),
    ]
    case = of(*rows)
    assert texts(case) == ["five"]
    assert texts(repaired(case, "reparent-orphan-entry")) == ["one", "two", "three", "four", "five"]
    assert texts(written(lines(header(), *rows), ["reparent-orphan-entry"], mode)) == ["one", "two", "three", "four", "five"]
    assert Safety.INVENTED in strategy("reparent-orphan-entry").safety and "inferred" in strategy("reparent-orphan-entry").cost


def torn(id_: str, parent: str, cut: int = 90) -> bytes:
    return json.dumps(a(id_, parent, text("torn"))).encode()[:cut]


@pytest.mark.parametrize("mode", MODES)
def test_what_is_left_of_the_line_between_says_which_branch_it_was_on(mode: str) -> None:
    """The line before it is of another branch, which was taken for the history above."""
    rows = [
        u("u1", None, "one"),
        a("a1", "u1", text("two")),
        u("u2", "a1", "three"),
        u("b1", "u1", "other"),
        torn("t1", "u2"),
        u("u3", "t1", "after"),
    ]
    case = of(*rows)
    (found,) = [finding for finding in findings(case, RULES) if finding.code == "TREE101"]
    assert "names the parent 't1', whose line (seq 5) is torn: the path begins here" in found.message
    assert ("what is left of the parent's line", "it hangs from u2") in found.evidence
    assert texts(repaired(case, "reparent-orphan-entry")) == ["one", "two", "three", "after"]
    here = strategy("reparent-orphan-entry").of(case)
    assert not here.safety and here.cost.startswith("Nothing is inferred: what is left of the torn line says")
    assert texts(written(lines(header(), *rows), ["reparent-orphan-entry"], mode)) == ["one", "two", "three", "after"]


@pytest.mark.parametrize("left", [torn("t1", "u2", 35), torn("t1", "nowhere"), torn("t1", "u3"), b'{"message":{"id":"t1","parentId":"u2"'])
def test_a_torn_line_that_does_not_say_its_parent_leads_to_the_line_before(left: bytes) -> None:
    rows = [u("u1", None, "one"), a("a1", "u1", text("two")), u("u2", "a1", "three"), u("b1", "u1", "other"), left, u("u3", "t1", "after")]
    case = of(*rows)
    assert texts(repaired(case, "reparent-orphan-entry")) == ["one", "other", "after"]
    here = strategy("reparent-orphan-entry").of(case)
    assert (
        here.safety == {Safety.INVENTED}
        and here.cost == "That seq 6 hangs below seq 4 is inferred from the order of the lines. No words change."
    )


def test_of_two_gaps_one_that_no_line_explains_is_inferred() -> None:
    rows = [u("u1", None, "one"), torn("t1", "u1"), u("u2", "t1", "three"), a("a2", "gone", text("four"))]
    case = of(*rows)
    assert texts(repaired(case, "reparent-orphan-entry")) == ["one", "three", "four"]
    assert strategy("reparent-orphan-entry").of(case).safety == {Safety.INVENTED}


def test_an_entry_that_openclaw_rebased_gets_the_parent_that_it_was_read_with() -> None:
    rows = [u("u1", None, "one"), a("a1", "u1", text("two")), u("u2", "gone", "three"), a("a2", "u2", text("four"))]
    case = of(*rows, format_name="openclaw", reader="openclaw-2026.9")
    assert texts(case) == ["one", "two", "three", "four"]
    final = repaired(case, "reparent-orphan-entry")
    assert [chunk.parent for chunk in final.conversation.chunks] == [None, "u1", "a1", "u2"]


@pytest.mark.parametrize("parent", ["u1", "u2"])
def test_a_parent_in_a_cycle_leads_nowhere_and_ends_every_search(parent: str) -> None:
    rows = [u("u1", "u2", "one"), a("u2", "u1", text("two")), u("u3", "gone", "three")]
    rows[0]["parentId"] = parent
    assert texts(repaired(of(*rows), "reparent-orphan-entry")) == ["three"]


def test_thousands_of_entries_come_back_at_once() -> None:
    """A long history above a gap, and a gap in front of every entry: nothing recurses."""
    rows = [u("e0", None, "first"), *(u(f"e{at}", f"e{at - 1}") for at in range(1, 3000)), u("last", "gone", "end")]
    assert len(repaired(of(*rows), "reparent-orphan-entry").conversation.chunks) == 3001
    rows = [u("e0", None), *(u(f"e{at}", f"gone{at}") for at in range(1, 3000))]
    assert len(repaired(of(*rows), "reparent-orphan-entry").conversation.chunks) == 3000
