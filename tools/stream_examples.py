"""Writes inspector/streams/examples.jsonl from the cases of the tests of streams: `python tools/stream_examples.py`.

Of the cases that fire a rule it takes the one with the fewest other findings, and of these the shortest; and as what is right instead the case of the same rule and protocol, in which nothing is found, that is most like it.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from inspector.streams.captures import own  # noqa: E402
from inspector.streams.model import End, Exchange, How, Read  # noqa: E402
from inspector.streams.two_sides import judged  # noqa: E402
from inspector.streams.violations import STREAM_RULES, ShownBy, StreamRule  # noqa: E402
from tests.streams.golden.script import Golden  # noqa: E402
from tests.streams.spoken import exchange  # noqa: E402
from tests.streams.test_two_sides import CASES as OF_BOTH_SIDES  # noqa: E402
from tests.streams.violation_cases import CASES  # noqa: E402

PATH = ROOT / "inspector" / "streams" / "examples.jsonl"


def examples() -> Iterator[str]:
    of_rule = {rule: list(_cases(rule)) for rule in STREAM_RULES}
    clean = [case for cases in of_rule.values() for case in cases if not case.names]
    for rule, cases in of_rule.items():
        fires = [case for case in cases if rule.name in case.names]
        if not fires:
            continue
        wrong = min(fires, key=lambda case: (len(case.names), len(case.data)))
        alike = [case for case in (cases if rule.shown_by is ShownBy.CLOCK else clean) if _may_be_right(rule, case, wrong)]
        entry = {"rule": rule.name, "wrong": _kept(wrong)}
        if alike:
            entry["right"] = _kept(_most_alike(alike, wrong))
        yield json.dumps(entry, ensure_ascii=False) + "\n"


@dataclass(frozen=True, slots=True)
class _Case:
    """`names`: all that is found in it. `data`: the bytes of both sides; `lines`: these, after the request. `is_whole`: nothing of it was cut off or not captured."""

    exchange: Exchange
    names: frozenset[str]
    protocols: tuple[str, ...]
    data: str
    lines: tuple[str, ...]
    is_whole: bool


def _may_be_right(rule: StreamRule, case: _Case, wrong: _Case) -> bool:
    """Of the same protocol, whole, and different: what differs in its times or its request alone says nothing to other rules."""
    if case.names or case.protocols != wrong.protocols or not case.is_whole or (wrong.exchange.request and not case.exchange.request):
        return False
    return rule.shown_by in (ShownBy.CLOCK, ShownBy.REQUEST) or case.data != wrong.data


def _most_alike(cases: Sequence[_Case], wrong: _Case) -> _Case:
    """By whole lines, and of those that share as many by characters."""
    shared = [SequenceMatcher(None, case.lines, wrong.lines, autojunk=False).ratio() for case in cases]
    best = [case for case, ratio in zip(cases, shared, strict=True) if ratio == max(shared)]
    return max(best, key=lambda case: SequenceMatcher(None, case.data, wrong.data, autojunk=False).ratio())


def _cases(rule: StreamRule) -> Iterator[_Case]:
    for label, said, _ in CASES.get(rule.name, ()):
        yield _case(label, exchange(said) if isinstance(said, bytes) else said)
    for label, steps, _ in OF_BOTH_SIDES.get(rule.name, ()):
        yield _case(label, Golden(label, steps).exchange())


def _case(label: str, said: Exchange) -> _Case:
    found = judged(said)
    data = b"".join(happening.data for happening in said.happenings() if isinstance(happening, Read)).decode("latin-1")
    return _Case(
        replace(said, title=label),
        frozenset(evidence.rule.name for _, evidence in found.by_side()),
        tuple(found.alone[side].protocol for side in said.sides),
        data,
        (json.dumps(said.request), *data.splitlines()),
        not said.lacks and all(happening.how is How.EOF for happening in said.happenings() if isinstance(happening, End)),
    )


def _kept(case: _Case) -> dict[str, Any]:
    return {"of": case.exchange.title, "capture": [json.loads(line) for line in own.written(case.exchange)]}


if __name__ == "__main__":
    PATH.write_text("".join(examples()), encoding="utf-8")
