"""Sessions in rollouts' own spelling: lines, session.json, and records as the folder source gives them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inspector.conversation.model import Conversation
from inspector.programs.formats import Cell, Record, Stored
from inspector.programs.rollouts.format import ROLLOUTS
from inspector.programs.rollouts.writing import line_text, session_text

ID = "20261120_172534_5b6b77"
FOLDER = f".rollouts/sessions/{ID}"
GOLDEN_LINE = (
    '{"role": "assistant", "content": [{"type": "thinking", "thinking": "日本 \u2028 x", "thinking_signature": "SIG"}, '
    '{"type": "text", "text": "hi", "text_signature": null}, {"type": "toolCall", "id": "t1", "name": "bash", '
    '"arguments": {"b": 1, "a": [1.0, null]}, "thought_signature": null, "parse_error": null, "raw_arguments": null}], '
    '"provider": "anthropic", "api": "anthropic-messages", "model": "m", "tool_call_id": null, "details": null, '
    '"timestamp": "2025-12-23T15:22:05.123456"}'
)
GOLDEN_SESSION = """{
  "session_id": "20261120_172534_5b6b77",
  "parent_id": null,
  "branch_point": null,
  "endpoint": {
    "provider": "anthropic",
    "model": "m",
    "api_base": "",
    "max_tokens": 8192,
    "temperature": 1.0,
    "tool_choice": null,
    "parallel_tool_calls": null,
    "reasoning_effort": null,
    "max_completion_tokens": null,
    "thinking": null,
    "max_retries": 10,
    "timeout": 120.0,
    "extra_params": null
  },
  "environment": {
    "type": "none",
    "config": {
      "confirm_tools": false
    }
  },
  "environment_state": null,
  "status": "pending",
  "reward": null,
  "tags": {},
  "created_at": "2026-11-20T17:25:34.075480",
  "updated_at": "2026-11-20T17:25:34.075480"
}"""


def session(**changed: Any) -> str:
    """The golden session.json with other values; a value of `...` leaves the key out."""
    found = json.loads(GOLDEN_SESSION) | changed
    return session_text({name: value for name, value in found.items() if value is not ...})


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words, "text_signature": None}


def thinking(words: str, signature: str | None = "SIG") -> dict[str, Any]:
    return {"type": "thinking", "thinking": words, "thinking_signature": signature}


def call(call_id: str, name: str = "bash", **given: Any) -> dict[str, Any]:
    rest = dict.fromkeys(("thought_signature", "parse_error", "raw_arguments"))
    return {"type": "toolCall", "id": call_id, "name": name, "arguments": given, **rest}


def message(role: str, content: Any, call_id: str | None = None, **changed: Any) -> dict[str, Any]:
    own = ("anthropic", "anthropic-messages", "m") if role == "assistant" else (None, None, None)
    about = dict(zip(("provider", "api", "model"), own, strict=True))
    rest = {"tool_call_id": call_id, "details": None, "timestamp": "2026-11-20T17:25:35.000000"}
    return {"role": role, "content": content, **about, **rest, **changed}


def u(words: str = "go") -> dict[str, Any]:
    return message("user", words)


def a(*blocks: Any) -> dict[str, Any]:
    return message("assistant", list(blocks))


def r(call_id: str, words: str = "done") -> dict[str, Any]:
    return message("tool", words, call_id)


def lines(*messages: Mapping[str, Any]) -> bytes:
    return "".join(f"{line_text(each)}\n" for each in messages).encode()


def records(messages: bytes | None, meta: str | bytes | None = GOLDEN_SESSION, **more: bytes) -> list[Record]:
    """Files of the one session; `more` are files by path below `.rollouts`, with `__` for a slash and `_dot_` for a dot."""
    found = {f"{FOLDER}/messages.jsonl": messages, f"{FOLDER}/session.json": meta.encode() if isinstance(meta, str) else meta}
    found |= {f".rollouts/{key.replace('__', '/').replace('_dot_', '.')}": data for key, data in more.items()}
    return [Record(key, Cell(data, "file")) for key, data in sorted(found.items()) if data is not None]


def stored(messages: bytes | None, meta: str | bytes | None = GOLDEN_SESSION) -> Stored:
    (found,) = ROLLOUTS.read(records(messages, meta))
    return found


def conversation(*messages: Mapping[str, Any]) -> Conversation:
    return stored(lines(*messages)).conversation


def write(folder: Path, files: Mapping[str, bytes]) -> Path:
    """The `.rollouts` folder below `folder`."""
    for key, data in files.items():
        place = folder / ".rollouts" / key
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    return folder / ".rollouts"


def everything(folder: Path) -> dict[str, bytes]:
    """Every file and folder below, by path; folders end with a slash."""
    found = {f"{place.relative_to(folder).as_posix()}/": b"" for place in folder.rglob("*") if place.is_dir()}
    return found | {place.relative_to(folder).as_posix(): place.read_bytes() for place in folder.rglob("*") if place.is_file()}
