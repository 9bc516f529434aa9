"""Messages of a session as chunks: each part that says something is one, and the state of a tool that has ended is the result of its call.

A payload has under `opencode` the number of its message in the session, and what the loader looks at of that: `role`, `parent` (the number of another
message), `summary`, `finish`, `error` (its name), `model`; of a part `ignored`, `cleared` (its output was cleared by a compaction), `compaction` and `tail`, `stale` (its tool never ended),
`stops` (why opencode ends every run of the session at it) and `breaks` (the same, where the part is sent).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from inspector.conversation.model import Chunk, Kind
from inspector.programs.opencode.sessions import Session, StoredMessage, StoredPart
from inspector.text import jsontext

ABOUT = "opencode"
RESULT = ".result"
"""What the key of a result has after the id of the part that holds its call too."""
ABORTED = "MessageAbortedError"
_Block = tuple[str, str, Kind, dict[str, Any], str]
"""Key, role, kind, payload, and why a part cannot be read."""


def chunks_of(session: Session) -> tuple[Chunk, ...]:
    chunks: list[Chunk] = []
    used: set[str] = set()
    number = -1
    places = {message.id: place for place, message in enumerate(session.messages)}
    for message in session.messages:
        about = message_facts(message, places)
        raws = {part.id: part.raw for part in message.parts}
        for group in _steps(message, str(about["role"]), places):
            before, place = "", 0
            for key, role, kind, payload, reason in group:
                if role != before:
                    number, place, before = number + 1, 0, role
                while key in used:
                    key = f"'{key}"
                used.add(key)
                own = {**about, **payload.pop(ABOUT, {})}
                damage = "unreadable-part" if reason else ""
                at = message.created or None
                chunks.append(
                    Chunk(
                        key,
                        len(chunks) + 1,
                        role,
                        kind,
                        payload | {ABOUT: own},
                        number,
                        place,
                        raws.get(key.lstrip("'").removesuffix(RESULT), message.raw),
                        damage,
                        reason,
                        at,
                    )
                )
                place += 1
    return tuple(chunks)


def about(chunk: Chunk) -> dict[str, Any]:
    value = chunk.payload.get(ABOUT)
    return value if isinstance(value, dict) else {}


def message_facts(message: StoredMessage, places: Mapping[str, int]) -> dict[str, Any]:
    info = message.info or {}
    role = info.get("role")
    facts: dict[str, Any] = {"message": places[message.id], "role": role if role in ("user", "assistant") else ""}
    model = info.get("model") if role == "user" else info
    if isinstance(model, dict) and isinstance(model.get("modelID"), str):
        facts["model"] = f"{model.get('providerID')}/{model['modelID']}"
    if role == "assistant":
        error = info.get("error")
        facts |= {"parent": places[info["parentID"]]} if isinstance(info.get("parentID"), str) and info["parentID"] in places else {}
        facts |= {name: True for name in ("summary", "finish") if info.get(name)}
        facts |= {"error": str(error.get("name")) if isinstance(error, dict) else "Error"} if error else {}
    return facts


def _steps(message: StoredMessage, role: str, places: Mapping[str, int]) -> Iterator[list[_Block]]:
    """The blocks of a message; those of each step of an answer, calls first and then their results."""
    spoken: list[_Block] = []
    results: list[_Block] = []
    is_empty = True
    if message.stops:
        spoken = [(message.id, role, Kind.UNREADABLE, {ABOUT: {"stops": message.reason}}, message.reason)]
        is_empty = False
    for part in message.parts:
        if role == "assistant" and part.value is not None and part.value.get("type") == "step-start" and spoken:
            yield spoken + results
            spoken, results = [], []
        for block in _blocks(part, role, places):
            (results if block[1] == "tool" else spoken).append(block)
            is_empty = False
    if is_empty:
        words = "a message without parts" if not message.parts else "a message without words"
        spoken = [(message.id, role, Kind.CONTROL, {"type": "control", "text": words, ABOUT: {"parts": len(message.parts)}}, "")]
        if message.reason:
            spoken = [(message.id, role, Kind.UNREADABLE, {}, message.reason)]
    yield spoken + results


def _blocks(part: StoredPart, role: str, places: Mapping[str, int]) -> Iterator[_Block]:
    value = part.value
    if value is None:
        yield part.id, role, Kind.UNREADABLE, {ABOUT: {"stops": part.reason}} if part.stops else {}, part.reason
        return
    kind, text = value.get("type"), value.get("text")
    if kind in ("text", "reasoning" if role == "assistant" else "text") and not isinstance(text, str) and not value.get("ignored"):
        yield part.id, role, Kind.UNREADABLE, {ABOUT: {"breaks": f"the {kind} of it is no text"}}, f"the {kind} of the part is no text"
    if kind == "text" and isinstance(text, str):
        yield part.id, role, Kind.TEXT, {"type": "text", "text": text} | ({ABOUT: {"ignored": True}} if value.get("ignored") else {}), ""
    elif kind == "reasoning" and isinstance(text, str):
        yield part.id, role, Kind.THINKING, {"type": "thinking", "text": text, **_signature(value)}, ""
    elif kind == "tool" and role == "assistant":
        yield from _tool(part.id, value)
    elif kind == "file" and isinstance(value.get("url"), str):
        mime = str(value.get("mime", ""))
        payload = {"url": value["url"], "mediaType": mime, "filename": value.get("filename")}
        is_text = mime in ("text/plain", "application/x-directory")
        shown = Kind.CONTROL if is_text else Kind.IMAGE if mime.startswith("image/") else Kind.FILE
        yield part.id, role, shown, {"type": shown.value, **payload}, ""
    elif kind == "compaction":
        # One that names no message here is looked for up to the first message.
        tail = {"tail": places.get(value["tail_start_id"], -1)} if isinstance(value.get("tail_start_id"), str) else {}
        yield part.id, role, Kind.CONTROL, {"type": "control", "text": "compaction", ABOUT: {"compaction": True, **tail}}, ""
    elif kind == "subtask":
        yield part.id, role, Kind.CONTROL, {"type": "control", "text": "subtask", ABOUT: {"subtask": True}}, ""


def _signature(value: dict[str, Any]) -> dict[str, str]:
    metadata = value.get("metadata")
    anthropic = metadata.get("anthropic") if isinstance(metadata, dict) else None
    signature = anthropic.get("signature") if isinstance(anthropic, dict) else None
    return {"signature": signature} if isinstance(signature, str) else {}


def _tool(id_: str, value: dict[str, Any]) -> Iterator[_Block]:
    state = value["state"] if isinstance(value.get("state"), dict) else {}
    call_id, name = value.get("callID"), value.get("tool")
    if not isinstance(call_id, str) or value.get("state") is None:
        reason = f"the part of a tool has no {'state' if isinstance(call_id, str) else 'callID'}"
        yield id_, "assistant", Kind.UNREADABLE, {ABOUT: {"breaks": reason}}, reason
        return
    if not isinstance(name, str):
        # What JavaScript makes of it is sent for its name.
        name = jsontext.compact(name) if "tool" in value else "undefined"
    status, output = state.get("status"), outcome(state)
    more = {ABOUT: {"stale": status if isinstance(status, str) else "unknown"}} if output is None else {}
    if reason := breaks(state):
        more = {ABOUT: {"breaks": reason}}
    call = {"type": "tool-call", "toolCallId": call_id, "toolName": name, "input": state.get("input", {})}
    yield id_, "assistant", Kind.TOOL_CALL, call | more, ""
    if output is not None:
        text, is_error = output
        time = state.get("time")
        cleared = {ABOUT: {"cleared": True}} if isinstance(time, dict) and time.get("compacted") else {}
        result = {"type": "tool-result", "toolCallId": call_id, "toolName": name, "content": text, "isError": is_error}
        yield f"{id_}{RESULT}", "tool", Kind.TOOL_RESULT, result | cleared, ""


def breaks(state: dict[str, Any]) -> str:
    """Why opencode cannot send what a tool gave; "" where it can. `toModelMessages` of 1.18.33, and each case run."""
    if state.get("status") != "completed":
        return ""
    time = state.get("time")
    if time is None:
        return "the ended tool has no time"
    if isinstance(time, dict) and time.get("compacted"):
        return ""
    if state.get("output") is None:
        return "the ended tool has no output"
    files = state.get("attachments")
    return "" if files is None or files == sound_attachments(state) else "the attachments of the tool are no list of files"


def sound_attachments(state: dict[str, Any]) -> list[Any]:
    files = state.get("attachments")
    return [
        file
        for file in (files if isinstance(files, list) else [])
        if isinstance(file, dict) and all(isinstance(file.get(name), str) for name in ("mime", "url"))
    ]


def outcome(state: dict[str, Any]) -> tuple[str, bool] | None:
    """What a tool gave and whether that is an error; None where it never ended."""
    if state.get("status") == "completed":
        return jsontext.shown(state.get("output")), False
    if state.get("status") == "error":
        metadata = state.get("metadata")
        if isinstance(metadata, dict) and metadata.get("interrupted") is True and isinstance(metadata.get("output"), str):
            return metadata["output"], False
        return "unknown error" if state.get("error") is None else jsontext.shown(state["error"]), True
    return None
