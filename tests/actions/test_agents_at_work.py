"""An agent that keeps its session in memory, or its file open, while the session is repaired: a process of its own."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from inspector.actions import audit
from inspector.actions.apply_repair import apply_repair
from inspector.actions.problems import Refused
from inspector.actions.undo_repair import undo_repair, verify_repair
from inspector.models import AuditEntry, Conversation, Repair
from tests.actions.building import WHO, applied, approved, bring
from tests.programs.pi_openclaw.session_files import a, call, header, lines, text, u

pytestmark = pytest.mark.django_db
STRATEGY, MODES = "insert-interrupted-result", ["replay-suffix", "insert-and-reparent"]
SESSION = lines(header(), u("u1", None, "go"), a("a1", "u1", text("calling"), call("c1", path="x")), u("u2", "a1", "and?"))
MORE = lines(u("u3", "u2", "still there?"))

AGENT = """
import sys
from pathlib import Path
place, more = Path(sys.argv[1]), bytes.fromhex(sys.argv[2])
memory = place.read_bytes()
held = place.open("ab") if sys.argv[3] == "holds" else None
print("ready", flush=True)
for _ in sys.stdin:
    if held:
        held.write(more)
        held.flush()
    else:
        memory += more
        place.write_bytes(memory)
    print("written", flush=True)
"""


@contextmanager
def agent(place: Path, how: str = "rewrites", more: bytes = MORE) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [sys.executable, "-c", AGENT, str(place), more.hex(), how], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.wait()


def go_on(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.readline() == "written\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    path = tmp_path / "s" / "a.jsonl"
    path.parent.mkdir()
    path.write_bytes(SESSION)
    return path


def conversation(place: Path) -> Conversation:
    bring(place.parent)
    return Conversation.objects.select_related("source").get()


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("more", [MORE, b""], ids=["and goes on", "as it was"])
def test_an_agent_that_writes_its_old_copy_overwrote_the_repair_and_nobody_undid_it(place: Path, mode: str, more: bytes) -> None:
    row = conversation(place)
    with agent(place, more=more) as process:
        repair = applied(row, STRATEGY, mode=mode)
        assert verify_repair(repair)[0] and place.read_bytes() != SESSION
        go_on(process)
        assert place.read_bytes() == SESSION + more
        holds, sentence = verify_repair(repair)
        assert not holds and sentence.startswith("Another program overwrote this repair")
        undo_repair(repair, WHO, interactive=True)
    assert place.read_bytes() == SESSION + more, "nothing is written for a repair of which nothing is there"
    assert repair.state == Repair.State.OVERWRITTEN and not repair.undone_by and repair.undone_at is None
    assert AuditEntry.objects.filter(verb="overwritten").count() == 1 and not AuditEntry.objects.filter(verb="undo").exists()
    assert audit.state(values=True).total == 0


@pytest.mark.parametrize("mode", MODES)
def test_an_agent_that_goes_on_after_the_repair_did_not_overwrite_it(place: Path, mode: str) -> None:
    repair = applied(conversation(place), STRATEGY, mode=mode)
    with agent(place) as process:
        go_on(process)
    holds, sentence = verify_repair(repair)
    assert not holds and sentence == "The store no longer holds what this repair wrote: u3.0 is new."
    with pytest.raises(Refused, match="the store went on after the repair"):
        undo_repair(repair, WHO, interactive=True)
    assert repair.state == Repair.State.VERIFIED


@pytest.mark.parametrize("mode", MODES)
def test_nothing_that_an_agent_writes_into_its_open_file_is_lost(place: Path, mode: str) -> None:
    repair = approved(conversation(place), STRATEGY, mode=mode)
    with agent(place, "holds") as process:
        with pytest.raises(Refused, match=f"is open in process {process.pid} "):
            apply_repair(repair, WHO, interactive=True)
        go_on(process)
    assert place.read_bytes() == SESSION + MORE and repair.state == Repair.State.APPROVED and not repair.intent
