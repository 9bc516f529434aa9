"""Session files of Claude Code that no program writes: they are read and judged without a traceback, and nothing of them is lost."""

import tracemalloc
from dataclasses import replace
from typing import Any

import pytest

from inspector import check
from inspector.conversation.edits import Plan, Safety
from inspector.conversation.model import Chunk
from inspector.conversation.queries import true_messages
from inspector.planning.preview import compose
from inspector.presentation.conversation.resume_state import BROKEN, DAMAGED, RESUMED
from inspector.presentation.conversation.resuming import resume_state
from inspector.profiles.judging import judged_case
from inspector.programs.claude_code import folder, writing
from inspector.programs.claude_code.format import CLAUDE_CODE
from inspector.programs.claude_code.path import live_path
from inspector.programs.claude_code.readers import LOADERS
from inspector.programs.claude_code.sending import answer_id, last_calls, sent_lines
from inspector.programs.formats import Cell, Record, WriteRefused
from inspector.rules.base import case_of
from inspector.rules.call_without_id import turns_without_ids
from inspector.rules.catalogue import all_findings
from inspector.strategies.catalogue import strategy
from tests.counting import counted
from tests.folding import in_one_test
from tests.programs.claude_code.session_lines import ID, OTHER, a, boundary, call, case, encoded, lines, r, stored, text, u
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


@pytest.mark.parametrize(
    "left", [b"\0" * 400, b"{torn\n{torn too", lines(u("u1", None)).decode().encode("utf-16"), b'{"type": "user", "x": NaN}']
)
def test_a_session_of_which_no_message_can_be_read_cannot_be_resumed(left: bytes) -> None:
    lost = case(left)
    _, judgement = judged_case(lost, "anthropic-2026-07", "anthropic")
    assert resume_state(lost, all_findings(lost), judgement) == BROKEN


def test_a_session_with_a_message_next_to_lost_lines_can_be_resumed() -> None:
    kept = case(*TURN, b"\0" * 400)
    _, judgement = judged_case(kept, "anthropic-2026-07", "anthropic")
    assert resume_state(kept, all_findings(kept), judgement) in (DAMAGED, RESUMED)


@pytest.mark.parametrize("file", [f"{ID}.jsonl", "a b/c d.jsonl", f"{ID}/subagents/agent-1.jsonl"])
def test_of_two_sessions_with_one_name_a_new_one_is_named_as_of_one(file: str) -> None:
    keys = (f"projects/-a/{file}", f"projects/-b/{file}")
    records = [Record(key, Cell(lines(*TURN), "file")) for key in keys]
    alone, both = next(iter(CLAUDE_CODE.read(records[:1]))), list(CLAUDE_CODE.read(records))
    plans = [Plan("/data", one.conversation.native_id, FORK, (), frozenset[Safety](), "", (), {"fork_id": OTHER}) for one in (alone, *both)]
    assert len({plan.conversation for plan in plans}) == 3
    assert len({writing.target(plan) for plan in plans}) == 1
    assert {folder.own_name(plan.conversation) for plan in plans} == {alone.conversation.native_id}


def test_an_early_result_before_an_answer_of_many_pieces_takes_no_quadratic_time() -> None:
    pieces = [a(f"p{number}", f"p{number - 1}", "m2", call(f"t{number}")) for number in range(1, 301)]
    session = case(u("u1", None), a("a1", "u1", "m1", text("well")), r("p0", "a1", "nobody"), *pieces)
    spoken = list(true_messages(session.conversation.chunks))
    with counted(answer_id) as counts:
        sent_lines(spoken, LOADERS[0].version, last_calls(spoken))
    assert counts["answer_id"] < 10 * len(pieces)


def test_many_results_of_one_answer_take_no_quadratic_time() -> None:
    calls = [a(f"c{number}", f"c{number - 1}" if number else "u1", "m1", call(f"t{number}")) for number in range(200)]
    results = [r(f"r{number}", f"r{number - 1}" if number else "c199", f"t{number}") for number in range(200)]
    session = case(u("u1", None), *calls, *results)
    assert session.messages
    with counted(Chunk.call_id.fget) as counts:  # type: ignore[attr-defined]
        turns_without_ids(session)
    assert counts["call_id"] < 10 * len(calls)


def test_changed_copies_of_the_blocks_of_a_long_line_share_its_bytes() -> None:
    path = live_path(stored(u("u1", None, [text("x" * 20)] * 2000)).conversation, LOADERS[0])
    tracemalloc.start()
    try:
        copies = [replace(chunk, parent="u0") for chunk in path.chunks]
        assert tracemalloc.get_traced_memory()[1] < 10 * len(copies[0].raw)
    finally:
        tracemalloc.stop()
    assert copies[0].raw == path.chunks[0].raw
