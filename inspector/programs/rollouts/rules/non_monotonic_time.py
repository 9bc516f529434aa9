"""STORE408: messages whose times run backwards."""

from collections.abc import Iterator
from itertools import pairwise

from inspector.conversation.queries import span_text
from inspector.rules.base import Case, Match, Origin, Rule, Severity

SHORTEST_MS = 1000


def check(case: Case) -> Iterator[Match]:
    timed = [(message.chunks[0], at) for message in case.messages if (at := message.chunks[0].at) is not None]
    back = [(chunk, before - at) for (_, before), (chunk, at) in pairwise(timed) if before - at >= SHORTEST_MS]
    if back:
        most = max(by for _, by in back)
        yield Match(
            [chunk for chunk, _ in back],
            f"Times run backwards at seq {span_text([chunk.seq for chunk, _ in back])}, by {most / 1000:,.0f} seconds at most: the clock or its zone was changed, "
            "two processes wrote, or messages were put in later.",
        )


RULE = Rule(
    code="STORE408",
    state="RO23",
    name="non-monotonic-time",
    severity=Severity.NOTE,
    silent=True,
    origin=Origin.STORE,
    summary="a message has an earlier time than the one before it",
    why="Times are local and name no zone, so this alone proves nothing; together with a repeated run or a displaced result it shows which process wrote what.",
    example=(
        '@format rollouts\nline {"role":"user","content":"go","timestamp":"2025-12-23T15:22:05.000000"}\n'
        'line {"role":"assistant","content":"done","timestamp":"2025-12-23T14:22:05.000000"}'
    ),
    check=check,
    references=("rollouts store.py: time stamps of datetime.now() without a zone",),
    no_repair_reason="Times are evidence and are never rewritten.",
    fixed_in_code="Store times with their zone.",
)
