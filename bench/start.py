"""The start of commands as ratios of CPU time to the start of Django with its own apps, each in processes of its own, in turns in one run."""

import os
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.measuring import Measured, noise

ROOT = Path(__file__).resolve().parent.parent
LIMIT_RATIO = 4.6
"""Worst allowed CPU time of a command that has next to nothing to do, in units of django.setup() with the apps of Django that Inspector has.

Measured when it was set: 2.5 to 3.3 for `rules`, 3.4 to 4.1 for `verify --help` and for `scan` of a small store, 1.1 to 1.4 for our own
django.setup(); before, 5 for every command. `import django` alone is a tenth of the unit and no measure: Django imports the rest of itself
when it is set up (2 cores, CPython 3.11).
"""
_SETUP = "import django; django.setup()"
_ONLY_DJANGO = f"""
from django.conf import settings
apps = ["auth", "contenttypes", "sessions", "messages", "staticfiles"]
database = {{"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
settings.configure(INSTALLED_APPS=[f"django.contrib.{{name}}" for name in apps], DATABASES={{"default": database}})
{_SETUP}
"""
UNIT = "django.setup(), its own"
VARIABLES = {**os.environ, "DJANGO_SETTINGS_MODULE": "inspector.settings", "INSPECTOR_DATABASE_URL": "sqlite:///:memory:"}
JUDGED = ("rules", "verify --help", "scan")


def commands(store: Path) -> dict[str, list[str]]:
    manage = str(ROOT / "manage.py")
    return {
        "import django": ["-c", "import django"],
        UNIT: ["-c", _ONLY_DJANGO],
        "django.setup(), ours": ["-c", _SETUP],
        "rules": [manage, "rules"],
        "verify --help": [manage, "verify", "--help"],
        "scan": [manage, "scan", str(store), "--no-cache"],
    }


def measured(store: Path, rounds: int) -> Measured:
    """The slowest judged command. `store`: a small one, on which `scan` has next to nothing to do."""
    rows = commands(store)
    # The first run of each writes the compiled modules, and is not counted.
    turns = [{name: cpu_seconds(arguments, VARIABLES) for name, arguments in rows.items()} for _ in range(rounds + 1)]
    return worst({name: [turn[name] for turn in turns[1:]] for name in rows})


def cpu_seconds(arguments: Sequence[str], variables: Mapping[str, str]) -> float:
    """User and system time of Python with these arguments; `scan` may end with 1, which means findings."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = subprocess.run([sys.executable, *arguments], cwd=ROOT, env=variables, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ran.returncode > 1:
        raise SystemExit(f"{' '.join(arguments)} failed, so that nothing was measured: {ran.stderr.decode()[-500:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def worst(seconds: Mapping[str, Sequence[float]]) -> Measured:
    least = {name: min(durations) for name, durations in seconds.items()}
    slowest = max(JUDGED, key=lambda name: least[name])
    text = ", ".join(f"{name} {duration * 1000:.0f}" for name, duration in least.items())
    return Measured(least[slowest] / least[UNIT], noise(seconds[UNIT]), f"{slowest}; ms of CPU: {text}")
