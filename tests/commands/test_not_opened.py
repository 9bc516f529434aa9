"""What of a folder may not be read, and links, hide no other session and are named: nothing that was not opened looks clean."""

import os
import shutil
from pathlib import Path

import pytest
from django.test import Client

from inspector.models import Conversation, Source
from inspector.programs.catalogue import format_named
from inspector.sources import folders, reading, watched
from inspector.sources.problems import NotReadable
from tests.commands.running import run
from tests.programs.claude_code import session_lines as cc
from tests.programs.codex import threads
from tests.programs.rollouts import session_files
from tests.rights import closed

SESSION = cc.lines(cc.u("u1", None, "hi"), cc.a("a1", "u1", "m1", cc.text("ok")))
FIRST, SECOND, ELSEWHERE = (f"projects/-home-dev-{name}/{name * 8}-0000-4000-8000-000000000001.jsonl" for name in "abc")
COMMANDS = (("doctor", 1), ("scan", 1), ("check", 2), ("import_source", 1))
"""Each with its status where something was not opened."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder of a person with two projects."""
    monkeypatch.setenv("HOME", str(tmp_path))
    cc.write(tmp_path / ".claude", {FIRST: SESSION, SECOND: SESSION})
    return tmp_path


def codex(home: Path) -> None:
    folder = home / ".codex" / "sessions"
    folder.mkdir(parents=True)
    (folder / threads.NAME).write_bytes(threads.WHOLE)


@pytest.fixture
def projects(home: Path) -> Path:
    return home / ".claude" / "projects"


@pytest.mark.parametrize(("command", "status"), COMMANDS)
@pytest.mark.parametrize("is_folder", [False, True])
def test_what_may_not_be_read_hides_no_other_session(projects: Path, command: str, status: int, is_folder: bool) -> None:
    path = projects.parent / SECOND
    path = path.parent if is_folder else path
    with closed(path):
        ran = run(command, projects)
    assert ran.status == status and f"{path} may not be read" in ran.out + ran.err
    counted = {
        "doctor": "The one session that was read can be resumed.",
        "scan": "a" * 8,
        "check": "next request",
        "import_source": "1 conversation,",
    }
    assert counted[command] in ran.out
    assert run(command, projects).status == 0


@pytest.mark.parametrize(
    ("command", "status", "rest"),
    [("doctor", 1, "All 2 sessions that were read"), ("scan", 1, "Healthy: 2 of 2"), ("check", 2, "2 of 2 conversations pass")],
)
def test_a_store_that_cannot_be_read_hides_no_other_store(home: Path, command: str, status: int, rest: str) -> None:
    """rollouts keeps a session in several files: without one of them the others would look damaged, and none is read."""
    files = {"messages.jsonl": session_files.lines(session_files.u()), "session.json": session_files.GOLDEN_SESSION.encode()}
    store = session_files.write(home, {f"sessions/{session_files.ID}/{name}": data for name, data in files.items()})
    assert run(command, home).status == 0
    part = store / "sessions" / session_files.ID / "messages.jsonl"
    with closed(part):
        ran = run(command, home)
        assert run("scan", store).status == 2
    assert ran.status == status and f"{part} may not be read" in ran.out + ran.err and rest in ran.out


@pytest.mark.parametrize("name", ["projects/-home-dev-b", "projects", "."])
def test_doctor_names_a_closed_folder_on_the_way_to_a_default_place(home: Path, name: str) -> None:
    codex(home)
    path = (home / ".claude" / name).resolve()
    with closed(path):
        ran = run("doctor")
    assert ran.status == 1 and f"Not read: {path} may not be read" in ran.out and "Codex CLI: " in ran.out
    assert ("All 2 sessions that were read" if name.endswith("b") else "The one session that was read") in ran.out


def test_a_folder_in_which_nothing_may_be_read_is_not_called_strange(projects: Path) -> None:
    with closed(projects.parent / FIRST, projects.parent / SECOND):
        for command in ("doctor", "scan", "check", "import_source"):
            ran = run(command, projects)
            assert ran.status != 0 and "may not be read (permission denied)" in ran.out + ran.err and "is no store" not in ran.err, command


def test_request_bodies_next_to_a_closed_one_are_checked(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text('{"model":"claude-sonnet-4","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}')
    (tmp_path / "linked.json").symlink_to(shutil.copy(tmp_path / "a.json", tmp_path.with_suffix(".json")))
    with closed(tmp_path / "b.json"):
        ran = run("check", tmp_path, "--json")
    assert ran.status == 2 and [one["file"] for one in ran.json["histories"]] == [str(tmp_path / "a.json")]
    reasons = [problem["reason"] for problem in ran.json["problems"]]
    assert "not followed (linked.json)" in reasons[0] and "b.json may not be read" in reasons[1]


def test_a_session_that_could_not_be_read_once_is_not_gone(projects: Path) -> None:
    run("import_source", projects)
    for path in (projects.parent / SECOND, (projects.parent / SECOND).parent):
        with closed(path):
            assert run("import_source", projects, "--json").json["sources"][0]["gone"] == 0
    assert Conversation.objects.filter(is_gone=False).count() == 2
    (projects.parent / SECOND).unlink()
    assert run("import_source", projects, "--json").json["sources"][0]["gone"] == 1


def test_a_source_of_which_not_all_was_read_is_read_again(projects: Path) -> None:
    """Another user may read more of the same files."""
    for path in projects.rglob("*.jsonl"):
        os.utime(path, (0, 0))
    with closed(projects.parent / SECOND):
        run("import_source", projects)
        assert not Source.objects.get().stamp


def test_a_repair_of_what_may_not_be_read_does_not_say_that_it_is_gone(projects: Path) -> None:
    run("import_source", projects)
    native_id = Conversation.objects.get(native_id__startswith="b").native_id
    with closed(projects.parent / SECOND), pytest.raises(NotReadable, match="may not be read"):
        reading.read_one(projects, format_named("claude-code"), native_id)


def test_the_test_before_an_import_names_it_too(projects: Path, client: Client, settings: object) -> None:
    settings.INSPECTOR_SOURCES = (projects,)  # type: ignore[attr-defined]
    with closed(projects.parent / SECOND):
        page = client.post("/sources/add/", {"path": str(projects), "do": "try"}, follow=True).content.decode()
    assert "<b>1 conversation</b>" in page and f"{SECOND.partition('/')[2]} may not be read" in page


def test_a_pipe_of_the_shell_is_checked_and_no_other_pipe_is_waited_for(projects: Path, tmp_path: Path) -> None:
    read, write = os.pipe()
    os.write(write, SESSION)
    os.close(write)
    ran = run("check", f"/dev/fd/{read}")
    assert ran.status == 0 and "next request" in ran.out
    assert (
        run("check", f"/dev/fd/{read}").err == f"/dev/fd/{read} is empty: pipe a request body or a session file into it, or name a path.\n"
    )
    os.mkfifo(tmp_path / "fifo")
    for command in ("check", "scan", "doctor", "import_source"):
        for name in (tmp_path / "fifo", *([f"/dev/fd/{read}"] if command != "check" else [])):
            ran = run(command, name)
            assert (ran.status, ran.err) == (2, f"{name} is a pipe, socket or device, not a file; give the path of the file itself.\n"), (
                command
            )
    os.close(read)


@pytest.mark.parametrize("command", ["doctor", "scan", "check", "import_source"])
def test_what_does_not_exist_is_said_so(tmp_path: Path, command: str) -> None:
    assert run(command, tmp_path / "none").err == f"{tmp_path}/none does not exist; check the path and try again.\n"


def test_a_closed_folder_does_not_end_the_watch_of_the_others(projects: Path) -> None:
    before = watched.look(projects, "claude-code").mark
    with closed((projects.parent / SECOND).parent):
        assert watched.look(projects, "claude-code").mark != before
        (projects.parent / FIRST).write_bytes(SESSION * 2)
        assert watched.look(projects, "claude-code").mark != before


@pytest.fixture
def elsewhere(home: Path) -> Path:
    """A project that is not below the default place."""
    return cc.write(home / "elsewhere", {ELSEWHERE: SESSION}) / ELSEWHERE


@pytest.mark.parametrize(("command", "status"), COMMANDS)
@pytest.mark.parametrize("is_folder", [False, True])
def test_a_link_to_sessions_is_not_followed_and_is_named(
    projects: Path, elsewhere: Path, command: str, status: int, is_folder: bool
) -> None:
    link = projects / "linked" if is_folder else projects / "-home-dev-a" / elsewhere.name
    link.symlink_to(elsewhere.parent if is_folder else elsewhere)
    ran = run(command, projects)
    assert ran.status == status
    assert f"1 link in {projects} was not followed ({link.relative_to(projects)}): name what it leads to" in ran.out + ran.err
    link.unlink()
    assert run(command, projects).status == 0


def test_a_link_that_hides_no_session_is_not_named(projects: Path, elsewhere: Path) -> None:
    (projects / "latest").symlink_to(projects / "-home-dev-a")
    (projects / "notes.md").symlink_to(elsewhere)
    (projects / "nothing").symlink_to(elsewhere / "none")
    (projects / "circle").symlink_to(projects / "circle")
    (projects / "empty").symlink_to(elsewhere.parent.parent.parent / "empty")
    (elsewhere.parent.parent.parent / "empty").mkdir()
    assert run("doctor", projects).status == 0 and "not followed" not in run("scan", projects).out


def test_a_link_to_a_folder_without_an_end_is_named(projects: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "LINKED", 2)
    (tmp_path / "large").mkdir()
    for name in "ab":
        (tmp_path / "large" / name).touch()
    (projects / "large").symlink_to(tmp_path / "large")
    assert "1 link" in run("doctor", projects).out


def test_links_next_to_the_stores_of_several_programs_are_named_once(home: Path, elsewhere: Path) -> None:
    codex(home / "both")
    shutil.copytree(home / ".claude", home / "both" / ".claude")
    (home / "both" / "linked").symlink_to(elsewhere.parent)
    (home / "both" / ".claude" / "projects" / "linked").symlink_to(elsewhere.parent)
    ran = run("doctor", home / "both")
    assert ran.status == 1 and ran.out.count("was not followed") == 2 and ran.out.count("linked)") == 2


@pytest.mark.parametrize(("command", "status"), [("doctor", 1), ("scan", 2), ("check", 2), ("import_source", 2)])
def test_a_folder_of_links_alone_is_not_empty(projects: Path, tmp_path: Path, command: str, status: int) -> None:
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "project").symlink_to(projects)
    ran = run(command, tmp_path / "links")
    assert ran.status == status and "1 link in " in ran.out + ran.err and "(project): name what it leads to" in ran.out + ran.err
