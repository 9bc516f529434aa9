"""Gives calls whose id a provider does not take another one, with their results: where it is invalid, or in every case nine characters."""

import hashlib
import re
import string
from collections.abc import Iterator

from inspector.conversation.edits import Edit, Replace, stored_key
from inspector.conversation.model import Kind
from inspector.rules.base import Case, answered
from inspector.rules.call_without_id import Turn, turns_without_ids
from inspector.strategies.base import Strategy
from inspector.strategies.rename_repeated_ids import cost_of, with_id
from inspector.wires.ids import with_block_id

LONGEST = 40
"""The shortest limit that a provider is known for (OC-4)."""
_VALID = re.compile(rf"[A-Za-z0-9_-]{{1,{LONGEST}}}")
_NINE = re.compile(r"[A-Za-z0-9]{9}")
_LETTERS = string.ascii_letters + string.digits


def nine(call_id: str, used_ids: set[str]) -> str:
    """Nine letters and digits, the same for the same id: what the narrowest provider takes, and so all of them."""
    for salt in range(10_000):
        number = int.from_bytes(hashlib.sha256(f"{salt}:{call_id}".encode("utf-8", "surrogatepass")).digest()[:12], "big")
        fresh = "".join(_LETTERS[number // len(_LETTERS) ** place % len(_LETTERS)] for place in range(9))
        if fresh not in used_ids:
            break
    used_ids.add(fresh)
    return fresh


def renamed(case: Case, valid: re.Pattern[str]) -> Iterator[Edit]:
    """Calls whose id is not `valid` or is missing, and their results; results that answer no call are left to others."""
    used_ids = {chunk.call_id for chunk in case.conversation.chunks if chunk.kind in (Kind.TOOL_CALL, Kind.TOOL_RESULT)}
    # The result that is on another branch of a tree is known by the id of its call: with another id nobody would look for it (TREE106).
    on_path = {stored_key(chunk) for chunk in case.conversation.chunks}
    results = [chunk for chunk in case.tree.chunks if chunk.kind is Kind.TOOL_RESULT] if case.tree else []
    elsewhere = {chunk.call_id for chunk in results if chunk.key not in on_path}
    for answer in answered(case):
        if not answer.results and answer.call.call_id in elsewhere:
            continue
        if not valid.fullmatch(answer.call.call_id):
            fresh = nine(f"{answer.call.key}:{answer.call.call_id}", used_ids)
            for chunk in (answer.call, *answer.results):
                yield Replace(chunk, with_id(chunk, fresh))
    for turn in turns_without_ids(case):
        yield from _identified(turn, used_ids)


def _identified(turn: Turn, used_ids: set[str]) -> Iterator[Edit]:
    """Blocks without an id, where it is certain which result is of which call. A call that has a valid id keeps it, and gives it to its result."""
    if not turn.is_certain:
        return
    ids = {call.key: call.call_id or nine(call.key, used_ids) for call in turn.calls}
    pairs = [*((call, ids[call.key]) for call in turn.calls_without_id), *zip(turn.results_without_id, ids.values(), strict=False)]
    for chunk, call_id in pairs:
        if (identified := with_block_id(chunk, call_id)) is not None:
            yield Replace(chunk, identified)


STRATEGY = (
    Strategy(
        name="rename-invalid-ids",
        safety=frozenset(),
        summary="gives calls whose id is missing, empty, too long or has other signs than letters, digits, _ and - a short one, and their results with them",
        cost="Only ids change; what was called and what came back stays.",
        user_visible_effect="Nothing: ids are not shown.",
        pros="The new id is nine letters and digits, which every known provider takes.",
        cons="Logs and traces know the call by its old id; a client that maps ids when it sends needs no write.",
        write_kind="content",
        propose=lambda case: renamed(case, _VALID),
        cost_of=lambda case: cost_of(case, lambda id_: not _VALID.fullmatch(id_)),
        manual_only=True,
        order=220,
    ),
    Strategy(
        name="shorten-ids",
        safety=frozenset(),
        summary="gives every call an id of exactly nine letters and digits, and its results with it",
        when="the id of a call has other signs than letters and digits, or a length that the provider does not take",
        cost="Only ids change; what was called and what came back stays.",
        user_visible_effect="Nothing: ids are not shown.",
        pros="Mistral's tokenizers up to v11, and templates made for them, take no other form.",
        cons="Only Mistral wants this: for a store that goes on with another provider it is noise. A client that maps ids when it sends needs no write.",
        write_kind="content",
        propose=lambda case: renamed(case, _NINE),
        cost_of=lambda case: cost_of(case, lambda id_: not _NINE.fullmatch(id_)),
        manual_only=True,
        order=240,
    ),
)
