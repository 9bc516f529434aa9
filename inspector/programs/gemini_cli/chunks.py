"""Records of a chat as chunks: each part of a message is one, and so is each result that only the record of its call keeps.

A payload has under `chat` what the loader makes of it beyond its words: `why` of a record that is not live any more (see `records`), `type` of a record that
is no message, `unlisted` of a call that is in `toolCalls` only, though the content lists calls or thoughts: then it is not sent; `copies`, parts
that `toolCalls` keeps of results which a record of their own holds too, and in the same words; `only`, its results are kept so in `toolCalls` and nowhere else:
they are chunks of their own, since a repair writes no `toolCalls`. `lostCalls` and `isHole` are on the first chunk of a record.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any, NamedTuple

from inspector.conversation.model import Chunk, Kind
from inspector.programs.gemini_cli.records import Chat, ChatRecord
from inspector.text import jsontext
from inspector.text.json_lines import SessionLine
from inspector.text.timestamps import milliseconds
from inspector.wires.ids import tied, with_names
from inspector.wires.shapes.gemini import read

ABOUT = "chat"
RESPONSE = "_response"
"""What the id of a record has at its end that 0.61.0 makes of the results in `toolCalls`."""


class _Block(NamedTuple):
    record: str
    role: str
    kind: Kind
    payload: dict[str, Any]
    damage: str = ""
    reason: str = ""


def chunks_of(chat: Chat) -> tuple[Chunk, ...]:
    """All chunks of the chat. Keys are the id of the record and the number of the part; messages count from 0, and so does a line that is not read."""
    live = _recorded(chat.live.values())
    of_ended = _recorded([*chat.live.values(), *chat.ended.values()])
    names = chat.live.keys() | chat.ended.keys()
    chunks: list[Chunk] = []
    used: set[str] = set()
    number = -1
    for item in chat.ordered():
        if isinstance(item, SessionLine):
            number += 1
            chunks.append(_unread(_unused(f"line:{item.index}.0", used), len(chunks) + 1, item))
            continue
        raw, at = jsontext.encode(jsontext.compact(item.value)), milliseconds(item.value.get("timestamp"))
        parts: dict[str, int] = {}
        before, place = ("", ""), 0
        for block in _blocks(item, of_ended if item.why else live, names):
            if (block.record, block.role) != before:
                number, place, before = number + 1, 0, (block.record, block.role)
            part = parts.get(block.record, 0)
            state = _state(item) if not parts else {"why": item.why} if item.why else {}
            parts[block.record] = part + 1
            payload = _about(block.payload, **state)
            own_key = _unused(f"{block.record}.{part}", used)
            chunks.append(
                Chunk(own_key, len(chunks) + 1, block.role, block.kind, payload, number, place, raw, block.damage, block.reason, at)
            )
            place += 1
    return tuple(with_names(tied(chunks)))


def record_of(chunk: Chunk) -> str:
    """The id of the record that the chunk is in, or will be in after a repair."""
    return chunk.key.rpartition(".")[0]


def about(chunk: Chunk) -> Mapping[str, Any]:
    value = chunk.payload.get(ABOUT)
    return value if isinstance(value, Mapping) else {}


def without(chunk: Chunk, *names: str) -> dict[str, Any]:
    """The payload with these of its notes taken out."""
    kept = {name: value for name, value in about(chunk).items() if name not in names}
    payload = {name: value for name, value in chunk.payload.items() if name != ABOUT}
    return payload | {ABOUT: kept} if kept else payload


def parts_of(content: Any) -> list[Any]:
    """The content of a record as a list of parts, as the program makes one."""
    if isinstance(content, list):
        return [{"text": part} if isinstance(part, str) else part for part in content]
    return [{"text": content}] if isinstance(content, str) else [] if content is None else [content]


def result_parts(call: Mapping[str, Any]) -> list[Any]:
    """The parts that the loader makes of the result of a call in `toolCalls`."""
    result = call.get("result")
    if isinstance(result, str) and result:
        return [{"functionResponse": {"id": call.get("id"), "name": call.get("name"), "response": {"output": result}}}]
    return parts_of(result) if isinstance(result, list) else [result] if isinstance(result, dict) else []


def calls_of(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    calls = value.get("toolCalls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def _state(record: ChatRecord) -> dict[str, Any]:
    state = {"why": record.why, "lostCalls": list(record.lost_calls), "isHole": record.is_hole}
    return {name: value for name, value in state.items() if value}


def _blocks(record: ChatRecord, recorded: Mapping[str, set[str]], names: Set[str]) -> Iterator[_Block]:
    value, id_ = record.value, str(record.value.get("id"))
    match value.get("type"):
        case "user":
            yield from _of_parts(id_, "user", parts_of(value.get("content")))
        case "gemini":
            response = id_ + RESPONSE
            while response in names:
                response += RESPONSE
            yield from _answer(id_, value, recorded, response)
        case _:
            kind = value.get("type") if isinstance(value.get("type"), str) else "unknown"
            text = "".join(
                part["text"] for part in parts_of(value.get("content")) if isinstance(part, dict) and isinstance(part.get("text"), str)
            )
            yield _Block(id_, "", Kind.CONTROL, {"type": "control", "text": text, ABOUT: {"type": kind}})


def _of_parts(record: str, role: str, parts: list[Any]) -> Iterator[_Block]:
    for block in read({"role": "model" if role == "assistant" else role, "parts": parts}):
        yield _Block(record, block.role, block.kind, dict(block.payload), block.damage, block.reason)


def _answer(id_: str, value: Mapping[str, Any], recorded: Mapping[str, set[str]], response: str) -> Iterator[_Block]:
    """The answer, and in a record of the name `response` what its `toolCalls` alone keep of results."""
    parts = parts_of(value["content"]) if value.get("content") else []
    listed = [part for part in parts if isinstance(part, dict)]
    has_calls, has_thoughts = any(part.get("functionCall") for part in listed), any(part.get("thought") for part in listed)
    given: dict[str, list[Any]] = {}
    for call in calls_of(value):
        if isinstance(call.get("id"), str):
            given.setdefault(call["id"], []).extend(result_parts(call))
    is_whole = has_calls or has_thoughts
    blocks = [*_of_parts(id_, "assistant", [*([] if is_whole else _thoughts(value)), *parts])] if parts or value.get("thoughts") else []
    in_content = {block.payload.get("toolCallId") for block in blocks if block.kind is Kind.TOOL_CALL}
    for call in calls_of(value):
        # An id may be a list or an object, which no set can look for.
        if isinstance(call.get("id"), list | dict) or call.get("id") not in in_content:
            part = {"functionCall": {"id": call.get("id"), "name": call.get("name"), "args": call.get("args", {})}}
            more = {"unlisted": True} if is_whole else {}
            blocks += [block._replace(payload=_about(block.payload, **more)) for block in _of_parts(id_, "assistant", [part])]
    results: list[_Block] = []
    for block in blocks:
        own = given.pop(str(block.payload.get("toolCallId")), []) if block.kind is Kind.TOOL_CALL else []
        if not own:
            yield block
        elif _are_copies(own, recorded):
            yield block._replace(payload=_about(block.payload, copies=own))
        else:
            yield block._replace(payload=_about(block.payload, only=True))
            results += _of_parts(response, "user", own)
    yield from results


def _thoughts(value: Mapping[str, Any]) -> list[Any]:
    thoughts = value.get("thoughts")
    return [
        {
            "text": f"**{thought['subject']}** {thought.get('description')}" if thought.get("subject") else thought.get("description"),
            "thought": True,
        }
        for thought in (thoughts if isinstance(thoughts, list) else [])
        if isinstance(thought, dict) and isinstance(thought.get("description"), str)
    ]


def _recorded(records: Iterable[ChatRecord]) -> dict[str, set[str]]:
    """Id of a call -> the parts of the user's records with a result of it. The id alone makes no copy: what the call keeps may say something else."""
    recorded: dict[str, set[str]] = {}
    for record in records:
        parts = parts_of(record.value.get("content")) if record.value.get("type") == "user" else []
        if ids := _ids(parts):
            texts = {_canonical(part) for part in parts}
            for id_ in ids:
                recorded.setdefault(id_, set()).update(texts)
    return recorded


def _are_copies(parts: list[Any], recorded: Mapping[str, set[str]]) -> bool:
    """Whether each of them is in a user's record that has a result of the same call; of one id there may be thousands."""
    texts_of = [recorded.get(id_, set()) for id_ in _ids(parts)]
    return all(any(text in texts for texts in texts_of) for text in map(_canonical, parts))


def _canonical(part: Any) -> str:
    return json.dumps(part, sort_keys=True)


def _ids(parts: list[Any]) -> set[str]:
    responses = [part["functionResponse"] for part in parts if isinstance(part, dict) and isinstance(part.get("functionResponse"), dict)]
    return {response["id"] for response in responses if isinstance(response.get("id"), str)}


def _about(payload: dict[str, Any], **more: Any) -> dict[str, Any]:
    return payload | {ABOUT: payload.get(ABOUT, {}) | more} if more else payload


def _unused(key: str, used: set[str]) -> str:
    while key in used:
        key = f"'{key}"
    used.add(key)
    return key


def _unread(key: str, seq: int, line: SessionLine) -> Chunk:
    reason = line.parts[0].reason or f"{len(line.parts)} records without a line end between them"
    text = f"{reason}; line {line.index + 1} of the file" + ("" if line.ended else ", which ends in it without a line end")
    return Chunk(key, seq, "", Kind.UNREADABLE, {}, raw=line.raw, damage=line.states[-1], reason=text)
