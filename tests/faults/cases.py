"""The stores that are repaired under faults: one of each program and era that is written to, with each of its write modes.

Each holds next to the conversation that is repaired another one that nobody may touch.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inspector.demo.rollouts_incident import SESSION, incident_files
from tests.actions.building import broken, merged
from tests.postgres.making import dangling
from tests.programs.claude_code import session_lines as claude_code
from tests.programs.codex import threads as codex
from tests.programs.gemini_cli import chats as gemini
from tests.programs.pi_openclaw import session_files as rows
from tests.programs.rollouts.session_files import write as write_rollouts
from tests.programs.rollouts.strategies.repaired_sessions import CHILD, ERA_B, PARENT
from tests.programs.rollouts.strategies.repaired_sessions import call as rollouts_call
from tests.programs.rollouts.strategies.repaired_sessions import line as rollouts_line
from tests.programs.rollouts.strategies.repaired_sessions import session as rollouts_session
from tests.programs.rollouts.strategies.repaired_sessions import text as rollouts_text
from tests.sources.stores import crashed, insert, make

TWICE = (
    *("dispatch (DELETE) same-rows", "dispatch (WAL) new-conversation", "rollouts B same-file", "rollouts C child"),
    *("pi 3 replay-suffix", "openclaw new-session", "gemini-cli append-set"),
)
INTERRUPTED = ("insert-interrupted-result",)
OTHER = "0e6bd2a4-0000-4000-8000-000000000002"


@dataclass(frozen=True)
class Case:
    """`make` puts the store below a folder and gives the path of the source; for PostgreSQL it fills the empty database of an address."""

    program: str
    kind: str
    """files, sqlite or postgres"""
    make: Callable[[Any], str]
    conversation: str
    strategies: tuple[str, ...]
    mode: str

    @property
    def is_interrupted_twice(self) -> bool:
        """Whether the commands that settle an interrupted write have faults of their own here."""
        return self.name in TWICE

    @property
    def name(self) -> str:
        return f"{self.program} {self.mode}"


# Dispatch -------------------------------------------------------------------------------------------------------------------------


def _dispatch(journal: str) -> Callable[[Path], str]:
    def make_store(folder: Path) -> str:
        store = merged(to="c2")
        store.values = {**broken().values, **{key: value for key, value in store.values.items() if key != "conv-index"}}
        store.values["conv-index"] = json.dumps(["c1", "c2"])
        return str(make(folder / "dispatch.db", store.values, journal))

    return make_store


def _dispatch_with_log(folder: Path) -> str:
    """As a server leaves it that was killed: the last rows stand in the log only."""
    path = Path(_dispatch("WAL")(folder))
    crashed(path, insert("conv:c2:title", "last words"))
    return str(path)


# rollouts -------------------------------------------------------------------------------------------------------------------------


def _rollouts(folder: Path) -> str:
    return str(write_rollouts(folder, {**incident_files(), **rollouts_session(CHILD, [rollouts_line("user", "untouched")])}))


def _rollouts_b(folder: Path) -> str:
    """Of the time before the endpoint of today: the repair writes both files of the session."""
    lines = [
        rollouts_line("user", "go"),
        rollouts_line("assistant", [rollouts_text("I look"), rollouts_call("t1")]),
        rollouts_line("user", "and?"),
    ]
    untouched = rollouts_session(CHILD, [rollouts_line("user", "untouched")])
    return str(write_rollouts(folder, {**rollouts_session(PARENT, lines, endpoint=ERA_B), **untouched}))


_ERA_A = (
    b'{"type": "session", "id": "u-1", "timestamp": "2025-12-03T10:00:00", "cwd": "/w", "provider": "anthropic", "model": "m"}\n'
    b'{"type": "message", "timestamp": "2025-12-03T10:00:01", "message": {"role": "user", "content": "hi"}}\n'
    b'{"type": "message", "timestamp": "2025-12-03T10:00:02", "message": {"role": "assistant", "content": '
    b'[{"type": "text", "text": "I look"}, {"type": "toolCall", "id": "t1", "name": "bash", "arguments": {"cmd": "ls"}}]}}\n'
    b'{"type": "message", "timestamp": "2025-12-03T10:00:03", "message": {"role": "user", "content": "and?"}}\n'
)


def _rollouts_a(folder: Path) -> str:
    """One file for a session."""
    place = "sessions/--w--/2025-12-03T10-00-00_{}.jsonl"
    return str(write_rollouts(folder, {place.format("0b1c"): _ERA_A, place.format("77aa"): _ERA_A.replace(b"u-1", b"u-2")}))


# pi and OpenClaw ------------------------------------------------------------------------------------------------------------------


def _tree(session_id: str, **changed: object) -> bytes:
    return rows.lines(
        rows.header(id=session_id, **changed),
        rows.u("u1", None, "do it"),
        rows.a("a1", "u1", rows.text("well"), rows.call("c1", x="?")),
        rows.u("u2", "a1", "and?"),
    )


def _without_ids(data: bytes) -> bytes:
    """As version 1 writes: no ids and no parents."""
    lines = [json.loads(line) for line in data.splitlines()]
    return rows.lines(
        *({name: value for name, value in line.items() if line["type"] == "session" or name not in ("id", "parentId")} for line in lines)
    )


def _pi(version: int) -> Callable[[Path], str]:
    def make_store(folder: Path) -> str:
        for session_id, hour in ((rows.ID, "17"), (OTHER, "18")):
            data = _tree(session_id, version=version if version > 1 else ...)
            place = folder / "sessions" / "--home--" / f"2026-11-20T{hour}-33-07-691Z_{session_id}.jsonl"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data if version > 1 else _without_ids(data))
        return str(folder / "sessions")

    return make_store


def _openclaw(folder: Path) -> str:
    home = folder / "agents" / "main" / "sessions"
    home.mkdir(parents=True)
    for session_id in (rows.ID, OTHER):
        (home / f"{session_id}.jsonl").write_bytes(_tree(session_id))
    held = {
        f"agent:main:{number}": {"sessionId": session_id, "updatedAt": 1700000000000} for number, session_id in enumerate((rows.ID, OTHER))
    }
    (home / "sessions.json").write_bytes(json.dumps(held, indent=2).encode())
    return str(folder / "agents")


# Claude Code ----------------------------------------------------------------------------------------------------------------------


def _claude_code(folder: Path) -> str:
    lines = claude_code.lines(
        claude_code.u("u1", None),
        claude_code.a("a1", "u1", "msg_1", claude_code.text("I look"), 1),
        claude_code.a("a2", "a1", "msg_1", claude_code.call("t1"), 1),
        claude_code.u("u2", "a2", "and?", 2),
    )
    names = [f"{claude_code.PROJECT}/{session}.jsonl" for session in (claude_code.ID, claude_code.OTHER)]
    return str(claude_code.write(folder, dict.fromkeys(names, lines)) / "projects")


# Codex -----------------------------------------------------------------------------------------------------------------------------


def _codex(make_thread: Callable[..., bytes]) -> Callable[[Path], str]:
    def make_store(folder: Path) -> str:
        day = folder / "sessions" / "2026" / "11" / "22"
        day.mkdir(parents=True)
        for thread_id, records in ((codex.ID, codex.TURNS[:3]), (codex.OTHER, codex.TURNS)):
            name = codex.NAME.replace(codex.ID, thread_id)
            (day / name).write_bytes(make_thread(*records, id=thread_id))
        return str(folder / "sessions")

    return make_store


# Gemini CLI -----------------------------------------------------------------------------------------------------------------------


def _gemini(folder: Path) -> str:
    """Each repair is one line after the last: the file is appended to, and keeps its inode."""
    chats = folder / "project" / "chats"
    chats.mkdir(parents=True)
    broken_chat = [
        gemini.HEADER,
        gemini.user("u1", "go"),
        gemini.answer("m1", toolCalls=[gemini.tool_call("a")]),
        gemini.user("u2", "and?"),
    ]
    (chats / gemini.NAME).write_bytes(gemini.lines(*broken_chat))
    (chats / gemini.NAME.replace("4c59aa92", OTHER[:8])).write_bytes(
        gemini.lines(*gemini.CLEAN).replace(gemini.ID.encode(), OTHER.encode())
    )
    return str(folder / "project")


# Request bodies -------------------------------------------------------------------------------------------------------------------


def _body(folder: Path) -> str:
    used = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"cmd": "ls"}}
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "text", "text": "I look"}, used]},
        {"role": "user", "content": "and?"},
    ]
    folder = folder / "bodies"
    folder.mkdir()
    (folder / "other.json").write_text("{}")
    (folder / "request.json").write_text(json.dumps({"model": "claude-opus-4-5", "max_tokens": 100, "messages": messages}, indent=1))
    return str(folder / "request.json")


# gbrain ---------------------------------------------------------------------------------------------------------------------------


def _gbrain(address: str) -> str:
    dangling(address, 1)
    dangling(address, 2)
    return address


def _all() -> tuple[Case, ...]:
    dispatch = ("renumber-messages", *INTERRUPTED)
    tree = [("replay-suffix", "insert-and-reparent", "new-session"), ("insert-pi-result",), ("insert-openclaw-result",)]
    return (
        *(Case(f"dispatch ({journal})", "sqlite", _dispatch(journal), "c1", dispatch, mode)
          for journal in ("WAL", "DELETE") for mode in ("same-rows", "new-conversation")),
        Case("dispatch (PERSIST)", "sqlite", _dispatch("PERSIST"), "c1", dispatch, "same-rows"),
        Case("dispatch (WAL left)", "sqlite", _dispatch_with_log, "c1", dispatch, "same-rows"),
        *(Case("rollouts C", "files", _rollouts, SESSION, INTERRUPTED, mode) for mode in ("same-file", "child")),
        *(Case("rollouts B", "files", _rollouts_b, PARENT, ("migrate-endpoint", *INTERRUPTED), mode) for mode in ("same-file", "child")),
        Case("rollouts A", "files", _rollouts_a, "2025-12-03T10-00-00_0b1c", INTERRUPTED, "same-file"),
        *(Case("pi 3", "files", _pi(3), rows.ID, tree[1], mode) for mode in tree[0]),
        Case("pi 2", "files", _pi(2), rows.ID, tree[1], "insert-and-reparent"),
        Case("pi 1", "files", _pi(1), rows.ID, tree[1], "new-session"),
        *(Case("openclaw", "files", _openclaw, rows.ID, tree[2], mode) for mode in tree[0]),
        *(Case("claude-code", "files", _claude_code, claude_code.ID, INTERRUPTED, mode) for mode in ("same-file", "new-session")),
        *(Case("codex", "files", _codex(codex.thread), codex.ID, INTERRUPTED, mode) for mode in ("new-thread", "same-file")),
        *(Case("codex paginated", "files", _codex(codex.paginated), codex.ID, INTERRUPTED, mode) for mode in ("new-thread", "same-file")),
        Case("gemini-cli", "files", _gemini, gemini.ID, INTERRUPTED, "append-set"),
        Case("request body", "files", _body, "", ("insert-plain-result",), "same-file"),
        Case("gbrain", "postgres", _gbrain, "1", ("insert-ledger-results",), "fill-rows"),
    )  # fmt: skip


CASES = _all()
