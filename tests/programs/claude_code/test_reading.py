"""Sessions of Claude Code as its versions read them: one answer over many lines, results on branches, agents, compactions."""

import pytest

from inspector.programs.claude_code.format import CLAUDE_CODE
from inspector.programs.claude_code.path import apart
from inspector.programs.claude_code.readers import READERS
from inspector.programs.formats import Cell, Record, Shape
from inspector.rules.catalogue import all_findings
from tests.programs.claude_code.families import with_model
from tests.programs.claude_code.session_lines import (
    ID,
    PROJECT,
    a,
    boundary,
    call,
    case,
    encoded,
    line,
    lines,
    r,
    said,
    stored,
    text,
    thinking,
    u,
)

TURN = (
    u("u1", None, "look around"),
    a("a1", "u1", "msg_1", thinking(), 1),
    a("a2", "a1", "msg_1", text("I look."), 1),
    a("a3", "a2", "msg_1", call("t1"), 1),
    a("a4", "a3", "msg_1", call("t2"), 1),
    r("r1", "a3", "t1", "one", 2),
    r("r2", "a4", "t2", "two", 2),
    u("u2", "r2", "and?", 3),
)
"""Two parallel calls: the first one's result hangs below its own call, off the chain of the last message."""


def test_results_of_parallel_calls_are_fetched_from_their_branches() -> None:
    found = case(*TURN)
    assert said(found.conversation) == [
        *("user:look around", "assistant:well", "assistant:I look.", "assistant:t1", "assistant:t2", "tool:one", "tool:two", "user:and?"),
    ]
    assert [message.role for message in found.reading.messages] == ["user", "assistant", "tool", "tool", "user"]
    assert all_findings(found) == ()


def test_versions_before_2_1_80_lost_them() -> None:
    found = case(*TURN, reader="claude-code-2.1.47")
    assert "tool:one" not in said(found.conversation)
    assert "t1" not in [chunk.call_id for message in found.reading.messages for chunk in message.chunks], (
        "a call without a result is left out"
    )


INTERLEAVED = (
    u("u1", None),
    a("a1", "u1", "msg_1", call("t1"), 1),
    r("r1", "a1", "t1", "one", 2),
    a("a2", "r1", "msg_1", call("t2"), 2),
    r("r2", "a2", "t2", "two", 3),
    u("u2", "r2", "and?", 4),
)


def test_pieces_of_one_answer_with_a_result_between_them_are_one_message() -> None:
    found = case(*INTERLEAVED)
    assert [message.role for message in found.reading.messages] == ["user", "assistant", "tool", "tool", "user"]
    assert [message.role for message in case(*INTERLEAVED, reader="claude-code-1").reading.messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "user",
    ]
    assert all_findings(found) == ()


def test_lines_of_progress_are_passed_through() -> None:
    between = line("progress", "p1", "a1", None, data={"type": "hook"}, toolUseID="t1")
    found = case(u("u1", None), a("a1", "u1", "m1", call("t1")), between, r("r1", "p1", "t1"))
    assert said(found.conversation) == ["user:go", "assistant:t1", "tool:done"]
    assert all_findings(found) == ()


def test_a_compaction_begins_the_path() -> None:
    found = case(
        u("u1", None),
        a("a1", "u1", "m1", text("long")),
        boundary("b1", logicalParentUuid="a1"),
        u("u2", "b1", "Summary", isCompactSummary=True),
        u("u3", "u2", "on"),
    )
    assert [chunk.text for message in found.reading.messages for chunk in message.chunks] == ["Summary", "on"]
    # What it took the place of is shown, and nobody sends it.
    assert said(found.conversation) == ["user:go", "assistant:long", "user:Summary", "user:on"]
    assert [(dropped.seqs, dropped.intentional) for dropped in found.reading.dropped] == [((1, 2), True)]


def test_a_line_of_an_agent_in_an_old_file_is_no_end_of_the_conversation() -> None:
    side = u("s1", None, "task of an agent", isSidechain=True)
    assert said(case(u("u1", None), a("a1", "u1", "m1", text("hi")), side).conversation) == ["user:go", "assistant:hi"]
    assert said(case(side, a("s2", "s1", "m2", text("done"), isSidechain=True)).conversation) == ["user:task of an agent", "assistant:done"]


def test_what_the_program_shows_and_never_sends() -> None:
    failed = with_model("<synthetic>", a("a1", "u1", "m1", text("API Error: 400"), isApiErrorMessage=True))
    found = case(u("u1", None), failed, u("u2", "a1", "again"))
    assert [chunk.text for message in found.reading.messages for chunk in message.chunks] == ["go", "again"]
    assert [dropped.intentional for dropped in found.reading.dropped] == [True]
    assert all_findings(found) == ()


def test_a_rewind_leaves_the_old_branch_and_its_results_where_they_are() -> None:
    lines_of_file = (u("u1", None), a("a1", "u1", "m1", text("one way")), u("u2", "a1", "no"), u("u3", "a1", "another way", 5))
    assert said(case(*lines_of_file).conversation) == ["user:go", "assistant:one way", "user:another way"]


def test_a_line_that_cannot_be_read_is_skipped_by_every_version() -> None:
    values = (u("u1", None, "first"), encoded(u("u2", "u1", "lost"))[:-20], u("u3", "u1", "after", 1))
    assert {tuple(said(case(*values, reader=reader.name).conversation)) for reader in READERS} == {("user:first", "user:after")}


def test_every_line_is_a_chunk_and_its_bytes_are_kept() -> None:
    session = stored(
        *TURN, b"{torn", b"7", u("x", "gone", [{"type": "odd"}]), line("system", "s", None, None, content="note", subtype="informational")
    )
    chunks = session.conversation.chunks
    assert [chunk.damage for chunk in chunks if chunk.damage] == ["torn", "not-object"]
    assert b"\n".join(dict.fromkeys(chunk.raw for chunk in chunks)) + b"\n" == session.records[0].value.data


def test_facts_say_who_wrote_it_and_how_much_a_resume_reaches() -> None:
    conversation = stored(*TURN, u("u9", "u1", "on the other branch", 9, version="2.1.200")).conversation
    assert (conversation.native_id, conversation.title) == (ID, "look around")
    facts = {name: conversation.fact(name) for name in ("version", "versions", "model", "cwd", "reachable")}
    assert facts == {
        "version": "2.1.200",
        "versions": "2.1.128, 2.1.200",
        "model": "claude-sonnet-4-5",
        "cwd": "/home/dev/app",
        "reachable": "2/9",
    }


def test_an_agent_is_named_by_its_session_and_its_file() -> None:
    key = f"{PROJECT}/{ID}/subagents/agent-a1b2.jsonl"
    (agent,) = CLAUDE_CODE.read([Record(key, Cell(lines(u("s1", None, "task", isSidechain=True, agentId="a1b2")), "file"))])
    assert (agent.conversation.native_id, agent.conversation.fact("agentOf")) == (f"{ID}/agent-a1b2", ID)


@pytest.mark.parametrize(
    ("head", "is_session"),
    [
        (lines(*TURN), True),
        (lines({"type": "summary", "summary": "x", "leafUuid": "u1"}), True),
        (lines({"type": "file-history-snapshot", "messageId": "x", "snapshot": {}}), True),
        (lines({"type": "queue-operation", "operation": "dequeue", "sessionId": "s"}), True),
        # Cut in the middle of its first line by the bytes that are looked at.
        (lines(u("u1", None, "long " * 2000))[:4096], True),
        (b"{torn\n" + lines(*TURN), True),
        (b'{"type":"session","version":3,"id":"x","cwd":"/"}\n', False),
        (lines({"role": "user", "content": '{"parentUuid":null}'}), False),
        (lines({"model": "m", "messages": [{"role": "assistant", "content": [call("c", isSidechain=False)]}]}), False),
    ],
)
def test_a_session_is_recognized_by_the_members_of_its_lines(head: bytes, is_session: bool) -> None:
    assert (CLAUDE_CODE.sniff(Shape(head=head)) > 0) is is_session


def test_a_folder_is_read_whole_and_two_copies_of_a_session_have_two_ids() -> None:
    data = lines(*TURN)
    keys = (f"{PROJECT}/{ID}.jsonl", f"projects/-other/{ID}.jsonl")
    ids = [session.conversation.native_id for session in CLAUDE_CODE.read([Record(key, Cell(data, "file")) for key in keys])]
    assert len(set(ids)) == 2 and all(ID in id_ for id_ in ids)


def test_lines_that_lead_to_no_message_are_no_part_of_the_tree() -> None:
    settings = (
        {"type": "file-history-snapshot", "messageId": "u1", "snapshot": {}},
        line("progress", "p1", "u1", None),
        line("progress", "p2", "p1", None),
        line("progress", "p3", "u1", None),
    )
    conversation = stored(u("u1", None), *settings, a("a1", "p3", "m1", text("hi")), b"{torn").conversation
    assert apart(conversation) == {"line:1", "p1", "p2"}
