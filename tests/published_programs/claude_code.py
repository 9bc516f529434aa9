"""Claude Code itself, on sessions of ours: what seven of its versions send when they resume them, to an endpoint on this machine, kept in claude_code.json.

A resume needs neither an account nor a key that is one. `python -m tests.published_programs.claude_code` asks them again and writes the file again.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from tests.programs.claude_code import families, families_sent
from tests.programs.claude_code.session_lines import ID, MODEL, lines
from tests.programs.claude_code.test_families_lines import FAMILIES as FAMILIES_OF_LINES
from tests.published_programs.running import FOLDER, HERE

KEPT = HERE / "claude_code.json"
VERSIONS = {
    "claude-code": "2.1.332",
    "claude-code-2.1.126": "2.1.200",
    "claude-code-2.1.92": "2.1.112",
    "claude-code-2.1.80": "2.1.86",
    "claude-code-2.1.47": "2.1.75",
    "claude-code-2": "2.1.12",
    "claude-code-1": "1.0.124",
}
"""By our reader of them."""
NEWEST, BEFORE = VERSIONS["claude-code"], VERSIONS["claude-code-2.1.126"]
PROMPT = "and now?"
SECONDS = 30
_LARGE = 1_000_000
_OWN = (PROMPT, "No response requested.", "Continue from where you left off.", "Warmup")
_OWN_BEGINS = ("<system-reminder>", "<available-deferred-tools>")
_EVENTS = (
    {
        "type": "message_start",
        "message": {
            "id": "msg_new",
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ok"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 1}},
    {"type": "message_stop"},
)
Said = list[str]
"""A block of the request each, as `role:what`: its text, or the call or result that it is."""


def sessions() -> dict[str, bytes]:
    of_content = {name: lines(*family.lines) for name, family in families.FAMILIES.items()}
    of_lines = {name: family.data for name, family in FAMILIES_OF_LINES.items()}
    of_sending = {name: lines(*values) for name, values in families_sent.SESSIONS.items()}
    return {name: data for name, data in (of_content | of_lines | of_sending).items() if len(data) < _LARGE}


def _program(version: str) -> list[str]:
    packages = FOLDER / f"claude-code-{version}/node_modules/@anthropic-ai"
    binary = packages / "claude-code-linux-x64/claude"
    return [str(binary)] if binary.exists() else ["node", str(packages / "claude-code/cli.js")]


def missing(version: str = NEWEST) -> str:
    if not shutil.which("node"):
        return "there is no node here: install node 20"
    return "" if Path(_program(version)[-1]).exists() else f"{_program(version)[-1]} is not there: `make programs` installs it"


@contextmanager
def endpoint() -> Iterator[tuple[int, list[Any]]]:
    """The port of an endpoint on this machine that answers every request, and the bodies of messages that it got."""
    bodies: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            is_counted = "count_tokens" in self.path
            if "messages" in self.path and not is_counted:
                bodies.append(json.loads(body))
            streamed = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in _EVENTS)
            self._answer(200, '{"input_tokens":1}' if is_counted else streamed, "application/json" if is_counted else "text/event-stream")

        def do_GET(self) -> None:
            self._answer(404, "", "text/plain")

        do_HEAD = do_GET

        def _answer(self, status: int, text: str, kind: str) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port, bodies
    finally:
        server.shutdown()
        server.server_close()


def sent(version: str, data: bytes) -> Said | None:
    """The history in the request of a resume; None where the program refuses to resume, or never gets there."""
    with tempfile.TemporaryDirectory(prefix="claude-code-") as folder, endpoint() as (port, bodies):
        home, work = Path(folder, "home"), Path(folder, "work")
        work.mkdir()
        project = home / ".claude/projects" / re.sub(r"[^A-Za-z0-9]", "-", str(work.resolve()))
        project.mkdir(parents=True)
        (project / f"{ID}.jsonl").write_bytes(data)
        surroundings = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(home),
            "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }
        command = [*_program(version), "-p", "--resume", ID, PROMPT, "--model", MODEL]
        # Of a loop of parents the walk never ended before 2.1.30.
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(command, cwd=work, env=surroundings, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False)
        # It asks for a title, and warms its cache, with requests of their own.
        resumed = [body["messages"] for body in bodies if _has(body["messages"], PROMPT)]
        return said(resumed[-1]) if resumed else None


def _has(messages: Sequence[Any], words: str) -> bool:
    return any(words in _texts(message) for message in messages)


def _texts(message: Any) -> list[str]:
    content = message["content"]
    return [content] if isinstance(content, str) else [block["text"] for block in content if isinstance(block, dict) and "text" in block]


def said(messages: Sequence[Any]) -> Said:
    """Without what the program adds of its own."""
    blocks = []
    for message in messages:
        role, content = message["role"], message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            try:
                words = _words[block["type"]](block) if block["type"] in _words else block["type"]
            except (KeyError, TypeError):
                words = json.dumps(block)
            is_own = words.startswith(_OWN_BEGINS) or words in _OWN
            if role != "system" and not is_own:
                # Half a character, which older versions send, as its escape.
                blocks.append(f"{role}:{words}".encode("utf-8", "backslashreplace").decode())
    return blocks


def _result(block: Any) -> str:
    content = block.get("content") or ""
    text = content if isinstance(content, str) else " ".join(part.get("text", part["type"]) for part in content)
    return f"result of {block['tool_use_id']}: {text.partition('<system-reminder>')[0].rstrip()}"[:80]


_words: dict[str, Callable[[Any], str]] = {
    "text": lambda block: block["text"].rstrip("\n")[:60],
    "tool_use": lambda block: f"call {block['id']}",
    "tool_result": _result,
    "thinking": lambda block: f"thinking {block['thinking'][:40]} {block.get('signature', 'unsigned')}",
}


def ask(version: str) -> dict[str, Said | None]:
    about = json.loads((FOLDER / f"claude-code-{version}/node_modules/@anthropic-ai/claude-code/package.json").read_bytes())
    # Answers of another binary were once kept as those of 2.1.332.
    assert about["version"] == version, (
        f"the folder of {version} holds {about['version']}: remove it, and `make programs` installs it again"
    )
    with ThreadPoolExecutor(3) as pool:
        return dict(zip(sessions(), pool.map(lambda data: sent(version, data), sessions().values()), strict=True))


def kept() -> dict[str, dict[str, Said | None]]:
    value: dict[str, dict[str, Said | None]] = json.loads(KEPT.read_text(encoding="utf-8"))
    return value


if __name__ == "__main__":
    for version in VERSIONS.values():
        if reason := missing(version):
            sys.exit(reason)
    KEPT.write_text(
        json.dumps({version: ask(version) for version in VERSIONS.values()}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
