"""Session files of Claude Code that no program writes: they are read and judged without a traceback, and nothing of them is lost."""

from dataclasses import replace
from typing import Any

import pytest

from inspector import check
from inspector.conversation.edits import Plan, Safety
from inspector.planning.preview import compose
from inspector.programs.claude_code.format import CLAUDE_CODE
from inspector.programs.formats import WriteRefused
from inspector.rules.base import case_of
from inspector.strategies.catalogue import strategy
from tests.folding import in_one_test
from tests.programs.claude_code.session_lines import OTHER, a, boundary, encoded, lines, stored, text, u
from tests.programs.claude_code.test_writing import FORK, SAME, repaired

NAMES = ("", "../x", "a/b", "/etc/x", "..", "a\nb", "a\0b", "<b>", "x" * 129)
BOM = b"\xef\xbb\xbf"
TURN = (u("u1", None), a("a1", "u1", "m1", text("well")), u("u2", "a1"), a("a2", "u2", "m2", text("done")))


@pytest.mark.parametrize("id_", [[], {}, ["u1"], 5, None, ""])
def test_a_compaction_after_a_line_whose_id_is_no_text_is_judged(id_: Any) -> None:
    assert check(lines(*TURN, boundary("b1", logicalParentUuid=id_), u("u3", "b1"))).conversation


@pytest.mark.parametrize("mode", [FORK, SAME])
def test_a_line_that_begins_with_a_byte_order_mark_is_split(mode: str) -> None:
    """Two files that were put together: only the mark at the start of a file is none of its text."""
    session = (*TURN[:2], BOM + encoded(TURN[2]), TURN[3])
    _, data = repaired("split-session-line", mode, *session)
    assert b'"uuid":"u2"' in data and b'"uuid":"a2"' in data
    assert mode == FORK or all(encoded(line) in data.split(b"\n") for line in TURN)


def test_a_fused_first_line_after_a_byte_order_mark_is_split() -> None:
    session = (BOM + encoded(TURN[0]) + encoded(TURN[1]), *TURN[2:])
    _, data = repaired("split-session-line", SAME, *session)
    assert [line.removeprefix(BOM) for line in data.splitlines()] == [encoded(line) for line in TURN]


@in_one_test("name", NAMES)
@in_one_test(("mode", "option"), [(FORK, "fork_id"), (FORK, "fresh_id"), (SAME, "fresh_id")])
def test_an_id_of_a_plan_file_that_would_lead_elsewhere_is_refused(mode: str, option: str, name: str) -> None:
    """The id of a new session becomes the name of its file, and that of a repair the name of its quarantine; a saved plan can be changed."""
    session = stored(*TURN, b"{torn", u("u3", "a2"))
    edits = compose(case_of(session.conversation, "claude-code"), [strategy("quarantine-unreadable-lines")])
    options = CLAUDE_CODE.options(mode, session, OTHER)
    plan = Plan("/data", session.conversation.native_id, mode, (), frozenset[Safety](), "", edits, {**options, option: name})
    with pytest.raises(WriteRefused, match="make the plan again"):
        CLAUDE_CODE.write(plan, session)
    without = {key: value for key, value in options.items() if key != option}
    with pytest.raises(WriteRefused, match="make the plan again"):
        CLAUDE_CODE.write(replace(plan, options=without), session)
