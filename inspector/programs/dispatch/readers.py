"""Dispatch's `load()` and `reconcile()`, as shipped and as proposed: grouping x repair, versions as rows of a table.

Read off upstream's source (store.ts to 71c635f, reconcile.ts r1 904c6d7, r2 2e583ea, r3 98b0638) and re-implemented; the
re-implementation reproduces both outputs that the incident report prints.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from inspector.conversation import queries
from inspector.conversation.model import Chunk, Conversation, Dropped, Kind, Message, Reading
from inspector.readers.base import Reader
from inspector.text import limits

INTERRUPTED = "interrupted: tool execution did not complete"
# Damage that JSON.parse of the client would stumble over as well; the rest is a limit of ours, or a shape it lets through.
_NOT_PARSED = {"not-json", "not-utf8", "not-text"}
_THROWS = {
    "null": "the row is JSON null and load reads a field of it",
    "missing-chunk": "the row has no chunk and reconcile reads its type",
    "null-chunk": "its chunk is null and reconcile reads the type of it",
}

Splits = Callable[[Chunk, Chunk], bool]


def _index_differs(previous: Chunk, chunk: Chunk) -> bool:
    return chunk.msg_idx != previous.msg_idx


def _index_or_role_differs(previous: Chunk, chunk: Chunk) -> bool:
    return chunk.msg_idx != previous.msg_idx or chunk.role != previous.role


def _boundary_differs(previous: Chunk, chunk: Chunk) -> bool:
    return not queries.same_message(previous, chunk)


@dataclass(frozen=True, slots=True)
class Reconcile:
    """A version of reconcile(). `report` names the attributes of its `reconcile.repair` span, in order; r1 logs none."""

    name: str
    title: str
    strips_errors: bool
    skips_corrupt_rows: bool
    report: tuple[str, ...]
    keeps_thinking: bool = False


_COUNTS = ("repairedCount", "firstRepairedToolCallId", "strippedErrorChunks", "droppedEmptyMessages")
REPAIRS = {
    "r1": Reconcile("r1", "orphan synthesis only, load throws on a corrupt row (904c6d7)", False, False, ()),
    "r2": Reconcile("r2", "r1 with a report (2e583ea)", False, False, _COUNTS[:2]),
    "r3": Reconcile("r3", "strips errors, drops empty messages, skips corrupt rows (98b0638)", True, True, _COUNTS),
}
KEEP_THINKING = "keep-thinking"


def group(
    conversation: Conversation, splits: Splits, repair: Reconcile
) -> tuple[tuple[Message, ...], tuple[Dropped, ...], tuple[str, ...], str]:
    """Messages before reconcile, what never gets into one, the warnings that load logs, and why it throws if it does."""
    groups: list[list[Chunk]] = []
    dropped: list[Dropped] = []
    warnings: list[str] = []
    failure = ""
    previous: Chunk | None = None
    # A row without an index is one that differs from the rows on both sides of it.
    interrupted = False
    for chunk in conversation.chunks:
        if chunk.damage in _NOT_PARSED:
            if not repair.skips_corrupt_rows:
                failure = failure or f"load throws: row seq {chunk.seq} is {chunk.reason}"
            warnings.append(f"skipping corrupt chunk row {chunk.key}")
            dropped.append(Dropped((chunk,), f"skipped by load as a corrupt row ({chunk.reason})"))
        elif chunk.damage in limits.OWN_DAMAGE:
            dropped.append(Dropped((chunk,), f"not read by Inspector ({chunk.reason}); the client may read it"))
        elif chunk.damage == "null":
            failure = failure or f"load throws: row seq {chunk.seq}: {_THROWS[chunk.damage]}"
        elif chunk.msg_idx is None or chunk.msg_idx < 0:
            why = "has no usable msgIdx: load gathers it into a group that it never emits"
            dropped.append(Dropped((chunk,), why))
            interrupted = splits is not _boundary_differs
        else:
            if chunk.damage in _THROWS:
                failure = failure or f"load throws: row seq {chunk.seq}: {_THROWS[chunk.damage]}"
            if previous is None or interrupted or splits(previous, chunk):
                groups.append([])
            groups[-1].append(chunk)
            previous, interrupted = chunk, False
    return tuple(Message(chunks[0].role, tuple(chunks)) for chunks in groups), tuple(dropped), tuple(warnings), failure


def reconcile(messages: Sequence[Message], repair: Reconcile) -> tuple[tuple[Message, ...], tuple[Dropped, ...], dict[str, Any]]:
    """The messages that the client goes on with, what its repair took out, and the report as it logs it."""
    kept_messages: list[Message] = []
    dropped: list[Dropped] = []
    stripped = emptied = 0
    for message in messages:
        if not repair.strips_errors or message.role != "assistant":
            kept_messages.append(message)
            continue
        errors = tuple(chunk for chunk in message.chunks if chunk.kind is Kind.ERROR)
        remaining = tuple(chunk for chunk in message.chunks if chunk.kind is not Kind.ERROR)
        if errors:
            stripped += len(errors)
            # The program shows an error and never sends it: nothing that anybody said is missing from the request.
            dropped.append(Dropped(errors, "error chunk, stripped by reconcile", intentional=True))
        content = {Kind.TEXT, Kind.TOOL_CALL} | ({Kind.THINKING} if repair.keeps_thinking else set())
        if any(chunk.kind in content for chunk in remaining):
            kept_messages.append(Message(message.role, remaining))
        else:
            emptied += 1
            if remaining:
                kinds = " and ".join(sorted({chunk.kind.value for chunk in remaining}))
                dropped.append(Dropped(remaining, f"dropped by reconcile: the message holds only {kinds}"))
    orphans = [call for _, call in queries.unanswered_calls(kept_messages)]
    kept_messages += [Message("tool", (interrupted_result(call),), synthetic=True) for call in orphans]
    values = (len(orphans), orphans[0].call_id if orphans else None, stripped, emptied)
    return tuple(kept_messages), tuple(dropped), {name: value for name, value in zip(_COUNTS, values, strict=True) if name in repair.report}


def interrupted_result(call: Chunk) -> Chunk:
    """Upstream's synthetic result for a call without one: fields and order are upstream's, the step id only if there is one."""
    payload: dict[str, Any] = {
        "type": "tool-result",
        "toolCallId": call.call_id,
        "toolName": call.tool_name,
        "content": INTERRUPTED,
        "isError": True,
    }
    if call.step_id is not None:
        payload["stepId"] = call.step_id
    return Chunk(f"synthesized:{call.key}", call.seq, "tool", Kind.TOOL_RESULT, payload, 0, 0, at=call.at)


def _read(name: str, splits: Splits, repair: Reconcile, conversation: Conversation) -> Reading:
    grouped, lost, warnings, failure = group(conversation, splits, repair)
    if failure:
        everything = Dropped(conversation.chunks, failure)
        return Reading(name, grouped, (), (everything,), failure=failure, warnings=warnings)
    messages, dropped, report = reconcile(grouped, repair)
    return Reading(name, grouped, messages, lost + dropped, report, warnings=warnings)


@dataclass(frozen=True, slots=True)
class Grouping:
    name: str
    title: str
    note: str
    evidence: str
    splits: Splits
    shipped: bool = False
    proposed: bool = False
    verified: tuple[str, ...] = ()


_COMMIT = "commit 71c635f"
GROUPINGS = (
    Grouping(
        "dispatch-legacy",
        "load() as shipped: a new message where msgIdx differs",
        "Merges whatever carries equal msgIdx. With the newest shipped reconcile (r3).",
        f"upstream source to {_COMMIT}; reproduces the report's 3-message load",
        _index_differs,
        shipped=True,
        verified=(_COMMIT,),
    ),
    Grouping(
        "dispatch-role-split",
        "proposed for the loader: a new message where msgIdx or role differs",
        "Two messages of one role that share a msgIdx are still read as one: a user message after a user message.",
        "proposed in the incident report; not known to have shipped",
        _index_or_role_differs,
        proposed=True,
    ),
    Grouping(
        "dispatch-global-index",
        "proposed for the writer: msgIdx unique in the conversation, for rows written from now on",
        "Rows already stored keep their msgIdx and read merged, as with dispatch-legacy; +new-rows shows how they would read had they been written with the fix.",
        "proposed in the incident report; its counter's key was never published",
        _index_differs,
        proposed=True,
    ),
    Grouping(
        "exact",
        "a new message where seq - chunkIdx differs",
        "Gives back the messages as they were appended; no released client reads like this.",
        "derived: append() counts seq and chunkIdx in lockstep; 20,000 random histories restored",
        _boundary_differs,
    ),
)
_VARIANTS = (
    *((repair.name, repair.title) for repair in REPAIRS.values()),
    (KEEP_THINKING, "proposed for the repair at load: a thinking-only message counts as content"),
)
NEW_ROWS = ("new-rows", "as if every row had been written with the fix")


def variant(grouping: Grouping, words: Sequence[str]) -> Reader | None:
    """The reader `grouping+word+...`, or None where a word is not one of its variants, or said twice."""
    if len(set(words)) < len(words):
        return None
    repair, splits = REPAIRS["r3"], grouping.splits
    for word in words:
        if word in REPAIRS:
            repair = replace(REPAIRS[word], keeps_thinking=repair.keeps_thinking)
        elif word == KEEP_THINKING:
            repair = replace(repair, keeps_thinking=True)
        elif word == NEW_ROWS[0] and grouping.name == "dispatch-global-index":
            splits = _boundary_differs
        else:
            return None
    name = "+".join((grouping.name, *words))
    variants = (*_VARIANTS, NEW_ROWS) if grouping.name == "dispatch-global-index" else _VARIANTS
    return Reader(
        name,
        "dispatch",
        grouping.title,
        grouping.note,
        grouping.evidence,
        partial(_read, name, splits, repair),
        variants,
        grouping.shipped,
        grouping.proposed,
        verified=grouping.verified,
    )


def named(name: str) -> Reader | None:
    """The reader of a name that is put together of a grouping and variants; None where there is none."""
    base, *words = name.split("+")
    grouping = next((candidate for candidate in GROUPINGS if candidate.name == base), None)
    return variant(grouping, words) if grouping else None


READERS = tuple(reader for grouping in GROUPINGS if (reader := variant(grouping, ())))
# Without r3, which every reader has already where no other version is named.
OFFERED = tuple(
    name for reader in READERS for name in (reader.name, *(f"{reader.name}+{word}" for word, _ in reader.variants if word != "r3"))
)
