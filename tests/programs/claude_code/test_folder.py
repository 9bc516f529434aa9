"""What is next to a session in its folder: the list of the folder, its agents, and lines that a repair moved out of it."""

import json
from pathlib import Path
from typing import Any

from inspector.programs.claude_code.format import CLAUDE_CODE
from inspector.programs.formats import Cell, Record
from inspector.rules.base import Severity, case_of
from inspector.rules.catalogue import all_findings
from inspector.sources import reading
from inspector.sources.streaming import OpenStore
from tests.programs.claude_code.session_lines import ID, OTHER, PROJECT, a, call, lines, r, text, u, write

DATA = lines(u("u1", None), a("a1", "u1", "m1", text("hi"), 1))
STARTED = lines(
    u("u1", None),
    a("a1", "u1", "m1", call("t1"), 1),
    {**r("r1", "a1", "t1", "done", 2), "toolUseResult": {"status": "completed", "prompt": "{look}", "agentId": "ac47f8c"}},
)


def read(folder: Path, files: dict[str, bytes]) -> dict[str, list[tuple[str, Severity]]]:
    """Findings of each session of a folder by its id."""
    write(folder, {f"{PROJECT}/{name}": data for name, data in files.items()})
    with reading.opened(folder) as store:
        assert isinstance(store, OpenStore)
        return {
            listed.native_id: [
                (finding.code, finding.severity) for finding in all_findings(case_of(store.read(listed).conversation, "claude-code"))
            ]
            for listed in store.listed
        }


def index(*ids: str, **more: Any) -> bytes:
    return json.dumps({"version": 1, "entries": [{"sessionId": id_, "messageCount": 2} for id_ in ids], **more}).encode()


def test_a_session_that_the_list_of_its_folder_does_not_have_is_noted(tmp_path: Path) -> None:
    other = DATA.replace(ID.encode(), OTHER.encode())
    files = {f"{ID}.jsonl": DATA, f"{OTHER}.jsonl": other, "sessions-index.json": index(OTHER)}
    assert read(tmp_path, files) == {ID: [("STORE903", Severity.NOTE)], OTHER: []}


def test_rows_of_sessions_whose_files_are_gone_are_counted(tmp_path: Path) -> None:
    """All that is left of them is the row, and the prompts in history.jsonl, which is in no project."""
    write(tmp_path, {f"{PROJECT}/{ID}.jsonl": DATA, f"{PROJECT}/sessions-index.json": index(OTHER, "9d1f6f6e-0000-4000-8000-000000000003")})
    with reading.opened(tmp_path) as store:
        assert isinstance(store, OpenStore)
        (listed,) = store.listed
        (finding,) = all_findings(case_of(store.read(listed).conversation, "claude-code"))
    assert finding.message.startswith("sessions-index.json lists 2 sessions of this folder, 2 of which have no file, and not this one: ")


def test_a_list_of_another_shape_and_an_empty_one_say_nothing(tmp_path: Path) -> None:
    for data in (b"{torn", b"[]", b'{"entries":7}', b'{"entries":[7,{"sessionId":1}]}', index()):
        assert read(tmp_path, {f"{ID}.jsonl": DATA, "sessions-index.json": data}) == {ID: []}


def test_an_agent_whose_file_is_not_there_is_noted(tmp_path: Path) -> None:
    assert read(tmp_path / "without", {f"{ID}.jsonl": STARTED}) == {ID: [("STORE904", Severity.NOTE)]}
    agent = lines(u("s1", None, "task", isSidechain=True, agentId="ac47f8c"))
    # Its place in versions of today, in older ones, and in the session that a new one was made of.
    places = (f"{ID}/subagents/agent-ac47f8c.jsonl", "agent-ac47f8c.jsonl", f"{OTHER}/subagents/agent-ac47f8c.jsonl")
    for number, name in enumerate(places):
        assert read(tmp_path / str(number), {f"{ID}.jsonl": STARTED, name: agent})[ID] == []


def test_of_a_file_that_was_opened_alone_nobody_knows_what_is_next_to_it() -> None:
    (session,) = CLAUDE_CODE.read([Record(f"{ID}.jsonl", Cell(STARTED, "file"))])
    assert all_findings(case_of(session.conversation, "claude-code")) == ()


def test_lines_that_a_repair_moved_out_are_no_session(tmp_path: Path) -> None:
    assert list(read(tmp_path, {f"{ID}.jsonl": DATA, f"{ID}.9d1f6f6e.quarantine": b"{torn\n"})) == [ID]
