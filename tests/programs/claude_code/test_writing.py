"""Plans on sessions of Claude Code as bytes: what is rewritten, what keeps every byte, and what the program reads of it."""

import json
from dataclasses import replace
from typing import Any

import pytest

from inspector.conversation.edits import Edit, Insert, Plan, Remove, Replace, Safety
from inspector.conversation.model import Chunk, Kind
from inspector.planning.preview import compose, digest
from inspector.programs.claude_code.format import CLAUDE_CODE
from inspector.programs.formats import Change, Stored, WriteRefused
from inspector.rules.base import Case, case_of
from inspector.rules.catalogue import all_findings
from inspector.rules.synthetic_texts import OURS
from inspector.strategies.catalogue import strategy
from tests.programs.claude_code.session_lines import ID, OTHER, a, call, lines, r, said, stored, text, u

FORK, SAME = "new-session", "same-file"
OPEN_CALL = (
    u("u1", None),
    a("a1", "u1", "msg_1", text("I look"), 1),
    a("a2", "a1", "msg_1", call("t1"), 1),
    u("u2", "a2", "and?", 2),
    a("a3", "u2", "msg_2", text("Well."), 3),
)


def changes(session: Stored, edits: tuple[Edit, ...], mode: str) -> tuple[Change, ...]:
    case = case_of(session.conversation, "claude-code")
    path = replace(session, conversation=case.conversation)
    options = CLAUDE_CODE.options(mode, path, OTHER)
    plan = Plan("/data/projects", session.conversation.native_id, mode, (), frozenset[Safety](), digest(path), edits, options)
    return tuple(CLAUDE_CODE.write(plan, path))


def repaired(name: str, mode: str, *values: Any) -> tuple[Case, bytes]:
    """The case of what the strategy writes, and its bytes."""
    session = stored(*values)
    (change,) = changes(session, compose(case_of(session.conversation, "claude-code"), [strategy(name)]), mode)
    assert change.after is not None
    written = stored(change.after.data.removesuffix(b"\n"), key=change.key)
    return case_of(written.conversation, "claude-code"), change.after.data


def parents(data: bytes) -> dict[str, str | None]:
    return {line["uuid"]: line["parentUuid"] for line in map(json.loads, data.splitlines())}


def test_a_result_takes_its_place_in_the_chain() -> None:
    case, data = repaired("insert-interrupted-result", SAME, *OPEN_CALL)
    assert said(case.conversation)[2:5] == ["assistant:t1", f"tool:{OURS}", "user:and?"]
    assert [finding.severity for finding in all_findings(case)] == ["note"]
    new = json.loads(data.splitlines()[3])
    assert (new["parentUuid"], new["sourceToolAssistantUUID"], new["sessionId"], new["type"]) == ("a2", "a2", ID, "user")
    assert new["message"]["content"][0]["is_error"] is True and new["timestamp"] == "2026-08-01T10:01:00.000Z"
    assert parents(data)["u2"] == new["uuid"]


def test_every_other_line_keeps_its_bytes() -> None:
    before = lines(*OPEN_CALL).splitlines(keepends=True)
    _, data = repaired("insert-interrupted-result", SAME, *OPEN_CALL)
    after = data.splitlines(keepends=True)
    assert after[:3] == before[:3] and after[5] == before[4]
    assert after[4] == before[3].replace(b'"parentUuid":"a2"', b'"parentUuid":"' + json.loads(after[3])["uuid"].encode() + b'"')


def test_a_new_session_holds_the_path_and_says_where_it_came_from() -> None:
    aside = u("x1", "u1", "on another branch")
    case, data = repaired("insert-interrupted-result", FORK, OPEN_CALL[0], aside, *OPEN_CALL[1:])
    assert (case.conversation.native_id, case.conversation.fact("sessionId")) == (OTHER, OTHER)
    forked = [json.loads(line) for line in data.splitlines()]
    assert [line.get("forkedFrom", {}).get("messageUuid") for line in forked] == ["u1", "a1", "a2", None, "u2", "a3"]
    assert [line["parentUuid"] for line in forked[1:]] == [line["uuid"] for line in forked[:-1]]


def test_a_line_that_goes_hands_its_parent_on_on_every_branch() -> None:
    values = (u("u1", None), a("a1", "u1", "m1", text("x")), r("r1", "a1", "gone"), u("u2", "r1", "and?", 2), u("b2", "r1", "aside", 1))
    session = stored(*values)
    case = case_of(session.conversation, "claude-code", None)
    (change,) = changes(session, compose(case, [strategy("drop-orphaned-results")]), SAME)
    assert change.after is not None
    assert parents(change.after.data) == {"u1": None, "a1": "u1", "u2": "a1", "b2": "a1"}


def test_a_changed_block_leaves_the_rest_of_its_line_as_it_is() -> None:
    odd = b'{"parentUuid":null, "isSidechain":false,"type":"user","message":{"role":"user","content":[{"type":"text","text":"a\\u00e4"},{"type":"text","text":"b","x":1.0}]},"uuid":"u1","n":1e21}'
    session = stored(odd, a("a1", "u1", "m1", text("hi")))
    first = case_of(session.conversation, "claude-code").conversation.chunks[0]
    (change,) = changes(session, (Replace(first, replace(first, payload={**first.payload, "text": "new"})),), SAME)
    assert change.after is not None
    assert change.after.data == lines(odd.replace(b'"a\\u00e4"', b'"new"'), a("a1", "u1", "m1", text("hi")))


def test_a_call_with_siblings_on_other_branches_gets_its_result() -> None:
    values = (
        u("u1", None),
        a("a1", "u1", "m1", call("t1")),
        a("a2", "a1", "m1", call("t2")),
        r("r1", "a1", "t1", "one"),
        u("u2", "a2", "and?", 2),
    )
    case, _ = repaired("insert-interrupted-result", SAME, *values)
    assert said(case.conversation)[-3:] == ["tool:one", f"tool:{OURS}", "user:and?"]


def test_a_file_without_a_last_line_end_gets_one_where_something_follows() -> None:
    session = stored(*OPEN_CALL[:3])
    cut = replace(session.records[0], value=replace(session.records[0].value, data=session.records[0].value.data[:-1]))
    (whole,) = CLAUDE_CODE.read([cut])
    (change,) = changes(whole, compose(case_of(whole.conversation, "claude-code"), [strategy("insert-plain-result")]), SAME)
    assert change.after is not None and change.after.data.startswith(cut.value.data + b"\n") and change.after.data.endswith(b"\n")


@pytest.mark.parametrize("mode", [FORK, SAME])
def test_what_the_program_would_read_otherwise_is_refused(mode: str) -> None:
    """An answer on a branch of its own cannot be put before the one that it is a piece of."""
    session = stored(*OPEN_CALL)
    chunks = case_of(session.conversation, "claude-code").conversation.chunks
    control = Chunk("new:x", 0, "assistant", Kind.CONTROL, {"type": "control"}, 90, 0)
    with pytest.raises(WriteRefused, match="no block for control"):
        changes(session, (Insert(chunks[0].key, control),), mode)
    with pytest.raises(WriteRefused, match="Nothing would be left"):
        changes(session, tuple(Remove(chunk) for chunk in chunks), mode)


def test_a_session_named_alone_has_no_folder_for_a_new_one() -> None:
    session = stored(*OPEN_CALL, key=f"{ID}.jsonl")
    with pytest.raises(WriteRefused, match="import the folder of the project, or write --mode same-file"):
        changes(session, compose(case_of(session.conversation, "claude-code"), [strategy("insert-plain-result")]), FORK)


@pytest.mark.parametrize("mode", [FORK, SAME])
def test_an_answer_that_is_labeled_as_the_users_is_labeled_as_an_answer_again(mode: str) -> None:
    answer = a("a1", "u1", "msg_1", text("I look."))
    wrong = {**answer, "type": "user", "message": {**answer["message"], "role": "user"}}
    case, data = repaired("relabel-answer", mode, u("u1", None), wrong, u("u2", "a1", "and?"))
    assert said(case.conversation) == ["user:go", "assistant:I look.", "user:and?"] and all_findings(case) == ()
    line = json.loads(data.splitlines()[1])
    assert (line["type"], line["message"]["role"], line["message"]["id"]) == ("assistant", "assistant", "msg_1")
