"""Codex CLI itself, on threads of ours: what it sends when it resumes one, to an endpoint on this machine, kept in codex.json.

`python -m tests.published_programs.codex` asks it again and writes the file again. install.sh puts it into `var/programs` or what INSPECTOR_PROGRAMS names.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from tests.programs.codex.threads import ID, NAME, THREADS
from tests.programs.codex.writing_threads import repaired_threads
from tests.published_programs.running import FOLDER, HERE

KEPT = HERE / "codex.json"
PROGRAM = FOLDER / "codex-0.169.0/node_modules/.bin/codex"
SECONDS = 60
PROMPT = "and now?"
_CONFIG = """model = "gpt-5.1-codex"
model_provider = "local"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.local]
name = "local"
base_url = "http://127.0.0.1:{port}/v1"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
[analytics]
enabled = false
"""
_ANSWER = [
    {"type": "response.created", "response": {"id": "resp_1"}},
    {
        "type": "response.output_item.done",
        "item": {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]},
    },
    {"type": "response.completed", "response": {"id": "resp_1", "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}},
]
_OWN = ("You are a coding", "<skills_instructions", "<permissions instructions", "<collaboration_mode")
"""How messages begin that it puts in for the next turn, which no file holds."""


def missing() -> str:
    return "" if PROGRAM.exists() else f"{PROGRAM} is not there: `make programs` installs it"


def _events(body: bytes) -> str:
    return "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in _ANSWER)


@contextmanager
def endpoint(answer: Callable[[bytes], str] = _events) -> Iterator[tuple[int, list[bytes]]]:
    """The port of an endpoint on this machine that streams `answer` of each body, and the bodies that it got."""
    bodies: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers.get("content-length") or 0)))
            data = answer(bodies[-1]).encode()
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port, bodies
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def files() -> dict[str, bytes]:
    """Threads of ours, and what our writer makes of damaged ones."""
    return {**THREADS, **repaired_threads()}


def sent(data: bytes) -> list[Any] | None:
    """The items of its history in the request that it sends when it resumes the thread; None where it refuses to."""
    with tempfile.TemporaryDirectory(prefix="codex-") as folder, endpoint() as (port, bodies):
        home = Path(folder)
        day = home / "sessions/2026/11/22"
        day.mkdir(parents=True)
        id_ = _id_of(data)
        (day / NAME.replace(ID, id_)).write_bytes(data)
        (home / "work").mkdir()
        (home / "config.toml").write_text(_CONFIG.format(port=port))
        command = [str(PROGRAM), "exec", "resume", "--skip-git-repo-check", id_, PROMPT]
        surroundings = {"PATH": os.environ.get("PATH", ""), "HOME": folder, "CODEX_HOME": folder}
        subprocess.run(
            command, cwd=home / "work", env=surroundings, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False
        )
        return [plain(each) for each in json.loads(bodies[0])["input"] if not _is_own(each, folder)] if bodies else None


def _id_of(data: bytes) -> str:
    """That of the first line, where it is a session_meta with one."""
    match = re.match(rb'[^\n]*"id":"([0-9a-f-]{36})"', data)
    return match[1].decode() if match else ID


def _is_own(each: Mapping[str, Any], folder: str) -> bool:
    parts = each.get("content") if each.get("type") == "message" else None
    text = str(parts[0].get("text")) if isinstance(parts, list) and parts else ""
    return text.startswith(_OWN) or folder in text or text == PROMPT


def plain(each: Mapping[str, Any]) -> Any:
    """An item without what is null, and without ids that it gives to outputs itself."""
    kept = {name: _plain(value) for name, value in each.items() if value is not None and value != {}}
    if str(kept.get("type", "")).endswith("_output"):
        kept.pop("id", None)
    return dict(sorted(kept.items()))


def _plain(value: Any) -> Any:
    return {name: of for name, of in value.items() if of is not None} if isinstance(value, dict) else value


def kept() -> dict[str, list[Any] | None]:
    told: dict[str, list[Any] | None] = json.loads(KEPT.read_text("utf-8"))["sent"]
    return told


def ask() -> dict[str, list[Any] | None]:
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(files(), pool.map(sent, files().values()), strict=True))


if __name__ == "__main__":
    if reason := missing():
        sys.exit(reason)
    version = subprocess.run([str(PROGRAM), "--version"], capture_output=True, text=True, check=True).stdout.strip()
    KEPT.write_text(json.dumps({"version": version, "sent": ask()}, indent=1, ensure_ascii=True) + "\n", "utf-8")
