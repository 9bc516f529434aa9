"""The diff of a plan as hunks: neighboring runs that change something, each with an anchor that a link and a comment name."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

SAME = "same"
_LENGTH = 10


class Run(Protocol):
    """Neighboring rows of one kind; `total` counts those that are not shown too."""

    @property
    def op(self) -> str: ...
    @property
    def total(self) -> int: ...


R = TypeVar("R", bound=Run)


@dataclass(frozen=True, slots=True)
class Hunk(Generic[R]):
    """`anchor` is "" of rows that stay as they are; `position` is the place of its first row in the whole diff, counted from 0."""

    anchor: str
    position: int
    runs: tuple[R, ...]


def anchor_of(plan_digest: str, position: int) -> str:
    """The same for the same plan, wherever it is shown."""
    return hashlib.sha256(f"{plan_digest} {position}".encode()).hexdigest()[:_LENGTH]


def hunks_of(runs: Iterable[R], plan_digest: str) -> tuple[Hunk[R], ...]:
    """In the order of the diff; what stays as it is between two changes is a hunk without an anchor."""
    hunks: list[Hunk[R]] = []
    group: list[R] = []
    position, start = 0, 0
    for run in runs:
        if group and (group[-1].op == SAME) != (run.op == SAME):
            hunks.append(_hunk(group, start, plan_digest))
            group, start = [], position
        group.append(run)
        position += run.total
    return (*hunks, _hunk(group, start, plan_digest)) if group else tuple(hunks)


def _hunk(group: list[R], start: int, plan_digest: str) -> Hunk[R]:
    return Hunk("" if group[0].op == SAME else anchor_of(plan_digest, start), start, tuple(group))
