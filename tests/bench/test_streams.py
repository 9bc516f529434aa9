"""The bench of streams measures what it says: a legal stream of the length that is asked for."""

from pathlib import Path

from bench import streams


def test_its_stream_is_legal_and_of_the_length_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "long.sse"
    streams.write(path, 50_000)
    assert 50_000 <= path.stat().st_size < 52_000
    # The terminal record is an event of the pass, and no JSON.
    assert streams.judged(path) == streams.loads(path) + 1


def test_it_tells_what_is_too_slow(tmp_path: Path) -> None:
    seconds = iter([1.0, 2.0, 1.0, 9.0])
    assert streams.measured(lambda work: next(seconds), tmp_path, 1, 1000)[1]
    printed, within = streams.measured(lambda work: next(seconds), tmp_path, 1, 1000)
    assert not within and "ratio 9.0, limit 4: over" in printed
