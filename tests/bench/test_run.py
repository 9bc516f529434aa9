"""The table of the benchmark: what meets a goal, what misses it, and real rows measured on a real database."""

import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from bench import measuring
from bench.ground import Ground
from bench.measuring import Measured
from bench.table import ROWS, Row


def row(goal: float, is_least: bool = False) -> Row:
    return Row(name="r", work="w", yardstick="y", goal=goal, is_least=is_least, measure=lambda ground: Measured(1, 0, ""))


@pytest.mark.parametrize(
    ("goal", "is_least", "value", "noise", "is_met"),
    [
        (2.0, False, 2.0, 0.0, True), (2.0, False, 2.1, 0.0, False), (2.0, False, 2.1, 0.1, True), (2.0, False, 2.3, 0.1, False),
        (0.5, True, 0.5, 0.0, True), (0.5, True, 0.48, 0.0, False), (0.5, True, 0.46, 0.1, True), (0.5, True, 0.4, 0.1, False),
    ],
)  # fmt: skip
def test_a_goal_is_missed_by_more_than_the_noise(goal: float, is_least: bool, value: float, noise: float, is_met: bool) -> None:
    assert row(goal, is_least).is_met(Measured(value, noise, "")) is is_met


def test_noise_is_how_far_the_yardstick_differs_from_itself() -> None:
    assert measuring.noise([1.0, 1.5, 9.0, 1.3]) == pytest.approx(0.3)
    assert measuring.noise([1.0, 1.0]) == measuring.noise([1.0]) == measuring.LEAST_NOISE


def test_the_least_of_all_rounds_counts() -> None:
    assert measuring.ratio([6.0, 3.0, 9.0], [2.0, 1.0, 1.0]).value == 3.0


def test_every_row_has_a_name_of_its_own() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)


@pytest.mark.slow
def test_an_unknown_row_is_refused() -> None:
    done = bench("--only", "nothing")
    assert done.returncode == 2 and "There is no row nothing: choose from import-sessions, " in done.stderr


@pytest.mark.slow
def test_pages_are_measured_and_a_miss_is_the_status() -> None:
    done = bench("--only", "inbox", "--only", "preview-100k")
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines if line.startswith(("inbox ", "preview-100k "))] == ["inbox", "preview-100k"], done.stderr
    assert done.returncode == ("MISSED" in done.stdout)


@pytest.mark.slow
def test_a_command_that_fails_is_no_measurement(tmp_path: Path) -> None:
    ground = Ground(tmp_path, None, True)
    with pytest.raises(SystemExit, match="nothing was measured"):
        measuring.command(ground.database("a"), "migrate", "nothing")


def test_the_memory_of_a_process_is_what_the_system_says() -> None:
    child = subprocess.Popen([sys.executable, "-c", "words = bytearray(80 << 20); print(1, flush=True); input()"], stdin=-1, stdout=-1)
    try:
        assert child.stdout and child.stdout.readline()
        assert 80 < measuring.resident(child.pid) < 120 and 80 < measuring.shared_once(child.pid) < 120
    finally:
        child.kill()
        child.communicate()
    assert measuring.resident(child.pid) == 0


def bench(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "bench.run", "--quick", "--database", "sqlite", *arguments]
    return subprocess.run(command, cwd=settings.BASE_DIR, capture_output=True, text=True)
