"""What the import of opencode 1.18.33 accepts, from its schemas of a session, a message and a part.

It stores each message and part as it comes to it, and ends at the first that its schema rejects: the session is then there without the rest. A member
that no schema names it leaves out.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_Schema = Any
"""A type of Python; a function that says what is wrong; a mapping of members, of which those named with "?" may be absent (and not null); or a list with the schema of its items."""


def _number(value: Any) -> str:
    return "" if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max else "no number"


def _count(value: Any) -> str:
    return _number(value) or ("" if value == int(value) >= 0 else "no whole number from 0 on")


def _positive(value: Any) -> str:
    return _number(value) or ("" if value >= 0 else "below 0")


def _id(prefix: str) -> Callable[[Any], str]:
    return lambda value: "" if isinstance(value, str) and value.startswith(prefix) else f"no id that begins with {prefix}"


def _one_of(*words: str) -> Callable[[Any], str]:
    return lambda value: "" if value in words else f"none of {', '.join(words)}"


def _record_of(schema: _Schema) -> Callable[[Any], str]:
    return lambda value: (
        problem(value, dict)
        or next(
            (f"{name}: {reason}" for name, item in value.items() if (reason := problem(item, schema))),
            "",
        )
    )


def _tagged(tag: str, schemas: Mapping[str, _Schema]) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        kind = value.get(tag) if isinstance(value, dict) else None
        if not isinstance(kind, str) or kind not in schemas:
            return f"{tag} is none of {', '.join(schemas)}"
        return problem(value, schemas[kind])

    return check


_TOKENS = {"total?": _number, "input": _number, "output": _number, "reasoning": _number, "cache": {"read": _number, "write": _number}}
_DIFF = {"file?": str, "patch?": str, "additions": _number, "deletions": _number, "status?": _one_of("added", "deleted", "modified")}
_MESSAGE_OF = {"message": str}
_API_ERROR = {
    "message": str,
    "statusCode?": _count,
    "isRetryable": bool,
    "responseHeaders?": _record_of(str),
    "responseBody?": str,
    "metadata?": _record_of(str),
}
_ERRORS = {
    "ProviderAuthError": {"providerID": str, "message": str},
    "UnknownError": {"message": str, "ref?": str},
    "MessageOutputLengthError": {},
    "MessageAbortedError": _MESSAGE_OF,
    "StructuredOutputError": {"message": str, "retries": _count},
    "ContextOverflowError": {"message": str, "responseBody?": str},
    "ContentFilterError": _MESSAGE_OF,
    "APIError": _API_ERROR,
}
_POINT = {"line": _count, "character": _count}
_SOURCE_TEXT = {"text": {"value": str, "start": _number, "end": _number}}
_FILE = {
    "mime": str,
    "filename?": str,
    "url": str,
    "source?": _tagged(
        "type",
        {
            "file": {**_SOURCE_TEXT, "path": str},
            "symbol": {**_SOURCE_TEXT, "path": str, "range": {"start": _POINT, "end": _POINT}, "name": str, "kind": _count},
            "resource": {**_SOURCE_TEXT, "clientName": str, "uri": str},
        },
    ),
}
_OWNED = {"id": _id("prt"), "sessionID": _id("ses"), "messageID": _id("msg")}
_STATE = _tagged(
    "status",
    {
        "pending": {"input": dict, "raw": str},
        "running": {"input": dict, "title?": str, "metadata?": dict, "time": {"start": _count}},
        "completed": {
            "input": dict,
            "output": str,
            "title": str,
            "metadata": dict,
            "time": {"start": _count, "end": _count, "compacted?": _count},
            "attachments?": [{**_OWNED, "type": _one_of("file"), **_FILE}],
        },
        "error": {"input": dict, "error": str, "metadata?": dict, "time": {"start": _count, "end": _count}},
    },
)
_MODEL = {"providerID": str, "modelID": str}
_PARTS: dict[str, _Schema] = {
    "text": {"text": str, "synthetic?": bool, "ignored?": bool, "time?": {"start": _count, "end?": _count}, "metadata?": dict},
    "subtask": {"prompt": str, "description": str, "agent": str, "model?": _MODEL, "command?": str},
    "reasoning": {"text": str, "metadata?": dict, "time": {"start": _count, "end?": _count}},
    "file": _FILE,
    "tool": {"callID": str, "tool": str, "state": _STATE, "metadata?": dict},
    "step-start": {"snapshot?": str},
    "step-finish": {"reason": str, "snapshot?": str, "cost": _number, "tokens": _TOKENS},
    "snapshot": {"snapshot": str},
    "patch": {"hash": str, "files": [str]},
    "agent": {"name": str, "source?": {"value": str, "start": _count, "end": _count}},
    "retry": {"attempt": _count, "error": {"name": _one_of("APIError"), "data": _API_ERROR}, "time": {"created": _count}},
    "compaction": {"auto": bool, "overflow?": bool, "tail_start_id?": _id("msg")},
}
_FORMATS = {"text": {}, "json_schema": {"schema": dict, "retryCount?": _count}}
_MESSAGES = {
    "user": {
        "time": {"created": _positive},
        "format?": _tagged("type", _FORMATS),
        "summary?": {"title?": str, "body?": str, "diffs": [_DIFF]},
        "agent": str,
        "model": {**_MODEL, "variant?": str},
        "system?": str,
        "tools?": _record_of(bool),
    },
    "assistant": {
        "time": {"created": _count, "completed?": _count},
        "error?": _tagged("name", {name: {"data": data} for name, data in _ERRORS.items()}),
        "parentID": _id("msg"),
        **_MODEL,
        "mode": str,
        "agent": str,
        "path": {"cwd": str, "root": str},
        "summary?": bool,
        "cost": _number,
        "tokens": _TOKENS,
        "variant?": str,
        "finish?": str,
    },
}
SESSION: _Schema = {
    "id": _id("ses"),
    "slug": str,
    "parentID?": _id("ses"),
    "workspaceID?": _id("wrk"),
    "summary?": {"additions": _number, "deletions": _number, "files": _number, "diffs?": [_DIFF]},
    "cost?": _number,
    "tokens?": _TOKENS,
    "share?": {"url": str},
    "title": str,
    "agent?": str,
    "model?": {"id": str, "providerID": str, "variant?": str},
    "version": str,
    "metadata?": dict,
    "time": {"created": _count, "updated": _count, "compacting?": _count, "archived?": _number},
    "permission?": [{"permission": str, "pattern": str, "action": _one_of("allow", "deny", "ask")}],
    "revert?": {"messageID": _id("msg"), "partID?": _id("prt"), "snapshot?": str, "diff?": str},
}
MESSAGE: _Schema = _tagged("role", {role: {"id": _id("msg"), "sessionID": _id("ses"), **schema} for role, schema in _MESSAGES.items()})
PART: _Schema = _tagged("type", {kind: {**_OWNED, **schema} for kind, schema in _PARTS.items()})
_WORDS = {str: "no text", bool: "neither true nor false", dict: "no object", list: "no list"}


def problem(value: Any, schema: _Schema) -> str:
    """Why the import rejects the value, with the members that lead there; "" where it takes it."""
    return next(_problems(value, schema), "")


def _problems(value: Any, schema: _Schema) -> Iterator[str]:
    if isinstance(schema, type):
        if not isinstance(value, schema):
            yield _WORDS[schema]
    elif isinstance(schema, dict):
        # A schema without members takes any value but null.
        if not isinstance(value, dict) if schema else value is None:
            yield _WORDS[dict]
            return
        for member, own in schema.items():
            name = member.removesuffix("?")
            if name not in value:
                if name == member:
                    yield f"{name} is missing"
            elif reason := problem(value[name], own):
                yield f"{name}: {reason}"
    elif isinstance(schema, list):
        if not isinstance(value, list):
            yield _WORDS[list]
            return
        for place, item in enumerate(value):
            if reason := problem(item, schema[0]):
                yield f"[{place}]: {reason}"
    elif reason := schema(value):
        yield reason
