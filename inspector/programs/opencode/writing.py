"""A repaired session as the file that opencode's import reads: with new ids, since an import of ids that are known changes nothing and says it did."""

import hashlib
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from inspector.conversation.edits import Plan, Set, apply
from inspector.conversation.model import Chunk, Conversation, Kind
from inspector.programs.formats import Cell, Change, Record, Stored, WriteRefused
from inspector.programs.opencode.chunks import ABOUT, RESULT, about, chunks_of, sound_attachments
from inspector.programs.opencode.import_schema import MESSAGE, PART, SESSION, problem
from inspector.programs.opencode.sessions import FILE, Session, StoredMessage, StoredPart, sessions_in
from inspector.text import jsontext

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_UNREAD = "A part of the session cannot be read, and the import takes whole parts only: repair that part in a copy of the store first."
_RANDOM = 14
"""Characters at the end of an id that are random; what is before them is the kind and the time."""


def new_id(id_: str, seed: str) -> str:
    """An id of the same length and time, of which the end follows from `seed`."""
    number = int.from_bytes(hashlib.sha256(jsontext.encode(f"{seed} {id_}")).digest(), "big")
    suffix = ""
    for _ in range(_RANDOM):
        number, digit = divmod(number, len(_DIGITS))
        suffix += _DIGITS[digit]
    return id_[: max(id_.find("_") + 1, len(id_) - _RANDOM)] + suffix


def new_ids(ids: Iterable[str], seed: str) -> dict[str, str]:
    """New ids in the same order: parts and messages of one moment are told apart by their ends."""
    groups: dict[str, list[str]] = {}
    for id_ in sorted(set(ids)):
        groups.setdefault(id_[: max(id_.find("_") + 1, len(id_) - _RANDOM)], []).append(id_)
    return {old: new for group in groups.values() for old, new in zip(group, sorted(new_id(id_, seed) for id_ in group), strict=True)}


def written(plan: Plan, stored: Stored) -> list[Change]:
    for edit in plan.edits:
        if isinstance(edit, Set):
            raise WriteRefused(f"A session of opencode has no place for {edit.field}: leave the strategy that sets it out of the plan.")
    native_id = stored.conversation.native_id
    session = sessions_in(stored.records).get(native_id, Session(native_id))
    if session.info is None:
        raise WriteRefused("The session itself is missing, and an import needs its title and folder: take them from a backup of the store.")
    fork_id = plan.options.get("fork_id", "")
    if not _SAFE_ID.fullmatch(fork_id):
        # It names a file and is part of the commands that a person copies; a store or a saved plan can say anything.
        raise WriteRefused(
            "The id of the new session would not be one that opencode gives: it is made from the session's own id, or comes from the plan; "
            "give the session another id in a copy of the store, or make the plan again."
        )
    final = apply(stored.conversation, plan.edits)
    refuse_unfit(stored.conversation, final)
    base = {chunk.key: chunk for chunk in stored.conversation.chunks}
    by_message, inserted = _sorted(final.chunks, base)
    messages = [
        entry
        for place, message in enumerate(session.messages)
        if (entry := _message(message, by_message.get(place, []), inserted, base)) is not None
    ]
    if inserted:
        raise WriteRefused("The import file has no place for a message that a strategy adds; leave that strategy out of the plan.")
    info = _info(session.info)
    _refuse_rejected(info, messages)
    if isinstance(info.get("title"), str):
        info["title"] += " (repaired)"
    seed = f"{fork_id} {native_id}"
    ids = new_ids([message.id for message in session.messages] + [part.id for message in session.messages for part in message.parts], seed)
    file = _file(fork_id, _renamed({"info": info, "messages": messages}, ids | {native_id: fork_id}))
    back = sessions_in([file]).get(fork_id, Session(fork_id))
    if [_comparable(chunk) for chunk in chunks_of(back)] != [_comparable(chunk) for chunk in final.chunks]:
        raise WriteRefused("The import file would not read back as planned; leave out strategies one by one.")
    return [Change(file.key, None, file.value)]


def refuse_unfit(base: Conversation, final: Conversation) -> None:
    """What is known before an import file is made: it has no message of no known role. The schema of the import is asked when it is made. Raises WriteRefused."""
    if final.chunks == base.chunks:
        return
    for chunk in final.chunks:
        if ABOUT in chunk.payload and not about(chunk).get("role"):
            raise WriteRefused(
                f"opencode's import would stop at the message at seq {chunk.seq}, which has no known role: add the strategy drop-broken-parts, which takes it out."
            )


def left_out(stored: Stored) -> list[str]:
    """The parts that no import file holds: its import rejects them, and opencode sends nothing of them."""
    session = sessions_in(stored.records).get(stored.conversation.native_id, Session(""))
    keys = frozenset(chunk.key for chunk in stored.conversation.chunks)
    parts = [(message, part) for message in session.messages for part in message.parts if part.value is not None]
    return [part.id for message, part in parts if not _is_kept(message, part, keys)]


def _is_kept(message: StoredMessage, part: StoredPart, keys: Container[str]) -> bool:
    return part.id in keys or not problem(_part_value(message, part, part.value), PART)


def _refuse_rejected(info: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> None:
    """The import stores what it has come to, and ends at the first thing that it rejects: a session with less than the preview shows."""
    values = [("the session", info, SESSION)]
    for message in messages:
        values.append((f"message {message['info']['id']}", message["info"], MESSAGE))
        values += [(f"part {part['id']}", part, PART) for part in message["parts"]]
    for place, value, schema in values:
        if reason := problem(value, schema):
            raise WriteRefused(f"opencode's import would stop at {place}: {reason}. Correct that in a copy of the store.")


def file_of(session: Session) -> Record:
    """A session of the database as the file that its import would have been; of one that cannot be read whole, an empty one."""
    try:
        info = _info(session.info or {})
        messages = [
            {"info": _message_info(message, message.info), "parts": [_part_value(message, part, part.value) for part in message.parts]}
            for message in session.messages
        ]
    except WriteRefused:
        return Record(f"{session.id}.json", Cell(b"", FILE))
    return _file(session.id, {"info": info, "messages": messages})


def is_part(part: Cell, whole: Cell) -> bool:
    """Whether an import of `whole` that ended in the middle leaves `part`: its first messages, the last of them with its first parts."""
    if not part.data:
        return False
    some, every = jsontext.parse(jsontext.decode(part.data)), jsontext.parse(jsontext.decode(whole.data))
    own, all_messages = some["messages"], every["messages"][: len(some["messages"])]
    if some["info"] != every["info"] or own[:-1] != all_messages[:-1] or len(own) != len(all_messages):
        return False
    return not own or (
        own[-1]["info"] == all_messages[-1]["info"] and own[-1]["parts"] == all_messages[-1]["parts"][: len(own[-1]["parts"])]
    )


def folder_in(file: Cell) -> str:
    return str(jsontext.parse(jsontext.decode(file.data))["info"].get("directory") or "")


def in_folder(file: Cell, folder: str) -> Cell:
    """The same file for another folder."""
    value = jsontext.parse(jsontext.decode(file.data))
    value["info"]["directory"] = folder
    return _cell(value)


def _file(id_: str, value: Mapping[str, Any]) -> Record:
    return Record(f"{id_}.json", _cell(value))


def _cell(value: Mapping[str, Any]) -> Cell:
    return Cell(jsontext.encode(jsontext.compact(_in_order(value)) + "\n"), FILE)


def _in_order(value: Any) -> Any:
    """The id first, by which such a file is known, and members by name: the program writes those of a message in one order, and its import in that of its own schema. What a tool was given stays as it is."""
    if isinstance(value, list):
        return [_in_order(item) for item in value]
    if isinstance(value, dict):
        return {
            name: value[name] if name == "input" else _in_order(value[name])
            for name in sorted(value, key=lambda name: (name != "id", name))
        }
    return value


def _sorted(chunks: Sequence[Chunk], base: Mapping[str, Chunk]) -> tuple[dict[int, list[Chunk]], dict[str, Chunk]]:
    """The chunks of each message, and the results that a strategy inserted, by the ids of their calls."""
    by_message: dict[int, list[Chunk]] = {}
    inserted: dict[str, Chunk] = {}
    for chunk in chunks:
        message = about(chunk).get("message")
        if chunk.key in base and isinstance(message, int):
            by_message.setdefault(message, []).append(chunk)
        elif chunk.kind is Kind.TOOL_RESULT:
            inserted[chunk.call_id] = chunk
        else:
            raise WriteRefused("The import file has no place for a message that a strategy adds; leave that strategy out of the plan.")
    return by_message, inserted


def _message(
    message: StoredMessage, chunks: Sequence[Chunk], inserted: dict[str, Chunk], base: Mapping[str, Chunk]
) -> dict[str, Any] | None:
    if not chunks:
        return None
    final = {chunk.key: chunk for chunk in chunks}
    parts = [written for part in message.parts if (written := _part(message, part, final, inserted, base)) is not None]
    # What an answer ended with goes where a strategy keeps the answer.
    info = _message_info(message, message.info)
    if not any("error" in about(chunk) for chunk in chunks):
        info.pop("error", None)
    return {"info": info, "parts": parts}


def _message_info(message: StoredMessage, info: Mapping[str, Any] | None) -> dict[str, Any]:
    if info is None:
        raise WriteRefused(_UNREAD)
    return {**info, "id": message.id, "sessionID": message.session}


def _part_value(message: StoredMessage, part: StoredPart, value: Mapping[str, Any] | None) -> dict[str, Any]:
    if value is None:
        raise WriteRefused(_UNREAD)
    return {**value, "id": part.id, "sessionID": message.session, "messageID": message.id}


def _part(
    message: StoredMessage, part: StoredPart, final: Mapping[str, Chunk], inserted: dict[str, Chunk], base: Mapping[str, Chunk]
) -> dict[str, Any] | None:
    chunk = final.get(part.id)
    if part.id in base and chunk is None:
        return None
    value = _part_value(message, part, part.value)
    if chunk is None:
        return value if _is_kept(message, part, base) else None
    old = base[part.id]
    if chunk.kind is Kind.TOOL_CALL:
        return value | {"state": _state(value, chunk, final.get(f"{part.id}{RESULT}"), inserted, base)}
    if chunk.text != old.text and chunk.kind in (Kind.TEXT, Kind.THINKING):
        value["text"] = chunk.text
    return value


def _state(
    value: dict[str, Any], call: Chunk, result: Chunk | None, inserted: dict[str, Chunk], base: Mapping[str, Chunk]
) -> dict[str, Any]:
    state = dict(value["state"]) if isinstance(value.get("state"), dict) else {}
    if call.payload.get("input") != base[call.key].payload.get("input"):
        state["input"] = call.payload.get("input")
    if result is None and call.call_id in inserted:
        result = inserted.pop(call.call_id)
        kept = {name: state[name] for name in ("input", "metadata", "time") if name in state}
        if result.is_error:
            return _whole({"status": "error", **kept, "error": result.text}, call)
        return _whole({"status": "completed", **kept, "output": result.text}, call)
    if about(base[call.key]).get("breaks") and not about(call).get("breaks"):
        state |= {"output": jsontext.shown(state.get("output"))} | {"attachments": sound_attachments(state)}
    if result is not None and result.text != base[result.key].text:
        state["error" if state.get("status") == "error" else "output"] = result.text
    return state if about(call).get("breaks") else _whole(state, call)


def _whole(state: dict[str, Any], call: Chunk) -> dict[str, Any]:
    """The state with the members that the import needs and opencode sends nothing of, where they are missing or null."""
    if state.get("status") not in ("completed", "error"):
        return state
    time = state["time"] if isinstance(state.get("time"), dict) else {}
    start = call.at or 0 if time.get("start") is None else time["start"]
    shown = {"title": "", "metadata": {}} if state["status"] == "completed" else {}
    known = {name: value for name, value in state.items() if value is not None or name not in ("title", "metadata")}
    return {"input": {}, **shown, **known, "time": {**time, "start": start, "end": start if time.get("end") is None else time["end"]}}


def _info(info: Mapping[str, Any]) -> dict[str, Any]:
    """The session as the import takes it. A row has columns, whose names the export changes; what belongs to the old session alone is left out. The
    project of a row too: an import into a database takes that of the folder in which it runs, and says nothing of another one."""
    left_out = ("share", "revert", "time_created", "time_updated", "time_archived", "project_id", "parent_id", "time_compacting")
    value = {name: item for name, item in info.items() if name not in left_out and item is not None}
    for name in ("permission", "model", "metadata"):
        if isinstance(value.get(name), str) and "time_created" in info:
            try:
                value[name] = jsontext.parse(value[name])
            except jsontext.Unreadable:
                raise WriteRefused(
                    f"The column {name} of the session is no JSON, and the import needs it: correct it in a copy of the store."
                ) from None
    tokens = {name.removeprefix("tokens_"): value.pop(name) for name in list(value) if name.startswith("tokens_")}
    if tokens:
        cache = {name: tokens.pop(f"cache_{name}", 0) for name in ("read", "write")}
        value["tokens"] = tokens | {"cache": cache}
    if "time_created" in info:
        value["time"] = {"created": info["time_created"], "updated": info.get("time_updated")}
    if isinstance(info.get("parent_id"), str):
        value["parentID"] = info["parent_id"]
    return value


def _renamed(value: Any, ids: Mapping[str, str]) -> Any:
    """The value with every text that is an id of the session exchanged, wherever it is."""
    if isinstance(value, str):
        return ids.get(value, value)
    if isinstance(value, list):
        return [_renamed(item, ids) for item in value]
    return {name: _renamed(item, ids) for name, item in value.items()} if isinstance(value, dict) else value


def _comparable(chunk: Chunk) -> tuple[Any, ...]:
    input_ = chunk.payload.get("input") if chunk.kind is Kind.TOOL_CALL else None
    return chunk.role, chunk.kind, chunk.text, chunk.call_id, chunk.tool_name, input_
