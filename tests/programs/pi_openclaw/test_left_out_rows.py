"""Rows that a program leaves out of every request, anywhere on the path: no rule takes them for messages, and no strategy touches them."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest

from inspector.conversation import queries
from inspector.conversation.edits import apply
from inspector.conversation.model import Message
from inspector.planning.preview import compose
from inspector.rules.base import Case, case_of, findings
from inspector.rules.catalogue import RULES
from inspector.strategies.base import Strategy
from inspector.strategies.catalogue import STRATEGIES
from inspector.strategies.truncate_before_incomplete import NAME as TRUNCATES
from tests.folding import in_one_test
from tests.programs.pi_openclaw.session_files import entry, header, lines, text
from tests.programs.pi_openclaw.shapes import chain
from tests.programs.pi_openclaw.strategies.repaired_trees import TABLE, stored

MIRROR = {
    "role": "assistant", "content": [text("as the channel got it ```")], "api": "openai-responses", "provider": "openclaw", "model": "delivery-mirror",
    "usage": {"input": 0, "output": 0}, "stopReason": "stop", "timestamp": 1767607200000,
}  # fmt: skip
INJECTED = MIRROR | {"model": "gateway-injected"}
EXCLUDED = {"role": "bashExecution", "command": "ls", "output": "", "exitCode": 0, "excludeFromContext": True, "timestamp": 1767607200000}
LEFT_OUT = {
    "mirror": ("openclaw", "openclaw-2026.9", MIRROR),
    "injected": ("openclaw", "openclaw-2026.7", INJECTED),
    "excluded in openclaw": ("openclaw", "openclaw-2026.9", EXCLUDED),
    "excluded": ("pi", "pi-1.5", EXCLUDED),
    # This client would send it; it is a copy all the same, and whoever plans with this reader must not put it into an answer.
    "mirror, verbatim": ("openclaw", "verbatim", MIRROR),
}
SHAPES = {
    **{name: shape for name, (shape, _) in TABLE.items()},
    "two answers": "U A('one') A('two') U",
    "ends with an answer": "U A('one')",
    "two questions": "U U A('one')",
    "begins with an answer": "A('one') U",
    "a failed answer between two": "U A('one') A('x')^error A('two') U",
}


def with_row(rows: Sequence[dict[str, Any]], at: int, message: dict[str, Any]) -> list[dict[str, Any]]:
    """The chain with one row more at the place `at`: what followed there follows that row."""
    before = rows[at - 1]["id"] if at else None
    behind = [{**rows[at], "parentId": "left-out"}, *rows[at + 1 :]] if at < len(rows) else []
    return [*rows[:at], entry("message", "left-out", before, message=message), *behind]


@cache
def cases(shape: str, kind: str) -> tuple[Case, tuple[Case, ...]]:
    """The shape, and the same with a row that is left out at each place."""
    format_name, reader, message = LEFT_OUT[kind]
    rows = chain(shape)
    histories = [rows, *(with_row(rows, at, message) for at in range(len(rows) + 1))]
    plain, *others = (case_of(stored(lines(header(), *history), format_name).conversation, reader) for history in histories)
    return plain, tuple(others)


def told(case: Case) -> list[tuple[str, str, list[str]]]:
    """Each finding with the entries that it names."""
    entries = {chunk.seq: chunk.key.rpartition(".")[0] for chunk in case.conversation.chunks}
    return sorted((found.code, str(found.severity), [entries.get(seq, "") for seq in found.seqs]) for found in findings(case, RULES))


@pytest.mark.parametrize("kind", [kind for kind in LEFT_OUT if "verbatim" not in kind])
def test_no_finding_comes_or_goes_with_a_row_that_is_left_out(kind: str) -> None:
    for name, shape in SHAPES.items():
        plain, others = cases(shape, kind)
        assert [told(case) for case in others] == [told(plain)] * len(others), name


@pytest.mark.parametrize("kind", [kind for kind in LEFT_OUT if kind not in ("injected", "excluded in openclaw")])
@in_one_test("strategy", STRATEGIES, ids=lambda strategy: strategy.name)
def test_a_strategy_does_the_same_next_to_a_row_that_is_left_out(strategy: Strategy, kind: str) -> None:
    for name, shape in SHAPES.items():
        plain, others = cases(shape, kind)
        edits = compose(plain, [strategy])
        wanted = said(plain.with_conversation(apply(plain.conversation, edits))) if edits else said(plain)
        for case in others:
            made = compose(case, [strategy])
            final = case.with_conversation(apply(case.conversation, made)) if made else case
            assert (bool(made), said(final)) == (bool(edits), wanted), name
            row = [[chunk.payload for chunk in case.conversation.chunks if chunk.key == "left-out.0"]]
            own = [[chunk.payload for chunk in each.chunks] for each in queries.true_messages(final.conversation.chunks) if is_own(each)]
            # A cut takes it along with what is around it.
            assert own == row or (strategy.name == TRUNCATES and not own), name


def is_own(message: Message) -> bool:
    return any(chunk.key.startswith("left-out.") for chunk in message.chunks)


def said(case: Case) -> list[tuple[str, list[tuple[str, str]]]]:
    """What is sent, but for the row itself."""
    return [
        (message.role, [(chunk.kind.value, chunk.text or chunk.call_id) for chunk in message.chunks])
        for message in case.reading.messages
        if not is_own(message)
    ]
