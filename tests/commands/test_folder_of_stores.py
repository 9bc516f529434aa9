"""A folder that is named is read for every store in it, as opencode keeps its tree of files next to its database."""

from pathlib import Path

import pytest

from inspector.models import Source
from tests.commands.running import run
from tests.programs.opencode import stores


@pytest.fixture
def both(tmp_path: Path) -> Path:
    """A database with a call that never ended, and a tree with the session as it was before."""
    folder = tmp_path / "opencode"
    folder.mkdir()
    stores.database(folder, stores.KILLED)
    stores.tree(folder, stores.CLEAN)
    return folder


@pytest.fixture
def database_alone(tmp_path: Path) -> Path:
    folder = tmp_path / "only"
    folder.mkdir()
    stores.database(folder, stores.KILLED)
    return folder


def test_scan_reads_both_and_says_so(both: Path) -> None:
    ran = run("scan", both)
    assert ran.out.startswith(f"{both} holds 2 stores, and all are read: {both}/opencode.db (opencode), {both}/storage (opencode-storage).")
    assert "stale-tool-part" in ran.out and "Healthy: 1 of 2 conversations." in ran.out
    scanned = run("scan", both, "--json").json
    assert scanned["source"]["stores"] == [
        {"path": f"{both}/opencode.db", "format": "opencode"},
        {"path": f"{both}/storage", "format": "opencode-storage"},
    ]
    assert [one["format"] for one in scanned["conversations"]] == ["opencode", "opencode-storage"]


def test_check_reads_both(both: Path) -> None:
    ran = run("check", both, "--json")
    assert [(one["format"], len(one["findings"])) for one in ran.json["histories"]] == [("opencode", 1), ("opencode-storage", 0)]


def test_doctor_reads_both_and_its_json_has_a_place_for_each(both: Path) -> None:
    ran = run("doctor", both)
    lines = ran.out.splitlines()
    assert lines[0].startswith(f"{both}, ")
    assert [line.partition(",")[0] for line in lines[1:3]] == [f"opencode: {both}/opencode.db", f"opencode: {both}/storage"]
    assert "All 2 sessions can be resumed." in ran.out
    places = run("doctor", both, "--json").json["places"]
    assert [(place["program"], place["format"], place["sessions"]) for place in places] == [
        ("opencode", "opencode", 1),
        ("opencode", "opencode-storage", 1),
    ]


@pytest.mark.parametrize("command", ["scan", "check", "doctor"])
def test_a_folder_with_nothing_but_a_database_is_read(database_alone: Path, command: str) -> None:
    ran = run(command, database_alone)
    assert ran.status == 0 and not ran.err
    assert ("stale-tool-part" in ran.out) != (command == "doctor")


def test_a_command_for_one_conversation_asks_for_one_of_the_stores(both: Path, database_alone: Path) -> None:
    ran = run("show", both)
    assert (ran.status, ran.err) == (2, f"{both} holds 2 stores: name one of them ({both}/opencode.db, {both}/storage).\n")
    assert run("show", database_alone).status == 0


def test_what_is_not_read_is_a_problem_of_each_command(both: Path) -> None:
    (both / "torn.db").write_bytes((both / "opencode.db").read_bytes()[:1000])
    for command in ("scan", "check"):
        (problem,) = _problems(run(command, both, "--json").json)
        assert problem["reason"].startswith(f"{both}/torn.db ")
    assert f"Not read: {both}/torn.db " in run("doctor", both).out
    doctor = run("doctor", both, "--json")
    assert doctor.status == 1 and doctor.json["places"][0]["skipped"][0].startswith(f"{both}/torn.db ")


def _problems(report: dict[str, object]) -> list[dict[str, str]]:
    holder = report.get("source", report)
    assert isinstance(holder, dict)
    problems: list[dict[str, str]] = holder["problems"]
    return problems


@pytest.mark.django_db
def test_an_import_makes_a_source_of_each(both: Path) -> None:
    assert run("import_source", both).status == 0
    assert sorted(Source.objects.values_list("path", "format")) == [
        (f"{both}/opencode.db", "opencode"),
        (f"{both}/storage", "opencode-storage"),
    ]
