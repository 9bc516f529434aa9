"""An example of each rule of streams: a stream that it fires on and, where there is one of the same protocol, one like it in which nothing is wrong.

`examples.jsonl` is what `tools/stream_examples.py` took from the cases of the tests. An example is a capture like any other and is judged when it is shown, so that a page never says of it what the rule does not find.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from inspector.streams.captures import own
from inspector.streams.model import Exchange, How, Read, Side
from inspector.streams.run import Evidence, run
from inspector.streams.two_sides import judged
from inspector.streams.violations import ShownBy, StreamRule

_ENDS = {
    How.EOF: "(the transfer ends)",
    How.RESET: "(the connection is reset)",
    How.TIMEOUT: "(nothing more comes)",
    How.CUT: "(the capture ends)",
    How.UNKNOWN: "(how it ended is not known)",
}


@dataclass(frozen=True, slots=True)
class StreamLine:
    """One event of an example, or what is next to the events: the request, the end. `at`: milliseconds, where the rule is about times."""

    text: str
    side: str = ""
    at: float | None = None
    is_matched: bool = False


@dataclass(frozen=True, slots=True)
class StreamExample:
    """`of`: what the stream is, in the words of its case. `messages`: what the rule reports on it, run now."""

    of: str
    lines: tuple[StreamLine, ...]
    messages: tuple[str, ...]


@cache
def kept() -> Mapping[str, Mapping[str, Any]]:
    """Rule -> `wrong` and maybe `right`, each with `of` and the lines of its capture."""
    lines = (files("inspector.streams") / "examples.jsonl").read_text(encoding="utf-8").splitlines()
    return {example["rule"]: example for example in map(json.loads, lines)}


def wrong(rule: StreamRule) -> StreamExample | None:
    return _example(rule, "wrong")


def right(rule: StreamRule) -> StreamExample | None:
    """Matched are the lines that the wrong one does not have."""
    example, other = _example(rule, "right"), _example(rule, "wrong")
    if example is None or other is None:
        return None
    known = {(line.side, line.text, line.at) for line in other.lines}
    lines = tuple(replace(line, is_matched=(line.side, line.text, line.at) not in known) for line in example.lines)
    return replace(example, lines=lines)


def exchange_of(lines: Iterable[Any]) -> Exchange:
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    return next(own.exchanges(lambda offset=0: iter([data[offset:]]), "example"))


def _example(rule: StreamRule, which: str) -> StreamExample | None:
    entry = kept().get(rule.name, {}).get(which)
    if entry is None:
        return None
    exchange = exchange_of(entry["capture"])
    reported = [(side, evidence) for side, evidence in judged(exchange).by_side() if evidence.rule is rule]
    return StreamExample(
        entry["of"],
        tuple(_lines(rule, exchange, reported)),
        tuple(dict.fromkeys(violation.text for _, evidence in reported for violation in evidence.first)),
    )


def _lines(rule: StreamRule, exchange: Exchange, reported: Iterable[tuple[Side, Evidence]]) -> Iterable[StreamLine]:
    """In the order of what happened: an event is as late as its last byte."""
    matched = {(side, violation.event) for side, evidence in reported for violation in evidence.first}
    is_of_times, is_of_both, is_of_bytes = rule.shown_by is ShownBy.CLOCK, len(exchange.sides) > 1, rule.shown_by is ShownBy.FRAMES
    if rule.shown_by is ShownBy.REQUEST:
        yield StreamLine(json.dumps(exchange.request), "request", is_matched=bool(matched))
    lines: list[tuple[int, StreamLine]] = []
    for side in exchange.sides:

        def _line(text: str, at: float | None, is_matched: bool = False, side: Side = side) -> StreamLine:
            return StreamLine(text, side.value if is_of_both else "", at if is_of_times else None, is_matched)

        whole, ends = b"", list[tuple[int, int]]()
        for number, happening in enumerate(exchange.happenings()):
            if happening.side is not side:
                continue
            if isinstance(happening, Read):
                whole += happening.data
                ends.append((len(whole), number))
            elif is_of_times or is_of_both or happening.how is not How.EOF:
                lines.append((number, _line(_ENDS[happening.how], happening.at)))
        for observed in run(exchange, side):
            frame = observed.frame
            text = whole[frame.start : frame.end].decode("utf-8", "backslashreplace")
            shown = text.replace("\r", "\\r").replace("\n", "\\n") if is_of_bytes else text.strip()
            number = next((number for end, number in ends if frame.end <= end), len(ends))
            lines.append((number, _line(shown, frame.at, (side, frame.index) in matched)))
    yield from (line for _, line in sorted(lines, key=lambda entry: entry[0]))
