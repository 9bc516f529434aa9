"""A program goes on writing, without any patience for locks, while its store is imported, previewed, repaired and undone."""

import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from inspector.actions import writing
from inspector.actions.apply_repair import apply_repair
from inspector.actions.decide_repair import approve_repair
from inspector.actions.planning import preview_of, request_for
from inspector.actions.problems import Refused
from inspector.actions.undo_repair import undo_repair
from inspector.models import Conversation, Repair, loading
from inspector.sources import stores
from tests.actions.building import WHO, Store, U, again, approved, bring, broken, make, pairs, proposed

# As upstream's append: the counter is read once, each row is a transaction of its own, then counter and meta; no busy timeout.
WRITER = """
import json, select, sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0)
db.execute("PRAGMA journal_mode=WAL")
written, failures, appends = [], [], 0
def put(key, value):
    while True:
        start = time.monotonic()
        try:
            db.execute("INSERT OR REPLACE INTO kv VALUES ('conversation-store', ?, ?)", (key, value))
            return
        except sqlite3.OperationalError as error:
            # Upstream's turn would die here; the history goes on, so that what is lost can be told from what failed.
            failures.append([start, time.monotonic(), str(error)])
            time.sleep(0.001)
end = time.monotonic() + 20
print("ready", flush=True)
while time.monotonic() < end and not select.select([sys.stdin], [], [], 0)[0]:
    found = db.execute("SELECT value FROM kv WHERE namespace = 'conversation-store' AND key = 'conv:live:seq'").fetchone()
    seq = int(found[0]) if found else 0
    for role in ("user", "assistant"):
        seq += 1
        row = {"chunk": {"type": "text", "text": f"word {seq}"}, "role": role, "msgIdx": 0, "chunkIdx": 0}
        put(f"conv:live:chunk:{seq:010d}", json.dumps(row, separators=(",", ":")))
        written.append(seq)
    put("conv:live:seq", str(seq))
    now = int(time.time() * 1000)
    put("conv:live:meta", json.dumps({"createdAt": 1, "lastActivityAt": now, "title": "Live", "status": "idle"}))
    appends += 1
    time.sleep(0.002)
print(json.dumps({"written": written, "failures": failures, "appends": appends}))
"""


@dataclass
class Writer:
    process: "subprocess.Popen[str]"

    def stop(self) -> Any:
        out, _ = self.process.communicate("stop\n", timeout=30)
        return json.loads(out)


@contextmanager
def writer(path: Path) -> Iterator[Writer]:
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        yield Writer(process)
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def locks(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, float, float, float]]:
    """(file, start, end, milliseconds of lock) of each of our writes; start and end on the clock that all processes share."""
    found: list[tuple[str, float, float, float]] = []

    def timed(path: Path, *rest: Any) -> float:
        start = time.monotonic()
        held = stores.commit(path, *rest)
        found.append((str(path), start, time.monotonic(), held))
        return held

    monkeypatch.setattr(writing, "stores", type("Timed", (), {"commit": staticmethod(timed)}))
    return found


def of(path: Path, native_id: str) -> Conversation:
    return Conversation.objects.select_related("source").get(native_id=native_id, source__path=str(path))


def previewed(conversation: Conversation) -> None:
    stored = loading.stored(conversation)
    request = request_for(conversation.source, stored, ["renumber-messages"], "in-place")
    preview_of(
        loading.case(conversation, request.reader), stored, loading.format_of(conversation.source), conversation.source.path, request
    )


def refused(path: Path) -> str:
    """The words with which an in-place repair of the conversation that is being written is refused, at whatever step."""
    conversation = again(path, "live")
    with pytest.raises(Refused) as problem:
        apply_repair(approved(conversation, "renumber-messages"), WHO, interactive=True)
    return str(problem.value)


def for_a_while(seconds: float, act: Callable[[], object]) -> int:
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        act()
        count += 1
    return count


@pytest.mark.slow
def test_a_live_writer_loses_nothing(db: None, tmp_path: Path, locks: list[tuple[str, float, float, float]]) -> None:
    path = tmp_path / "dispatch.db"
    make(path, broken().values)
    with writer(path) as live:
        assert for_a_while(0.8, lambda: bring(path)) > 1
        previewed(of(path, "c1"))
        previewed(again(path, "live"))
        assert any(word in refused(path) for word in ("moved", "less than a minute ago", "running"))
        before = {key: value for key, value in pairs(path).items() if key.startswith("conv:c1:")}
        for _ in range(2):
            repair = proposed(of(path, "c1"), "insert-interrupted-result", "renumber-messages")
            approve_repair(repair, WHO, repair.plan_digest, statement="unfixed")
            apply_repair(repair, WHO, interactive=True)
            assert Repair.objects.get(pk=repair.pk).state == Repair.State.VERIFIED
            assert {key: value for key, value in pairs(path).items() if key.startswith("conv:c1:")} != before
            undo_repair(Repair.objects.get(pk=repair.pk), WHO, interactive=True)
            assert {key: value for key, value in pairs(path).items() if key.startswith("conv:c1:")} == before
        done = live.stop()
    ours = [(start, end) for file, start, end, _ in locks if file == str(path)]
    longest = max(held for file, _, _, held in locks if file == str(path))
    by_reading = [failure for failure in done["failures"] if not any(start <= failure[1] and failure[0] <= end for start, end in ours)]
    report = (
        f"{done['appends']} appends of the live writer, {len(done['failures'])} writes met our {len(ours)} short write transactions "
        f"(its busy timeout is 0), longest lock {longest:.1f} ms"
    )
    if done["failures"]:
        # Not ours to prevent: said, so that whoever runs it sees what a write costs a server without patience.
        warnings.warn(report, stacklevel=1)
    assert not by_reading, f"a READ made writes fail: {by_reading}; {report}"
    assert len(ours) == 4 and done["appends"] > 20, report
    # The commit waits for the disk, which a loaded machine may hold up: the quickest of them shows what we do under the lock.
    assert min(held for file, _, _, held in locks if file == str(path)) < 50, report
    rows = [json.loads(value)["chunk"]["text"] for key, value in sorted(pairs(path).items()) if key.startswith("conv:live:chunk:")]
    assert rows == [f"word {seq}" for seq in done["written"]], report
    assert pairs(path)["conv:live:seq"] == str(len(rows)).encode()


def test_what_was_written_a_moment_ago_is_not_repaired_in_place(db: None, tmp_path: Path) -> None:
    path = tmp_path / "dispatch.db"
    make(path, Store().append(U("x"), to="c1").values)
    with writer(path) as live:
        time.sleep(0.1)
        live.stop()
    before = pairs(path)
    assert "less than a minute ago" in refused(path)
    assert pairs(path) == before
