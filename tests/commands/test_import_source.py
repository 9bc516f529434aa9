"""`import_source`: which sources there are after it."""

from pathlib import Path

import pytest
from django.test import Client

from inspector.actions.remove_source import begin_removal, finish_removal
from inspector.models import Conversation, Repair, Source
from tests.commands.running import run
from tests.programs.claude_code import session_lines as cc

pytestmark = pytest.mark.django_db
LINES = cc.lines(cc.u("u1", None, "run it"), cc.a("a1", "u1", "m1", cc.text("done")))


@pytest.fixture
def projects(tmp_path: Path) -> Path:
    return (
        cc.write(tmp_path, {f"projects/{folder}/{name}.jsonl": LINES for folder in ("-one", "-two") for name in (folder, "x")}) / "projects"
    )


@pytest.mark.parametrize("part", ["-one", "-one/x.jsonl"])
def test_a_part_of_an_imported_folder_is_read_again_with_that_folder(projects: Path, part: str) -> None:
    assert run("import_source", projects).status == 0
    ran = run("import_source", projects / part)
    assert ran.status == 0 and ran.out == f"{projects}: 4 conversations, 8 chunks (claude-code), 4 as they were\n"
    assert ran.err == (
        f"{projects / part} is a part of {projects}, which is imported already: that is read again, so that no conversation is listed twice.\n"
    )
    assert (Source.objects.count(), Conversation.objects.count()) == (1, 4)


def test_a_folder_next_to_it_or_of_which_nothing_is_known_is_a_source_of_its_own(projects: Path, tmp_path: Path) -> None:
    run("import_source", projects / "-one")
    assert run("import_source", projects / "-two").err == ""
    # A name that only begins in the same way, and a file in the folder that it does not read as a conversation of its own.
    other = cc.write(tmp_path, {"projects/-one-more/y.jsonl": LINES}) / "projects" / "-one-more"
    assert run("import_source", other).err == ""
    assert Source.objects.count() == 3


def test_the_import_of_a_folder_says_which_part_of_it_is_a_source_already(projects: Path, client: Client) -> None:
    run("import_source", projects / "-one")
    ran = run("import_source", projects)
    part, whole = Source.objects.get(path=str(projects / "-one")), Source.objects.get(path=str(projects))
    twice = f"{projects / '-one'} is a part of {projects}, and both are imported: its 2 conversations are listed twice."
    assert ran.status == 0 and ran.err.startswith(twice) and f"/sources/{part.oid}/remove/" in ran.err
    for source in (part, whole):
        page = client.get(f"/sources/{source.oid}/").content.decode()
        assert twice in page and f"/sources/{part.oid}/#remove" in page and f"/sources/{whole.oid}/#remove" in page
    begin_removal(part, "tester", "listed twice")
    finish_removal(part)
    assert run("import_source", projects).err == ""
    assert "listed twice" not in client.get(f"/sources/{whole.oid}/").content.decode()


def test_a_folder_next_to_another_or_without_its_conversations_is_no_part_of_it(projects: Path) -> None:
    run("import_source", projects / "-one")
    assert run("import_source", projects / "-two").err == ""
    # The name of one is how the other begins, and the other way round; upper case is another folder.
    for name in ("-ONE", "-one-more"):
        other = cc.write(projects, {f"{name}/y/z.jsonl": LINES}) / name / "y"
        assert run("import_source", other).err == ""


KILLED = cc.lines(cc.u("u1", None), cc.a("a1", "u1", "m1", cc.call("toolu_1")), cc.u("u2", "a1", "and now?"))


@pytest.mark.parametrize("part", ["-one", f"-one/{cc.ID}.jsonl"])
@pytest.mark.parametrize("mode", ["same-file", "fork"])
def test_a_repair_in_a_part_is_made_in_the_whole(tmp_path: Path, part: str, mode: str) -> None:
    projects = cc.write(tmp_path, {f"projects/-one/{cc.ID}.jsonl": KILLED, "projects/-two/x.jsonl": LINES}) / "projects"
    run("import_source", projects)
    command = ("repair", projects / part, "--conversation", cc.ID, "--strategy", "insert-interrupted-result", "--mode", mode, "--apply")
    ran = run(*command)
    assert (
        ran.status == 0
        and "which is imported already: it is repaired there" in ran.err
        and "listed twice" not in ran.err.split(": it is")[0]
    )
    assert Source.objects.get().path == str(projects) and Repair.objects.get().conversation.native_id == cc.ID
    again = run(*command)
    assert again.status == 0 and "was applied before, and nothing was written now" in again.out
    assert run("undo", Repair.objects.get().oid).status == 0
    assert (projects / "-one" / f"{cc.ID}.jsonl").read_bytes() == KILLED and len([*projects.rglob("*.jsonl")]) == 2


def test_a_repair_of_what_is_in_no_imported_folder_makes_a_source_of_its_own(tmp_path: Path) -> None:
    projects = cc.write(tmp_path, {f"projects/-one/{cc.ID}.jsonl": KILLED, "projects/-two/x.jsonl": LINES}) / "projects"
    run("import_source", projects / "-two")
    ran = run("repair", projects / "-one", "--strategy", "insert-interrupted-result", "--apply")
    assert ran.status == 0 and "imported already" not in ran.err and Source.objects.count() == 2


def test_what_was_a_source_of_its_own_before_stays_one(projects: Path) -> None:
    run("import_source", projects / "-one")
    run("import_source", projects)
    ran = run("import_source", projects / "-one")
    assert "listed twice" in ran.err and ran.out.startswith(f"{projects / '-one'}: 2 conversations")
