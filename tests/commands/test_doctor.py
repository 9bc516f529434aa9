"""`doctor`: which sessions of this machine cannot be resumed, why, and the command that repairs each."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inspector.demo import gbrain_incident
from inspector.programs.base import Home
from inspector.programs.registry import programs
from inspector.sources.homes import default_places, paths
from tests.commands.running import Ran, incident, make, run, run_in_process
from tests.programs.claude_code import session_lines as cc
from tests.programs.codex import threads
from tests.programs.gemini_cli import chats

# Each starts processes of its own.
pytestmark = pytest.mark.slow

Entry = dict[str, Any]
HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-11-20T17:33:07.691Z", "cwd": "/home/dev/app"}
PI_SESSIONS = Path(".pi", "agent", "sessions", "--home-dev-app--")
CALL = {"type": "toolCall", "id": "t1", "name": "read", "arguments": {}}
ANSWER = {
    "role": "assistant",
    "api": "anthropic-messages",
    "provider": "anthropic",
    "model": "claude-opus-4",
    "timestamp": 1_700_000_000_000,
}
RESULT = {"role": "toolResult", "toolCallId": "t1", "toolName": "read", "content": [{"type": "text", "text": "x"}], "isError": False}


def session(path: Path, *messages: Entry, header: Entry = HEADER) -> Path:
    """A session file of pi, a path of these messages."""
    lines = [header | {"id": path.stem}]
    for number, message in enumerate(messages):
        parent = f"a{number - 1:07}" if number else None
        lines.append(
            {"type": "message", "id": f"a{number:07}", "parentId": parent, "timestamp": "2026-11-20T17:33:08.000Z", "message": message}
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    return path


ASK, GO_ON = {"role": "user", "content": "read it"}, {"role": "user", "content": "go on"}
CALLED = ANSWER | {"stopReason": "toolUse", "content": [CALL]}


def healthy(home: Path, name: str = "healthy") -> Path:
    return session(home / PI_SESSIONS / f"{name}.jsonl", ASK, CALLED, RESULT, GO_ON)


def broken(home: Path, name: str = "broken") -> Path:
    """Two results for one call, which the provider refuses."""
    return session(home / PI_SESSIONS / f"{name}.jsonl", ASK, CALLED, RESULT, RESULT, GO_ON)


def openclaw(home: Path, *listed: str) -> Path:
    """Two sessions, of which sessions.json lists those that are named."""
    folder = home / ".openclaw" / "agents" / "main" / "sessions"
    for name in ("one", "two"):
        session(folder / f"{name}.jsonl", ASK, CALLED, RESULT, GO_ON)
    entries = {f"agent:main:{name}": {"sessionId": name, "updatedAt": 1_700_000_000_000} for name in listed}
    (folder / "sessions.json").write_text(json.dumps(entries, indent=2))
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def doctor(home: Path, *arguments: object, **environment: str) -> Ran:
    """In a process of its own, whose home folder and database are those of the test."""
    unset = {home.moved_by: "" for program in programs() for home in program.homes if home.moved_by}
    return run_in_process(home.parent / "own.db", "doctor", *arguments, **{**unset, "HOME": str(home), **environment})


@pytest.mark.parametrize(
    ("what", "programs_loaded"),
    [("next(default_places())", ["claude_code"]), ("extent(StorePlace('', '', Path(sys.argv[1])))", [])],
)
def test_the_first_line_needs_no_program_but_its_own(home: Path, what: str, programs_loaded: list[str]) -> None:
    """All of them are half of the start of a command."""
    claude_code_store(home / ".claude" / "projects")
    code = (
        f"import sys; from pathlib import Path; from inspector.sources.homes import *; {what}; "
        "print(*sorted(name for name in sys.modules if name.endswith('.program')))"
    )
    words = [sys.executable, "-c", code, str(home)]
    ran = subprocess.run(
        words, env={**os.environ, "HOME": str(home), "CLAUDE_CONFIG_DIR": ""}, stdout=subprocess.PIPE, text=True, check=True
    )
    assert ran.stdout.split() == [f"inspector.programs.{name}.program" for name in programs_loaded]


def test_where_nothing_is_installed_one_friendly_sentence_says_so(home: Path) -> None:
    ran = doctor(home)
    assert (ran.status, ran.err, ran.out.count("\n")) == (0, "", 1)
    assert ran.out.startswith("No sessions are in the default folders of ") and "`inspector doctor FOLDER`" in ran.out
    assert doctor(home, "--json").json == {"places": [], "broken": []}


def test_of_a_folder_without_sessions_it_is_said_that_none_is_there(home: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ran = run("doctor", tmp_path / "empty")
    assert ran.status == 0 and ran.out.endswith("\nNo session is there.\n")


def test_the_folders_come_first_then_what_cannot_be_resumed_why_and_the_command(home: Path) -> None:
    healthy(home)
    path = broken(home)
    openclaw(home, "one", "two")
    ran = doctor(home)
    assert ran.status == 1 and not ran.err
    lines = ran.out.splitlines()
    assert lines[0] == f"pi and OpenClaw: {home / '.pi/agent/sessions'}, 2 files, 2.1 KB"
    assert lines[1].startswith(f"pi and OpenClaw: {home / '.openclaw/agents/main/sessions'}, 3 files, ")
    assert lines[3] == "1 of 4 sessions cannot be resumed:"
    assert lines[5:8] == [
        '--home-dev-app--/broken.jsonl "read it"',
        "  Line 5: The provider rejects the next request: messages.2.content.1: each tool_use must have a single result. "
        "Found multiple `tool_result` blocks with id: t1.",
        lines[7],
    ]
    assert ran.out.count(str(path)) == 1
    assert lines[7].endswith(f" repair {path} --for anthropic-2026-07 --apply")


def test_a_healthy_machine_ends_with_status_0(home: Path) -> None:
    healthy(home)
    ran = doctor(home)
    assert ran.status == 0 and "The one session can be resumed." in ran.out
    # A call that runs is no damage, nor is a session that ends with a question.
    session(home / PI_SESSIONS / "pending.jsonl", ASK, CALLED)
    session(home / PI_SESSIONS / "asked.jsonl", ASK)
    assert "All 3 sessions can be resumed." in doctor(home).out


def test_json_has_every_place_and_every_broken_session(home: Path) -> None:
    for number in range(14):
        broken(home, f"broken{number:02}")
    assert "2 more are not shown: --json lists all." in doctor(home).out
    report = doctor(home, "--json")
    assert report.status == 1
    (place,) = report.json["places"]
    assert {name: place[name] for name in ("format", "files", "sessions", "broken", "damaged", "repaired", "problem")} == {
        "format": "pi",
        "files": 14,
        "sessions": 14,
        "broken": 14,
        "damaged": 0,
        "repaired": 0,
        "problem": "",
    }
    assert [one["conversation"] for one in report.json["broken"]] == [f"broken{number:02}" for number in range(14)]
    assert all(one["why"] and one["command"] and not one["no_command"] for one in report.json["broken"])


def test_a_session_that_its_program_does_not_list_or_open_is_reported_with_what_to_do(home: Path) -> None:
    openclaw(home, "one")
    headless = home / PI_SESSIONS / "headless.jsonl"
    headless.parent.mkdir(parents=True)
    headless.write_text('{"type":"message","id":"aaaaaaaa","parentId":null,"message":{"role":"user","content":"hi"}}\n')
    reports = {one["conversation"]: one for one in doctor(home, "--json").json["broken"]}
    assert set(reports) == {"headless", "two"}
    assert reports["headless"]["why"].startswith("pi-1.5 cannot open it: ")
    assert reports["two"]["why"].startswith("sessions.json has no entry for this session")
    assert not reports["two"]["command"] and "write the entry of the session into sessions.json by hand" in reports["two"]["no_command"]


def test_a_damaged_session_that_can_be_resumed_is_named_with_the_command_that_shows_its_damage(home: Path) -> None:
    path = session(home / PI_SESSIONS / "dangling.jsonl", ASK, GO_ON)
    path.write_text(path.read_text().replace('"parentId":"a0000000"', '"parentId":"ffffffff"'))
    ran = doctor(home)
    assert ran.status == 0
    said = ran.out.splitlines()[-1]
    assert said.startswith("1 session can be resumed and has damage: dangling. What and where: ")
    scanned = run("scan", *shlex.split(said.partition(" scan ")[2]))
    assert scanned.out.startswith("dangling (") and " can be resumed and has damage: The store is damaged in one place" in scanned.out
    for number in range(4):
        other = session(home / PI_SESSIONS / f"other{number}.jsonl", ASK, GO_ON)
        other.write_text(other.read_text().replace('"parentId":"a0000000"', '"parentId":"ffffffff"'))
    assert "5 sessions can be resumed and have damage: dangling, other0, other1 and 2 more." in doctor(home).out


def test_a_call_at_the_end_is_broken_only_where_its_client_sends_it_so(home: Path) -> None:
    """A tool may run at this moment. Gemini CLI alone is known to send such a call, and Gemini to refuse it."""
    claude = home / ".claude" / "projects" / "-home-dev-app" / f"{cc.ID}.jsonl"
    claude.parent.mkdir(parents=True)
    claude.write_bytes(chats.lines(cc.u("u1", None, "run it"), cc.a("a1", "u1", "m1", cc.call("t1"))))
    assert doctor(home).status == 0
    pending = chats.answer("m1", model="gemini-2.5-pro", toolCalls=[chats.tool_call("ls__a")])
    chats.write(home / ".gemini", chats.HEADER, chats.listed(chats.CONTEXT), chats.user("u1", "List the files."), pending)
    assert [one["program"] for one in doctor(home, "--json").json["broken"]] == ["Gemini CLI"]


def test_what_an_agent_did_that_a_session_started_is_no_session(home: Path) -> None:
    folder = claude_code_store(home / ".claude" / "projects") / "-home-dev-app"
    agent = folder / cc.ID / "subagents" / "agent-0a.jsonl"
    agent.parent.mkdir(parents=True)
    agent.write_bytes((folder / f"{cc.ID}.jsonl").read_bytes().replace(b'"isSidechain":false', b'"isSidechain":true'))
    assert "1 of 1 sessions cannot be resumed:" in doctor(home).out


def test_the_folders_of_every_program_are_known(home: Path) -> None:
    claude_code_store(home / "claude" / "projects")
    chats.write(home / "gemini" / ".gemini", *chats.resumed())
    rollout = home / "codex" / "sessions" / "2026" / "11" / "22" / threads.NAME
    rollout.parent.mkdir(parents=True)
    rollout.write_bytes(threads.WHOLE)
    moved = {"CLAUDE_CONFIG_DIR": home / "claude", "GEMINI_CLI_HOME": home / "gemini", "CODEX_HOME": home / "codex"}
    ran = doctor(home, **{name: str(path) for name, path in moved.items()})
    assert [line.partition(":")[0] for line in ran.out.splitlines()[:3]] == ["Claude Code", "Codex CLI", "Gemini CLI"]
    assert "2 of 3 sessions cannot be resumed:" in ran.out


def pi_store(folder: Path) -> Path:
    session(folder / "twice.jsonl", ASK, CALLED, RESULT, RESULT, GO_ON)
    session(folder / "orphaned.jsonl", ASK, RESULT, GO_ON)
    return folder


def openclaw_store(folder: Path) -> Path:
    sessions = openclaw(folder, "one", "two")
    session(sessions / "two.jsonl", ASK, CALLED | {"content": [CALL, {"type": "text", "text": "reading"}]}, RESULT, GO_ON)
    return sessions


def rollouts_store(folder: Path) -> Path:
    path = folder / "sessions" / "20260101_101010_abcdef"
    path.mkdir(parents=True)
    about = {
        "session_id": path.name,
        "parent_id": None,
        "branch_point": None,
        "endpoint": {"provider": "anthropic", "model": "claude-opus-4"},
    }
    about |= {"environment": {"type": "none"}, "environment_state": None, "status": "completed", "reward": None, "tags": {}}
    about |= {"created_at": "2026-01-01T10:10:10", "updated_at": "2026-01-01T10:10:10"}
    (path / "session.json").write_text(json.dumps(about, indent=2))
    call = {"type": "toolCall", "id": "t1", "name": "read", "arguments": {}}
    messages = [
        ASK,
        {"role": "assistant", "content": [call]},
        {"role": "tool", "tool_call_id": "t2", "content": "x"},
        {"role": "user", "content": "go on"},
    ]
    (path / "messages.jsonl").write_text("".join(json.dumps(message) + "\n" for message in messages))
    return folder


def claude_code_store(folder: Path) -> Path:
    """Thinking without a signature, which the provider refuses on every turn."""
    unsigned = cc.a("a1", "u1", "m1", cc.thinking("hm", ""))
    lines = [cc.u("u1", None, "run it"), unsigned, cc.a("a2", "a1", "m1", cc.text("done")), cc.u("u2", "a2", "go on")]
    path = folder / "-home-dev-app" / f"{cc.ID}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(chats.lines(*lines))
    return folder


def rejected_image_store(folder: Path) -> Path:
    """No profile judges images: a rule says that the provider refuses this one on every turn."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "bm90IGFuIGltYWdl"}}
    lines = [cc.u("u1", None, [cc.text("look"), image]), cc.a("a1", "u1", "m1", cc.text("I see nothing.")), cc.u("u2", "a1", "go on")]
    path = folder / "-home-dev-app" / f"{cc.ID}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(chats.lines(*lines))
    return folder


def gemini_cli_store(folder: Path) -> Path:
    chats.write(folder, *chats.resumed())
    return folder / "tmp"


def gemini_cli_whole_store(folder: Path) -> Path:
    """Nothing is damaged, and the next resume is what does it: only a note names the repair."""
    chats.write(folder, *chats.CLEAN)
    return folder / "tmp"


def dispatch_store(folder: Path) -> Path:
    folder.mkdir()
    return incident(folder / "dispatch.db")


STORES = [
    pi_store,
    openclaw_store,
    rollouts_store,
    dispatch_store,
    claude_code_store,
    rejected_image_store,
    gemini_cli_store,
    gemini_cli_whole_store,
]


@pytest.mark.parametrize("store", STORES)
@pytest.mark.django_db
def test_every_command_that_is_printed_repairs_its_session(store: Callable[[Path], Path], tmp_path: Path) -> None:
    path = store(tmp_path / "a store's folder")
    reports = run("doctor", path, "--json").json["broken"]
    assert reports
    for report in reports:
        program, _, words = report["command"].partition(" repair ")
        applied = run("repair", *shlex.split(words))
        assert applied.status == 0 and "is verified" in applied.out, (program, applied)
    again = run("doctor", path, "--json")
    assert again.status == 0 and again.json["broken"] == []
    assert all(place["repaired"] in (0, len(reports)) for place in again.json["places"])


@pytest.mark.django_db
def test_a_repair_ends_with_how_the_session_is_resumed(tmp_path: Path) -> None:
    store = claude_code_store(tmp_path / "projects")
    ran = run("repair", store, "--strategy", "unsigned-thinking-to-text", "--apply")
    (new,) = {path.stem for path in store.rglob("*.jsonl")} - {cc.ID}
    assert ran.out.rstrip().endswith(f"Resume it in the folder of its project: claude --resume {new}")


def test_a_plan_of_many_findings_and_long_results_stays_readable(tmp_path: Path) -> None:
    """One line for each rule, and long lines of the diff cut off; as JSON nothing is left out."""
    turns = [
        part
        for turn in range(12)
        for part in (
            cc.a(f"a{turn}", f"u{turn}", f"m{turn}", cc.call(f"t{turn}", command="x" * 5000)),
            cc.u(f"u{turn + 1}", f"a{turn}", "go on"),
        )
    ]
    path = cc.write(tmp_path / "projects", {f"{cc.PROJECT}/{cc.ID}.jsonl": cc.lines(cc.u("u0", None, "run it"), *turns)})
    words = ("repair", path, "--strategy", "insert-interrupted-result", "--plan")
    plan = run(*words)
    (before,) = [line for line in plan.out.splitlines() if line.startswith("  before: TOOL102")]
    assert "(error), 12 times: seq 2, 4, 6" in before and before.endswith("and 4 more")
    assert max(map(len, plan.out.splitlines())) < 1000 and "--plan --json prints all of it." in plan.out
    full = run(*words, "--json").json
    assert "x" * 5000 in full["diff"] and len(full["findings_before"]) == 12


@pytest.mark.django_db
def test_a_repaired_chat_is_not_said_to_be_read_as_as_many_messages(tmp_path: Path) -> None:
    store = gemini_cli_store(tmp_path / "gemini")
    assert run("repair", store, "--for", "gemini", "--apply").status == 0
    checked = run("check", store)
    assert checked.status == 0 and "Nothing is damaged; the next request passes all known rules." in checked.out


def test_a_session_that_no_command_repairs_gets_one_that_extracts_what_was_said(tmp_path: Path) -> None:
    """A thread whose first record is lost, alone in its file and in a folder; of one without a message nothing can be extracted."""
    folder = tmp_path / "a store's folder"
    folder.mkdir()
    lost = threads.thread(threads.user("keep these words"), threads.assistant("ok")).partition(b"\n")[2]
    (folder / threads.NAME).write_bytes(lost)
    (folder / threads.NAME.replace(threads.ID, threads.OTHER)).write_bytes(threads.line(1, threads.event("turn_started")))
    for path in (folder, folder / threads.NAME):
        printed = run("doctor", path)
        command = next(line for line in printed.out.splitlines() if "What was said, to start a new session from: " in line)
        assert printed.out.count("No command repairs it.") == printed.out.count("What was said") + (path == folder)
        words = shlex.split(command.partition(" extract ")[2])
        words[-1] = str(tmp_path / f"{path.name}.md")
        assert run("extract", *words).status == 0
        assert "keep these words" in Path(words[-1]).read_text()


def test_a_store_that_is_never_written_gets_a_command_with_a_new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An export of a database: the command writes a script for its server."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "export.sql").write_text(gbrain_incident.script())
    report = run("doctor", "export.sql", "--json").json["broken"][0]
    words = shlex.split(report["command"].partition(" repair ")[2])
    assert words[-2:] == ["--out", f"repair-{report['conversation']}.sql"]
    assert run("repair", *words).status == 0 and Path(words[-1]).read_text().count("BEGIN")


def test_no_file_is_written_and_none_is_opened_but_sessions(home: Path, tmp_path: Path) -> None:
    """Each program keeps keys next to its sessions: not even their first byte is read."""
    healthy(home)
    broken(home)
    openclaw(home, "one")
    secrets = [
        ".pi/agent/auth.json",
        ".openclaw/openclaw.json",
        ".openclaw/credentials/oauth.json",
        ".openclaw/agents/main/agent/auth-profiles.json",
    ]
    for name in secrets:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text('{"token": "secret"}')
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in home.rglob("*") if path.is_file()}
    hook = tmp_path / "hook"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(
        "import os, sys\n"
        f"log = os.open({str(tmp_path / 'opened')!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)\n"
        "def record(event, arguments):\n"
        "    if event in ('open', 'sqlite3.connect'):\n"
        "        os.write(log, f'{arguments[0]}\\n'.encode())\n"
        "sys.addaudithook(record)\n"
    )
    assert doctor(home, PYTHONPATH=str(hook)).status == 1
    opened = {line for line in (tmp_path / "opened").read_text().splitlines() if line.startswith(str(home))}
    assert {Path(name).name for name in opened} == {"healthy.jsonl", "broken.jsonl", "one.jsonl", "two.jsonl", "sessions.json"}
    assert {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in home.rglob("*") if path.is_file()} == before


def test_variables_of_the_programs_move_their_folders(home: Path) -> None:
    elsewhere = home.parent / "else where"
    healthy(home)
    broken(elsewhere)
    moved = doctor(home, PI_CODING_AGENT_DIR=str(elsewhere / ".pi" / "agent"))
    # The sessions from before the move are still there.
    assert (
        moved.status == 1
        and f"{home / '.pi/agent/sessions'}, 1 file" in moved.out
        and f"{elsewhere / '.pi/agent/sessions'}, 1 file" in moved.out
    )
    store = make(home / "dispatch.db")
    assert f"Dispatch: {store}, 1 file" in doctor(home, DISPATCH_DB=str(store)).out


def test_a_home_names_folders_that_exist_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(home))
    for name in ("b", "a", "*"):
        (home / ".x" / name / "sessions").mkdir(parents=True)
    assert paths(Home("pi", "~/.x", "*/sessions")) == [home / ".x" / name / "sessions" for name in ("*", "a", "b")]
    assert paths(Home("pi", "~/.x/*", "sessions")) == [home / ".x" / "*" / "sessions"]
    assert paths(Home("pi", "~/.x/none")) == paths(Home("pi", "~/.y", "*")) == []
    monkeypatch.setenv("X_HOME", "  ")
    assert paths(Home("pi", "~/.x/a", moved_by="X_HOME")) == [home / ".x" / "a"]
    monkeypatch.setenv("X_HOME", str(home / ".x" / "b"))
    assert paths(Home("pi", "~/.x/a", moved_by="X_HOME")) == [home / ".x" / "b"]


def test_each_folder_is_looked_at_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for program in programs():
        for default in program.homes:
            monkeypatch.setenv(default.moved_by or "UNUSED", "")
    monkeypatch.setenv("HOME", str(home))
    healthy(home)
    (home / "link").symlink_to(home / ".pi" / "agent")
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(home / "link"))
    assert [place.path for place in default_places() if place.program.startswith("pi")] == [home / ".pi" / "agent" / "sessions"]


def test_a_default_folder_that_cannot_be_read_hides_no_other(home: Path) -> None:
    openclaw(home, "one", "two")
    (home / "dispatch.db").write_text("no database")
    ran = doctor(home, DISPATCH_DB=str(home / "dispatch.db"))
    assert ran.status == 1 and "Not read: " in ran.out and "dispatch.db" in ran.out
    assert "All 2 sessions that were read can be resumed." in ran.out


def test_a_home_folder_that_is_named_is_read_for_every_program(home: Path) -> None:
    healthy(home)
    cc.write(home / ".claude", {f"{cc.PROJECT}/{cc.ID}.jsonl": cc.lines(cc.u("u1", None, "hi"), cc.a("a1", "u1", "m1", cc.text("ok")))})
    ran = run("doctor", home)
    assert ran.status == 0 and "All 2 sessions can be resumed." in ran.out and "Not read" not in ran.out
    assert [line.partition(",")[0] for line in ran.out.splitlines()[1:3]] == [
        f"Claude Code: {home}/.claude",
        f"pi and OpenClaw: {home}/.pi",
    ]
    broken(home)
    named = run("doctor", home)
    assert named.status == 1 and "1 of 3 sessions cannot be resumed:" in named.out
    assert "Healthy: 2 of 3 conversations." in run("scan", home).out


def test_a_named_folder_that_is_none_ends_with_status_2(tmp_path: Path) -> None:
    missing = run("doctor", tmp_path / "none")
    assert missing.status == 2 and "does not exist" in missing.err
    (tmp_path / "words").write_text("words")
    strange = run("doctor", tmp_path / "words")
    assert strange.status == 2 and "is no store" in strange.err
