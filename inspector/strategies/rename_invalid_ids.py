"""Gives calls whose id a provider does not take another one, with their results."""

import hashlib
import re
import string
from collections.abc import Iterator

from inspector.conversation.edits import Edit, Replace
from inspector.conversation.model import Kind
from inspector.rules.base import Case, answered
from inspector.strategies.base import Strategy
from inspector.strategies.rename_repeated_ids import with_id

LONGEST = 40
"""The shortest limit that a provider is known for (OC-4)."""
_VALID = re.compile(rf"[A-Za-z0-9_-]{{1,{LONGEST}}}")
_LETTERS = string.ascii_letters + string.digits


def nine(call_id: str, taken: set[str]) -> str:
    """Nine letters and digits, the same for the same id: what the narrowest provider takes, and so all of them."""
    for salt in range(10_000):
        number = int.from_bytes(hashlib.sha256(f"{salt}:{call_id}".encode("utf-8", "surrogatepass")).digest()[:12], "big")
        fresh = "".join(_LETTERS[number // len(_LETTERS) ** place % len(_LETTERS)] for place in range(9))
        if fresh not in taken:
            break
    taken.add(fresh)
    return fresh


def renamed(case: Case, valid: re.Pattern[str]) -> Iterator[Edit]:
    """Calls whose id is not `valid`, and their results; results that answer no call are left to others."""
    taken = {chunk.call_id for chunk in case.conversation.chunks if chunk.kind in (Kind.TOOL_CALL, Kind.TOOL_RESULT)}
    for found in answered(case):
        if not valid.fullmatch(found.call.call_id):
            fresh = nine(f"{found.call.key}:{found.call.call_id}", taken)
            for chunk in (found.call, *found.results):
                yield Replace(chunk, with_id(chunk, fresh))


def propose(case: Case) -> Iterator[Edit]:
    return renamed(case, _VALID)


STRATEGY = Strategy(
    name="rename-invalid-ids",
    safety=frozenset(),
    summary="gives calls whose id is empty, too long or has other signs than letters, digits, _ and - a short one, and their results with them",
    cost="Only ids change; what was called and what came back stays.",
    user_visible_effect="Nothing: ids are not shown.",
    pros="The new id is nine letters and digits, which every known provider takes.",
    cons="Logs and traces know the call by its old id; a client that maps ids when it sends needs no write.",
    write_kind="content",
    propose=propose,
    manual_only=True,
    order=220,
)
