"""Chats of Gemini CLI in the shape of its own: lines as 0.61.0 writes them, and the folder of a project."""

import json
from pathlib import Path
from typing import Any

from inspector.programs.formats import Cell, Record, Stored
from inspector.programs.gemini_cli.format import GEMINI_CLI

ID = "4c59aa92-1a5d-469f-a7e5-f2e4c19f5bd2"
NAME = "session-2026-11-22T02-53-4c59aa92.jsonl"
HEADER = {
    "sessionId": ID,
    "projectHash": "2458f1",
    "startTime": "2026-11-22T02:53:17.792Z",
    "lastUpdated": "2026-11-22T02:53:17.792Z",
    "kind": "main",
}


def user(id_: str, *parts: Any) -> dict[str, Any]:
    content = [{"text": part} if isinstance(part, str) else part for part in parts]
    return {"id": id_, "timestamp": "2026-11-22T02:54:46.045Z", "type": "user", "content": content}


def answer(id_: str, text: Any = "I look.", **more: Any) -> dict[str, Any]:
    return {"id": id_, "timestamp": "2026-11-22T02:54:46.143Z", "type": "gemini", "content": text, **more}


def thoughts(text: str) -> list[dict[str, str]]:
    return [{"subject": "", "description": text, "timestamp": "2026-11-22T02:54:46.143Z"}]


def response(id_: str, output: str, name: str = "ls") -> dict[str, Any]:
    return {"functionResponse": {"id": id_, "name": name, "response": {"output": output}}}


def call(id_: str, name: str = "ls") -> dict[str, Any]:
    return {"functionCall": {"id": id_, "name": name, "args": {"path": "."}}}


def tool_call(id_: str, *result: Any, name: str = "ls") -> dict[str, Any]:
    entry = {"id": id_, "name": name, "args": {"path": "."}, "status": "success", "displayName": "Ls"}
    return {**entry, "result": list(result)} if result else {**entry, "status": "cancelled"}


def listed(*records: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"$set": {"messages": list(records), **more}}


def rewind(id_: str) -> dict[str, Any]:
    return {"$rewindTo": id_}


CONTEXT = user("ctx", "<session_context>\nThis is the Gemini CLI.\n</session_context>")
TWO_CALLS = [tool_call("ls__a", response("ls__a", "x")), tool_call("ls__b", response("ls__b", "y"))]
"""A turn with two calls, as a chat holds it that was never resumed: the answer is written twice, without its calls and with them."""
CLEAN: list[Any] = [
    HEADER,
    listed(CONTEXT),
    user("u1", "List the files."),
    {"$set": {"lastUpdated": "2026-11-22T02:54:46.046Z"}},
    answer("m1", thoughts=thoughts("I think."), model="gemini-2.5-pro"),
    answer("m1", thoughts=thoughts("I think."), model="gemini-2.5-pro", toolCalls=TWO_CALLS),
    user("r1", response("ls__a", "x"), response("ls__b", "y")),
    answer("m2", "Two files.", model="gemini-2.5-pro"),
]


def resumed() -> list[Any]:
    """The same after one resume by 0.61.0: each result in a record more, and each call with the results of both."""
    both = [response("ls__a", "x"), response("ls__b", "y")]
    calls = [tool_call("ls__a", *both), tool_call("ls__b", *both)]
    content = [{"text": "I think.", "thought": True}, {"text": "I look."}, call("ls__a"), call("ls__b")]
    return [
        *CLEAN,
        {"$set": {"sessionId": ID}},
        listed(
            CONTEXT,
            CLEAN[2],
            answer("m1", content, thoughts=thoughts("I think."), model="gemini-2.5-pro", toolCalls=calls),
            user("m1_response", *both),
            CLEAN[6],
            answer("m2", [{"text": "Two files."}], model="gemini-2.5-pro"),
        ),
        user("u2", "And the sizes?"),
        answer("m3", "Small.", model="gemini-2.5-pro"),
    ]


def lines(*records: Any) -> bytes:
    """JSON lines; a text is a line as it is."""
    return b"".join(
        (record if isinstance(record, str) else json.dumps(record, separators=(",", ":"))).encode() + b"\n" for record in records
    )


def stored(*records: Any, key: str = NAME) -> Stored:
    return of_bytes(lines(*records), key)


def of_bytes(data: bytes, key: str = NAME) -> Stored:
    (only,) = GEMINI_CLI.read([Record(key, Cell(data, "file"))])
    return only


def write(folder: Path, *records: Any, name: str = NAME) -> Path:
    """A chat in the folder of a project; returns the folder `chats`."""
    chats = folder / "tmp" / "proj" / "chats"
    chats.mkdir(parents=True, exist_ok=True)
    (chats / name).write_bytes(lines(*records))
    return chats
