"""Faults at the system calls of a repair and its undo: `python -m tests.faults.run`, or `make faults`; exit status 1 where a promise is broken.

At each call that changes the store or Inspector's own database one fault is injected: the process is killed before or after it, a write is
done by half, the disk is full, the call fails, the disk has become read-only; at each statement to a server the connection is cut, or the
session or the server is killed. Then somebody looks (a command or a page that only reads), and acts (the same command again, another one, or a
button of the page), and in the end undoes what is there. `before`, `after` and `between` are what the store is right after the fault.
"""

import argparse
import json
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.faults.flags import FLAGS, ODD
from tests.faults.shim import KINDS, ON_SERVERS, Call, NoCompiler, Shim, compiled

ROOT = Path(__file__).resolve().parents[2]
MEMORY, ROOM = Path("/dev/shm"), 1 << 28
"""A folder in memory, and the bytes that have to be free there; a disk is slower, since every write of ours is synced."""
SHARDS = 4
"""Parts of a case, for which it is prepared again: enough of them that no process waits long for the last one."""
BEFORE, AFTER = 4, 8
"""Calls on Inspector's own database next to the write to the store: between them lies whatever is written and not recorded."""
READS = 5
"""Of statements far from the write every fifth: they read."""
SAMPLED = (
    *("dispatch (WAL) new-conversation", "dispatch (DELETE) same-rows", "rollouts B same-file", "rollouts C child"),
    *("pi 3 new-session", "openclaw insert-and-reparent", "request body same-file", "gemini-cli append-set"),
)


def main(arguments: Sequence[str]) -> int:
    options = _options(arguments)
    place = MEMORY if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM else None
    preloaded = os.environ.get("INSPECTOR_FAULTS_SHIM")
    if not preloaded:
        return _with_shim(arguments, place)
    os.environ.pop("LD_PRELOAD", None)
    with tempfile.TemporaryDirectory(prefix="inspector-faults-", dir=place) as folder:
        results = _run(options, Path(folder), Path(preloaded))
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1))
    if options.verbose:
        for result in results:
            if result["flags"]:
                sys.stdout.write(_story(result))
    sys.stdout.write(table(results))
    return int(any(result["flags"] for result in results) or any(result["first"] == "missed" for result in results))


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    meanings = "\n".join(f"  {flag}: {meaning}" for flag, meaning in FLAGS.items())
    parser = argparse.ArgumentParser(
        prog="make faults",
        description=__doc__,
        epilog=f"What is counted, and must be 0:\n{meanings}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", metavar="TEXT", default="", help="cases whose program and mode contain this")
    parser.add_argument("--command", choices=("repair", "undo", "apply"), help="faults in this command only")
    parser.add_argument("--kind", metavar="TEXT", default="", help="kinds of fault that contain this")
    parser.add_argument("--thin", type=int, metavar="N", default=1, help="every Nth point only")
    parser.add_argument(
        "--all", action="store_true", help="every call on Inspector's own database as well, and all acts after each fault; takes hours"
    )
    parser.add_argument("--jobs", type=int, default=(os.cpu_count() or 1) + 1, help="processes that work at the same time")
    parser.add_argument("--verbose", action="store_true", help="tell the story of each point at which something is wrong")
    parser.add_argument("--sample", type=int, metavar="N", default=0, help="N points next to the write of each command, of some cases")
    parser.add_argument("--json", metavar="PATH", help="write every point to this file")
    return parser.parse_args(arguments)


def _with_shim(arguments: Sequence[str], place: Path | None) -> int:
    """Starts this program once more with the shim loaded before the C library."""
    import subprocess

    with tempfile.TemporaryDirectory(prefix="inspector-shim-", dir=place) as folder:
        try:
            shim = compiled(Path(folder))
        except NoCompiler as problem:
            sys.stderr.write(f"{problem}\n")
            return 2
        own = {name: value for name, value in os.environ.items() if not name.startswith(("INSPECTOR_", "DJANGO_"))}
        own |= {"LD_PRELOAD": str(shim), "INSPECTOR_FAULTS_SHIM": str(shim)}
        return subprocess.run([sys.executable, "-m", "tests.faults.run", *arguments], env=own, cwd=ROOT).returncode


def _run(options: argparse.Namespace, folder: Path, shim: Path) -> list[dict[str, Any]]:
    migrated = folder / "migrated.sqlite3"
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "inspector.settings",
        "DJANGO_SECRET_KEY": "of these runs only",
        # The buttons of the pages may write as well.
        "INSPECTOR_WRITE_BACK": "true",
        "INSPECTOR_DATABASE_URL": f"sqlite:///{migrated}",
    }
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connections

    call_command("migrate", verbosity=0)
    connections.close_all()
    from tests.faults.bench import load_everything
    from tests.faults.cases import CASES

    load_everything()
    wanted = [number for number, case in enumerate(CASES) if options.only in case.name]
    if options.sample:
        wanted = [number for number in wanted if CASES[number].name in SAMPLED]
    shards = 1 if options.thin > 1 or options.sample else SHARDS
    units = [(number, shard, shards) for number in wanted for shard in range(shards)]
    results: list[dict[str, Any]] = []
    begun = time.monotonic()
    context = multiprocessing.get_context("fork")
    with context.Pool(min(options.jobs, len(units) or 1), _begin, (options, folder, shim, migrated)) as pool:
        for done, found in enumerate(pool.imap_unordered(_unit, units), start=1):
            results += found
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{done}/{len(units)} parts, {len(results)} points, {time.monotonic() - begun:.0f} s ")
    if sys.stderr.isatty():
        sys.stderr.write("\r" + " " * 60 + "\r")
    for skipped in sorted({f"{result['program']} is left out: {result['skipped']}" for result in results if "skipped" in result}):
        sys.stderr.write(f"{skipped}\n")
    results = [result for result in results if "skipped" not in result]
    return sorted(results, key=lambda result: (result["program"], result["mode"], result["command"], result["call"], result["kind"]))


# In a process of the pool -------------------------------------------------------------------------------------------------------------

_given: tuple[Any, ...] = ()


def _begin(*given: Any) -> None:
    global _given
    _given = given


def _unit(unit: tuple[int, int, int]) -> list[dict[str, Any]]:
    from tests.faults.bench import Bench
    from tests.faults.cases import CASES
    from tests.postgres.server import NoPostgres

    options, folder, shim, migrated = _given
    number, shard, shards = unit
    place = folder / f"{os.getpid()}"
    shutil.rmtree(place, ignore_errors=True)
    bench = Bench(place, Shim(shim), migrated)
    try:
        bench.prepare(CASES[number])
        return _points(bench, options, number, shard, shards)
    except NoPostgres as problem:
        return [{"program": CASES[number].program, "skipped": str(problem)}]
    finally:
        bench.close()
        shutil.rmtree(place, ignore_errors=True)


def _points(bench: Any, options: argparse.Namespace, number: int, shard: int, shards: int) -> list[dict[str, Any]]:
    from tests.faults.bench import Fault
    from tests.faults.cases import CASES
    from tests.faults.points import Commands, Result, examine, starts

    results = []
    for start in starts(bench):
        if options.command not in (None, start.command) or (options.sample and start.name != start.command):
            continue
        bench.restore(start.name)
        commands = Commands(bench)
        recorded = commands.run(start.command, start.oid, Fault("record"))
        assert recorded.status == 0, f"{CASES[number].name}, {start.name}: {recorded.text}"
        acts = commands.acts(start.command)
        points = list(chosen(recorded.calls, f"{bench.store_folder}/", _is_first(CASES[number]), options.all))
        if start.command == "repair" and not options.all:
            # It proposes and approves, and then it is `apply`, of which every point is tried.
            points = points[number % 2 :: 2]
        points = [point for point in points if options.kind in point[1]][:: options.thin]
        if options.sample:
            points = sampled(points, f"{bench.store_folder}/", options.sample, number)
        for at, (call, kind) in enumerate(points):
            if at % shards != shard:
                continue
            some = acts if options.all else (acts[at % len(acts)],)
            try:
                result = examine(bench, start, call, kind, at + at // len(acts), some)
            except Exception:
                # One point that the harness cannot judge must not take the others with it.
                result = Result(
                    bench.case.program, bench.case.mode, start.name, kind, call, "missed", {ODD}, traceback.format_exc().splitlines()
                )
            results.append(_plain(result, bench.folder))
    return results


def _is_first(case: Any) -> bool:
    """Of its program: what happens far from the write is the same in every mode and era."""
    from tests.faults.cases import CASES

    return case is next(other for other in CASES if other.program.split()[0] == case.program.split()[0])


def _plain(result: Any, place: Path) -> dict[str, Any]:
    return {
        **{name: getattr(result, name) for name in ("program", "mode", "command", "kind", "first")},
        **{"call": result.call.number, "name": result.call.name, "path": result.call.path.removeprefix(f"{place}/")},
        **{"flags": sorted(result.flags), "story": [line.replace(str(place), "") for line in result.story]},
    }


def chosen(calls: Sequence[Call], store: str, far: bool = True, is_all: bool = False) -> Iterator[tuple[Call, str]]:
    """The points of a run: every fault at every call on the store's own bytes; elsewhere fewer, since most are like the one before.

    Elsewhere is our own database, and the -shm file of a store, which whoever opens the database makes again. Of calls of one name on one
    file that follow each other (the pages of one transaction) the first and the last are taken, of statements that only read every few;
    next to the write a kill before each and one more kind in turn, in the rest of the run (where `far`) one kind in turn.
    """
    on_store = [call.number for call in calls if call.path.startswith(store) and not call.path.endswith("-shm")] or _written(calls)
    others = [call for call in calls if call.number not in on_store and (is_all or call.name == "send" or _is_end(calls, call))]
    first, last = (on_store[0], on_store[-1]) if on_store else (0, 0)
    near = {call.number for call in [call for call in others if call.number < first][-BEFORE:]}
    near |= {call.number for call in [call for call in others if call.number > last][:AFTER]}
    near |= {call.number for call in others if first < call.number < last}
    turns = {call.number: turn for turn, call in enumerate(others)}
    for call in calls:
        kinds = [kind for kind in (*KINDS, *ON_SERVERS) if call.can(kind)]
        turn = turns.get(call.number)
        if call.number in on_store or is_all:
            yield from ((call, kind) for kind in kinds)
        elif turn is not None and call.number in near and len(kinds) > 1:
            yield call, kinds[0]
            yield call, kinds[1:][turn % len(kinds[1:])]
        elif turn is not None and far and (call.name != "send" or turn % READS == 0):
            yield call, kinds[turn % len(kinds)]


def _written(calls: Sequence[Call]) -> list[int]:
    """The statements of the transaction that is committed; the one of the rehearsal is not."""
    last = next((call.number for call in calls if "COMMIT" in call.text), 0)
    if not last:
        # A write that is in the store already is only recorded.
        return []
    first = max(call.number for call in calls if "BEGIN" in call.text and call.number < last)
    return [call.number for call in calls if first <= call.number <= last and call.name == "send"]


def sampled(points: Sequence[tuple[Call, str]], store: str, size: int, number: int) -> list[tuple[Call, str]]:
    """`size` of the points on the store and right after it, evenly spread, beginning elsewhere for each case."""
    on_store = [at for at, (call, _) in enumerate(points) if call.path.startswith(store)]
    near = list(points[on_store[0] : on_store[-1] + 1 + AFTER] if on_store else points)
    step = len(near) / size
    return [near[int(at * step + number) % len(near)] for at in range(size)]


def _is_end(calls: Sequence[Call], call: Call) -> bool:
    """Whether the call before it or the one after it is another one, or on another file."""
    at = call.number - 1
    around = [calls[place] if 0 <= place < len(calls) else None for place in (at - 1, at + 1)]
    return any(each is None or (each.name, each.path) != (call.name, call.path) for each in around)


# What is printed ----------------------------------------------------------------------------------------------------------------------


def table(results: Sequence[dict[str, Any]]) -> str:
    """A row for each program, mode and command, and one for each kind of fault."""
    flags = tuple(FLAGS)
    heads = ("program", "mode", "fault in", "points", "before", "after", "between", "missed", *flags)
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for result in results:
        groups.setdefault((result["program"], result["mode"], result["command"]), []).append(result)
    kinds: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for result in results:
        kinds.setdefault(("all", "", result["kind"]), []).append(result)
    rows = [[*key, *_counts(some, flags)] for key, some in groups.items()]
    rows += [[*key, *_counts(some, flags)] for key, some in kinds.items()]
    rows.append(["all", "", "", *_counts(results, flags)])
    widths = [max(len(str(row[column])) for row in [heads, *rows]) for column in range(len(heads))]
    lines = [heads, ["-" * width for width in widths], *rows]
    return "".join(
        "  ".join(
            str(cell).ljust(width) if column < 3 else str(cell).rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        + "\n"
        for line in lines
    )


def _counts(results: Sequence[dict[str, Any]], flags: Sequence[str]) -> list[int]:
    first = Counter(result["first"] for result in results)
    bad = Counter(flag for result in results for flag in result["flags"])
    return [len(results), *(first[name] for name in ("before", "after", "between", "missed")), *(bad[flag] for flag in flags)]


def _story(result: dict[str, Any]) -> str:
    head = f"{result['program']} {result['mode']}, {result['command']}, {result['kind']} at call {result['call']} ({result['name']} {result['path']})"
    return f"{head}: {result['first']}; {', '.join(result['flags'])}\n" + "".join(f"    {line}\n" for line in result["story"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
