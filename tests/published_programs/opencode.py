"""opencode itself, on sessions of ours that it imports: what it sends on the next turns, to an endpoint on this machine, kept in opencode.json.

`python -m tests.published_programs.opencode` asks it again and writes the file again. install.sh puts it into `var/programs` or what INSPECTOR_PROGRAMS names.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.programs.opencode.stores import (
    CLEAN,
    CREATED,
    DAMAGES,
    ID,
    KILLED,
    Message,
    answer,
    damage,
    database,
    export,
    step,
    text,
    tool,
    user,
)
from tests.programs.opencode.writing_sessions import import_file
from tests.published_programs.codex import endpoint
from tests.published_programs.running import FOLDER, HERE

KEPT = HERE / "opencode.json"
PROGRAM = FOLDER / "opencode-1.18.33/node_modules/opencode-linux-x64/bin/opencode"
TURNS = 3
SECONDS = 120
_COMPACTED = [
    user(1, text("go")),
    answer(2, step(), text("aye")),
    user(3, {"type": "compaction", "auto": True}),
    answer(4, step(), text("a summary"), parent=3, summary=True),
    user(5, text("on")),
    answer(6, step(), text("well"), parent=5),
]
_FAILED = [
    user(1, text("go")),
    answer(2, step(), text("I look."), tool("call_a"), error={"name": "UnknownError", "data": {"message": "it broke"}}),
    user(3, text("on")),
    answer(4, step(), text("well"), parent=3),
]
_REASONED = [
    user(1, text("go")),
    answer(2, step(), {"type": "reasoning", "text": "hm", "time": {"start": CREATED, "end": CREATED}}, text("I look."), tool("call_a")),
]
SESSIONS: dict[str, list[Message]] = {
    "clean": CLEAN,
    "reasoning": _REASONED,
    "killed": KILLED,
    "compacted": _COMPACTED,
    "a failed answer": _FAILED,
}
REPAIRS = {"killed": "insert-interrupted-result", "a failed answer": "keep-failed-answer"}
REPAIRED = ("a text cut off", "a step cut off", "a message cut off", "attachments that are no list", "no time", "no output", "no state")


def files() -> dict[str, tuple[str, bytes]]:
    """Id and content of sessions of ours as exported files, and of what our writer makes of some."""
    contents: dict[str, tuple[str, bytes]] = {}
    for name, messages in SESSIONS.items():
        with tempfile.TemporaryDirectory() as folder:
            path = export(Path(folder), messages)
            contents[name] = ID, Path(path).read_bytes()
            if name in REPAIRS:
                contents[f"{name}, repaired"] = import_file(path, REPAIRS[name])
    for name in REPAIRED:
        with tempfile.TemporaryDirectory() as folder:
            path = database(Path(folder), CLEAN)
            damage(path, *DAMAGES[name])
            contents[f"{name}, repaired"] = import_file(path, "drop-broken-parts")
    return contents


def missing() -> str:
    return "" if PROGRAM.exists() else f"{PROGRAM} is not there: `make programs` installs it"


def _answer(body: bytes) -> str:
    chunks: list[Any] = [{"role": "assistant", "content": "ok"}, {}]
    events = [
        {
            "id": "c",
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": delta, "finish_reason": None if delta else "stop"}],
        }
        for delta in chunks
    ]
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"


def sent(session: str, data: bytes, turns: int, change: tuple[Any, ...] | None = None) -> list[list[Any]]:
    """Of each turn the messages that it sends: without its own instructions, and without the new prompt. A row of its database is damaged before."""
    with tempfile.TemporaryDirectory(prefix="opencode-") as folder, endpoint(_answer) as (port, bodies):
        work, config = Path(folder, "work"), Path(folder, ".config/opencode/opencode.json")
        work.mkdir()
        config.parent.mkdir(parents=True)
        options = {"baseURL": f"http://127.0.0.1:{port}/v1", "apiKey": "none"}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "fake", "options": options, "models": {"m1": {"name": "m1"}}}
        config.write_text(json.dumps({"autoupdate": False, "share": "disabled", "model": "fake/m1", "provider": {"fake": provider}}))
        file = Path(folder, "session.json")
        file.write_bytes(data)
        surroundings = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": folder,
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
        }

        def run(*words: str) -> None:
            command = [str(PROGRAM), *words]
            subprocess.run(
                command, cwd=work, env=surroundings, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=change is None
            )

        run("import", str(file))
        if change is not None:
            damage(f"{folder}/.local/share/opencode/opencode.db", *change)
        for number in range(turns):
            run("run", "-s", session, "-m", "fake/m1", f"more {number}")
        run("session", "delete", session)
        return [[message for message in json.loads(body)["messages"] if message["role"] != "system"][:-1] for body in bodies]


def ask() -> dict[str, Any]:
    whole_files = files()
    answers = {name: sent(session, data, TURNS if "repaired" in name else 1) for name, (session, data) in whole_files.items()}
    return answers | {name: sent(*whole_files["clean"], 1, change) for name, change in DAMAGES.items()}


def kept() -> dict[str, Any]:
    value: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8"))
    return value


if __name__ == "__main__":
    if reason := missing():
        sys.exit(reason)
    KEPT.write_text(json.dumps(ask(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
