"""A proxy that ends the answer right after a tool call, the same flow after its fix, and a call that came as text within reasoning: captures with times.

The flows are those of the proxy's own report of 2025-01-05; the words, names and times are our own.
"""

import json
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from inspector.streams.captures import own
from inspector.streams.model import End, Exchange, How, Read, Side

PREMATURE = "done-behind-the-call"
REPAIRED = "done-behind-the-end"
LEAKED = "call-in-reasoning"
IDS = {f"{name}.capture.jsonl": name for name in (PREMATURE, REPAIRED, LEAKED)}
"""Name of the file -> id of the only capture in it."""
_MODEL = "qwen2.5-coder:14b"
_CREATED_AT = "2025-01-05T16:42:07.{:03d}000Z"
_CREATED = 1736095327
_ARGUMENTS = {"path": "notes/backup.md", "content": "# Backup\n\nThe nightly backup runs at 02:00."}
_CALL = (
    "<toolbridge:calls><create_file>",
    "<path>notes/backup.md</path><content># Backup\n\nThe nightly backup runs at 02:00.</content>",
    "</create_file></toolbridge:calls>",
)
CAPTURED_AT = 1782640000
"""Epoch seconds, on 2026-06-28: when the files are said to have been written."""
_TAIL = "I have written the file. Next I check that the timer of the backup is enabled."
_THOUGHTS = (
    "The user", " asks how", " large the", " cache is", ".", " I have", " listed", " the folder", " twice", " already", ",", " and one",
    " listing", " was cut", " off", ".", " I list", " it again", " with", " sizes", ".", "\n<function=run_shell>", "\n<parameter=command>", "\nls -la .cache", "\n</parameter>", "\n</function>",
)  # fmt: skip

Step = tuple[float, Side, bytes | How]


def capture_files() -> Mapping[str, bytes]:
    """Name of the file -> its content, in our own format."""
    captures = ((PREMATURE, _premature()), (REPAIRED, _repaired()), (LEAKED, _leaked()))
    return {f"{name}.capture.jsonl": b"".join(own.written(exchange)) for name, exchange in captures}


def _tool(name: str, *parameters: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {parameter: {"type": "string"} for parameter in parameters}, "required": list(parameters)}
    return {"type": "function", "function": {"name": name, "description": f"Runs {name}.", "parameters": schema}}


def _request(words: str, *tools: dict[str, Any]) -> dict[str, Any]:
    return {"model": _MODEL, "stream": True, "messages": [{"role": "user", "content": words}], "tools": list(tools)}


def _line(words: str, at: int, **more: Any) -> bytes:
    message = {"role": "assistant", "content": words}
    return _encoded({"model": _MODEL, "created_at": _CREATED_AT.format(at), "message": message, "done": False} | more) + b"\n"


def _chunk(delta: Mapping[str, Any], finish: str | None = None, name: str = "chatcmpl-7c1f") -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return (
        b"data: "
        + _encoded({"id": name, "object": "chat.completion.chunk", "created": _CREATED, "model": _MODEL, "choices": [choice]})
        + b"\n\n"
    )


def _encoded(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


_DONE = b"data: [DONE]\n\n"
_LAST = {"done": True, "done_reason": "stop", "total_duration": 1204881000, "load_duration": 18220000, "prompt_eval_count": 412, "prompt_eval_duration": 208114000, "eval_count": 71, "eval_duration": 969004000}  # fmt: skip
B, C = Side.BACKEND, Side.CLIENT


def _called(at: float) -> list[Step]:
    """What the proxy makes of the call, as soon as it has read its closing tag."""
    call = {"index": 0, "id": "call_b41f07", "type": "function", "function": {"name": "create_file", "arguments": json.dumps(_ARGUMENTS)}}
    return [(at, C, _chunk({"role": "assistant", "content": None, "tool_calls": [call]})), (at + 0.3, C, _chunk({}, "tool_calls"))]


def _wrapped() -> list[Step]:
    return [(212.4 + 96.1 * number, B, _line(words, 212 + 96 * number)) for number, words in enumerate(_CALL)]


def _premature() -> Exchange:
    """The proxy sends [DONE] after the call, at input 3 of 5, and the client closes; what the model still says reaches nobody."""
    steps: list[Step] = [
        *_wrapped(),
        *_called(405.2),
        (405.9, C, _DONE),
        (407.1, C, How.EOF),
        (742.5, B, _line(_TAIL, 742)),
        (1204.9, B, _line("", 999, **_LAST)),
        (1205.3, B, How.EOF),
    ]
    return _exchange(PREMATURE, "Ended behind the tool call: Ollama through the proxy to an OpenAI client", steps)


def _repaired() -> Exchange:
    """The same answer after the fix: [DONE] waits for the backend's last line."""
    steps: list[Step] = [
        *_wrapped(),
        *_called(405.2),
        (1204.9, B, _line("", 999, **_LAST)),
        (1205.3, B, How.EOF),
        (1205.8, C, _DONE),
        (1206.2, C, How.EOF),
    ]
    return _exchange(REPAIRED, "The same after the fix: [DONE] behind the backend's own end", steps)


def _leaked() -> Exchange:
    """One side only, as `curl` would keep it: reasoning, a call in it, no answer, and an ordinary end."""
    steps: list[Step] = [(388.0, C, _chunk({"role": "assistant", "content": ""}, name="chatcmpl-20aa"))]
    steps += [
        (401.5 + 23.7 * number, C, _chunk({"reasoning_content": words}, name="chatcmpl-20aa")) for number, words in enumerate(_THOUGHTS)
    ]
    last = 401.5 + 23.7 * len(_THOUGHTS)
    steps += [(last, C, _chunk({}, "stop", name="chatcmpl-20aa")), (last + 0.4, C, _DONE), (last + 1.1, C, How.EOF)]
    request = _request("How large is the cache?", _tool("run_shell", "command"), _tool("read_file", "path"))
    protocols = {C: "openai-chat"}
    return Exchange(
        LEAKED,
        partial(_happenings, steps),
        (C,),
        request,
        "A tool call within the reasoning, and no answer",
        protocols,
        {C: "text/event-stream"},
        {C: 200},
        keeps_reads=True,
    )


def _exchange(name: str, title: str, steps: list[Step]) -> Exchange:
    request = _request(
        "Write down when the backup runs, in notes/backup.md.", _tool("create_file", "path", "content"), _tool("search", "query")
    )
    protocols = {B: "ollama-chat", C: "openai-chat"}
    types = {B: "application/x-ndjson", C: "text/event-stream"}
    return Exchange(name, partial(_happenings, steps), (B, C), request, title, protocols, types, {B: 200, C: 200}, keeps_reads=True)


def _happenings(steps: list[Step]) -> Iterator[Read | End]:
    for at, side, what in steps:
        yield Read(side, what, at) if isinstance(what, bytes) else End(side, what, at)
