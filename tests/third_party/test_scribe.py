"""Somebody else's program: a package of its own, installed without network, read, repaired and shown without a line changed in Inspector."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands.running import Ran, run_in_process

PACKAGE = Path(__file__).with_name("scribe")
LINES = (
    '{"scribe": 1, "id": "s-1"}',
    '{"n": 1, "by": "user", "say": "list the files"}',
    '{"n": 2, "by": "model", "call": {"id": "c1", "name": "ls", "args": {"path": "."}}}',
    '{"n": 2, "by": "user", "say": "and?"}',
    '{"n": 3, "by": "model", "say": "Nothing there"}',
)
PAGES = """
import json
from django.test import Client
from inspector.access_token import bearer
from inspector.models import Conversation, Repair
client = Client(headers={"host": "localhost", **bearer()})
row, repair = Conversation.objects.get(native_id="s-1"), Repair.objects.first()
pages = ["/", "/formats/", "/rules/SCRIBE101/", f"/conversations/{row.oid}/", f"/conversations/{row.oid}.json", f"/conversations/{row.oid}/prompt/"]
pages += [f"/conversations/{row.oid}/repairs/new/?strategy=insert-interrupted-result", f"/repairs/{repair.oid}/", f"/sources/{row.source.oid}/"]
print(json.dumps({page: client.get(page).status_code for page in pages}))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation", "--no-deps", "--no-compile"]
    ran = subprocess.run(
        [*pip, "--target", str(folder), str(PACKAGE)], capture_output=True, text=True, env={**os.environ, "PIP_NO_INPUT": "1"}
    )
    assert ran.returncode == 0, ran.stderr
    return folder


@pytest.mark.slow
def test_a_program_of_another_package_is_read_repaired_and_shown(installed: Path, tmp_path: Path) -> None:
    folder, own = tmp_path / "sessions", tmp_path / "own.sqlite3"
    folder.mkdir()
    session = folder / "monday.scribe"
    before = "\n".join(LINES) + "\n"
    session.write_text(before)

    def inspector(*arguments: object) -> Ran:
        return run_in_process(own, *arguments, PYTHONPATH=str(installed))

    assert inspector("migrate", "--verbosity", "0").status == 0
    assert "scribe: Scribe sessions" in inspector("formats").out
    scanned = inspector("scan", folder, "--json")
    assert scanned.status == 1, scanned.err
    (conversation,) = scanned.json["conversations"]
    assert [(found["code"], found["repaired_by"]) for found in conversation["findings"]] == [
        ("TOOL102", ["insert-interrupted-result"]), ("SCRIBE101", []),
    ]  # fmt: skip
    assert "Scribe sends the call as it is" in conversation["findings"][0]["message"]
    assert "c1 ls" in inspector("show", folder, "--as", "messages").out

    asked = ("repair", folder, "--conversation", "s-1", "--strategy", "insert-interrupted-result")
    planned = inspector(*asked, "--mode", "in-place", "--plan", "--json")
    assert planned.status == 0 and session.read_text() == before
    applied = inspector(*asked, "--mode", "in-place", "--apply", "--json")
    assert applied.status == 0, applied.err
    result = json.dumps({"n": 4, "by": "tool", "for": "c1", "out": "(no answer)"})
    assert session.read_text().splitlines() == [*LINES[:3], result, *LINES[3:]]
    oid = applied.json["repair"]
    shown = inspector("shell", "-v", "0", "-c", PAGES)
    assert shown.status == 0, shown.err
    assert {page: status for page, status in shown.json.items() if status != 200} == {}
    assert inspector("verify", oid).status == 0
    assert inspector("undo", oid).status == 0 and session.read_text() == before

    assert inspector(*asked, "--mode", "fork", "--apply").status == 0
    (copy,) = set(folder.iterdir()) - {session}
    assert json.loads(copy.read_text().splitlines()[0])["id"] == copy.stem and session.read_text() == before


@pytest.mark.slow
def test_two_files_with_one_id_are_not_shown_as_one(installed: Path, tmp_path: Path) -> None:
    """The second would hide the first: a healthy copy made a damaged session look healthy."""
    for name in ("monday", "copy"):
        (tmp_path / f"{name}.scribe").write_text("\n".join(LINES) + "\n")
    ran = run_in_process(tmp_path / "own.sqlite3", "scan", tmp_path, PYTHONPATH=str(installed))
    assert ran.status == 2 and "two conversations with the id s-1" in ran.err
    assert "copy.scribe and" in ran.err and "monday.scribe" in ran.err and "name one of the files" in ran.err
    alone = run_in_process(tmp_path / "own.sqlite3", "scan", tmp_path / "monday.scribe", PYTHONPATH=str(installed))
    assert alone.status == 1 and "TOOL102" in alone.out


@pytest.mark.slow
def test_without_the_package_the_file_is_none_that_inspector_knows(tmp_path: Path) -> None:
    session = tmp_path / "monday.scribe"
    session.write_text("\n".join(LINES) + "\n")
    ran = run_in_process(tmp_path / "own.sqlite3", "scan", session)
    assert ran.status == 2 and "Traceback" not in ran.err and str(session) in ran.err


@pytest.mark.slow
def test_a_package_whose_program_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    about = tmp_path / "site" / "broken-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[inspector.programs]\nlost = no_such_module.program:PROGRAM\n")
    ran = run_in_process(tmp_path / "own.sqlite3", "formats", PYTHONPATH=str(about.parent))
    assert ran.status == 2 and ran.err.count("\n") == 1, ran.err
    assert "The program lost (no_such_module.program:PROGRAM) of an installed package cannot be loaded" in ran.err
    assert "fault of Inspector" not in ran.err
