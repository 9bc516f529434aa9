"""The bench of streams measures what it says: a legal stream of the length that is asked for."""

from pathlib import Path

import pytest

from bench import streams


def test_its_stream_is_legal_and_of_the_length_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "long.sse"
    streams.write(path, 50_000)
    assert 50_000 <= path.stat().st_size < 52_000
    # The terminal record is an event of the pass, and no JSON.
    assert streams.judged(path) == streams.loads(path) + 1


@pytest.mark.slow
def test_the_pass_is_measured_next_to_json_loads(tmp_path: Path) -> None:
    assert streams.measured(tmp_path, 1, 20_000).value > 1
    assert not list(tmp_path.iterdir())
