"""What a rollout file says of its thread, as facts, and its title."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from inspector.conversation.model import Chunk, Fact, Message
from inspector.programs.codex.entries import NOT_UTF8, Rollout, entry_of
from inspector.programs.codex.items import META, PAGINATED
from inspector.programs.codex.readers import is_context
from inspector.text import json_lines, jsontext
from inspector.text.timestamps import milliseconds

STOPS = "stops"
"""The fact that says why Codex does not load the thread."""
_TITLE = 80
_NAMED = 20
_TYPED = ("user_message", "item_completed UserMessage")
_DAMAGE = (json_lines.TORN, json_lines.FUSED, json_lines.NUL, json_lines.NOT_JSON, json_lines.NOT_OBJECT, json_lines.BLANK, NOT_UTF8)


def facts_of(rollout: Rollout, key: str) -> dict[str, Fact]:
    meta, context, git = rollout.meta, rollout.context, _object(rollout.meta.get("git"))
    times = [chunk.at for chunk in rollout.chunks if chunk.at is not None]
    values: dict[str, Any] = {
        "id": meta.get("id"),
        "version": meta.get("cli_version"),
        "cwd": context.get("cwd") or meta.get("cwd"),
        "model": context.get("model"),
        "provider": meta.get("model_provider"),
        "originator": meta.get("originator"),
        "historyMode": meta.get("history_mode"),
        "parentSession": meta.get("forked_from_id"),
        "parentThread": meta.get("parent_thread_id"),
        "gitBranch": git.get("branch"),
        "gitCommit": git.get("commit_hash"),
        "createdAt": milliseconds(meta.get("timestamp")),
        "lastActivityAt": max(times, default=None),
        "status": rollout.running,
        "error": rollout.error,
        "lines": rollout.lines,
        STOPS: stops(rollout),
    }
    values |= {f"lines-{state}": _listed(rollout.states[state]) for state in _DAMAGE if state in rollout.states}
    if not rollout.ended:
        values["noLastLf"] = "the last line has no LF: Codex ends it before it writes its next record"
    return {name: Fact(name, _text(value), key) for name, value in values.items() if value is not None and value != ""}


def stops(rollout: Rollout) -> str:
    """Why Codex does not load the thread, as a sentence without its end; "" where it does."""
    if not rollout.first:
        return "the file holds no record"
    if lines := rollout.states.get(NOT_UTF8):
        return f"line {lines[0] + 1:,} is not UTF-8, and Codex reads no line of such a file (stream did not contain valid UTF-8)"
    if rollout.first_problem:
        return f"it cannot parse the session_meta, since {rollout.first_problem} (rollout does not start with session metadata)"
    if rollout.first != META:
        return "the first record is no session_meta (rollout does not start with session metadata)"
    if rollout.meta.get("history_mode") == PAGINATED and not _is_ordinal(rollout.last_ordinal):
        return "its last record has no ordinal (final paginated rollout record is missing an ordinal)"
    return ""


def _is_ordinal(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def title_of(chunks: Sequence[Chunk], native_id: str) -> str:
    """The start of what a person typed first: by the events, which hold nothing else, then by the user's messages that the program did not write."""
    words = next(_typed(chunks), "") or native_id
    line = " ".join(words[: _TITLE * 20].split())
    return line if len(line) <= _TITLE else f"{line[:_TITLE]}…"


def _typed(chunks: Sequence[Chunk]) -> Iterator[str]:
    for chunk in chunks:
        if entry_of(chunk).get("name") in _TYPED and chunk.text.strip():
            yield chunk.text
    for chunk in chunks:
        if chunk.role == "user" and chunk.text.strip() and not is_context(Message("user", (chunk,))):
            yield chunk.text


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _listed(lines: Sequence[int]) -> str:
    """How many, and which, counted from 1 as editors do."""
    shown = ", ".join(str(line + 1) for line in lines[:_NAMED])
    return f"{len(lines):,} (line {shown}{', …' if len(lines) > _NAMED else ''})"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else jsontext.compact(value)
