"""Lines that a plan moves out of a session into a file next to it: how the plan names them, and what that file is called."""

from collections.abc import Iterable

QUARANTINED = "quarantined"
"""The fact that a plan sets: the numbers of the lines, counted from 0, as they are in the file that the plan is for."""
SUFFIX = ".quarantine"


def named(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers))


def numbers_in(text: str | None) -> frozenset[int]:
    return frozenset(int(number) for number in text.split(",")) if text else frozenset()


def file_for(key: str, fresh_id: str) -> str:
    """The key of the new file: it ends in no suffix that the program lists, and two quarantines of one session have two names."""
    return f"{key.removesuffix('.jsonl')}.{fresh_id[:8]}{SUFFIX}"
