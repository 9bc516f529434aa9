"""A session of which what is said is in a file while it is judged: the same answers, out of a part of the memory."""

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from bench import inputs
from inspector.presentation.conversation import whole, work
from inspector.presentation.conversation.examined import Judges
from inspector.presentation.conversation.work import Done, Task
from inspector.sources import reading
from inspector.sources.streaming import OpenStore
from inspector.sources.workers import Workers


def judged(path: Path) -> Done:
    """As a worker does it, here."""
    with reading.opened(path, None) as store, Workers(work.answer, 1) as pool:
        assert isinstance(store, OpenStore)
        (listed,) = store.listed
        judges = Judges(store.format.default_reader, store.format.default_projection, store.format.default_profile)
        task = Task(store.format.name, listed, (), judges, 1_790_000_000_000, store=path, files=store.files(listed))
        done: Done = pool.submit(task).result()
    return done


def pi(path: Path, tried: bool) -> Path:
    return inputs.session(path, 2_500, 3, loses=tried)


def claude_code(path: Path, tried: bool) -> Path:
    inputs.claude_session(path, 2_500, 3)
    if tried:
        lines = path.read_text().splitlines(keepends=True)
        # Without one result, below which the next line hangs.
        lost = [number for number, line in enumerate(lines) if '"tool_result"' in line][inputs.LOST]
        before, after = (json.loads(line) for line in (lines[lost], lines[lost + 1]))
        lines[lost : lost + 2] = [json.dumps(after | {"parentUuid": before["parentUuid"]}) + "\n"]
        path.write_text("".join(lines))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("tried", [True, False])
@pytest.mark.parametrize("session", [pi, claude_code])
def test_answers_are_those_of_a_session_in_memory(
    session: Callable[[Path, bool], Path], tried: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With findings, whose repairs are tried by writing the file again, and where none is tried."""
    path = session(tmp_path / "session.jsonl", tried)
    monkeypatch.setattr(work, "LONG", 1)
    for module in (work, whole):
        monkeypatch.setattr(module, "TRIED_BYTES", 1 << 40 if tried else 0)
    answers = []
    for huge in (1 << 40, 1):
        monkeypatch.setattr(work, "HUGE", huge)
        done = judged(path)
        assert done.content is not None and done.examined is not None and done.examined.whole is not None
        assert not tried or any(finding.repaired_by for finding in done.examined.findings)
        kept = done.examined.whole
        answers.append(
            (
                done.examined.findings,
                done.examined.verdict,
                list(kept.blocks),
                kept.headline,
                kept.findings,
                list(done.content.words),
                list(done.content.chunks),
            )
        )
    assert answers[0] == answers[1]


def peak(path: Path) -> int:
    """The most bytes of Python's that judging takes, above what there is before."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        judged(path)
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_memory_grows_by_less_than_the_session_does_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In memory it took 7 bytes for each byte of a session without findings."""
    monkeypatch.setattr(work, "HUGE", 1)
    monkeypatch.setattr(work, "LONG", 1)
    paths = [inputs.session(tmp_path / f"{size}.jsonl", size, 81) for size in (4_000, 12_000)]
    small, large = map(peak, paths)
    growth = (large - small) / (paths[1].stat().st_size - paths[0].stat().st_size)
    assert growth < 4, f"{growth:.2f} bytes in memory for each byte of a session"
