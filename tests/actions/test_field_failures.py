"""Twelve failures of repair tools that users reported: each as it happens, on a real store, and what Inspector does instead.

A test names the reported issue. What a repair may do under kills, full disks and cut connections at every system call is in `tests.faults`.
"""

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from inspector.actions import audit
from inspector.actions.apply_repair import apply_repair
from inspector.actions.decide_repair import approve_repair
from inspector.actions.problems import Refused
from inspector.models import Repair
from tests.actions.building import WHO, approved, broken, imported, make, merged, proposed
from tests.commands.running import Ran, everything, run, run_in_process
from tests.programs.claude_code.session_lines import ID, PROJECT, a, boundary, call, lines, text, u, write
from tests.programs.pi_openclaw.session_files import header
from tests.programs.pi_openclaw.session_files import lines as tree_lines
from tests.programs.pi_openclaw.strategies.repaired_trees import BRANCH

pytestmark = pytest.mark.django_db

KEY = f"{PROJECT}/{ID}.jsonl"
OPEN_CALL = (
    u("u1", None),
    a("a1", "u1", "msg_1", text("I look"), 1),
    a("a2", "a1", "msg_1", call("t1"), 1),
    u("u2", "a2", "and?", 2),
    a("a3", "u2", "msg_2", text("Well."), 3),
)
"""A call without a result in the middle of the path."""
ADDED = lines(u("u3", "a3", "one more", 4))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of Claude Code with that session; nobody wrote to it lately."""
    return write(tmp_path / "claude", {KEY: lines(*OPEN_CALL)})


def repair(folder: Path, strategy: str = "insert-interrupted-result", mode: str = "same-file") -> Ran:
    return run("repair", folder, "--conversation", ID, "--strategy", strategy, "--mode", mode, "--apply", "--json")


def repaired(folder: Path, strategy: str = "insert-interrupted-result") -> str:
    """The id of the applied repair."""
    ran = repair(folder, strategy)
    assert ran.status == 0 and ran.json["state"] == "verified", ran
    return str(ran.json["repair"])


def kept_lines(folder: Path, before: bytes) -> list[bytes]:
    """The lines of the session from before that are in it now, byte for byte."""
    after = (folder / KEY).read_bytes().splitlines(keepends=True)
    return [line for line in before.splitlines(keepends=True) if line in after]


@contextmanager
def agent(code: str, path: Path) -> Iterator[Callable[[], None]]:
    """A process that has the session, as `code` says, and then does its last lines when it is called."""
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"

    def go_on() -> None:
        process.communicate(ADDED, timeout=60)
        assert process.returncode == 0

    try:
        yield go_on
    finally:
        process.kill()
        process.wait()


HAS_IN_MEMORY = """
import sys
from pathlib import Path
path = Path(sys.argv[1])
copy = path.read_bytes()
print("ready", flush=True)
path.write_bytes(copy + sys.stdin.buffer.read())
"""
HAS_OPEN = """
import sys
file = open(sys.argv[1], "ab")
print("ready", flush=True)
file.write(sys.stdin.buffer.read())
"""


def test_1_an_agent_with_the_session_in_memory_writes_its_copy_over_the_repair(folder: Path) -> None:
    """hAcKlyc/MyAgents#510. Nobody can prevent it: it is reported as what it is, and the damage is found again."""
    with agent(HAS_IN_MEMORY, folder / KEY) as go_on:
        oid = repaired(folder)
        go_on()
    overwritten = (folder / KEY).read_bytes()
    assert overwritten == lines(*OPEN_CALL) + ADDED
    verified = run("verify", oid)
    assert verified.status == 1 and verified.out.startswith("Another program overwrote this repair")
    scanned = run("scan", folder, "--json").json["conversations"][0]
    assert "TOOL102" in {finding["code"] for finding in scanned["findings"]}
    # Its undo closes it, and leaves the words that the agent added.
    assert run("undo", oid).status == 0 and (folder / KEY).read_bytes() == overwritten


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="this system does not show the files of its processes")
def test_2_a_file_is_not_replaced_while_a_writer_has_it_open(folder: Path) -> None:
    """QwenLM/qwen-code#12091: what it appends later would go to a file without a name."""
    with agent(HAS_OPEN, folder / KEY) as go_on:
        refused = repair(folder)
        assert refused.status != 0 and "is open in process" in refused.err and "nothing was written" in refused.err
        go_on()
    assert (folder / KEY).read_bytes() == lines(*OPEN_CALL) + ADDED


def test_3_the_programs_own_backup_comes_back_over_the_repair(folder: Path) -> None:
    """nesquena/hermes-webui#6911: a restart took the shorter session for a loss, and restored its own backup."""
    backup = folder / f"{KEY}.bak"
    backup.write_bytes((folder / KEY).read_bytes())
    oid = repaired(folder)
    backup.replace(folder / KEY)
    write(folder, {KEY: (folder / KEY).read_bytes()})
    verified = run("verify", oid)
    assert verified.status == 1 and "Another program overwrote this repair" in verified.out + verified.err
    again = repaired(folder)
    assert again != oid and run("verify", again).status == 0
    assert run("undo", again).status == 0 and (folder / KEY).read_bytes() == lines(*OPEN_CALL)


def test_4_a_repair_that_shortens_the_list_renames_nothing(tmp_path: Path) -> None:
    """NousResearch/hermes-agent#24187: positions were identities, and everything after the removed row was another message."""
    path = tmp_path / "dispatch.db"
    make(path, broken().values)
    before = everything(path)
    removed = run("repair", path, "--strategy", "strip-error-chunks", "--mode", "in-place", "--apply", "--json")
    assert removed.status == 0, removed
    shortened = everything(path)
    assert len(shortened) < len(before) and set(shortened) <= set(before)
    # A row that is named by its key is still the same row for the next repair, and for both ways back.
    second = run("repair", path, "--strategy", "insert-interrupted-result", "--mode", "in-place", "--apply", "--json")
    assert second.status == 0, second
    assert run("undo", second.json["repair"]).status == 0 and everything(path) == shortened
    assert run("undo", removed.json["repair"]).status == 0 and everything(path) == before


def test_5_rows_that_the_view_does_not_show_are_not_deleted(tmp_path: Path) -> None:
    """NousResearch/hermes-agent#80216: the list on the screen replaced all rows, the archived ones with it."""
    unseen = (u("o1", None, "long ago"), a("o2", "o1", "msg_0", text("Yes."), 0), boundary("c1"))
    aside = (u("x1", "u1", "on a branch that was left", 1),)
    first, *rest = OPEN_CALL
    before = lines(*unseen, {**first, "parentUuid": "c1"}, *aside, *rest)
    folder = write(tmp_path / "claude", {KEY: before})
    oid = repaired(folder)
    kept = kept_lines(folder, before)
    assert [line for line in lines(*unseen, *aside).splitlines(keepends=True) if line not in kept] == []
    assert len(kept) == len(before.splitlines()) - 1, "one line only has another parent: the one after the new result"
    assert run("undo", oid).status == 0 and (folder / KEY).read_bytes() == before


def test_6_a_synthetic_result_does_not_outlive_its_undo(folder: Path) -> None:
    """vellum-ai/vellum-assistant#592: results that a repair had put in came back with a later undo."""
    before = (folder / KEY).read_bytes()
    oid = repaired(folder)
    after = (folder / KEY).read_bytes()
    write(folder, {KEY: after + ADDED})
    # The conversation went on after it: nothing of that is taken along, and nothing is undone by half.
    refused = run("undo", oid)
    assert (
        refused.status == 2
        and "Undo is refused, since the store went on after the repair" in refused.err
        and (folder / KEY).read_bytes() == after + ADDED
    )
    write(folder, {KEY: after})
    assert run("undo", oid).status == 0 and (folder / KEY).read_bytes() == before
    assert run("undo", oid).status != 0 and (folder / KEY).read_bytes() == before


def test_7_a_second_run_leaves_the_way_back_of_the_first(folder: Path) -> None:
    """The second run of fix-session overwrote its only backup with the edited file."""
    before = (folder / KEY).read_bytes()
    oid = repaired(folder)
    after = (folder / KEY).read_bytes()
    for _ in range(2):
        write(folder, {KEY: after})
        repair(folder)
        assert (folder / KEY).read_bytes() == after
    assert run("undo", oid).status == 0 and (folder / KEY).read_bytes() == before


KILLED = """
import os, sys
sys.path.insert(0, os.getcwd())
import manage
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "inspector.settings")
import django
django.setup()
from inspector.sources import stores
when, store, commit = sys.argv.pop(1), sys.argv[2], stores.commit
def die(path, *given, **named):
    if str(path) != store:
        # A rehearsal on a copy.
        return commit(path, *given, **named)
    if when == "after":
        commit(path, *given, **named)
    os.kill(os.getpid(), 9)
stores.commit = die
manage.main(["manage.py", *sys.argv[1:]])
"""


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
def test_8_a_crash_next_to_the_write_is_explained_and_taken_back(tmp_path: Path, when: str) -> None:
    """Between the kept values and the write; between the write and its record in the database."""
    path, own = tmp_path / "dispatch.db", tmp_path / "own" / "inspector.sqlite3"
    own.parent.mkdir(mode=0o700)
    make(path, broken().values)
    before = everything(path)
    assert run_in_process(own, "migrate", "--verbosity", "0").status == 0
    words = ("repair", str(path), "--strategy", "insert-interrupted-result", "--mode", "in-place", "--apply", "--json")
    killed = killed_process(own, when, *words)
    assert killed.returncode == -9, killed.stderr
    assert (everything(path) == before) is (when == "before")
    with closing(sqlite3.connect(own)) as connection:
        ((oid,),) = connection.execute("SELECT oid FROM inspector_repair").fetchall()
    if when == "before":
        assert run_in_process(own, "apply", oid).status == 0 and everything(path) != before
    undone = run_in_process(own, "undo", oid)
    assert undone.status == 0, undone
    assert everything(path) == before and run_in_process(own, "audit", "--verify").status == 0


def killed_process(own: Path, when: str, *words: str) -> "subprocess.CompletedProcess[str]":
    import os

    from django.conf import settings

    variables = {**os.environ, "INSPECTOR_DATABASE_URL": f"sqlite:///{own}", "INSPECTOR_AUDIT_KEY_FILE": ""}
    command = [sys.executable, "-c", KILLED, when, *words]
    return subprocess.run(command, env=variables, cwd=settings.BASE_DIR, capture_output=True, text=True, timeout=120)


ODD = (
    b'{"uuid":"u1", "parentUuid":null,"type":"user","isSidechain":false,"n":1.0,"big":1e21,"d":1,"d":2,"sessionId":"'
    + ID.encode()
    + b'","message":{"content":"\\u00e4 \\/ \\ud83d\\ude00","role":"user"}}'
)
"""Escapes, spaces, the order of keys, a key twice and floats that no serializer of ours would write like this."""


def test_9_bytes_that_nobody_approved_stay(tmp_path: Path) -> None:
    """Tools that write the whole file again changed 66 of 66 lines for one pointer."""
    _, *rest = OPEN_CALL
    encoded = lines(*rest).replace(b"Well.", "Wäll…".encode()).removesuffix(b"\n").split(b"\n")
    before = ODD + b"\r\n" + b"\n".join([*encoded[:2], b"", *encoded[2:]])
    folder = write(tmp_path / "claude", {KEY: before})
    oid = repaired(folder)
    after = (folder / KEY).read_bytes()
    assert after.startswith(ODD + b"\r\n" + encoded[0] + b"\n" + encoded[1] + b"\n") and encoded[3] in after.split(b"\n")
    assert not after.endswith(b"\n"), "the last line still has no end"
    assert run("undo", oid).status == 0 and (folder / KEY).read_bytes() == before


def test_10_pairs_are_looked_for_on_the_path_that_is_sent_and_nowhere_else(tmp_path: Path) -> None:
    """A result on an abandoned branch answered a call for a check of the whole file; the provider never saw it."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(tree_lines(header(), *BRANCH))
    (scanned,) = run("scan", path, "--json").json["conversations"]
    assert {finding["code"] for finding in scanned["findings"]} == {"TREE106"}
    # The other way round: what is open on an abandoned branch is no error of the path.
    folder = write(
        tmp_path / "claude",
        {KEY: lines(u("u1", None), a("a1", "u1", "m1", call("t1")), u("u2", "u1", "no", 2), a("a2", "u2", "m2", text("Fine."), 3))},
    )
    (scanned,) = run("scan", folder, "--json").json["conversations"]
    assert [finding for finding in scanned["findings"] if finding["severity"] == "error"] == []


def test_11_a_plan_that_was_edited_loses_its_approval(tmp_path: Path) -> None:
    """go-gitea/gitea#25858: the option to dismiss approvals was there for years, and did nothing."""
    path = tmp_path / "dispatch.db"
    conversation = imported(path, merged())
    before = everything(path)
    ready = approved(conversation, "renumber-messages")
    Repair.objects.update(options={**ready.options, "title": "another"})
    audit.accept(WHO, "somebody with the key of the audit log did it")
    ready.refresh_from_db()
    with pytest.raises(Refused, match="comes out otherwise than approved"):
        apply_repair(ready, WHO, interactive=True)
    # Neither does the approval of one plan count for another one, or for the same strategies after the store changed.
    other = proposed(conversation, "renumber-messages")
    with pytest.raises(Refused, match="not the plan that you looked at"):
        approve_repair(other, WHO, "0" * 64, statement="unfixed")
    assert everything(path) == before


def test_12_the_copy_that_is_sent_is_repaired_and_no_other_one(tmp_path: Path) -> None:
    """Calls without results are before the compaction, on a branch that was left, with a subagent, and on the path."""
    earlier = (u("o1", None, "first"), a("o2", "o1", "msg_o", call("t0"), 0), boundary("c1"))
    left = (a("x2", "u1", "msg_x", call("t2"), 1), u("x3", "x2", "no", 1))
    first, *rest = OPEN_CALL
    agent_key = f"{PROJECT}/{ID}/subagents/agent-1.jsonl"
    side = lines(u("s1", None, isSidechain=True, agentId="1"), a("s2", "s1", "msg_s", call("t3"), 1, isSidechain=True, agentId="1"))
    before = lines(*earlier, {**first, "parentUuid": "c1"}, *left, *rest)
    folder = write(tmp_path / "claude", {KEY: before, agent_key: side})
    repaired(folder)
    after = [json.loads(line) for line in (folder / KEY).read_bytes().splitlines()]
    ids = {json.loads(line)["uuid"] for line in before.splitlines()}
    (new,) = [line for line in after if line["uuid"] not in ids]
    assert new["parentUuid"] == "a2" and new["message"]["content"][0]["tool_use_id"] == "t1"
    assert len(kept_lines(folder, before)) == len(before.splitlines()) - 1
    assert (folder / agent_key).read_bytes() == side
