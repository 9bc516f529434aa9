"""`import_source`: which sources there are after it."""

from pathlib import Path

import pytest

from inspector.models import Conversation, Source
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


def test_what_was_a_source_of_its_own_before_stays_one(projects: Path) -> None:
    run("import_source", projects / "-one")
    run("import_source", projects)
    ran = run("import_source", projects / "-one")
    assert ran.err == "" and ran.out.startswith(f"{projects / '-one'}: 2 conversations")
