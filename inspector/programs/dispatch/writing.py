"""The two ways in which a plan is written into Dispatch's conversation store: as a new conversation, and into the same rows."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from inspector.conversation import queries
from inspector.conversation.edits import ID, Plan, Set, apply
from inspector.conversation.model import Chunk
from inspector.programs.dispatch.keys import COPIED, INDEX, chunk_key, fact_key, parse_int
from inspector.programs.dispatch.rows import read_chunk, row_text
from inspector.programs.formats import Cell, Change, Element, Record, Stored, WriteRefused
from inspector.text import jsontext
from inspector.text.jsontext import Unreadable


def _encoded_row(chunk: Chunk, base: Chunk | None, **indexes: int | None) -> bytes:
    """The row of `chunk`: its own bytes with only what differs spliced in, or a new row where it has none that can be read."""
    target = replace(chunk, **{name: value for name, value in indexes.items() if value is not None})  # type: ignore[arg-type]
    if base is None and chunk.raw:
        # A row of another conversation, such as the archive: its bytes are the record of what was said.
        base = read_chunk(Record(chunk.key, Cell(chunk.raw)), chunk.seq)
    if base is None:
        return jsontext.encode(row_text(target))
    row: dict[str, Any] = {"chunk": dict(target.payload), "role": target.role, "msgIdx": target.msg_idx, "chunkIdx": target.chunk_idx}
    stored = {"chunk": dict(base.payload), "role": base.role, "msgIdx": base.msg_idx, "chunkIdx": base.chunk_idx}
    values = {name: value for name, value in row.items() if value != stored[name]}
    if not values:
        return base.raw
    try:
        before = jsontext.parse(jsontext.decode(base.raw))
    except Unreadable:
        before = None
    if not isinstance(before, dict):
        return jsontext.encode(row_text(target))
    if base.damage and not chunk.damage:
        # What was read of a damaged row is less than what is stored.
        values = {
            name: value for name, value in row.items() if name not in before or jsontext.compact(value) != jsontext.compact(before[name])
        }
    try:
        amended = jsontext.amended(jsontext.decode(base.raw), values)
        reads_back = {**before, **values} == jsontext.parse(amended)
    except Unreadable as problem:
        raise WriteRefused(f"Row seq {chunk.seq} would be {problem.reason}; repair it by hand or leave it out of the plan.") from None
    if not reads_back:
        raise WriteRefused(f"Row seq {chunk.seq} would not read back as planned; report this with the row's bytes.")
    return jsontext.encode(amended)


def _kind_of_cell(chunk: Chunk, old: Chunk | None, before: Mapping[str, Cell]) -> str:
    """A row that becomes readable becomes text, as the program writes it; any other keeps what it is stored as."""
    return "text" if old is None or (old.damage and not chunk.damage) else before[chunk.key].type


def in_place(plan: Plan, stored: Stored) -> list[Change]:
    conversation = stored.conversation
    native = conversation.native_id
    if any(isinstance(edit, Set) and edit.field == ID for edit in plan.edits):
        raise WriteRefused(
            "The id is part of every key of a conversation, so it cannot be renamed in place; repair into a new conversation (--mode fork)."
        )
    final = apply(conversation, plan.edits)
    legacy = {f"new:{chunk.key}" for message in conversation.legacy for chunk in message.chunks}
    if any(chunk.key in legacy for chunk in final.chunks):
        # The old messages would stay next to their rows, and every row that clients hold would get another number.
        raise WriteRefused(
            "Messages of the older generation become rows only in a new conversation; choose that mode (--mode fork), or leave convert-legacy-messages out."
        )
    base = {chunk.key: chunk for chunk in conversation.chunks}
    before = {record.key: record.value for record in stored.records}
    after: dict[str, Cell] = {}
    shift, last = 0, 0
    for chunk in final.chunks:
        old = base.get(chunk.key)
        if old is None:
            shift += 1
            seq = last + 1
        else:
            seq = chunk.seq + shift
        last = seq
        key = chunk_key(native, seq) if shift or old is None else chunk.key
        if key in after:
            raise WriteRefused(
                f"Two rows would both become seq {seq}; repair the row keys first, or repair into a new conversation (--mode fork)."
            )
        after[key] = Cell(_encoded_row(chunk, old), _kind_of_cell(chunk, old, before))
    if list(after) != sorted(after, key=lambda key: key.encode("utf-8", "surrogateescape")):
        # Rows are read in the order of their keys, and a number that is not written in 10 digits is not in the place that it counts for.
        raise WriteRefused(
            "A row would not be where it belongs, since keys of this conversation are not numbers of 10 digits; repair into a new conversation (--mode fork)."
        )
    changes = [
        Change(key, before.get(key), after.get(key)) for key in sorted(after.keys() | base.keys()) if before.get(key) != after.get(key)
    ]
    counter = final.fact("counter")
    if shift:
        stored_counter = parse_int(counter or "")
        counter = str((stored_counter if stored_counter is not None else last - shift) + shift)
    if counter is not None and counter != conversation.fact("counter"):
        key = fact_key(native, "seq")
        changes.append(Change(key, before.get(key), Cell(counter.encode())))
    return changes


def fork(plan: Plan, stored: Stored) -> list[Change]:
    """As upstream forks: rows from seq 1, counter, meta, index, cwd, effort, model, computer; metrics are not copied."""
    conversation = stored.conversation
    final = apply(conversation, plan.edits)
    base = {chunk.key: chunk for chunk in conversation.chunks}
    before = {record.key: record.value for record in stored.records}
    target = plan.options["fork_id"]
    message_of = {chunk.key: message for message in queries.true_messages(final.chunks) for chunk in message.chunks}
    started: dict[int, tuple[int, int]] = {}
    changes: list[Change] = []
    readable_before = True
    for seq, chunk in enumerate(final.chunks, start=1):
        old = base.get(chunk.key)
        message = message_of.get(chunk.key)
        if old is not None and message is None:
            data, readable_before = old.raw, False
        else:
            index = chunk.chunk_idx
            if message is not None:
                # Closing a gap must not break `seq - chunkIdx`, by which the messages are distinguished permanently.
                first_seq, first_idx = started.setdefault(id(message), (seq, 0 if readable_before else chunk.chunk_idx or 0))
                index = first_idx + seq - first_seq
            data, readable_before = _encoded_row(chunk, old, chunk_idx=index), True
        changes.append(Change(chunk_key(target, seq), None, Cell(data, _kind_of_cell(chunk, old, before))))
    changes.append(Change(fact_key(target, "seq"), None, Cell(str(len(final.chunks)).encode())))
    meta: dict[str, Any] = {
        "createdAt": int(plan.options["now"]),
        "lastActivityAt": int(plan.options["now"]),
        "title": plan.options["title"],
        "status": "idle",
    }
    for name in ("compactedFrom", "workspaceId"):
        if conversation.fact(name) is not None:
            meta[name] = conversation.fact(name)
    changes.append(Change(fact_key(target, "meta"), None, Cell(jsontext.encode(jsontext.compact(meta)))))
    for name in COPIED:
        cell = before.get(fact_key(conversation.native_id, name))
        if cell is not None:
            changes.append(Change(fact_key(target, name), None, cell))
    match conversation.fact("index"):
        case None:
            changes.append(Change(INDEX, None, Cell(jsontext.encode(jsontext.compact([target])))))
        case "damaged":
            raise WriteRefused(
                "The store's conv-index is not a JSON array, so a new conversation could not be listed; repair conv-index, or repair in place (--mode in-place)."
            )
        case _:
            changes.append(Change(INDEX, None, Cell(jsontext.encode(target)), Element.STRING))
    return changes
