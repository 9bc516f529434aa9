"""A repair as one `$set` line after the last line of the chat, in the form that the program itself writes and 0.61.0 sends once.

A chat that is one object has no line to append to: its `messages` are replaced, and the rest of the object keeps its bytes.

In that list the content of an answer has its calls as parts and no `toolCalls`, and a user's record has the results. With `toolCalls` kept, even without their
results, the program fills them again at the next resume and sends each result twice at the one after it (run).
"""

import hashlib
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from inspector.conversation.edits import Plan, Set, apply
from inspector.conversation.model import Chunk, Conversation, Kind, Message
from inspector.programs.formats import Cell, Change, Stored, WriteRefused
from inspector.programs.gemini_cli.chunks import ABOUT, about, chunks_of, record_of
from inspector.programs.gemini_cli.records import HEADLESS, MARK, MARKED, ChatRecord, replay
from inspector.projections import gemini
from inspector.text import jsontext

_TYPES = {"assistant": "gemini", "user": "user", "tool": "user"}


def written(plan: Plan, stored: Stored) -> list[Change]:
    for edit in plan.edits:
        if isinstance(edit, Set):
            raise WriteRefused(f"A chat of Gemini CLI has no place for {edit.field}: leave the strategy that sets it out of the plan.")
    (record,) = stored.records
    final = apply(stored.conversation, plan.edits)
    if final.chunks == stored.conversation.chunks:
        return []
    data = record.value.data
    chat = replay(data)
    if chat.problem in (HEADLESS, MARKED):
        raise WriteRefused(f"Nothing is written to this file: {chat.problem}.")
    messages = _messages(stored.conversation, final, chat.live | chat.ended)
    if chat.legacy:
        text = jsontext.decode(data)
        after = jsontext.encode(jsontext.amended(text, {"messages": messages}))
    else:
        line = jsontext.encode(jsontext.compact({"$set": {"messages": messages, MARK: "inspector"}}) + "\n")
        after = data + (b"" if data.endswith(b"\n") else b"\n") + line
    _refuse_unless_as_planned(final, chunks_of(replay(after)))
    return [Change(record.key, record.value, Cell(after, record.value.type))]


def _messages(base: Conversation, final: Conversation, records: dict[str, ChatRecord]) -> list[dict[str, Any]]:
    """The records of the new list. Those of which no chunk changed are as they were, but that calls are in the content."""
    before: dict[str, list[Chunk]] = {}
    for chunk in base.chunks:
        before.setdefault(record_of(chunk), []).append(chunk)
    live = [chunk for chunk in final.chunks if chunk.msg_idx is not None and not about(chunk).get("why")]
    values: list[dict[str, Any]] = []
    used: set[str] = set()
    for (name, _), run in groupby(live, key=lambda chunk: (_group(chunk, before), _TYPES.get(chunk.role, ""))):
        chunks = list(run)
        stored = records.get(name)
        same = _bare(chunks) == _bare(before.get(name, ()))
        if stored is not None and name not in used and same and not _has_calls(chunks):
            values.append(stored.value)
        else:
            time = stored.value.get("timestamp") if stored is not None else values[-1].get("timestamp") if values else None
            values.append(_record(stored.value if stored is not None and name not in used else {}, name, chunks, used, time))
        used.add(str(values[-1]["id"]))
    return values


def _group(chunk: Chunk, before: dict[str, list[Chunk]]) -> str:
    """The record that the chunk is written in: its own, or a new one for each message that a strategy inserts."""
    name = record_of(chunk)
    return name if name in before else f"new {chunk.msg_idx}"


def _bare(chunks: Sequence[Chunk]) -> list[tuple[Any, ...]]:
    return [
        (chunk.key, chunk.role, chunk.kind, {name: value for name, value in chunk.payload.items() if name != ABOUT}) for chunk in chunks
    ]


def _has_calls(chunks: Sequence[Chunk]) -> bool:
    return any(chunk.kind is Kind.TOOL_CALL for chunk in chunks)


def _record(stored: dict[str, Any], name: str, chunks: Sequence[Chunk], used: set[str], time: Any) -> dict[str, Any]:
    kind = _TYPES.get(chunks[0].role)
    if kind is None:
        raise WriteRefused(
            f"A chat of Gemini CLI has no record for the role {chunks[0].role!r}: leave the strategy that adds it out of the plan."
        )
    prompt = gemini.convert("", True, [Message(role, tuple(run)) for role, run in groupby(chunks, key=lambda chunk: chunk.role)])
    if prompt.lost:
        raise WriteRefused(
            f"A chat of Gemini CLI has no part for this block ({prompt.lost[0].why}): leave the strategy that adds it out of the plan."
        )
    parts = [part for value in prompt.values for part in value.get("parts", [])]
    if stored:
        return {member: value for member, value in stored.items() if member != "toolCalls"} | {"content": parts}
    seed = hashlib.sha256(jsontext.encode(jsontext.compact([name, parts, sorted(used)]))).hexdigest()
    id_ = (
        name if not name.startswith("new ") and name not in used else f"{seed[:8]}-{seed[8:12]}-4{seed[13:16]}-8{seed[17:20]}-{seed[20:32]}"
    )
    return {"id": id_, "timestamp": time, "type": kind, "content": parts}


def _refuse_unless_as_planned(final: Conversation, written_chunks: Sequence[Chunk]) -> None:
    planned, actual = ([_comparable(chunk) for chunk in chunks] for chunks in (final.chunks, written_chunks))
    if planned != actual:
        place = next((place for place, (a, b) in enumerate(zip(planned, actual, strict=False)) if a != b), min(len(planned), len(actual)))
        raise WriteRefused(
            f"The repaired chat would not read back as planned (at seq {place + 1}); repair that message by hand, or leave a strategy out."
        )


def _comparable(chunk: Chunk) -> tuple[Any, ...]:
    input_ = chunk.payload.get("input") if chunk.kind is Kind.TOOL_CALL else None
    more = chunk.payload.get("extra")
    return chunk.role, chunk.kind, chunk.text, chunk.call_id, chunk.tool_name, input_, more, about(chunk).get("why")
