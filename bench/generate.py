"""A store of any size, the same on every run: turns as the incremental era appends them, with the kinds and sizes of real ones.

python -m bench.generate OUT [--conversations N] [--chunks M]
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from uuid import UUID

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from inspector.demo.appending import Append, Payload, Row, call, conversation_rows, index_row, result, text, thinking, workspace_row
from inspector.demo.creation import write_dispatch_store
from inspector.sources.problems import SourceProblem

CONVERSATIONS, CHUNKS = 1_000, 200_000
_START = 1_780_995_600_000
_WORDS = (
    "the cache of this file is read before route load and store return await const import from error test line – naïve “quoted” → 検索 "
    "function value when it was not there so we should look at it again first\n"
)


def rows(conversations: int = CONVERSATIONS, chunks: int = CHUNKS) -> Iterator[Row]:
    """All rows of the store; `chunks` is the number in all, spread evenly."""
    random = Random(7)
    soup = " ".join(random.choices(_WORDS.split(" "), k=20_000))
    ids = [str(UUID(int=random.getrandbits(128), version=4)) for _ in range(conversations)]
    end = _START
    for number, native_id in enumerate(ids):
        size = chunks // conversations + (number < chunks % conversations)
        start = _START + number * 600_000
        appends = _appends(random, soup, size, start)
        end = start + len(appends) * 4_000
        yield from conversation_rows(native_id, appends, start, end, {"cwd": "/home/dev/project", "model": "umans/umans-flash"})
    yield index_row(ids)
    yield workspace_row("default", "/home/dev/project", _START, end)


def _appends(random: Random, soup: str, size: int, start: int) -> list[Append]:
    """Whole turns until `size` chunks are there; the last one is cut where they are."""
    appends: list[Append] = []
    remaining, turn = size, 0
    while remaining > 0:
        turn_id = f"turn-{start + turn * 60_000}-{random.getrandbits(31):06x}"[:31]
        turn += 1
        for append in _turn(random, soup, turn_id):
            cut = _cut(append, remaining)
            remaining -= sum(len(chunks) for _, chunks in cut)
            if cut:
                appends.append(cut)
    return appends


def _cut(append: Append, remaining: int) -> Append:
    cut: list[tuple[str, list[Payload]]] = []
    for role, chunks in append:
        if remaining > 0:
            cut.append((role, list(chunks[:remaining])))
            remaining -= len(chunks)
    return cut


def _turn(random: Random, soup: str, turn_id: str) -> Iterator[Append]:
    yield (("user", (text(_words(random, soup, 20, 300)),)),)
    steps = random.choice((0, 1, 2, 4, 7))
    for step in range(steps):
        step_id = f"{turn_id}#{step}"
        ids = [f"call_{random.getrandbits(64):016x}" for _ in range(random.choice((1, 1, 1, 2, 3)))]
        tools = [random.choice(("run_shell", "read_file", "edit_file")) for _ in ids]
        calls = [call(call_id, tool, {"command": _words(random, soup, 20, 200)}, step_id) for call_id, tool in zip(ids, tools, strict=True)]
        answers = [
            ("tool", (result(call_id, tool, _words(random, soup, 0, 2_400), random.random() < 0.04, step_id),))
            for call_id, tool in zip(ids, tools, strict=True)
        ]
        yield (("assistant", (thinking(_words(random, soup, 40, 600)), *calls)), *answers)
    yield (("assistant", (text(_words(random, soup, 40, 900)),)),)


def _words(random: Random, soup: str, least: int, most: int) -> str:
    start = random.randrange(len(soup) - most)
    return soup[start : start + random.randint(least, most)]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Write a large Dispatch store, the same on every run.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--conversations", type=int, default=CONVERSATIONS)
    parser.add_argument("--chunks", type=int, default=CHUNKS)
    options = parser.parse_args(arguments)
    if options.conversations < 1 or options.chunks < options.conversations:
        parser.error("every conversation needs a chunk: give at least one conversation, and no fewer chunks than conversations.")
    try:
        write_dispatch_store(options.out, rows(options.conversations, options.chunks))
    except SourceProblem as problem:
        parser.error(str(problem))
    sys.stdout.write(f"{options.out}: {options.chunks:,} chunks in {options.conversations:,} conversations\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
