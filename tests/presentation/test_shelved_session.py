"""A session of which what is said is in a file while it is judged: the same answers, out of a part of the memory."""

import tracemalloc
from pathlib import Path

import pytest

from bench import inputs
from inspector.presentation.conversation import work
from inspector.presentation.conversation.examined import Judges
from inspector.presentation.conversation.work import Done, Task
from inspector.programs.catalogue import format_named
from inspector.sources import reading
from inspector.sources.streaming import OpenStore
from inspector.sources.workers import Workers

FORMAT = format_named("pi")
JUDGES = Judges(FORMAT.default_reader, FORMAT.default_projection, FORMAT.default_profile)


def judged(path: Path) -> Done:
    """As a worker does it, here."""
    with reading.opened(path, None) as store, Workers(work.answer, 1) as pool:
        assert isinstance(store, OpenStore)
        (listed,) = store.listed
        task = Task("pi", listed, (), JUDGES, 1_790_000_000_000, store=path, files=store.files(listed))
        done: Done = pool.submit(task).result()
    return done


@pytest.mark.slow
def test_answers_are_those_of_a_session_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With findings, whose repairs are tried by writing the file again."""
    path = inputs.session(tmp_path / "session.jsonl", 2_500, 3, loses=True)
    monkeypatch.setattr(work, "LONG", 1)
    answers = []
    for huge in (1 << 40, 1):
        monkeypatch.setattr(work, "HUGE", huge)
        done = judged(path)
        assert done.content is not None and done.examined is not None and done.examined.whole is not None
        assert done.examined.findings and any(finding.repaired_by for finding in done.examined.findings)
        whole = done.examined.whole
        answers.append(
            (
                done.examined.findings,
                done.examined.verdict,
                list(whole.blocks),
                whole.headline,
                whole.findings,
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
