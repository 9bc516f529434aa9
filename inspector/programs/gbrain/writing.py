"""A plan as changes of gbrain's message rows: rows at free indexes, and rows whose blocks are other ones. No row is removed, none renumbered.

The program goes on counting from the highest index (and older versions from the number of rows), so that an index, once given, is permanently.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from inspector.conversation import edits
from inspector.conversation.edits import Plan
from inspector.conversation.model import Chunk, Conversation, Kind
from inspector.programs.formats import Change, Stored, WriteRefused
from inspector.programs.gbrain import facts as gbrain_facts
from inspector.programs.gbrain.encoding import Encoder
from inspector.programs.gbrain.tables import EXECUTIONS, MESSAGES, RELATIONS, whole
from inspector.programs.relation_rows import Row, cell_of, key_of, relation_of, row_of
from inspector.text import jsonb

_MESSAGES = relation_of(RELATIONS, f"{MESSAGES}:")
AT_REST = (*gbrain_facts.RESTING, "waiting")
"""Statuses of a job that a repair may write to: nobody is at work on it. `waiting` only where no lock and no lease runs on, which is checked at the moment of writing."""


def write(plan: Plan, stored: Stored) -> Sequence[Change]:
    """Raises WriteRefused, EditMismatch."""
    if refusal := not_at_rest(stored):
        raise WriteRefused(refusal)
    if unsupported := next((edit for edit in plan.edits if isinstance(edit, edits.Set)), None):
        raise WriteRefused(
            f"gbrain keeps no {unsupported.field} next to its messages: it counts its rows again on each start. Choose other strategies."
        )
    final = edits.apply(stored.conversation, plan.edits)
    rows = {
        whole(row["message_idx"]): row
        for record in stored.records
        if record.key.startswith(f"{MESSAGES}:")
        for row in (row_of(record.value),)
    }
    refuse_unfit(stored.conversation, final)
    before, after = _by_index(stored.conversation.chunks), _by_index(final.chunks)
    encoder = Encoder(stored, rows)
    ended = _times(stored)
    changes: list[Change] = []
    for index, chunks in after.items():
        row = rows.get(index)
        if row is None:
            changes.append(_inserted(rows, index, chunks, ended, encoder))
        elif [_content(chunk) for chunk in chunks] != [_content(chunk) for chunk in before.get(index, ())]:
            blocks = _printed(encoder.blocks(chunks, encoder.is_v1(index)))
            assert _MESSAGES is not None
            changes.append(Change(key_of(_MESSAGES, row), cell_of(row), cell_of({**row, "content_blocks": blocks})))
    if not changes:
        raise WriteRefused(
            "Nothing of this plan is kept in gbrain's rows, which know no other numbers than their indexes: choose other strategies."
        )
    return changes


def refuse_unfit(base: Conversation, final: Conversation) -> None:
    """Whether rows that are never renumbered, moved or removed can hold `final`, whoever is at work on the job. Raises WriteRefused."""
    before, after = _by_index(base.chunks), _by_index(final.chunks)
    _refuse_disorder([chunk.msg_idx for chunk in final.chunks if chunk.msg_idx is not None])
    for index, chunks in after.items():
        _refuse_unfit(index, before.get(index, []), chunks, base.fact(gbrain_facts.PATH))
    if removed := sorted(before.keys() - after.keys()):
        raise WriteRefused(
            f"This plan leaves nothing of the message at index {removed[0]}, and no row of gbrain is removed: its program counts on every index. "
            "Choose strategies that add results instead of removing messages."
        )
    _refuse_lost_runs(base.chunks, final.chunks)


def not_at_rest(stored: Stored) -> str:
    """Why no plan for the job can be written, in a sentence; "" where its status allows one."""
    status = stored.conversation.fact(gbrain_facts.STATUS)
    if status is None or status in AT_REST:
        return ""
    return f"The job is {status}, so that a worker may write to it at any moment: pause or cancel it in gbrain, import it again, and make a new plan."


def at_work(stored: Stored, now: int) -> str:
    """Why nothing may be written to the job at `now` (epoch ms), in a sentence; "" where nobody is at work on it."""
    for name, what in ((gbrain_facts.LOCK, "lock of a worker"), (gbrain_facts.LEASE, "lease of a call to a model")):
        until = whole(stored.conversation.fact(name))
        if until is not None and until > now:
            return f"A {what} on the job runs for another {(until - now + 999) // 1000:,} s: wait until it is over, or stop the worker, and try again."
    return not_at_rest(stored)


def _by_index(chunks: Sequence[Chunk]) -> dict[int, list[Chunk]]:
    by_index: dict[int, list[Chunk]] = {}
    for chunk in chunks:
        if chunk.msg_idx is not None:
            by_index.setdefault(chunk.msg_idx, []).append(chunk)
    return by_index


def _refuse_disorder(indexes: Sequence[int]) -> None:
    order = [index for index, _ in groupby(indexes)]
    if order != sorted(set(order)):
        raise WriteRefused(
            "This plan puts a message where no index is free, and gbrain's rows are never renumbered: choose strategies that leave the order of the messages as it is."
        )


def _refuse_unfit(index: int, before: Sequence[Chunk], after: Sequence[Chunk], path: str | None) -> None:
    """The row at the index of the results may be somebody else's. Raises WriteRefused."""
    results = [chunk for chunk in after if chunk.kind is Kind.TOOL_RESULT]
    added = {chunk.key for chunk in results} - {chunk.key for chunk in before}
    if not added or not before:
        return
    if any(chunk.role == "assistant" for chunk in before):
        raise WriteRefused(
            f"Index {index}, where these results belong, is taken by an answer, and no row of gbrain is renumbered: "
            "the job cannot be repaired in place; start it again, the ledger keeps what its tools said."
        )
    if any(chunk.kind is Kind.UNREADABLE for chunk in before):
        raise WriteRefused(
            f"Index {index}, where these results belong, holds a row that cannot be read: repair its content_blocks first, import it again, and make a new plan."
        )
    is_first = not any(chunk.kind is Kind.TOOL_RESULT for chunk in before)
    if is_first and len(results) < len(after) and path != gbrain_facts.LEGACY:
        raise WriteRefused(
            f"Index {index}, where these results belong, holds words of the user, and next to results gbrain's gateway hands no words to the model: "
            "they would be lost. Let a gbrain of 2026-07-16 or later take the job up, which answers such calls in each request, or start the job again."
        )


def _refuse_lost_runs(before: Sequence[Chunk], after: Sequence[Chunk]) -> None:
    """The program finds the run of a call by its id; where it finds none it runs the tool again. Raises WriteRefused."""
    calls = {chunk.key: chunk for chunk in before if chunk.kind is Kind.TOOL_CALL}
    answered = {(chunk.msg_idx, chunk.call_id) for chunk in after if chunk.kind is Kind.TOOL_RESULT}
    for chunk in after:
        old = calls.get(chunk.key)
        if old is None or (old.call_id, old.tool_name) == (chunk.call_id, chunk.tool_name):
            continue
        if ((chunk.msg_idx or 0) + 1, chunk.call_id) not in answered:
            raise WriteRefused(
                f"This plan gives the call {old.call_id[:60]!r} another id or name before it has a result, and gbrain would not find its run in the ledger "
                "and run the tool again: put the strategies first that insert its result."
            )


def _content(chunk: Chunk) -> tuple[object, ...]:
    return chunk.kind, chunk.payload, chunk.role


def _times(stored: Stored) -> dict[int, str]:
    """When the runs of each message's calls had ended, as the server prints it: what a result row that is put in is dated with."""
    times: dict[int, str] = {}
    for record in stored.records:
        if record.key.startswith(f"{EXECUTIONS}:"):
            row = row_of(record.value)
            index, time = whole(row.get("message_idx")), row.get("ended_at") or row.get("started_at")
            if index is not None and time:
                times[index] = max(times.get(index, ""), time)
    return times


def _inserted(rows: Mapping[int | None, Row], index: int, chunks: Sequence[Chunk], ended: Mapping[int, str], encoder: Encoder) -> Change:
    calling = encoder.before(index)
    like = rows.get(calling) if calling is not None else next(iter(rows.values()), None)
    if like is None or _MESSAGES is None:
        raise WriteRefused("The job has no message yet, so that there is nothing to repair: let gbrain run it first.")
    results = all(chunk.kind is Kind.TOOL_RESULT for chunk in chunks)
    roles = {"user" if chunk.kind is Kind.TOOL_RESULT else chunk.role for chunk in chunks}
    if len(roles) != 1 or not roles <= {"user", "assistant"}:
        raise WriteRefused("gbrain keeps messages of users and assistants only: choose strategies that insert no other message.")
    row: dict[str, str | None] = dict.fromkeys(like)
    row |= {
        "job_id": like["job_id"],
        "message_idx": str(index),
        "role": roles.pop(),
        "content_blocks": _printed(encoder.blocks(chunks, encoder.is_v1(index))),
        # What the program's own default is, and what its rows of both paths hold.
        **({"schema_version": "1"} if "schema_version" in like else {}),
        "ended_at": (ended.get(calling or 0) if results else None) or like.get("ended_at"),
    }
    return Change(key_of(_MESSAGES, row), None, cell_of(row))


def _printed(blocks: Sequence[Any]) -> str:
    try:
        return jsonb.printed(list(blocks))
    except jsonb.NotStorable as problem:
        raise WriteRefused(f"The blocks cannot be written, since {problem.reason}: choose other strategies.") from None
