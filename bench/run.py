"""Speed as ratios to plain SQLite and json on the same bytes, measured in turns in one run: `python -m bench.run`.

The start of commands (see `start`), an import of a store, request bodies of growing length (see `bodies`), and a long captured stream (see `streams`). Only the ratio is judged. Seconds differ between machines and between minutes of one machine; the ratio hardly does.
"""

import argparse
import gc
import json
import os
import resource
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import bodies, start, streams
from bench.generate import CHUNKS, CONVERSATIONS, rows
from inspector.demo.creation import write_dispatch_store

LIMIT_RATIO = 8.0
"""Worst allowed time of an import, in units of reading + parsing + inserting the same rows by hand.

Measured when it was set: 5.2 with 1,000 conversations and 200,000 chunks, 5.1 with a fifth of that (2 cores, CPython 3.11).
"""

_INSERTED = "CREATE TABLE kv (namespace TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (namespace, key))"
PLAIN = ("read", "loads", "insert")

_Rows = list[tuple[str, str, str]]


def timed(work: Callable[[], object]) -> float:
    """Seconds of `work`, with nothing of earlier work left to collect."""
    gc.collect()
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def plain(store: Path, folder: Path) -> dict[str, float]:
    """Seconds to read all rows with sqlite3, to parse their values, and to insert them into a new database."""
    results: list[_Rows] = []

    def read() -> None:
        with closing(sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True)) as connection:
            results.append(connection.execute("SELECT namespace, key, value FROM kv ORDER BY namespace, key").fetchall())

    seconds = {"read": timed(read)}
    values = [value for _, key, value in results[0] if ":chunk:" in key]
    seconds["loads"] = timed(lambda: [json.loads(value) for value in values])
    seconds["insert"] = timed(lambda: insert(folder / "inserted.db", results[0]))
    return seconds


def insert(path: Path, results: _Rows) -> None:
    """As durable as the product's own database: WAL, synchronous FULL, one transaction."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(_INSERTED)
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO kv VALUES (?, ?, ?)", results)
        connection.execute("COMMIT")


def set_up(folder: Path) -> None:
    """Django with a database of its own in `folder`, or on the server that INSPECTOR_DATABASE_URL names; nothing of the installation is touched."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "inspector.settings"
    if not os.environ.get("INSPECTOR_DATABASE_URL", "").startswith("postgres"):
        os.environ["INSPECTOR_DATABASE_URL"] = f"sqlite:///{folder / 'inspector.sqlite3'}"
    os.environ.setdefault("DJANGO_SECRET_KEY", "bench")
    import django

    django.setup()


@contextmanager
def empty_database() -> Iterator[None]:
    """On a server it is a new database next to the installation's, and removed again."""
    from django.core.management import call_command
    from django.db import connection

    if connection.vendor == "sqlite":
        path = Path(connection.settings_dict["NAME"])
        connection.close()
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        call_command("migrate", verbosity=0)
        yield
    else:
        own = connection.settings_dict["NAME"]
        connection.creation.create_test_db(verbosity=0, autoclobber=True)
        try:
            yield
        finally:
            connection.creation.destroy_test_db(own, verbosity=0)


def imported(store: Path, chunks: int) -> float:
    """Seconds of the product's import into an empty database."""
    from inspector.actions.import_source import import_targets

    chunk_counts: list[int] = []
    with empty_database():
        seconds = timed(lambda: chunk_counts.extend(done.chunks for done in import_targets([str(store)], operator="bench")))
    if chunk_counts != [chunks]:
        raise SystemExit(f"The import brought {chunk_counts} chunks instead of {chunks}: what was measured is no import.")
    return seconds


def table(rounds: list[dict[str, float]], chunks: int) -> tuple[str, float]:
    """The printed table, and the ratio that is judged: the median of the rounds' own ratios."""
    lines = [f"{'':24}{'chunks/s':>12}{'import takes':>16}"]
    for name in (*PLAIN, "import"):
        rate = chunks / median(seconds[name] for seconds in rounds)
        ratio = median(seconds["import"] / seconds[name] for seconds in rounds)
        lines.append(f"{name:24}{rate:12,.0f}{ratio:15.1f}x")
    judged = median(seconds["import"] / sum(seconds[name] for name in PLAIN) for seconds in rounds)
    together = chunks / median(sum(seconds[name] for name in PLAIN) for seconds in rounds)
    lines.append(f"{'read + loads + insert':24}{together:12,.0f}{judged:15.1f}x")
    return "\n".join(lines), judged


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description="Measure the start of commands, imports, request bodies and a captured stream against plain SQLite and json."
    )
    parser.add_argument("--conversations", type=int, default=CONVERSATIONS)
    parser.add_argument("--chunks", type=int, default=CHUNKS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--stream-mb", type=int, default=streams.SIZE // 1_000_000, help="size of the captured stream")
    options = parser.parse_args(arguments)
    if options.rounds < 1 or options.stream_mb < 1 or options.conversations < 1 or options.chunks < options.conversations:
        parser.error("give at least one round and one conversation, and no fewer chunks than conversations.")
    # First, while this process is small: the memory of a pass is reported too.
    with tempfile.TemporaryDirectory(prefix="inspector-bench-") as name:
        of_stream, is_quick = streams.measured(timed, Path(name), options.rounds, options.stream_mb * 1_000_000)
    with tempfile.TemporaryDirectory(prefix="inspector-bench-") as name:
        small = Path(name) / "dispatch.db"
        write_dispatch_store(small, rows(1, 20))
        of_start, is_prompt = start.measured(small, max(options.rounds, 3))
    with tempfile.TemporaryDirectory(prefix="inspector-bench-") as name:
        folder = Path(name)
        store = folder / "dispatch.db"
        write_dispatch_store(store, rows(options.conversations, options.chunks))
        set_up(folder)
        rounds = [{**plain(store, folder), "import": imported(store, options.chunks)} for _ in range(options.rounds)]
        size = store.stat().st_size
    printed, ratio = table(rounds, options.chunks)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (2**20 if sys.platform == "darwin" else 2**10)
    head = f"{options.conversations:,} conversations, {options.chunks:,} chunks, {size / 1e6:,.0f} MB, {options.rounds} rounds"
    head += f", on {os.environ['INSPECTOR_DATABASE_URL'].partition(':')[0]}"
    sys.stdout.write(f"{head}\n{printed}\npeak memory {peak:,} MB\n")
    within = ratio <= LIMIT_RATIO
    sys.stdout.write(f"ratio {ratio:.1f}, limit {LIMIT_RATIO:g}: {'within' if within else 'over: the import has become slower'}\n\n")
    printed, is_linear = bodies.measured(timed, options.rounds)
    sys.stdout.write(f"request bodies, in units of json.loads of the same bytes, {options.rounds} rounds\n{printed}\n\n")
    sys.stdout.write(f"a captured stream, read and judged, {options.rounds} rounds\n{of_stream}\n\n")
    sys.stdout.write(f"the start of commands\n{of_start}\n")
    return 0 if within and is_linear and is_quick and is_prompt else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
