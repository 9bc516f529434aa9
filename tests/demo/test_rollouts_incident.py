"""The example session: the published shape, the same bytes every time, and a crash file that names the right block."""

import json

from inspector.demo.rollouts_incident import CRASH, SESSION, incident_files, messages
from inspector.programs.formats import Cell, Record
from inspector.programs.rollouts.format import ROLLOUTS
from inspector.programs.rollouts.readers import read
from inspector.programs.rollouts.writing import line_text, session_text


def test_the_bytes_are_the_same_every_time() -> None:
    assert incident_files() == incident_files()
    assert sorted(incident_files()) == [f"crashes/{CRASH}.txt", f"sessions/{SESSION}/messages.jsonl", f"sessions/{SESSION}/session.json"]


def test_files_are_spelled_as_rollouts_spells_them() -> None:
    files = {key.rpartition("/")[2]: data.decode() for key, data in incident_files().items()}
    assert "".join(f"{line_text(json.loads(line))}\n" for line in files["messages.jsonl"].split("\n")[:-1]) == files["messages.jsonl"]
    assert session_text(json.loads(files["session.json"])) == files["session.json"]
    assert not files[f"{CRASH}.txt"].endswith("\n") and files[f"{CRASH}.txt"].isascii()


def test_consecutive_assistants_stand_where_the_report_has_them() -> None:
    roles = [each["role"] for each in messages()]
    assert [index for index in range(len(roles) - 1) if roles[index] == roles[index + 1] == "assistant"] == [12, 15]
    assert [block["type"] for block in messages()[13]["content"]] == ["thinking", "text", "toolCall"]
    assert all(
        block["thinking_signature"]
        for each in messages()
        for block in each["content"]
        if isinstance(block, dict) and block["type"] == "thinking"
    )


def test_the_refused_request_has_thinking_of_the_second_response_at_the_named_place() -> None:
    refused = json.loads(incident_files()[f"crashes/{CRASH}.txt"])["messages"]
    assert [each["role"] for each in refused] == ["user", "assistant", "user", "assistant", "user", "assistant", "user"]
    assert [block["type"] for block in refused[5]["content"]] == ["thinking", "text", "tool_use", "thinking", "text", "tool_use"]
    assert refused[5]["content"][3]["thinking"] == messages()[16]["content"][0]["thinking"]


def test_the_present_code_makes_up_the_one_missing_result() -> None:
    records = [Record(f".rollouts/{key}", Cell(data, "file")) for key, data in sorted(incident_files().items())]
    first, _ = ROLLOUTS.read(records)
    reading = read(first.conversation)
    assert not reading.failure and reading.report["syntheticResults"] == 1
