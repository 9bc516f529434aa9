"""A repair of a thread as tests write it: strategies or edits in, the new file out."""

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from inspector.conversation.edits import Edit, Plan
from inspector.conversation.model import Conversation
from inspector.planning.preview import compose
from inspector.programs.codex.format import CODEX
from inspector.programs.formats import Cell, Change, Record, Stored, WriteRefused
from inspector.rules.base import Case, case_of
from inspector.strategies.catalogue import strategy
from tests.programs.codex.threads import NAME, THREADS, WHOLE, assistant, call, compacted, output, paginated, reasoning, said, thread, user

KEY = f"sessions/2026/11/22/{NAME}"
SAME, NEW = "same-file", "new-thread"


def stored(data: bytes, key: str = KEY) -> Stored:
    return next(iter(CODEX.read([Record(key, Cell(data, "file"))])))


def conversation(data: bytes) -> Conversation:
    return stored(data).conversation


def case(data: bytes) -> Case:
    return case_of(conversation(data), "codex")


def edits_of(data: bytes, *names: str) -> Sequence[Edit]:
    return compose(case(data), [strategy(name) for name in names])


def changes(data: bytes, edits: Sequence[Edit], mode: str = SAME, key: str = KEY) -> Sequence[Change]:
    thread = stored(data, key)
    plan = Plan("/x", thread.conversation.native_id, mode, (), frozenset(), "", tuple(edits), CODEX.options(mode, thread, "fresh"))
    return CODEX.write(plan, thread)


def written(data: bytes, edits: Sequence[Edit], mode: str = SAME, key: str = KEY) -> bytes:
    (change,) = changes(data, edits, mode, key)
    assert change.after is not None
    return change.after.data


def repaired(data: bytes, *names: str, mode: str = SAME) -> bytes:
    return written(data, edits_of(data, *names), mode)


def values(data: bytes) -> list[Any]:
    return [json.loads(text) for text in data.splitlines() if text.strip()]


INTERRUPTED = (user("q1"), call("c1"), call("c2"), output("c2"), user("q2"), assistant("a2"))
DAMAGED: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "interrupted": (thread(*INTERRUPTED), ("insert-interrupted-result",)),
    "interrupted, paginated": (paginated(*INTERRUPTED, user("q3"), call("c3")), ("insert-interrupted-result",)),
    "orphan": (thread(user("q1"), output("cX"), assistant("a1")), ("drop-orphaned-results",)),
    "orphan in a replaced history": (
        thread(user("q1"), compacted("s", said("user", "kept"), output("cX")[1]), user("q2")),
        ("drop-orphaned-results",),
    ),
    "spliced": (THREADS["lines spliced"], ("split-spliced-records",)),
    "spliced and torn": (THREADS["torn line spliced"], ("split-spliced-records",)),
    "not UTF-8": (THREADS["not UTF-8"], ("replace-invalid-bytes",)),
    "not UTF-8 in a torn line": (WHOLE[:-25] + b"\xe6\x87", ("replace-invalid-bytes",)),
    "no ordinal at the end": (THREADS["ordinal missing at the end"], ("give-ordinals",)),
    "ordinal used twice": (THREADS["ordinal reused"], ("give-ordinals",)),
    "reasoning cut off": (thread(user("q1"), reasoning(), user("q2"), assistant("a2")), ("drop-reasoning-without-follower",)),
    "reasoning of another provider": (
        thread(user("q1"), reasoning(content=[{"type": "reasoning_text", "text": "x"}]), assistant("a1")),
        ("drop-reasoning-content",),
    ),
    "half a character": (THREADS["half a character"], ("replace-surrogates",)),
}
"""Threads and the strategies that repair them, whose results codex-cli itself goes on with."""


def repaired_threads() -> dict[str, bytes]:
    """What our writer makes of these in each mode that takes them."""
    files: dict[str, bytes] = {}
    for name, (data, names) in DAMAGED.items():
        for mode in (SAME, NEW):
            with suppress(WriteRefused):
                files[f"{name}, {mode}"] = repaired(data, *names, mode=mode)
    return files
