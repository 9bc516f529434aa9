"""What `fix-compaction-pointer` does to sessions that are trees: the path after it, and what the written file contains."""

from collections.abc import Sequence
from typing import Any

import pytest

from inspector.rules.base import Case
from inspector.strategies.catalogue import strategy
from tests.programs.pi_openclaw.session_files import a, call, entry, header, lines, r, text, u
from tests.programs.pi_openclaw.strategies.repaired_trees import MODES, codes, of, recommended, refused, repaired, texts, written


def compacted(pointer: str, *rows: dict[str, Any], behind: Sequence[dict[str, Any]] = ()) -> list[dict[str, Any]]:
    return [*rows, entry("compaction", "k1", rows[-1]["id"], summary="so far", firstKeptEntryId=pointer, tokensBefore=9), *behind]


PAIR = (
    u("u1", None, "old"),
    a("a1", "u1", call("c1"), call("c2")),
    r("r1", "a1", "c1", "x"),
    r("r2", "r1", "c2", "y"),
    u("u2", "r2", "kept"),
)


@pytest.mark.parametrize(
    ("pointer", "wanted"),
    [("r1", "a1"), ("r2", "a1"), ("a1", "a1"), ("u2", "u2"), ("u1", "u1"), ("k1", "k1")],
)
@pytest.mark.parametrize("mode", MODES)
def test_the_pointer_of_a_compaction_goes_back_to_the_call(pointer: str, wanted: str, mode: str) -> None:
    rows = compacted(pointer, *PAIR, behind=[u("u3", "k1", "new")])
    final = repaired(of(*rows), "fix-compaction-pointer")
    assert kept_from(final) == wanted
    if wanted != pointer:
        names, best = recommended(of(*rows))
        assert names == ["fix-compaction-pointer"] and refused(best) == []
        later = written(lines(header(), *rows), names, mode)
        assert texts(later) == texts(final) and refused(later) == []


@pytest.mark.parametrize("reader", ["verbatim", "pi-1.5", "openclaw-2026.9"])
@pytest.mark.parametrize("mode", MODES)
def test_a_pointer_that_is_in_no_line_leads_to_the_compaction_itself_and_no_reader_sees_a_difference(mode: str, reader: str) -> None:
    rows = compacted("nowhere", *PAIR, behind=[u("u3", "k1", "new")])
    case = of(*rows, reader=reader)
    assert "TREE105" in codes(case)
    final = repaired(case, "fix-compaction-pointer")
    assert kept_from(final) == "k1" and texts(final) == texts(case) and "TREE105" not in codes(final)
    later = written(lines(header(), *rows), ["fix-compaction-pointer"], mode)
    assert texts(later) == texts(of(*rows)) and "TREE105" not in codes(later)
    assert "which is what every program makes of it now" in strategy("fix-compaction-pointer").cost


def test_a_compaction_that_a_reset_of_openclaw_took_over_from_is_left_alone() -> None:
    rows = compacted("nowhere", *PAIR, behind=[entry("reset", "s1", "k1"), u("u3", "s1", "new")])
    case = of(*rows, format_name="openclaw", reader="openclaw-2026.9")
    assert repaired(case, "fix-compaction-pointer").conversation == case.conversation


def kept_from(case: Case) -> str:
    return next(str(chunk.payload["entry"]["firstKeptEntryId"]) for chunk in case.conversation.chunks if chunk.key.startswith("k1"))


def test_a_pointer_at_a_result_of_no_call_goes_past_it() -> None:
    rows = compacted("r0", r("r0", None, "c0"), u("u1", "r0", "kept"), a("a1", "u1", text("x")), behind=[u("u2", "a1")])
    rows[-1]["parentId"] = "k1"
    assert kept_from(repaired(of(*rows), "fix-compaction-pointer")) == "u1"


def test_a_pointer_to_another_branch_leads_behind_the_fork() -> None:
    rows = compacted("x1", u("u1", None, "old"), u("u2", "u1", "kept"), behind=[u("x1", "u1", "aside"), u("u3", "k1", "new")])
    assert kept_from(repaired(of(*rows), "fix-compaction-pointer")) == "u2"


def test_a_result_behind_a_compaction_that_kept_nothing_gets_its_call_back() -> None:
    rows = compacted("k1", u("u1", None, "old"), a("a1", "u1", call("c1")), behind=[r("r1", "k1", "c1", "late")])
    case = of(*rows)
    assert refused(case)
    names, final = recommended(case)
    assert names == ["fix-compaction-pointer"] and texts(final)[-2:] == ["c1", "late"]


@pytest.mark.parametrize("mode", MODES)
def test_a_pointer_is_right_also_where_the_call_is_written_anew(mode: str) -> None:
    first = (u("u0", None, "older"), a("a0", "u0", call("c1")), r("r0", "a0", "c1"))
    rows = compacted("r1", *first, PAIR[0] | {"parentId": "r0"}, *PAIR[1:], behind=[u("u3", "k1", "new")])
    names = ["rename-repeated-ids", "fix-compaction-pointer"]
    final = repaired(of(*rows), *names)
    assert texts(final)[1:] == ["c1_2", "c2", "x", "y", "kept", "new"]
    assert texts(written(lines(header(), *rows), names, mode)) == texts(final)
