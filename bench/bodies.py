"""Request bodies as ratios to json.loads of the same bytes, in one run: reading, and judging by every profile, for growing lengths."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from bench.measuring import Measured, in_turns, noise
from inspector.profiles.catalogue import PROFILES
from inspector.profiles.judging import judged
from inspector.programs.catalogue import format_named
from inspector.programs.formats import Cell, Record
from inspector.programs.request_bodies.readers import read

MESSAGES = (1_250, 5_000)
FORMAT, PLAIN = "anthropic-request", "json.loads"
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


def measured(rounds: int, lengths: Sequence[int] = MESSAGES) -> Measured:
    """Of the reading and of each profile, the one that grows most from the shortest to the longest body."""
    seconds = [_seconds(body(messages), rounds) for messages in (lengths[0], lengths[-1])]
    return worst([{name: min(values) for name, values in each.items()} for each in seconds], noise(seconds[-1][PLAIN]))


def worst(least: Sequence[Mapping[str, float]], noise_: float) -> Measured:
    """`least`: seconds by name, for growing bodies."""
    first, last = ({name: seconds / each[PLAIN] for name, seconds in each.items() if name != PLAIN} for each in (least[0], least[-1]))
    growths = {name: last[name] / first[name] for name in first}
    name = max(growths, key=lambda name: growths[name])
    return Measured(growths[name], noise_, f"{name}; reading takes {last['read']:.1f} times json.loads")


def _seconds(data: bytes, rounds: int) -> dict[str, list[float]]:
    format_ = format_named(FORMAT)
    record = Record("request.json", Cell(data, "file"))
    stored = next(iter(format_.read([record])))
    reading = read(stored.conversation)
    works: dict[str, Callable[[], object]] = {PLAIN: lambda: json.loads(data), "read": lambda: list(format_.read([record]))}
    for profile in PROFILES:
        works[profile.name] = partial(judged, reading, stored.conversation, profile.name, format_.default_projection)
    return in_turns(works, rounds)
