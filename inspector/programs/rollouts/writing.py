"""The bytes that carry out a plan on a rollouts session: lines that nothing touched as they are, the others as their era encodes them.

A child is a new folder, as rollouts' own fork, slice and doctor make one; the parent is never touched. No key is written that the store has not.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from inspector.conversation.edits import ID, Plan, Set, apply
from inspector.conversation.model import Chunk, Conversation, Kind
from inspector.programs.formats import Cell, Change, Stored, WriteRefused
from inspector.programs.rollouts.chunks import file_chunks, message_chunks
from inspector.programs.rollouts.lines import MessageLine, join, parsed, split
from inspector.programs.rollouts.loading import BLOCKS, MESSAGE
from inspector.programs.rollouts.session import KEYS, SESSION_FACT, content
from inspector.text import jsontext
from inspector.text.timestamps import milliseconds

MESSAGES, SESSION = "messages.jsonl", "session.json"
_SURROGATE = re.compile("[\ud800-\udfff]")
_PLACE = re.compile(r"#(\d+)(?:\.(\d+))?$")
_DERIVED = (SESSION_FACT, "sessionProblem", "status")
"""Facts that a plan may set: the whole session.json, and what is read from it."""
IN_PLACE_INSTEAD = "repair in place (--mode in-place)"


def line_text(message: Mapping[str, Any], escaped: bool = False) -> str:
    """A line as json.dumps writes it: raw UTF-8 in era C, `escaped` to ASCII before."""
    text = json.dumps(message, ensure_ascii=escaped)
    return _SURROGATE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def changed_messages(plan: Plan, stored: Stored, data: bytes) -> tuple[bytes, int]:
    """The file after the plan, and the index of the first message that differs. Raises WriteRefused, EditMismatch."""
    for edit in plan.edits:
        if isinstance(edit, Set) and edit.field not in (ID, *_DERIVED):
            raise WriteRefused(f"This store has no place for {edit.field}; leave the strategy that sets it out of the plan.")
    conversation = stored.conversation
    final = apply(conversation, plan.edits)
    lines, tail = split(data)
    era = conversation.fact("era") or "C"
    by_place = _chunks_by_line(conversation)
    base = {chunk.key: chunk for chunk in conversation.chunks}
    new_lines: list[MessageLine] = []
    # Lines without chunks (the header of era A, changes of its configuration) stay where they are.
    bare = [line for line in lines if line.index not in by_place]
    before = ""
    for place, chunks in _grouped(final, base):
        line = lines[place] if place is not None else None
        stored_chunks = by_place.get(line.index, []) if line else []
        while line is not None and bare and bare[0].index < line.index:
            new_lines.append(bare.pop(0))
        if era != "A" and (own := _own_bytes(chunks, line)):
            # A strategy that brings a whole line brings its bytes: of a line repaired, moved, or taken from the parent.
            line = replace(line, raw=own, ended=True) if line else MessageLine(-1, -1, b"", own)
            stored_chunks = message_chunks(chunks[0].key.rpartition("#")[0], place or 0, chunks[0].seq, own, parsed(own))
        if line is not None and _same(chunks, stored_chunks, is_new=line.index < 0):
            new_lines.append(line)
        else:
            is_stored = line is not None and line.index >= 0
            new_lines.append(_encoded_line(line if is_stored else None, chunks, stored_chunks if is_stored else [], era, before))
        before = _time(new_lines[-1].raw) or before
    written = join([*new_lines, *bare], tail)
    if len(file_chunks("", written)) != len(final.chunks) and era != "A":
        raise WriteRefused("The messages would not read back as planned; report this with the plan, or leave out strategies one by one.")
    return written, _first_difference(lines, split(written)[0])


def _first_difference(old: Sequence[MessageLine], new: Sequence[MessageLine]) -> int:
    for index, (before, after) in enumerate(zip(old, new, strict=False)):
        if before.raw != after.raw:
            return index
    return min(len(old), len(new))


def _place(key: str) -> int | None:
    match = _PLACE.search(key)
    return int(match[1]) if match else None


def _chunks_by_line(conversation: Conversation) -> dict[int, list[Chunk]]:
    by_line: dict[int, list[Chunk]] = {}
    for chunk in conversation.chunks:
        place = _place(chunk.key)
        if place is not None:
            by_line.setdefault(place, []).append(chunk)
    return by_line


def _grouped(final: Conversation, base: Mapping[str, Chunk]) -> list[tuple[int | None, list[Chunk]]]:
    """Chunks by the line that they will be on, with the number of the stored line; None for a new one. A result is a line of its own."""
    groups: list[tuple[int | None, list[Chunk]]] = []
    for chunk in final.chunks:
        place = _place(chunk.key) if chunk.key in base else None
        last = groups[-1] if groups else None
        if last is not None and (_of_message(last[1][-1], chunk) or _of_line(last[1][-1], chunk, last[0], place)):
            groups[-1] = (last[0] if last[0] is not None else place, [*last[1], chunk])
        else:
            groups.append((place, [chunk]))
    return groups


def _of_line(previous: Chunk, chunk: Chunk, last: int | None, place: int | None) -> bool:
    return place is not None and last == place and (previous.msg_idx, previous.role) == (chunk.msg_idx, chunk.role)


def _of_message(previous: Chunk, chunk: Chunk) -> bool:
    if Kind.TOOL_RESULT in (previous.kind, chunk.kind) or previous.msg_idx is None:
        return False
    return (previous.msg_idx, previous.role) == (chunk.msg_idx, chunk.role)


def _same(chunks: Sequence[Chunk], stored: Sequence[Chunk], is_new: bool) -> bool:
    """Whether nothing but numbers differs; those are not stored. On a line that is new here chunks have other keys."""
    contents = [[(is_new or chunk.key, chunk.role, chunk.kind, dict(chunk.payload)) for chunk in side] for side in (chunks, stored)]
    return contents[0] == contents[1]


def _own_bytes(chunks: Sequence[Chunk], line: MessageLine | None) -> bytes:
    """The bytes of a message line that all of the chunks bring with them and that are not the stored ones; b"" where there are none."""
    raw = chunks[0].raw
    if not raw or (line is not None and raw == line.raw) or any(chunk.raw != raw for chunk in chunks):
        return b""
    return raw if isinstance(jsontext.object_of(raw).get("role"), str) else b""


def _time(raw: bytes) -> str:
    time = jsontext.object_of(raw).get("timestamp")
    return time if isinstance(time, str) else ""


def _encoded_line(line: MessageLine | None, chunks: Sequence[Chunk], stored: Sequence[Chunk], era: str, before: str) -> MessageLine:
    """The line again; of an inserted message the time is that of the message before it, so that times do not run backwards."""
    message = jsontext.object_of(line.raw) if line is not None else {}
    outer = message if era == "A" and isinstance(message.get("message"), dict) else None
    inner = dict(outer["message"]) if outer else dict(message) if message else _new_message(chunks[0].role, era, before)
    inner["role"] = chunks[0].role
    _fill(inner, chunks, {chunk.key: chunk for chunk in stored}, era)
    if era == "A":
        inner = {**(outer or {"type": "message", "timestamp": before or None}), "message": inner}
    escaped = era != "C" and (line is None or line.raw.isascii())
    raw = jsontext.encode(line_text(inner, escaped))
    if line is None:
        return MessageLine(-1, -1, b"", raw)
    return replace(line, raw=raw + (b"\r" if line.raw.endswith(b"\r") else b""), ended=True)


def _new_message(role: str, era: str, before: str) -> dict[str, Any]:
    if era != "C":
        return {"role": role, "content": None} | ({"timestamp": before} if before else {})
    return dict.fromkeys(MESSAGE) | {"role": role, "timestamp": before or None}


def _fill(message: dict[str, Any], chunks: Sequence[Chunk], stored: Mapping[str, Chunk], era: str) -> None:
    """Content (and the id of a result) of the message; blocks that did not change keep their own object."""
    first = chunks[0]
    if first.kind is Kind.TOOL_RESULT:
        old = stored.get(first.key)
        if old is None or (old.payload.get("content"), old.payload.get("blocks")) != (first.text, first.payload.get("blocks")):
            message["content"] = first.payload.get("blocks", first.text) if first.payload.get("wire") == "rollouts" else first.text
        message["tool_call_id"] = first.call_id
        if "timestamp" in message and era != "C":
            message["timestamp"] = message.pop("timestamp")
        return
    content_ = message.get("content")
    blocks: list[Any] = []
    for chunk in chunks:
        old, place = stored.get(chunk.key), _PLACE.search(chunk.key)
        is_stored = old is not None and place is not None and place[2] is not None and isinstance(content_, list) and bool(content_)
        stored_block = content_[int(place[2])] if is_stored and place and content_ else None
        if chunk.kind is Kind.CONTROL and "empty" in chunk.payload:
            continue
        same = is_stored and old is not None and dict(old.payload) == dict(chunk.payload) and old.kind is chunk.kind
        blocks.append(stored_block if same else _block(chunk, stored_block if isinstance(stored_block, dict) else {}))
    texts = [
        block
        for block in blocks
        if isinstance(block, dict) and set(block) <= {"type", "text", "text_signature"} and not block.get("text_signature")
    ]
    if blocks and len(texts) == len(blocks) == 1 and not isinstance(content_, list):
        message["content"] = texts[0]["text"]
    elif blocks:
        message["content"] = blocks


def _block(chunk: Chunk, stored: dict[str, Any]) -> dict[str, Any]:
    """A block in the key order of the dataclass; what else the stored one contains stays."""
    payload = chunk.payload
    extra = {name: value for name, value in dict(payload.get("stored") or {}).items() if name in _EXTRA_MEMBERS}
    match chunk.kind:
        case Kind.TEXT | Kind.SYSTEM:
            members: dict[str, Any] = {"type": "text", "text": chunk.text, "text_signature": extra.get("text_signature")}
        case Kind.THINKING:
            members = {"type": "thinking", "thinking": chunk.text, "thinking_signature": payload.get("signature")}
        case Kind.TOOL_CALL:
            members = {"type": "toolCall", "id": chunk.call_id, "name": chunk.tool_name, "arguments": payload.get("input")}
            members |= {"thought_signature": payload.get("signature")}
            members |= {name: extra.get(name) for name in ("parse_error", "raw_arguments")}
        case Kind.IMAGE:
            members = {"type": "image", "image_url": chunk.text, "detail": extra.get("detail")}
        case Kind.CONTROL if isinstance(payload.get("block"), dict) and payload.get("wire") == "rollouts":
            return dict(payload["block"])
        case _:
            raise WriteRefused(
                f"This store has no block for {chunk.kind.value} (seq {chunk.seq}); leave the strategy that puts it there out of the plan."
            )
    # Fields that a block of its kind never had, in an older era or by another program, are not added to it.
    members = {
        name: value
        for name, value in members.items()
        if value is not None or not stored or name in stored or stored.get("type") != members["type"]
    }
    kind = stored.get("type", "text")
    own = {*BLOCKS.get(kind if isinstance(kind, str) else "", {}), "input", "data"}
    return {**members, **{name: value for name, value in stored.items() if name not in members and name not in own}}


_EXTRA_MEMBERS = ("text_signature", "parse_error", "raw_arguments", "detail")


def in_place(plan: Plan, stored: Stored, key: str) -> list[Change]:
    """messages.jsonl (or the one file of era A), and session.json where the plan repairs that."""
    if any(isinstance(edit, Set) and edit.field == ID for edit in plan.edits):
        raise WriteRefused(
            "The id is the name of the session's folder, so it cannot be changed in place; write a child session (--mode child)."
        )
    before = next((record.value for record in stored.records if record.key == key), None)
    data, _ = changed_messages(plan, stored, before.data if before else b"")
    after = Cell(data, "file")
    changes = [] if before == after or (before is None and not data) else [Change(key, before, after)]
    repaired = _repaired_session(plan)
    session = next((record for record in stored.records if record.key.rpartition("/")[2] == SESSION), None)
    if repaired and session is not None:
        changes.append(Change(session.key, session.value, Cell(jsontext.encode(session_text(repaired)), "file")))
    return changes


def _repaired_session(plan: Plan) -> dict[str, Any]:
    """The object that session.json is to hold; {} where the plan leaves it alone."""
    text = next((edit.new for edit in plan.edits if isinstance(edit, Set) and edit.field == SESSION_FACT), None)
    return jsontext.object_of(text or "")


def child(plan: Plan, stored: Stored, folder: str) -> list[Change]:
    """The two files of a new session next to `folder`. Raises WriteRefused where it would have no place, or nothing to be made of."""
    parent, _, _ = folder.rpartition("/")
    if not parent:
        raise WriteRefused(
            f"A child session is written next to this one, outside of what is open here: import the sessions folder, or {IN_PLACE_INSTEAD}."
        )
    records = {record.key: record for record in stored.records}
    session = records.get(f"{folder}/{SESSION}")
    session_json = _repaired_session(plan) or content(session)
    if not isinstance(session_json.get("endpoint"), dict) or not isinstance(session_json.get("environment"), dict):
        raise WriteRefused(
            f"session.json is missing or has no endpoint and environment, so a child cannot be made of it; {IN_PLACE_INSTEAD}."
        )
    messages = records.get(f"{folder}/{MESSAGES}")
    data, first = changed_messages(plan, stored, messages.value.data if messages else b"")
    tags = session_json.get("tags") if isinstance(session_json.get("tags"), dict) else {}
    members = {name: session_json.get(name) for name in KEYS} | {
        "session_id": plan.options["fork_id"],
        "parent_id": stored.conversation.native_id,
        "branch_point": first,
        "status": "pending",
        "reward": None,
        "tags": {**(tags or {}), "inspector": plan.digest(())[:16]},
        "created_at": plan.options["now"],
        "updated_at": plan.options["now"],
    }
    text = session_text({**members, **{name: value for name, value in session_json.items() if name not in members}})
    target = f"{parent}/{plan.options['fork_id']}"
    return [
        Change(f"{target}/{MESSAGES}", None, Cell(data, "file")),
        Change(f"{target}/{SESSION}", None, Cell(jsontext.encode(text), "file")),
    ]


def session_text(session: Mapping[str, Any]) -> str:
    """A session.json as rollouts writes it: two spaces, ASCII escapes, no line end."""
    return json.dumps(session, indent=2)


def stamp(facts: Conversation) -> datetime:
    """One second after the last thing that is known of a session: its child comes after it in rollouts' list, and the same bytes give the same child."""
    times = [int(value) for name in ("createdAt", "updatedAt", "lastActivityAt") if (value := facts.fact(name))]
    match = re.match(r"(\d{4})(\d\d)(\d\d)_(\d\d)(\d\d)(\d\d)_", facts.native_id)
    if match:
        year, month, day, hour, minute, second = match.groups()
        times.append(milliseconds(f"{year}-{month}-{day}T{hour}:{minute}:{second}") or 0)
    return datetime.fromtimestamp(max(times, default=0) // 1000 + 1, UTC).replace(tzinfo=None)


__all__ = ["changed_messages", "child", "in_place", "line_text", "session_text", "stamp"]
