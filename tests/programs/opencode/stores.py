"""Stores of opencode in the shape of its own: one session as values, and as a database, a tree of files, or an exported file."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

ID = "ses_dfed6d02cffecFPLux7ppaK4sy"
DIRECTORY = "/srv/demo/proj"
MODEL = {"providerID": "fake", "modelID": "m1"}
CREATED = 1_795_315_806_163
SESSION = {
    "id": ID,
    "slug": "kind-river",
    "projectID": "global",
    "directory": DIRECTORY,
    "title": "Read the notes",
    "version": "1.18.33",
    "time": {"created": CREATED, "updated": CREATED + 9000},
}
_TOKENS = {"input": 10, "output": 5, "reasoning": 0, "cache": {"read": 0, "write": 0}}
_OF_ANSWER = {"mode": "build", "agent": "build", "path": {"cwd": DIRECTORY, "root": "/"}, "cost": 0, "tokens": _TOKENS}
Message = tuple[dict[str, Any], list[dict[str, Any]]]


def _id(prefix: str, number: int) -> str:
    return f"{prefix}_2012{number:06x}001{'JuFreLjzAg0WSj'}"[:30]


def user(number: int, *parts: dict[str, Any]) -> Message:
    return {"id": _id("msg", number), "role": "user", "agent": "build", "model": MODEL, "time": {"created": CREATED + number}}, list(parts)


def answer(number: int, *parts: dict[str, Any], parent: int = 1, **more: Any) -> Message:
    time = {"created": CREATED + number, "completed": CREATED + number + 1}
    info = {
        "id": _id("msg", number),
        "role": "assistant",
        "parentID": _id("msg", parent),
        **_OF_ANSWER,
        **MODEL,
        "time": time,
        "finish": "stop",
    }
    return {name: value for name, value in {**info, **more}.items() if value is not None}, list(parts)


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def step() -> dict[str, Any]:
    return {"type": "step-start"}


def finished(reason: str) -> dict[str, Any]:
    return {"type": "step-finish", "reason": reason, "tokens": _TOKENS, "cost": 0}


def tool(call: str, status: str = "completed", name: str = "bash", **state: Any) -> dict[str, Any]:
    ended = {"completed": {"output": "a\nb\n", "title": "", "metadata": {}}, "error": {"error": "it failed"}}.get(status, {})
    time = {"start": CREATED, **({"end": CREATED + 1} if ended else {})}
    return {
        "type": "tool",
        "tool": name,
        "callID": call,
        "state": {"status": status, "input": {"command": "ls"}, **ended, "time": time, **state},
    }


CLEAN: list[Message] = [
    user(1, text("Read the notes.")),
    answer(
        2,
        step(),
        text("I look."),
        tool("call_a"),
        tool("call_b", name="read"),
        finished("tool-calls"),
        finish="tool-calls",
    ),
    answer(3, step(), text("Two lines."), finished("stop")),
]
KILLED: list[Message] = [
    *CLEAN,
    user(4, text("And now?")),
    answer(5, step(), text("I look."), tool("call_c"), tool("call_d", "running"), parent=4, finish=None, time={"created": CREATED + 5}),
]


def whole(messages: list[Message]) -> dict[str, Any]:
    """As an export has it: every message and part names what it belongs to."""
    entries = []
    for info, parts in messages:
        own = [
            {"id": part.get("id", f"{info['id'].replace('msg', 'prt')[:-2]}{place:02}"), "sessionID": ID, "messageID": info["id"], **part}
            for place, part in enumerate(parts)
        ]
        entries.append({"info": {**info, "sessionID": ID}, "parts": own})
    return {"info": SESSION, "messages": entries}


def export(folder: Path, messages: list[Message]) -> str:
    path = folder / "session.json"
    path.write_text(json.dumps(whole(messages), indent=2))
    return str(path)


def tree(folder: Path, messages: list[Message]) -> str:
    storage = folder / "storage"

    def put(place: str, value: Any) -> None:
        path = storage / f"{place}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value, indent=2))

    put(f"session/global/{ID}", SESSION)
    for entry in whole(messages)["messages"]:
        put(f"message/{ID}/{entry['info']['id']}", entry["info"])
        for part in entry["parts"]:
            put(f"part/{entry['info']['id']}/{part['id']}", part)
    return str(storage)


def database(folder: Path, messages: list[Message]) -> str:
    path = folder / "opencode.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE session (id text PRIMARY KEY, project_id text, parent_id text, slug text, directory text, title text, version text, "
            "agent text, time_created integer, time_updated integer, time_archived integer);"
            "CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, time_updated integer, data text);"
            "CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_created integer, time_updated integer, data text);"
            "CREATE TABLE credential (id text PRIMARY KEY, value text); INSERT INTO credential VALUES ('a', 'secret');"
        )
        row = (ID, "global", None, "kind-river", DIRECTORY, SESSION["title"], "1.18.33", "build", CREATED, CREATED + 9000, None)
        connection.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        for entry in whole(messages)["messages"]:
            info = entry["info"]
            data = json.dumps({name: value for name, value in info.items() if name not in ("id", "sessionID")})
            connection.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", (info["id"], ID, info["time"]["created"], 0, data))
            for part in entry["parts"]:
                data = json.dumps({name: value for name, value in part.items() if name not in ("id", "sessionID", "messageID")})
                connection.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", (part["id"], info["id"], ID, 0, 0, data))
        connection.commit()
    return str(path)


MAKERS = {"opencode": database, "opencode-storage": tree, "opencode-export": export}


def damage(path: str, message: int, part: int | None, change: Callable[[str], str]) -> None:
    """Changes what the row of a message, or of a part of it, keeps in its column `data`; both are counted from 0."""
    with closing(sqlite3.connect(path)) as connection:
        id_ = connection.execute("SELECT id FROM message ORDER BY time_created, id").fetchall()[message][0]
        if part is not None:
            id_ = connection.execute("SELECT id FROM part WHERE message_id = ? ORDER BY id", (id_,)).fetchall()[part][0]
        table = "message" if part is None else "part"
        ((data,),) = connection.execute(f"SELECT data FROM {table} WHERE id = ?", (id_,)).fetchall()
        connection.execute(f"UPDATE {table} SET data = ? WHERE id = ?", (change(data), id_))
        connection.commit()


def state(**members: Any) -> Callable[[str], str]:
    """A change of members of a tool's state; "absent" takes one away."""

    def change(data: str) -> str:
        value = json.loads(data)
        value["state"] = {name: item for name, item in {**value["state"], **members}.items() if item != "absent"}
        return json.dumps(value)

    return change


DAMAGES: dict[str, tuple[int, int | None, Callable[[str], str]]] = {
    "a text cut off": (1, 1, lambda data: data[:20]),
    "a step cut off": (1, 0, lambda data: data[:10]),
    "a message cut off": (1, None, lambda data: data[:20]),
    "a row without data": (0, 0, lambda data: ""),
    "attachments that are no list": (1, 2, state(attachments={})),
    "an attachment of nothing": (1, 2, state(attachments=[None])),
    "no time": (1, 2, state(time="absent")),
    "no output": (1, 2, state(output=None)),
    "no state": (1, 2, lambda data: data.replace('"state"', '"estate"')),
    "no id of the call": (1, 2, lambda data: data.replace('"callID"', '"call"')),
    "a text that is none": (1, 1, lambda data: data.replace('"I look."', "null")),
    "a row that is null": (1, 0, lambda data: "null"),
    "a state without status": (1, 2, state(status=None)),
    "an unknown status": (1, 2, state(status="weird")),
    "an error without words": (1, 2, state(status="error", output="absent")),
    "attachments of null": (1, 2, state(attachments=None)),
}
"""Changes of a row of CLEAN: at all but the last five every run of opencode 1.18.33 ends in an error."""
