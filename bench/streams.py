"""A long captured stream: one pass of the inspector over an SSE file in units of `json.loads` over the same data lines, in turns in one run."""

import json
from collections.abc import Iterator
from pathlib import Path

from bench.measuring import Measured, in_turns, ratio

SIZE = 50_000_000
"""Bytes of the capture: about 250,000 events."""
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


def measured(folder: Path, rounds: int, size: int) -> Measured:
    path = folder / "long.sse"
    write(path, size)
    seconds = in_turns({"loads": lambda: loads(path), "pass": lambda: judged(path)}, rounds)
    path.unlink()
    return ratio(seconds["pass"], seconds["loads"])
