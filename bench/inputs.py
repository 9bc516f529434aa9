"""Stores of any size, the same on every run: the payloads of agents at work, written as session files of pi, OpenClaw and Claude Code and as a dispatch.db.

python -m bench.inputs OUT [--conversations N] [--chunks M] writes a dispatch.db.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from inspector.demo.appending import Append, Payload, Row, call, conversation_rows, index_row, result, text, thinking, workspace_row
from inspector.demo.creation import write_dispatch_store
from inspector.sources.problems import SourceProblem

CONVERSATIONS, CHUNKS = 1_000, 200_000
LOST = 23
"""In a session with a lost result it is that of the call with this number."""
_START = 1_790_000_000_000
_WORDS = (
    "retry queue parser stream commit index chunk replay token shard cursor gateway buffer worker schema lease fetch patch merge orphan result "
    "ledger branch snapshot session provider model prompt kernel store reconcile timeout signal render diff guard audit naïve “quoted” 検索"
)
_LENGTHS = {"user": 4.6, "thinking": 5.8, "text": 5.4, "call": 4.6, "result": 5.6}
"""Logarithm of the usual number of characters."""

Chunk = tuple[str, Payload]
"""Kind (`user`, `thinking`, `text`, `call`, `result`), and the payload as Dispatch stores it."""


class _Words:
    """Text of a wanted length, cut from one long text: choosing each word takes longer than importing it."""

    def __init__(self, random: Random) -> None:
        self._random = random
        choices = _WORDS.split()
        self._all = " ".join(random.choice(choices) + ("\n" if number % 23 == 22 else "") for number in range(20_000))

    def of(self, kind: str) -> str:
        random = self._random
        size = max(20, int(random.lognormvariate(_LENGTHS[kind], 0.7)))
        if kind == "result" and random.random() < 0.5:
            size = random.choice((80, 200, 400, 900, 6000))
        start = random.randrange(len(self._all) - min(size, 12_000))
        return self._all[start : start + min(size, 12_000)]


def chunks(random: Random, total: int) -> Iterator[Chunk]:
    """Turns of a user's text, steps of thinking, text, a call and its result, and an answer; cut after `total`."""
    words, count, turn = _Words(random), 0, 0
    while count < total:
        turn += 1
        for kind, payload in _turn(random, words, f"turn-{_START + turn * 60_000}-{random.getrandbits(24):06x}"):
            yield kind, payload
            count += 1
            if count == total:
                return


def _turn(random: Random, words: _Words, turn: str) -> Iterator[Chunk]:
    yield "user", text(words.of("user"))
    for step in range(random.randint(1, 6)):
        step_id, call_id = f"{turn}#{step}", f"toolu_{random.getrandbits(96):024x}"
        tool = random.choice(("bash", "read", "grep"))
        yield "thinking", thinking(words.of("thinking"))
        yield "text", text(words.of("text"))
        yield "call", call(call_id, tool, {"command": words.of("call"), "description": "step"}, step_id)
        yield "result", result(call_id, tool, words.of("result"), random.random() < 0.05, step_id)
    yield "text", text(words.of("text"))


# Session files


def session(
    path: Path, total: int, seed: int, is_openclaw: bool = False, loses: bool = False, needles: dict[int, str] | None = None
) -> Path:
    """A session file of pi or OpenClaw with `total` chunks. `loses`: without the result of one call. `needles`: words of entries, by their number."""
    random = Random(seed)
    native_id = str(UUID(int=random.getrandbits(128), version=4))
    cwd = "/home/dev/.openclaw/workspace" if is_openclaw else "/home/dev/project"
    head = {"type": "session", "version": 3, "id": native_id, "timestamp": "2026-09-21T00:00:00.000Z", "cwd": cwd}
    with path.open("w") as file:
        file.write(_line(head))
        file.writelines(map(_line, entries(random, total, loses, needles or {})))
    return path


def grown(path: Path, entry_count: int, seed: int = 9) -> int:
    """Appends so many entries of a new turn; returns their bytes."""
    with path.open("rb") as file:
        parent = json.loads(file.readlines()[-1])["id"]
    new = "".join(map(_line, entries(Random(seed), entry_count, False, {}, parent)))
    with path.open("a") as file:
        file.write(new)
    return len(new.encode())


def entries(random: Random, total: int, loses: bool, needles: dict[int, str], parent: str | None = None) -> Iterator[dict[str, Any]]:
    """As pi writes them, of `total` chunks (with a lost result one less): an answer's thinking, text and call are one entry."""
    first, calls = random.getrandbits(31) if parent else 0, 0
    for number, message in enumerate(_messages(chunks(random, total))):
        if message["role"] == "toolResult":
            calls += 1
            if loses and calls == LOST:
                continue
        if number in needles:
            message["content"][0] = {"type": "text", "text": needles[number]}
        entry_id = f"{first + number:08x}"
        stamp = f"2026-09-{21 + number % 7:02}T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}.000Z"
        entry = {"type": "message", "id": entry_id, "parentId": parent, "timestamp": stamp}
        yield entry | {"message": message | {"timestamp": _START + number * 1_000}}
        parent = entry_id


def _messages(chunks_: Iterator[Chunk]) -> Iterator[dict[str, Any]]:
    answer: list[dict[str, Any]] = []
    for kind, payload in chunks_:
        if kind in ("user", "result") and answer:
            yield _answer(answer)
            answer = []
        if kind == "user":
            yield {"role": "user", "content": [{"type": "text", "text": payload["text"]}]}
        elif kind == "result":
            content = [{"type": "text", "text": payload["content"]}]
            about = {"toolCallId": payload["toolCallId"], "toolName": payload["toolName"], "isError": payload["isError"]}
            yield {"role": "toolResult", **about, "content": content}
        elif kind == "thinking":
            answer.append({"type": "thinking", "thinking": payload["text"], "thinkingSignature": payload["text"][:64]})
        elif kind == "call":
            answer.append({"type": "toolCall", "id": payload["toolCallId"], "name": payload["toolName"], "arguments": payload["input"]})
        else:
            answer.append({"type": "text", "text": payload["text"]})
    if answer:
        yield _answer(answer)


def _answer(content: list[dict[str, Any]]) -> dict[str, Any]:
    usage = {"input": 10, "output": 20, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 30}
    about = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude-sonnet-4-5", "usage": usage}
    return {"role": "assistant", "content": content, **about, "stopReason": "toolUse" if content[-1]["type"] == "toolCall" else "stop"}


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


def fleet(folder: Path, per_file: int, large: tuple[int, ...], files: int = 100) -> list[Path]:
    """`files` sessions of `per_file` chunks and one of each size of `large`, half of them OpenClaw's, each program in a folder of its own."""
    paths = []
    for number, size in enumerate([per_file] * files + list(large)):
        is_openclaw = bool(number % 2)
        home = folder / (".openclaw/sessions" if is_openclaw else "pi")
        home.mkdir(parents=True, exist_ok=True)
        paths.append(session(home / f"{number:03}.jsonl", size, number, is_openclaw, loses=number % 10 == 0))
    return paths


def claude_session(path: Path, total: int, seed: int) -> Path:
    """A session file of Claude Code with `total` chunks, one a line: lines of one answer have its id."""
    random = Random(seed)
    session_id, parent, answer = path.stem, None, ""
    with path.open("w") as file:
        for number, (kind, payload) in enumerate(chunks(random, total)):
            line = {"parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": "/home/dev/project"}
            line |= {"sessionId": session_id, "version": "2.0.0", "gitBranch": "main"}
            parent = str(UUID(int=random.getrandbits(128), version=4))
            stamp = f"2026-09-{21 + number % 7:02}T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}.000Z"
            if kind in ("user", "result"):
                answer = ""
                line |= {"type": "user", "message": {"role": "user", "content": _claude_content(kind, payload)}}
            else:
                answer = answer or f"msg_{random.getrandbits(96):024x}"
                message = {"role": "assistant", "content": _claude_content(kind, payload), "id": answer, "type": "message"}
                message |= {"model": "claude-sonnet-4-5", "stop_reason": None, "stop_sequence": None, "usage": _CLAUDE_USAGE}
                line |= {"type": "assistant", "message": message, "requestId": f"req_{answer[4:]}"}
            file.write(_line(line | {"uuid": parent, "timestamp": stamp}))
    return path


_CLAUDE_USAGE = {"input_tokens": 10, "output_tokens": 20, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


def _claude_content(kind: str, payload: Payload) -> str | list[dict[str, Any]]:
    if kind == "user":
        return str(payload["text"])
    if kind == "result":
        about = {"tool_use_id": payload["toolCallId"], "content": payload["content"], "is_error": payload["isError"]}
        return [{"type": "tool_result", **about}]
    if kind == "call":
        return [{"type": "tool_use", "id": payload["toolCallId"], "name": payload["toolName"], "input": payload["input"]}]
    if kind == "thinking":
        return [{"type": "thinking", "thinking": payload["text"], "signature": payload["text"][:64]}]
    return [{"type": "text", "text": payload["text"]}]


def claude_fleet(folder: Path, per_file: int, large: tuple[int, ...], files: int = 100) -> list[Path]:
    """As `fleet`, of Claude Code: one project."""
    home = folder / "projects" / "-home-dev-project"
    home.mkdir(parents=True, exist_ok=True)
    sizes = [per_file] * files + list(large)
    ids = [UUID(int=Random(number).getrandbits(128), version=4) for number in range(len(sizes))]
    return [claude_session(home / f"{id_}.jsonl", size, number) for number, (id_, size) in enumerate(zip(ids, sizes, strict=True))]


# dispatch.db


def rows(conversations: int = CONVERSATIONS, chunk_count: int = CHUNKS) -> Iterator[Row]:
    """All rows of the store; `chunk_count` is the number in all, spread evenly."""
    random = Random(7)
    ids = [str(UUID(int=random.getrandbits(128), version=4)) for _ in range(conversations)]
    end = _START
    for number, native_id in enumerate(ids):
        size = chunk_count // conversations + (number < chunk_count % conversations)
        start = _START + number * 600_000
        appends = list(_appends(random, size))
        end = start + len(appends) * 4_000
        yield from conversation_rows(native_id, appends, start, end, {"cwd": "/home/dev/project", "model": "umans/umans-flash"})
    yield index_row(ids)
    yield workspace_row("default", "/home/dev/project", _START, end)


def _appends(random: Random, size: int) -> Iterator[Append]:
    """A step's thinking, text and call in one append with its result, as the incremental era writes them."""
    answer: list[Payload] = []
    for kind, payload in chunks(random, size):
        if kind == "user":
            if answer:
                yield (("assistant", tuple(answer)),)
                answer = []
            yield (("user", (payload,)),)
        elif kind == "result":
            yield (("assistant", tuple(answer)), ("tool", (payload,)))
            answer = []
        else:
            answer.append(payload)
    if answer:
        yield (("assistant", tuple(answer)),)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Write a large Dispatch store, the same on every run.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--conversations", type=int, default=CONVERSATIONS)
    parser.add_argument("--chunks", type=int, default=CHUNKS)
    options = parser.parse_args(arguments)
    if options.conversations < 1 or options.chunks < options.conversations:
        parser.error("every conversation needs a chunk: give at least one conversation, and no fewer chunks than conversations.")
    try:
        write_dispatch_store(options.out, rows(options.conversations, options.chunks))
    except SourceProblem as problem:
        parser.error(str(problem))
    sys.stdout.write(f"{options.out}: {options.chunks:,} chunks in {options.conversations:,} conversations\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
