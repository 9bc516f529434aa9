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


@pytest.mark.slow
def test_a_command_that_fails_is_no_measurement(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="nothing was measured"):
        start.cpu_seconds(start.commands(tmp_path / "no.db")["scan"], start.VARIABLES)


def test_the_slowest_command_is_judged_by_its_quickest_round() -> None:
    seconds = {"import django": [0.1], start.UNIT: [1.0, 1.2], "rules": [1.0], "verify --help": [1.0], "scan": [5.0, 4.0, 6.0]}
    measured = start.worst(seconds)
    assert measured.value == 4.0 and measured.noise == pytest.approx(0.2) and measured.information.startswith("scan;")
