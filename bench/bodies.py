"""Request bodies as ratios to json.loads of the same bytes, in one run: reading, and judging by every profile, for growing lengths."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from inspector.profiles.catalogue import PROFILES
from inspector.profiles.judging import judged
from inspector.programs.catalogue import format_named
from inspector.programs.formats import Cell, Record
from inspector.programs.request_bodies.readers import read

MESSAGES = (2_500, 5_000, 10_000)
FORMAT = "anthropic-request"
LIMIT_GROWTH = 2.0
"""Worst allowed ratio of ratios from the shortest to the longest body: 1 is linear, 4 is quadratic.

Measured when it was set: 0.9 to 1.2 for each line (2 cores, CPython 3.11).
"""
_WORDS = 'What is said here is about as long as a message of an agent at work, with a "quote" and a line\n. ' * 6


def body(messages: int) -> bytes:
    """A conversation of that many messages, about a kilobyte each: questions, answers with two calls, their results."""
    built: list[dict[str, Any]] = []
    for number in range(messages // 4):
        ids = (f"toolu_{number:06}a", f"toolu_{number:06}b")
        calls = [{"type": "tool_use", "id": call, "name": "Bash", "input": {"command": _WORDS}} for call in ids]
        results = [{"type": "tool_result", "tool_use_id": call, "content": _WORDS, "is_error": False} for call in ids]
        built += [
            {"role": "user", "content": [{"type": "text", "text": f"{number} {_WORDS}"}]},
            {"role": "assistant", "content": [{"type": "text", "text": f"{number} {_WORDS}"}, *calls]},
            {"role": "user", "content": results},
            {"role": "assistant", "content": f"{number} done"},
        ]
    built.append({"role": "user", "content": "and now?"})
    whole = {"model": "claude-sonnet-4-5", "max_tokens": 1024, "messages": built}
    return json.dumps(whole, ensure_ascii=False, indent=1).encode()


def measured(timed: Callable[[Callable[[], object]], float], rounds: int) -> tuple[str, bool]:
    """The table, and whether each line grows as its body does. `timed` gives the seconds of some work."""
    ratios: dict[str, list[float]] = {}
    sizes: list[float] = []
    for messages in MESSAGES:
        data = body(messages)
        sizes.append(len(data) / 1e6)
        for name, ratio in _ratios(data, timed, rounds).items():
            ratios.setdefault(name, []).append(ratio)
    heads = "".join(f"{f'{count:,} ({size:.0f} MB)':>16}" for count, size in zip(MESSAGES, sizes, strict=True))
    lines = [f"{'messages':24}{heads}{'growth':>10}"]
    growths = {name: values[-1] / values[0] for name, values in ratios.items()}
    for name, values in ratios.items():
        lines.append(f"{name:24}{''.join(f'{ratio:15.2f}x' for ratio in values)}{growths[name]:10.2f}")
    worst = max(growths, key=lambda name: growths[name])
    is_linear = growths[worst] <= LIMIT_GROWTH
    verdict = "within" if is_linear else f"over: {worst} takes more than twice as long for each message"
    lines.append(f"worst growth {growths[worst]:.2f} ({worst}), limit {LIMIT_GROWTH:g}: {verdict}")
    return "\n".join(lines), is_linear


def _ratios(data: bytes, timed: Callable[[Callable[[], object]], float], rounds: int) -> dict[str, float]:
    format_ = format_named(FORMAT)
    record = Record("request.json", Cell(data, "file"))
    stored = next(iter(format_.read([record])))
    reading = read(stored.conversation)
    works: dict[str, Callable[[], object]] = {"read": lambda: list(format_.read([record]))}
    for profile in PROFILES:
        works[profile.name] = partial(judged, reading, stored.conversation, profile.name, format_.default_projection)
    # The quickest of the rounds is what the work takes; all else is what the machine did meanwhile.
    plain = min(timed(lambda: json.loads(data)) for _ in range(rounds + 2))
    return {name: min(timed(work) for _ in range(rounds)) / plain for name, work in works.items()}
