"""The incident of a session that its provider refuses: from the error's text alone to the stored line, and to a repair that is accepted."""

from pathlib import Path

import pytest

from inspector.demo.rollouts_incident import SESSION, incident_files
from tests.commands.running import run

pytestmark = pytest.mark.django_db
ERROR = (
    "messages.5.content.3: thinking or redacted_thinking blocks in the latest assistant message cannot be modified. "
    "These blocks must remain as they were in the original response."
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, data in incident_files().items():
        place = tmp_path / "rollouts" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    return tmp_path / "rollouts"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_the_error_alone_leads_to_the_block_of_the_request_that_was_refused(folder: Path) -> None:
    found = run("explain", ERROR, "--target", str(folder), "--conversation", "crash:", "--json").json["recognised"]
    assert [each["id"] for each in found] == ["AN-16"]
    (place,) = [place for place in found[0]["places"] if place["path"] == "messages.5.content.3"]
    assert len(place["seqs"]) == 1 and place["records"][0].startswith(f"{folder.name}/crashes/")
    assert ["messages.5.content.3", place["seqs"]] in [[fired["path"], fired["seqs"]] for fired in found[0]["fires"]]
    assert "insert-interrupted-result" in found[0]["repaired_by"]


def test_the_session_is_repaired_in_a_child_that_no_known_rule_refuses_and_undo_takes_it_back(folder: Path) -> None:
    before = contents(folder)
    applied = run("repair", str(folder), "--conversation", SESSION, "--for", "anthropic-2026-07", "--apply", "--json")
    assert applied.status == 0 and applied.json["state"] == "verified"
    after = contents(folder)
    assert before.items() <= after.items() and len(after) == len(before) + 2
    child = next(name.split("/")[1] for name in after if name not in before)
    scanned = run("scan", str(folder), "--conversation", child, "--profile", "all", "--json").json["conversations"][0]
    assert scanned["profiles"]["anthropic-2026-07"] == {"sendable": True, "prefix_valid": True, "first_bad": None, "violations": []}
    assert not [found for found in scanned["findings"] if found["severity"] == "error"]
    assert run("undo", applied.json["repair"]).status == 0 and contents(folder) == before


def test_scan_says_the_first_bad_point_for_each_profile(folder: Path) -> None:
    scanned = run("scan", str(folder), "--conversation", "crash:", "--profile", "all", "--json").json["conversations"][0]
    profiles = scanned["profiles"]
    assert not profiles["anthropic-2026-07"]["sendable"]
    assert profiles["anthropic-2026-07"]["first_bad"] in {
        seq for each in profiles["anthropic-2026-07"]["violations"] for seq in each["seqs"]
    }
    assert profiles["bedrock"]["violations"][0]["id"] == "BR-1"


@pytest.mark.parametrize("named", [[], ["--conversation", SESSION], ["--conversation", "crash:"]])
def test_the_newest_crash_with_this_error_leads_to_the_stored_line_and_says_what_is_ruled_out(folder: Path, named: list[str]) -> None:
    told = run("explain", ERROR, "--target", str(folder), *named).out
    assert f"Stored in session {SESSION}" in told and "messages.jsonl#16.0" in told
    assert "ruled out: serialization: " in told


def test_an_imported_session_finds_its_crash(folder: Path) -> None:
    assert run("import_source", str(folder)).status == 0
    assert "messages.jsonl#16.0" in run("explain", ERROR, "--target", SESSION).out


def test_another_error_is_not_taken_for_that_of_the_crash(folder: Path) -> None:
    told = run(
        "explain", ERROR.replace("messages.5.content.3", "messages.1.content.0"), "--target", str(folder), "--conversation", SESSION
    ).out
    assert "Stored in session" not in told and "AN-16" in told
