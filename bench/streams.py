"""A long captured stream: one pass of the inspector over an SSE file in units of `json.loads` over the same data lines, in turns in one run."""

import json
import resource
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

SIZE = 200_000_000
"""Bytes of the capture: about a million events."""
LIMIT_RATIO = 4.0
"""Worst allowed time of a pass, in units of `json.loads` over its data lines."""

_WORDS = ("The ", "stream ", "goes on ", "and on, ", "word by word, ", "as models ", "write it.\n", "Übung ", "macht ", "den Meister. ")


def events(size: int) -> Iterator[bytes]:
    """An answer of OpenAI's chat protocol of about `size` bytes: text word by word, a call at the end."""
    head = '{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1751000000,"model":"gpt-x","system_fingerprint":"fp_1","choices":[{"index":0,"delta":'
    yield _event(head + '{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}')
    at, number = 0, 0
    while at < size:
        line = _event(
            head + json.dumps({"content": _WORDS[number % len(_WORDS)]}, ensure_ascii=False) + ',"logprobs":null,"finish_reason":null}]}'
        )
        at, number = at + len(line), number + 1
        yield line
    call = {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": {"name": "search", "arguments": '{"query":"q"}'}}]}
    yield _event(head + json.dumps(call) + ',"logprobs":null,"finish_reason":null}]}')
    yield _event(head + '{},"logprobs":null,"finish_reason":"tool_calls"}]}')
    yield b"data: [DONE]\n\n"


def _event(text: str) -> bytes:
    return b"data: " + text.encode() + b"\n\n"


def write(path: Path, size: int = SIZE) -> None:
    with path.open("wb") as file:
        file.writelines(events(size))


def loads(path: Path) -> int:
    """Events whose data `json.loads` reads."""
    count = 0
    with path.open("rb") as file:
        for line in file:
            if line.startswith(b"data: {"):
                json.loads(line[6:])
                count += 1
    return count


def judged(path: Path) -> int:
    """Events that the inspector reads and judges, without findings."""
    from inspector.sources.reading import read
    from inspector.streams.model import Side
    from inspector.streams.run import one_side

    (exchange,) = read(path).exchanges  # type: ignore[union-attr]
    side = one_side(exchange, Side.BACKEND)
    if side.evidence or not side.assembled.ended:
        raise SystemExit(
            f"The pass found {[violation.row.name for violation in side.evidence]}: what was measured is no reading of a legal stream."
        )
    return side.events


def measured(timed: Callable[[Callable[[], object]], float], folder: Path, rounds: int, size: int) -> tuple[str, bool]:
    """The printed table, and whether the ratio is within its limit."""
    path = folder / "long.sse"
    write(path, size)
    length = path.stat().st_size
    before = _peak()
    took = [{"loads": timed(lambda: loads(path)), "pass": timed(lambda: judged(path))} for _ in range(rounds)]
    ratio = median(seconds["pass"] / seconds["loads"] for seconds in took)
    lines = [f"{'':24}{'MB/s':>12}"]
    for name, title in (("loads", "json.loads"), ("pass", "read and judged")):
        lines.append(f"{title:24}{length / 1e6 / median(seconds[name] for seconds in took):12.1f}")
    within = ratio <= LIMIT_RATIO
    lines.append(f"{length / 1e6:,.0f} MB; peak memory {_peak():,} MB (before: {before:,} MB)")
    lines.append(f"ratio {ratio:.1f}, limit {LIMIT_RATIO:g}: {'within' if within else 'over: reading streams has become slower'}")
    return "\n".join(lines), within


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (2**20 if sys.platform == "darwin" else 2**10)
