"""A thinned set of `make faults`: a few dozen faults at the calls next to the write, of some programs and modes."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.faults.flags import FLAGS
from tests.faults.run import ROOT, table
from tests.faults.shim import NoCompiler, compiled
from tests.reliability import TRIES


@pytest.mark.slow
def test_a_sample_of_all_faults(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """One test, since one run of the harness answers all of it."""
    try:
        compiled(tmp_path)
    except NoCompiler as problem:
        pytest.skip(str(problem))
    out = tmp_path / "points.json"
    run = [sys.executable, "-m", "tests.faults.run", "--sample", "2", "--json", str(out)]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert out.exists(), done.stderr
    results: list[dict[str, Any]] = json.loads(out.read_text())
    record_property(TRIES, len(results))
    assert len(results) >= 36 and {result["first"] for result in results} <= {"before", "after", "between"}
    assert {result["command"] for result in results} == {"repair", "undo", "apply"} and len({result["kind"] for result in results}) >= 4
    wrong = {flag: [result for result in results if flag in result["flags"]] for flag in FLAGS}
    unexpected = [result for some in wrong.values() for result in some]
    assert not unexpected, table(unexpected) + "\n".join("\n".join(result["story"]) for result in unexpected[:3])
