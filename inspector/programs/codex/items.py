"""Which records Codex parses: one that it does not is left out without a word, whatever else it holds.

From its protocol (openai/codex, codex-rs/protocol and codex-rs/rollout) and from resuming threads with codex-cli 0.169.0 against an endpoint of our own.
"""

import re
from collections.abc import Mapping
from typing import Any

META, CONTEXT, ITEM, EVENT, COMPACTED = "session_meta", "turn_context", "response_item", "event_msg", "compacted"
STARTS = ("task_started", "turn_started")
"""Names of the event with which a turn starts."""
LEGACY, PAGINATED = "legacy", "paginated"
MODES = (LEGACY, PAGINATED)
_TEXT_PARTS = ("input_text", "output_text")
_DETAILS = (None, "auto", "low", "high", "original")
SEARCHES = {"search": ("query",), "open_page": ("url",), "find_in_page": ("url", "pattern")}
"""Texts of each action of a web search that is known."""
_UUID = re.compile(r"[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}")
_LONE = re.compile("[\ud800-\udfff]")
_OF_META = ("id", "timestamp", "cwd", "originator", "cli_version")
_REQUIRED: Mapping[str, Mapping[str, type | tuple[type, ...]]] = {
    "message": {"role": str, "content": list},
    "agent_message": {"author": str, "recipient": str, "content": list},
    "reasoning": {"summary": list},
    "local_shell_call": {"status": str, "action": dict},
    "function_call": {"name": str, "arguments": str, "call_id": str},
    # One without a call_id is parsed, and sent as it is (0.169.0, run).
    "function_call_output": {"output": (str, list)},
    "custom_tool_call": {"name": str, "input": str, "call_id": str},
    "custom_tool_call_output": {"call_id": str, "output": (str, list)},
    "tool_search_call": {"execution": str},
    "tool_search_output": {"status": str, "execution": str, "tools": list},
    "web_search_call": {},
    "image_generation_call": {"status": str, "result": str},
    "compaction": {"encrypted_content": str},
    "compaction_summary": {"encrypted_content": str},
    "context_compaction": {},
}
"""Type of an item that is sent -> members without which it is not parsed."""
_SHAPES: Mapping[type, str] = {str: "a text", list: "a list", dict: "an object"}


def is_uuid(value: Any) -> bool:
    return isinstance(value, str) and _UUID.fullmatch(value) is not None


def is_sent(item: Mapping[str, Any]) -> bool:
    """Whether an item of this type is ever sent: a snapshot of the work tree, a system message and a type that is not known are not."""
    kind = item.get("type")
    return isinstance(kind, str) and kind in _REQUIRED and not (kind == "message" and item.get("role") == "system")


def line_problem(record: Mapping[str, Any], text: str) -> str:
    """Why Codex leaves the record of a whole line out, as the end of a sentence; "" where it parses it, or knows no record of its type."""
    if "\\ud" in text.lower() and _has_lone_surrogate(record):
        return "it holds half a character (a lone surrogate), which Codex's JSON parser refuses"
    if not isinstance(record.get("timestamp"), str):
        return "it has no timestamp"
    payload = record.get("payload")
    match record.get("type"):
        case "session_meta":
            return meta_problem(payload)
        case "response_item":
            return item_problem(payload)
        case "compacted":
            return compaction_problem(payload)
    return ""


def meta_problem(payload: Any) -> str:
    if not isinstance(payload, dict):
        return "its payload is no object"
    missing = [name for name in _OF_META if not isinstance(payload.get(name), str)]
    if missing:
        return f"its payload has no {' and no '.join(missing)}"
    if not is_uuid(payload["id"]):
        return "its id is no UUID"
    mode = payload.get("history_mode", LEGACY)
    return "" if mode in MODES else "its history_mode is neither legacy nor paginated"


def item_problem(item: Any) -> str:
    """The same of a response item; one of a type that is not known is parsed, and not sent."""
    if not isinstance(item, dict):
        return "its payload is no object"
    kind = item.get("type")
    if not isinstance(kind, str):
        return "its payload has no type"
    for name, types in _REQUIRED.get(kind, {}).items():
        if not isinstance(item.get(name), types):
            wanted = " or ".join(_SHAPES[type_] for type_ in (types if isinstance(types, tuple) else (types,)))
            return f"the {name} of the {kind} is {'missing' if name not in item else f'not {wanted}'}"
    for name in ("id", "call_id"):
        if not isinstance(item.get(name), str | None):
            return f"the {name} of the {kind} is not a text"
    match kind:
        case "message":
            return next((reason for part in item["content"] if (reason := _part_problem(part))), "")
        case "function_call_output" | "custom_tool_call_output" if isinstance(item["output"], list):
            return next((reason for part in item["output"] if (reason := _part_problem(part, in_output=True))), "")
        case "reasoning":
            return _reasoning_problem(item)
        case "web_search_call":
            return _search_problem(item)
    return ""


def _part_problem(part: Any, in_output: bool = False) -> str:
    if not isinstance(part, dict):
        return "a part of its content is no object"
    kind = part.get("type")
    if kind in _TEXT_PARTS and not (in_output and kind == "output_text"):
        return "" if isinstance(part.get("text"), str) else f"an {kind} part of its content has no text"
    if kind == "input_image":
        if part.get("detail") not in _DETAILS:
            return "the detail of an input_image part of its content is none that Codex knows"
        has_image = isinstance(part.get("image_url"), str) or isinstance(part.get("file_id"), str)
        return "" if has_image else "an input_image part of its content has no image_url"
    if kind == "input_audio":
        return "" if isinstance(part.get("audio_url"), str) else "an input_audio part of its content has no audio_url"
    if kind == "encrypted_content" and in_output:
        return "" if isinstance(part.get("encrypted_content"), str) else "an encrypted_content part of its content has no text"
    return f"its content holds a part of the type {kind[:40]}" if isinstance(kind, str) else "a part of its content has no type"


def _reasoning_problem(item: Mapping[str, Any]) -> str:
    if not isinstance(item.get("encrypted_content"), str | None):
        return "the encrypted_content of the reasoning is not a text"
    content = [] if item.get("content") is None else item["content"]
    if not isinstance(content, list):
        return "the content of the reasoning is not a list"
    for parts, kinds in ((item["summary"], ("summary_text",)), (content, ("reasoning_text", "text"))):
        if not all(isinstance(part, dict) and part.get("type") in kinds and isinstance(part.get("text"), str) for part in parts):
            return f"the reasoning holds a part that is no text of the type {' or '.join(kinds)}"
    return ""


def _search_problem(item: Mapping[str, Any]) -> str:
    """An action of a type that Codex does not know is parsed, and sent as `other`."""
    action = item.get("action")
    if not isinstance(item.get("status"), str | None):
        return "the status of the web_search_call is not a text"
    if action is None:
        return ""
    if not isinstance(action, dict) or "type" not in action:
        return "the action of the web_search_call has no type"
    kind = action["type"] if isinstance(action["type"], str) else ""
    if any(not isinstance(action.get(name), str | None) for name in SEARCHES.get(kind, ())):
        return f"a member of the action {kind} of the web_search_call is not a text"
    queries = action.get("queries") if kind == "search" else None
    if queries is not None and not (isinstance(queries, list) and all(isinstance(query, str) for query in queries)):
        return "the queries of the web_search_call are no list of texts"
    return ""


def compaction_problem(payload: Any) -> str:
    if not isinstance(payload, dict):
        return "its payload is no object"
    if not isinstance(payload.get("message"), str):
        return "its payload has no message"
    items = payload.get("replacement_history")
    if items is None:
        return ""
    if not isinstance(items, list):
        return "its replacement_history is no list"
    for number, item in enumerate(items):
        if reason := item_problem(item):
            return f"item {number} of its replacement_history is not as Codex reads it: {reason}"
    return ""


def _has_lone_surrogate(value: Any) -> bool:
    """Without recursion: a line may be nested as deep as JSON is read here."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            if _LONE.search(item):
                return True
        elif isinstance(item, dict):
            waiting += item.keys()
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
    return False
