"""Gemini CLI itself, on chats of ours: the requests of three resumes in a row, to an endpoint on this machine, kept in gemini_cli.json.

`python -m tests.published_programs.gemini_cli` asks it again and writes the file again. install.sh puts it into `var/programs` or what INSPECTOR_PROGRAMS names.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from inspector.text.json_lines import BOM
from tests.programs.gemini_cli.chats import (
    CLEAN,
    CONTEXT,
    HEADER,
    ID,
    NAME,
    TWO_CALLS,
    answer,
    lines,
    listed,
    of_bytes,
    response,
    resumed,
    rewind,
    user,
)
from tests.programs.gemini_cli.test_writing import repaired
from tests.published_programs.codex import endpoint
from tests.published_programs.running import FOLDER, HERE

KEPT = HERE / "gemini_cli.json"
PROGRAM = FOLDER / "gemini-cli-0.61.0/node_modules/@google/gemini-cli/bundle/gemini.js"
RESUMES = 3
WITHOUT_ID = {"functionCall": {"name": "ls", "args": {}}}, {"functionResponse": {"name": "ls", "response": {"output": "x"}}}
SECONDS = 60
_SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "privacy": {"usageStatisticsEnabled": False},
    "general": {"disableAutoUpdate": True},
}
_ANSWER = {
    "candidates": [{"content": {"role": "model", "parts": [{"text": "ok"}]}, "finishReason": "STOP", "index": 0}],
    "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
}
CHATS = {
    "never resumed": lines(*CLEAN),
    "resumed": lines(*resumed()),
    "results in the calls alone": lines(HEADER, user("u1", "go"), answer("m1", toolCalls=TWO_CALLS), answer("m2", "Done.")),
    "a rewind to an unknown record": lines(*CLEAN, rewind("u9"), user("u2", "And now?"), answer("m3", "Still here.")),
    "lines that end with CR": lines(*CLEAN)[:-1].replace(b"\n", b"\r") + b"\n",
    "an emptied list": lines(*CLEAN, listed(CONTEXT)),
    "ids that are missing": lines(
        HEADER, user("u1", "go"), answer("m1", [WITHOUT_ID[0]]), user("r1", WITHOUT_ID[1]), answer("m2", "Done.")
    ),
    "a result without an id": lines(*CLEAN[:6], user("r1", response("ls__a", "x"), WITHOUT_ID[1]), CLEAN[7]),
    "a part without words": lines(HEADER, user("u1", "go"), user("u2", {"text": None}), answer("m1", "Done.")),
    "a byte order mark": BOM + lines(*CLEAN),
    "nothing said": lines(HEADER, listed(CONTEXT), user("u1", "/help")),
    "an answer of a blank": lines(HEADER, listed(CONTEXT), answer("m1", " ")),
    "a line that is cut off": lines(*CLEAN[:6], '{"id":"r1","type":"us', *CLEAN[6:]),
}
CLEARED = {"a rewind to an unknown record", "an emptied list"}
UNREPAIRED = {
    "ids that are missing",
    "a result without an id",
    "a part without words",
    "a byte order mark",
    "nothing said",
    "an answer of a blank",
}


def files() -> dict[str, bytes]:
    """Chats of ours, and what our writer makes of them."""
    strategies = {name: ("restore-cleared-messages",) if name in CLEARED else () for name in CHATS if name not in UNREPAIRED}
    repairs = {
        f"{name}, repaired": repaired(of_bytes(CHATS[name]), *names, "record-results-once").records[0].value.data
        for name, names in strategies.items()
    }
    return CHATS | repairs


def missing() -> str:
    if not shutil.which("node"):
        return "there is no node here: install node 20"
    return "" if PROGRAM.exists() else f"{PROGRAM} is not there: `make programs` installs it"


def sent(data: bytes) -> list[list[Any]]:
    """Of each resume the contents that it sends of the chat: without what it says itself at its start, and without the new prompt."""
    with (
        tempfile.TemporaryDirectory(prefix="gemini-") as folder,
        endpoint(lambda body: f"data: {json.dumps(_ANSWER)}\n\n") as (port, bodies),
    ):
        home, work = Path(folder, "home"), Path(folder, "work")
        chats = home / ".gemini/tmp/work/chats"
        chats.mkdir(parents=True)
        work.mkdir()
        (chats / NAME).write_bytes(data)
        (chats.parent / ".project_root").write_text(str(work))
        (home / ".gemini/settings.json").write_text(json.dumps(_SETTINGS))
        (home / ".gemini/projects.json").write_text(json.dumps({"projects": {str(work): "work"}}))
        surroundings = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(home),
            "GEMINI_API_KEY": "none",
            "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{port}",
        }
        for number in range(RESUMES):
            command = ["node", str(PROGRAM), "--yolo", "--skip-trust", "-m", "gemini-2.5-pro", "--resume", ID, "-p", f"more {number}"]
            subprocess.run(command, cwd=work, env=surroundings, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False)
        return [_of_chat(json.loads(body)["contents"]) for body in bodies]


def _of_chat(contents: list[Any]) -> list[Any]:
    first = {**contents[0], "parts": contents[0]["parts"][1:]}
    return [*([first] if first["parts"] and len(contents) > 1 else []), *contents[1:-1]]


def ask() -> dict[str, Any]:
    return {name: sent(data) for name, data in files().items()}


def kept() -> dict[str, Any]:
    value: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8"))
    return value


if __name__ == "__main__":
    if reason := missing():
        sys.exit(reason)
    KEPT.write_text(json.dumps(ask(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
