"""A rollouts session whose resumption was refused, with its crash file: the published incident of 2025-12-23, with words of our own.

Assistant messages follow each other on lines 12-13 and 15-16, the call on line 15 never got a result. Merged as it is stored, the request
holds two responses in messages.5, and messages.5.content.3 is the thinking of the second.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from typing import Any

from inspector.conversation.model import Message
from inspector.programs.rollouts.chunks import message_chunks
from inspector.programs.rollouts.projection import convert
from inspector.programs.rollouts.readers import Passes, RequestTarget, transformed
from inspector.programs.rollouts.writing import line_text, session_text
from inspector.text import jsontext

SESSION = "20251223_152205_b0fba6"
CRASH = "20251223_155514_ca6d0a"
MODEL = "claude-opus-4-5"
ERROR = (
    "Error code: 400 - {'type': 'error', 'error': {'type': 'invalid_request_error', 'message': 'messages.5.content.3: thinking or "
    "redacted_thinking blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.'}}"
)
_FILES = ("store", "dtypes", "agents", "cli", "slice", "export", "doctor", "transform")
Stored = dict[str, Any]


def _text(words: str) -> Stored:
    return {"type": "text", "text": words, "text_signature": None}


def _thinking(words: str) -> Stored:
    signature = base64.b64encode(hashlib.sha512(words.encode()).digest() * 2).decode()
    return {"type": "thinking", "thinking": words, "thinking_signature": signature}


def _call(call_id: str, name: str, arguments: Stored) -> Stored:
    unset = dict.fromkeys(("thought_signature", "parse_error", "raw_arguments"))
    return {"type": "toolCall", "id": f"toolu_{call_id}", "name": name, "arguments": arguments, **unset}


def _message(role: str, content: Any, time: str, call_id: str | None = None) -> Stored:
    own = ("anthropic", "anthropic-messages", MODEL) if role == "assistant" else (None, None, None)
    about = dict(zip(("provider", "api", "model"), own, strict=True))
    call = f"toolu_{call_id}" if call_id else None
    return {"role": role, "content": content, **about, "tool_call_id": call, "details": None, "timestamp": f"2025-12-23T{time}"}


def messages() -> list[Stored]:
    """The 19 stored messages, line by line."""
    reads = [_call(f"01read{number}", "read", {"path": f"rollouts/{name}.py"}) for number, name in enumerate(_FILES)]
    results = [
        _message("tool", f"# {name}.py\n\n(120 lines)", f"15:22:{30 + number:02}.000000", f"01read{number}")
        for number, name in enumerate(_FILES)
    ]
    return [
        _message("system", [_text("You are a careful coding agent. Use the tools; say what you changed.")], "15:22:05.123456"),
        _message("user", "Find out why resumed sessions are refused by the API.", "15:22:06.000001"),
        _message(
            "assistant",
            [
                _thinking("Resuming reads the store again, so I start with the eight modules around it."),
                _text("I read the modules first."),
                *reads,
            ],
            "15:22:28.400000",
        ),
        *results,
        _message("user", "Look at the serialisation of thinking blocks as well.", "15:24:10.000000"),
        _message("assistant", [_text("The signature is written and read back unchanged, so serialisation is not it.")], "15:26:41.900000"),
        _message(
            "assistant",
            [
                _thinking("The JSON round trip keeps the signature. What else could change a block? The list of messages around it."),
                _text("I run the persistence tests."),
                _call("02tests", "bash", {"command": "python -m pytest tests/test_session_persistence.py -q", "timeout": 60}),
            ],
            "15:27:02.300000",
        ),
        _message("tool", "3 passed in 0.41s", "15:27:04.100000", "02tests"),
        _message(
            "assistant",
            [
                _thinking(
                    "All pass, so a stored session must differ from a fresh one. I list the roles of a session that was interrupted."
                ),
                _text("I look at the roles of an interrupted session."),
                _call("03roles", "bash", {"command": "python -m rollouts.cli --export latest | head -40", "timeout": 600}),
            ],
            "15:28:55.000000",
        ),
        _message(
            "assistant",
            [
                _thinking("The command hung and was interrupted. Reading the file itself is enough."),
                _text("I read the file itself."),
                _call("04file", "read", {"path": "sessions/latest/messages.jsonl"}),
            ],
            "15:31:20.600000",
        ),
        _message("tool", "user\nassistant\nassistant\nassistant\ntool\nuser", "15:31:20.900000", "04file"),
        _message("user", "Good. What follows from that?", "15:55:13.500000"),
    ]


def refused() -> list[Stored]:
    """The request's list as the code of that day made it of these lines: merged, no synthetic results, orphaned calls included."""
    lines = [Message(chunks[0].role, tuple(chunks)) for chunks in (_chunks(index, message) for index, message in enumerate(messages()))]
    sent, _ = transformed(lines, RequestTarget("anthropic", "anthropic-messages"), Passes(synthesizes=False, filters=False))
    return convert(sent).values


def _chunks(index: int, message: Stored) -> Sequence[Any]:
    return message_chunks(SESSION, index, 1, b"", message)


def _session() -> Stored:
    endpoint = {
        **{"provider": "anthropic", "model": MODEL, "api_base": "https://api.anthropic.com", "max_tokens": 16384, "temperature": 1.0},
        **dict.fromkeys(("tool_choice", "parallel_tool_calls", "reasoning_effort", "max_completion_tokens")),
        **{"thinking": {"type": "enabled", "budget_tokens": 10000}, "max_retries": 10, "timeout": 120.0, "extra_params": None},
    }
    return {
        **{"session_id": SESSION, "parent_id": None, "branch_point": None, "endpoint": endpoint},
        **{"environment": {"type": "LocalFilesystemEnvironment", "config": {"confirm_tools": False}}, "environment_state": None},
        **{"status": "pending", "reward": None, "tags": {}},
        **{"created_at": "2025-12-23T15:22:05.120000", "updated_at": "2025-12-23T15:31:21.000000"},
    }


def _crash() -> Stored:
    trace = 'Traceback (most recent call last):\n  File "rollouts/providers/anthropic.py", in rollout_anthropic\nanthropic.BadRequestError: Error code: 400\n'
    about = {"timestamp": "2025-12-23T15:55:14.201000", "provider": "anthropic", "model": MODEL, "session_id": None}
    return {**about, "error_type": "BadRequestError", "error_message": ERROR, "traceback": trace, "messages": refused()}


def incident_files() -> dict[str, bytes]:
    """Path below the `.rollouts` folder -> content, byte for byte as rollouts writes such files."""
    lines = "".join(f"{line_text(message)}\n" for message in messages())
    return {
        f"sessions/{SESSION}/session.json": jsontext.encode(session_text(_session())),
        f"sessions/{SESSION}/messages.jsonl": jsontext.encode(lines),
        f"crashes/{CRASH}.txt": json.dumps(_crash(), indent=2).encode(),
    }
