"""What is next to a session in its folder: the list of the folder, its agents, and lines that a repair moved out of it."""

import json
from typing import Any

from inspector.programs.claude_code.format import CLAUDE_CODE
from inspector.programs.formats import Cell, Record
from inspector.rules.base import Severity, case_of
from inspector.rules.catalogue import all_findings
from tests.programs.claude_code.session_lines import ID, OTHER, PROJECT, a, call, lines, r, text, u

DATA = lines(u("u1", None), a("a1", "u1", "m1", text("hi"), 1))
STARTED = lines(
    u("u1", None),
    a("a1", "u1", "m1", call("t1"), 1),
    {**r("r1", "a1", "t1", "done", 2), "toolUseResult": {"status": "completed", "prompt": "{look}", "agentId": "ac47f8c"}},
)


def read(files: dict[str, bytes]) -> dict[str, list[tuple[str, Severity]]]:
    """Findings of each session of a folder by its id."""
    records = [Record(f"{PROJECT}/{name}", Cell(data, "file")) for name, data in sorted(files.items())]
    assert all(CLAUDE_CODE.wants(record.key) for record in records if not record.key.endswith(".quarantine"))
    sessions = CLAUDE_CODE.read(records)
    return {
        session.conversation.native_id: [
            (finding.code, finding.severity) for finding in all_findings(case_of(session.conversation, "claude-code"))
        ]
        for session in sessions
    }


def index(*ids: str, **more: Any) -> bytes:
    return json.dumps({"version": 1, "entries": [{"sessionId": id_, "messageCount": 2} for id_ in ids], **more}).encode()


def test_a_session_that_the_list_of_its_folder_does_not_have_is_noted() -> None:
    other = DATA.replace(ID.encode(), OTHER.encode())
    files = {f"{ID}.jsonl": DATA, f"{OTHER}.jsonl": other, "sessions-index.json": index(OTHER)}
    assert read(files) == {ID: [("STORE903", Severity.NOTE)], OTHER: []}


def test_a_list_of_another_shape_and_an_empty_one_say_nothing() -> None:
    for data in (b"{torn", b"[]", b'{"entries":7}', b'{"entries":[7,{"sessionId":1}]}', index()):
        assert read({f"{ID}.jsonl": DATA, "sessions-index.json": data}) == {ID: []}


def test_an_agent_whose_file_is_not_there_is_noted() -> None:
    assert read({f"{ID}.jsonl": STARTED}) == {ID: [("STORE904", Severity.NOTE)]}
    agent = lines(u("s1", None, "task", isSidechain=True, agentId="ac47f8c"))
    # Its place in versions of today, in older ones, and in the session that a new one was made of.
    for name in (f"{ID}/subagents/agent-ac47f8c.jsonl", "agent-ac47f8c.jsonl", f"{OTHER}/subagents/agent-ac47f8c.jsonl"):
        assert read({f"{ID}.jsonl": STARTED, name: agent})[ID] == []


def test_of_a_file_that_was_opened_alone_nobody_knows_what_is_next_to_it() -> None:
    (session,) = CLAUDE_CODE.read([Record(f"{ID}.jsonl", Cell(STARTED, "file"))])
    assert all_findings(case_of(session.conversation, "claude-code")) == ()


def test_lines_that_a_repair_moved_out_are_no_session() -> None:
    assert list(read({f"{ID}.jsonl": DATA, f"{ID}.9d1f6f6e.quarantine": b"{torn\n"})) == [ID]
