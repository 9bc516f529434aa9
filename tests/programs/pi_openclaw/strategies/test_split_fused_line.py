"""What `split-fused-line` does to sessions that are trees: the path after it, and what the written file contains."""

from typing import Any

import pytest

from inspector.conversation.model import Conversation
from inspector.planning.preview import compose
from inspector.programs.pi_openclaw.pi import PI
from inspector.rules.base import Severity, case_of, findings
from inspector.rules.catalogue import RULES
from inspector.strategies.catalogue import strategy
from tests.programs.pi_openclaw.session_files import a, header, line, lines, records, text, u
from tests.programs.pi_openclaw.strategies.repaired_trees import FORMATS, MODES, codes, of, repaired, texts, written


def fused(*values: Any) -> bytes:
    return b"".join(line(value) for value in values)


@pytest.mark.parametrize("mode", MODES)
def test_two_records_on_one_line_come_back_onto_the_path(mode: str) -> None:
    rows = [u("u1", None, "one"), fused(a("a1", "u1", text("two")), u("u2", "a1", "three")), a("a2", "u2", text("four"))]
    case = of(*rows)
    assert texts(case) == ["four"]
    assert texts(repaired(case, "split-fused-line")) == ["one", "two", "three", "four"]
    assert texts(written(lines(header(), *rows), ["split-fused-line"], mode)) == ["one", "two", "three", "four"]


@pytest.mark.parametrize("mode", MODES)
def test_a_fused_last_line_is_where_the_path_goes_on(mode: str) -> None:
    rows = [u("u1", None, "one"), fused(a("a1", "u1", text("two")), u("u2", "a1", "three"))]
    assert texts(repaired(of(*rows), "split-fused-line")) == ["one", "two", "three"]
    assert texts(written(lines(header(), *rows), ["split-fused-line"], mode)) == ["one", "two", "three"]


FUSED = (
    u("u1", None, "one"),
    fused(a("a1", "u1", text("two")), u("u2", "a1", "three")),
    a("a2", "u2", text("four")),
    u("u3", "a2", "five"),
)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("reader", ["openclaw-2026.7", "openclaw-2026.9"])
def test_openclaw_goes_on_past_a_fused_line_and_its_records_come_back_into_the_middle(reader: str, mode: str) -> None:
    case = of(*FUSED, format_name="openclaw", reader=reader)
    assert [chunk.text for chunk in case.conversation.chunks] == (
        ["one", "four", "five"] if reader == "openclaw-2026.9" else ["four", "five"]
    )
    final = repaired(case, "split-fused-line")
    assert [chunk.text for chunk in final.conversation.chunks] == ["one", "two", "three", "four", "five"]
    later = written(lines(header(), *FUSED), ["split-fused-line"], mode, "openclaw")
    assert texts(later) == ["one", "two", "three", "four", "five"]


@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize("mode", MODES)
def test_a_fused_line_whose_records_have_lines_of_their_own_is_only_a_note(mode: str, format_name: str) -> None:
    later = written(lines(header(), *FUSED), ["split-fused-line"], mode, format_name)
    told = [found for found in findings(later, RULES) if found.code == "STORE502"]
    if mode == "new-session":
        assert not told, "the new file has no such line"
    else:
        (note,) = told
        assert note.severity is Severity.NOTE and "each is on the path by a line of its own" in note.message
    assert codes(later) == [] and not compose(later, [strategy("split-fused-line")])


def test_a_fused_line_of_which_one_record_is_on_the_path_is_still_a_loss() -> None:
    rows = [*FUSED[:2], a("a2", "a1", text("two")), u("u3", "a2", "five")]
    case = of(*rows)
    (found,) = (found for found in findings(repaired(case, "split-fused-line"), RULES) if found.code == "STORE502")
    assert found.severity is Severity.WARNING and "u2" in found.message


def test_a_fused_line_that_the_program_went_on_without_stays_a_branch() -> None:
    rows = [u("u1", None, "one"), fused(a("a1", "u1", text("two")), u("u2", "a1", "three")), a("a2", "u1", text("four"))]
    case = of(*rows)
    assert repaired(case, "split-fused-line").conversation == case.conversation


def test_a_line_whose_records_are_a_branch_of_their_own_names_no_strategy() -> None:
    fused = line(a("a8", "u1", text("x"))) + line(u("u8", "a8", "mid"))
    apart = case_of(stored_tree(lines(header(), u("u1", None, "one"), fused, a("a2", "u1", text("end")))), "pi-1.5")
    (found,) = (each for each in findings(apart, RULES) if each.code == "STORE502")
    assert (
        found.repaired_by == () and "branch of their own" in found.no_repair_reason and not compose(apart, [strategy("split-fused-line")])
    )
    named = case_of(stored_tree(lines(header(), u("u1", None, "one"), fused, a("a2", "u8", text("end")))), "pi-1.5")
    (found,) = (each for each in findings(named, RULES) if each.code == "STORE502")
    assert found.repaired_by == ("split-fused-line",) and compose(named, [strategy("split-fused-line")])


def stored_tree(data: bytes) -> Conversation:
    (found,) = PI.read(records({"sessions/s.jsonl": data}))
    return found.conversation
