"""The bench of the start of commands runs real commands, and tells which of them starts too slowly."""

from pathlib import Path

import pytest

from bench import start
from tests.commands.running import make


@pytest.mark.slow
def test_its_commands_do_their_work(tmp_path: Path) -> None:
    rows = start.commands(make(tmp_path / "dispatch.db"))
    assert all(start.cpu_seconds(arguments, start.VARIABLES) > 0 for arguments in rows.values())
    assert {start.UNIT, *start.JUDGED} <= set(rows)


def test_a_command_that_fails_is_no_measurement(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="nothing was measured"):
        start.cpu_seconds(start.commands(tmp_path / "no.db")["scan"], start.VARIABLES)


@pytest.mark.parametrize(("scan", "within"), [(start.LIMIT_RATIO, True), (start.LIMIT_RATIO + 0.1, False)])
def test_the_slowest_command_is_judged(scan: float, within: bool) -> None:
    printed, judged = start.table({"import django": 0.1, start.UNIT: 1.0, "rules": 1.0, "verify --help": 1.0, "scan": scan})
    assert judged is within and printed.splitlines()[-1].startswith(f"worst ratio {scan:.1f} (scan)")
