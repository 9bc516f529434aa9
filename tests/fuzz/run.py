"""`python -m tests.fuzz.run [TARGET...] [--seconds N]`, or `make fuzz`: mutates inputs by what they reach in our code (atheris, on Linux), for hours.

A target gets its share of the seconds. Inputs that reach something new are kept in var/fuzz/, for the next run; one that breaks a promise is written to
var/fuzz/broken/, and the exit status is 1: it becomes a case in tests/fuzz/cases/TARGET/ with the repair.
"""

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "var" / "fuzz"
LARGEST, LONGEST, MEMORY_MB = 65_536, 60, 2_000
"""Of one input: bytes, seconds by the clock (on a busy machine an input of 0.01 seconds was reported at 10), and megabytes of the process."""


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("targets", nargs="*", metavar="TARGET")
    arguments.add_argument("--seconds", type=int, default=3_600, help="of all targets together")
    arguments.add_argument("--one", help=argparse.SUPPRESS)
    asked = arguments.parse_args()
    if asked.one:
        return _fuzz(asked.one, asked.seconds)
    if find_spec("atheris") is None:
        sys.stderr.write("atheris is installed on Linux alone; elsewhere, `make test-slow` tries fewer inputs.\n")
        return 2
    os.environ["DJANGO_SETTINGS_MODULE"] = "inspector.settings"
    import django

    django.setup()
    from tests.fuzz.targets import TARGETS

    unknown = [name for name in asked.targets if name not in TARGETS]
    if unknown:
        sys.stderr.write(f"There is no target {unknown[0]!r}; the targets are: {', '.join(TARGETS)}.\n")
        return 2
    chosen = asked.targets or list(TARGETS)
    statuses = [_in_own_process(name, max(asked.seconds // len(chosen), 1)) for name in chosen]
    return int(any(statuses))


def _in_own_process(name: str, seconds: int) -> int:
    """The exit status; libFuzzer ends its process itself."""
    command = [sys.executable, "-m", "tests.fuzz.run", "--one", name, "--seconds", str(seconds)]
    ran = subprocess.run(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    counted = re.findall(r"stat::number_of_executed_units:\s+(\d+)", ran.stderr) or re.findall(r"#(\d+)\s", ran.stderr) or ["0"]
    sys.stdout.write(f"{name}: {int(counted[-1]):,} inputs, {'BROKEN' if ran.returncode else 'no promise broken'}\n")
    if ran.returncode:
        sys.stdout.write(ran.stderr[-4_000:])
    sys.stdout.flush()
    return ran.returncode


def _fuzz(name: str, seconds: int) -> int:
    """In a process of its own, which libFuzzer ends."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "inspector.settings"
    folder = Path(tempfile.mkdtemp(prefix="inspector-fuzz-"))
    os.environ["INSPECTOR_DATABASE_URL"] = f"sqlite:///{folder / 'own.sqlite3'}"
    import atheris

    with atheris.instrument_imports(include=["inspector"], enable_loader_override=False):
        import django

        django.setup()
        from django.core.management import call_command

        from tests.fuzz.addresses import import_incident
        from tests.fuzz.targets import TARGETS
    target = TARGETS[name]
    if target.opens_database:
        call_command("migrate", verbosity=0)
        import_incident(folder)
    kept, broken = KEPT / name.replace(" ", "-"), KEPT / "broken"
    kept.mkdir(parents=True, exist_ok=True)
    broken.mkdir(exist_ok=True)
    for number, seed in enumerate(target.seeds()):
        (kept / f"seed-{number}").write_bytes(seed)

    def run(data: bytes) -> None:
        try:
            target.run(data)
        except BaseException:
            # libFuzzer writes what made it stop, and not what raised.
            (broken / f"{kept.name}-{hashlib.sha256(data).hexdigest()[:12]}").write_bytes(data)
            raise

    options = (
        f"-max_total_time={seconds}",
        f"-max_len={LARGEST}",
        f"-timeout={LONGEST}",
        f"-rss_limit_mb={MEMORY_MB}",
        "-print_final_stats=1",
    )
    atheris.Setup([sys.argv[0], *options, f"-artifact_prefix={broken}/{name.replace(' ', '-')}-", str(kept)], run)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
