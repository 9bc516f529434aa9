"""Seconds, megabytes, and how far two measurements of the same thing differ in one run."""

import gc
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LEAST_NOISE = 0.05
"""Two runs of anything differ by so much."""
Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Measured:
    """`value` in units of the yardstick; `noise`: by what share the yardstick itself differed; `information`: the seconds or megabytes behind it."""

    value: float
    noise: float
    information: str


@dataclass(frozen=True, slots=True)
class Ran:
    """A command. `peak` is the resident memory of its own process, `peak_of_all` with its children (memory that they share counts once), in megabytes."""

    wall: float
    cpu: float
    peak: float
    peak_of_all: float
    output: str


def in_turns(works: Mapping[str, Callable[[], object]], rounds: int, clock: Clock = time.process_time) -> dict[str, list[float]]:
    """Seconds of each, in each round. What else the machine does falls on all of them."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            gc.collect()
            start = clock()
            work()
            seconds[name].append(clock() - start)
    return seconds


def noise(seconds: Sequence[float]) -> float:
    """By what share the minima of the odd and of the even rounds differ: what a repetition of this run would differ by."""
    if len(seconds) < 2:
        return LEAST_NOISE
    one, other = min(seconds[::2]), min(seconds[1::2])
    return max(LEAST_NOISE, abs(one - other) / min(one, other))


def ratio(work: Sequence[float], yardstick: Sequence[float]) -> Measured:
    """Of the least of both, since other programs of the machine can only add to it."""
    value = min(work) / min(yardstick)
    return Measured(value, noise(yardstick), f"{min(work) * 1000:,.1f} ms, yardstick {min(yardstick) * 1000:,.1f} ms")


def manage(*arguments: str) -> list[str]:
    return [sys.executable, str(ROOT / "manage.py"), *arguments]


def command(environ: Mapping[str, str], *arguments: str, every: float = 0.05) -> Ran:
    """Runs one of the program's commands; a status above 1 (`scan` says findings by 1) is no measurement."""
    start, peak, peak_of_all = time.perf_counter(), 0.0, 0.0
    with tempfile.TemporaryFile("w+") as printed:
        process = subprocess.Popen(manage(*arguments), env=environ, stdout=printed, stderr=subprocess.STDOUT, text=True)
        try:
            while True:
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                if pid:
                    break
                peak, peak_of_all = max(peak, resident(process.pid, "VmHWM")), max(peak_of_all, shared_once(process.pid))
                time.sleep(every)
        except BaseException:
            process.kill()
            raise
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        printed.seek(0)
        output = printed.read()
    if process.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(arguments)} ended with {process.returncode}, so that nothing was measured: {output[-500:]}")
    return Ran(wall, usage.ru_utime + usage.ru_stime, peak, peak_of_all, output)


def resident(pid: int, field: str = "VmRSS") -> float:
    """Megabytes; VmHWM is the most that they ever were. 0 of a process that is gone."""
    with suppress(OSError):
        status = Path(f"/proc/{pid}/status").read_text()
        if field in status:
            return int(status.partition(f"{field}:")[2].split()[0]) / 1024
    return 0.0


def shared_once(pid: int) -> float:
    """Megabytes of a process and of all below it."""
    total = 0.0
    for one in (pid, *below(pid)):
        with suppress(OSError):
            total += int(Path(f"/proc/{one}/smaps_rollup").read_text().partition("\nPss:")[2].split()[0]) / 1024
    return total


def below(pid: int) -> list[int]:
    """Processes that it started, and those that they started."""
    pids: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                pids += [child, *below(child)]
    return pids


def stop(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
