"""Session files in the notation of the conformance tables, as real bytes through the real line reader.

`U A(c1) R(c1=ok)` is a chain of entries e1, e2, e3. `A('t')` is an answer of text, `A(c1 c2)^error` one with two calls that failed, `R(-=x)`
a result without an id, `R(c1:toolUseId=x)` one that spells its key so, `S` a system message. SYN and NRP are what the programs make up.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from inspector.conversation.model import Conversation, Fact, Kind, Message
from inspector.programs.pi_openclaw.entries import read_session
from inspector.programs.pi_openclaw.facts import facts_of
from inspector.programs.pi_openclaw.readers.result_pairing import MISSING, NO_RESULT

HEADER = {
    "type": "session",
    "version": 3,
    "id": "00000000-0000-4000-8000-000000000001",
    "timestamp": "2026-01-05T10:00:00.000Z",
    "cwd": "/home/dev/app",
}
MADE_UP = {"SYN": MISSING, "NRP": NO_RESULT}
_TOKEN = re.compile(r"U|S|A\((?P<said>[^)]*)\)(?:\^(?P<stop>\w+))?|R\((?P<id>[^:=)]+)(?::(?P<key>\w+))?=(?P<text>\w+)\)")


def message(token: str) -> dict[str, Any]:
    found = _TOKEN.fullmatch(token)
    assert found, token
    if token in ("U", "S"):
        return {
            "role": "user" if token == "U" else "system",
            "content": "go on" if token == "U" else "be brief",
            "timestamp": 1767607200000,
        }
    if token[0] == "A":
        said = found["said"]
        blocks = (
            [{"type": "text", "text": said.strip("'")}]
            if said.startswith("'")
            else [{"type": "toolCall", "id": id_, "name": "run", "arguments": {}} for id_ in said.split()]
        )
        usual = "stop" if said.startswith("'") else "toolUse"
        about = {"api": "anthropic-messages", "provider": "anthropic", "model": "m1", "stopReason": found["stop"] or usual}
        return {"role": "assistant", "content": blocks, **about, "timestamp": 1767607200000}
    text = MADE_UP.get(found["text"], found["text"])
    id_ = {} if found["id"] == "-" else {found["key"] or "toolCallId": found["id"]}
    content = [{"type": "text", "text": text}]
    return {
        "role": "toolResult",
        **id_,
        "toolName": "run",
        "content": content,
        "isError": found["text"] in MADE_UP,
        "timestamp": 1767607200000,
    }


def entry(id_: str | None, parent: Any, **own: Any) -> dict[str, Any]:
    """An entry; parent ... = the key is absent."""
    at = {} if parent is ... else {"parentId": parent}
    own = {"type": "message"} | own
    return {"type": own.pop("type"), **({} if id_ is None else {"id": id_}), **at, "timestamp": "2026-01-05T10:00:01.000Z", **own}


def say(id_: str, parent: Any, token: str = "U", **own: Any) -> dict[str, Any]:
    """A message entry."""
    return entry(id_, parent, message=message(token), **own)


def chain(shape: str) -> list[dict[str, Any]]:
    tokens = [found.group() for found in _TOKEN.finditer(shape)]
    assert " ".join(tokens) == shape, shape
    return [say(f"e{at}", f"e{at - 1}" if at > 1 else None, token) for at, token in enumerate(tokens, start=1)]


def stored(lines: Iterable[Mapping[str, Any] | bytes], header: Mapping[str, Any] | None = HEADER, leaf: str | None = None) -> Conversation:
    """The whole file. A line given as bytes is written as it is."""
    held = [header, *lines] if header is not None else list(lines)
    data = b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in held)
    session = read_session(data)
    facts = facts_of(session, "file", control_rows=False)
    if leaf is not None:
        facts["leaf"] = Fact("leaf", leaf)
    return Conversation("s", "pi", tuple(session.chunks), facts)


def shape_of(messages: Sequence[Message]) -> str:
    """Messages in the notation; what a program made up is named by its words."""
    return " ".join(map(_shape, messages))


def _shape(message: Message) -> str:
    first = message.chunks[0]
    if message.role == "tool":
        text = next((name for name, words in MADE_UP.items() if words == first.text), first.text)
        return f"R({first.call_id or '-'}={text})"
    if message.role != "assistant":
        return {"user": "U", "system": "S"}.get(message.role, "?")
    calls = [chunk.call_id for chunk in message.chunks if chunk.kind is Kind.TOOL_CALL]
    stop = first.payload["entry"].get("stopReason")
    return f"A({' '.join(calls) if calls else repr(first.text)})" + (f"^{stop}" if stop in ("error", "aborted") else "")


def ids_of(path: Conversation) -> str:
    """The ids of the entries on a path, joined by commas."""
    return ",".join(dict.fromkeys(chunk.payload["entry"]["id"] for chunk in path.chunks if "entry" in chunk.payload))
