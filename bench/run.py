"""Speed and memory as ratios to yardsticks of the same run, next to their goals: `python -m bench.run [--only ROW] [--quick]`.

The rows are data, in `table`. Status 1: a goal is missed by more than the noise of its yardstick. Seconds differ between machines and between minutes of one
machine; ratios hardly do. Each yardstick is measured in turns with the work, and the least of the rounds counts.
"""

import argparse
import os
import platform
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.ground import Ground
    from bench.table import Row

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

AddressOf = Callable[[str], str] | None
HEADER = f"{'row':20}{'work':46}{'yardstick':26}{'goal':>9}{'noise':>7}{'limit':>9}{'value':>9}  "


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description="Measure imports, pages and memory against plain SQL and plain pages, on SQLite and PostgreSQL."
    )
    parser.add_argument("--only", metavar="ROW", action="append", default=[], help="the row of this name; may be given several times")
    parser.add_argument("--quick", action="store_true", help="a twentieth of the sizes: minutes; goals of constant parts are missed then")
    parser.add_argument("--database", choices=("sqlite", "postgres"), help="only on this one")
    options = parser.parse_args(arguments)
    # Django knows one kind of database for each process, so that each has a process of its own.
    if options.database == "sqlite":
        return measured(options.only, options.quick, None)
    if options.database == "postgres":
        return on_postgres(options.only, options.quick)
    again = [sys.executable, "-m", "bench.run", *arguments, "--database"]
    return max(subprocess.run([*again, kind], cwd=ROOT).returncode for kind in ("sqlite", "postgres"))


def on_postgres(only: list[str], quick: bool) -> int:
    from tests.postgres.server import NoPostgres, started

    try:
        with started() as server:
            return measured(only, quick, lambda name: server.dsn(name, "" if server.folder is None else "postgres"))
    except NoPostgres as problem:
        sys.stdout.write(f"PostgreSQL is not measured: {problem}\n")
        return 0


def measured(only: list[str], quick: bool, address_of: AddressOf) -> int:
    """Prints the table; returns the status. `address_of`: the address of a PostgreSQL database by its name, None for SQLite."""
    with tempfile.TemporaryDirectory(prefix="inspector-bench-") as name:
        folder = Path(name)
        set_up(address_of("postgres") if address_of else f"sqlite:///{folder / 'own.sqlite3'}")
        from bench.ground import Ground
        from bench.table import ROWS

        if unknown := set(only) - {row.name for row in ROWS}:
            sys.stderr.write(f"There is no row {', '.join(sorted(unknown))}: choose from {', '.join(row.name for row in ROWS)}.\n")
            return 2
        sys.stdout.write(f"{head(address_of, quick)}\n\n{HEADER}\n{'-' * len(HEADER)}\n")
        ground = Ground(folder, address_of, quick)
        lines = [line(row, ground) for row in ROWS if (row.name in only or not only) and (row.on_server or not address_of)]
    missed = sum(lines)
    sys.stdout.write(f"\n{missed} of {len(lines)} goals are missed by more than the noise.\n\n" if missed else "\nEvery goal is met.\n\n")
    return 1 if missed else 0


def line(row: "Row", ground: "Ground") -> bool:
    """Measures and prints one row; whether its goal is missed."""
    from bench.table import Skipped

    sign = ">=" if row.is_least else "<="
    begin = f"{row.name:20}{row.work:46}{row.yardstick:26}{sign}{row.goal:7.4g}"
    started = time.perf_counter()
    try:
        found = row.measure(ground)
    except Skipped as reason:
        sys.stdout.write(f"{begin}  not measured: {reason}\n")
        return False
    verdict = "ok    " if row.is_met(found) else "MISSED"
    of_goal = f", goal {row.milliseconds:,.0f} ms" if row.milliseconds else ""
    numbers = f"{found.noise:6.0%} {sign}{row.limit(found.noise):6.4g}{found.value:9.3g}"
    took = f"[{time.perf_counter() - started:.0f} s]"
    sys.stdout.write(f"{begin}{numbers}  {verdict} ({found.information}{of_goal}) {took}\n")
    sys.stdout.flush()
    return not row.is_met(found)


def head(address_of: AddressOf, quick: bool) -> str:
    import django

    if address_of:
        import psycopg

        with psycopg.connect(address_of("postgres")) as connection:
            database = f"PostgreSQL {connection.info.server_version // 10_000}"
    else:
        database = f"SQLite {sqlite3.sqlite_version}"
    load = f"load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    sizes = "a twentieth of the sizes" if quick else "all sizes"
    return f"{database}, Django {django.__version__}, Python {platform.python_version()}, {os.cpu_count()} processors, {load}; {sizes}"


def set_up(address: str) -> None:
    """Django with a database of its own; nothing of the installation is touched."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "inspector.settings"
    os.environ["INSPECTOR_DATABASE_URL"] = address
    os.environ.setdefault("DJANGO_SECRET_KEY", "bench")
    import django

    django.setup()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
