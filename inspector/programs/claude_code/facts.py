"""What a session says of itself, as facts: versions that wrote it, model, folder, times, and how much of it a resume reaches."""

from collections.abc import Iterator, Sequence
from typing import Any

from inspector.conversation.model import Chunk, Conversation, Fact, Kind
from inspector.conversation.tree import Entry, entries
from inspector.programs.claude_code.leaf import is_side
from inspector.programs.claude_code.lines import ASSISTANT, SPOKEN, SYNTHETIC, USER, Session
from inspector.programs.claude_code.path import live_entries
from inspector.programs.claude_code.readers import LOADERS
from inspector.programs.claude_code.requests import last_request
from inspector.programs.claude_code.snapshots import BLOAT, bloat
from inspector.programs.claude_code.thinking import provider_of
from inspector.text import jsontext

_TITLE = 80
_NAMED = 8
_ERROR = 2000
NOT_TYPED = (
    "<command-name>",
    "<command-message>",
    "<local-command-stdout>",
    "<bash-",
    "Caveat:",
    "[Request interrupted",
    "<system-reminder>",
)
"""How texts begin that the program put into a message of the user (`formats/claude_code_codex.md` 1.4)."""


def facts_of(session: Session, tree: Conversation, key: str) -> dict[str, Fact]:
    lines = entries(tree)
    spoken_lines = [entry for entry in lines if entry.type in SPOKEN]
    main = [entry for entry in spoken_lines if entry.about.get("isSidechain") is not True] or spoken_lines
    answers = [model for entry in main if entry.type == ASSISTANT and (model := _model(entry)) and model != SYNTHETIC]
    path, _ = live_entries(tree, LOADERS[0])
    reached = {chunk.msg_idx for entry in path for chunk in entry.chunks if chunk.role}
    versions = list(dict.fromkeys(version for entry in lines if isinstance(version := entry.about.get("version"), str)))
    times = [chunk.at for chunk in tree.chunks if chunk.at is not None]
    values: dict[str, Any] = {
        "sessionId": next(_values(spoken_lines, "sessionId"), None),
        "version": versions[-1] if versions else None,
        "versions": ", ".join(versions[-_NAMED:]) if len(versions) > 1 else None,
        "cwd": next(_values(spoken_lines, "cwd"), None),
        "gitBranch": next(_values(spoken_lines[::-1], "gitBranch"), None) or None,
        "provider": provider_of(answers[-1]) if answers else None,
        "model": answers[-1] if answers else None,
        "models": ", ".join(dict.fromkeys(answers)) if len(set(answers)) > 1 else None,
        "agentId": next(_values(spoken_lines, "agentId"), None) if main and is_side(main[0]) else None,
        "createdAt": min(times, default=None),
        "lastActivityAt": max(times, default=None),
        "reachable": f"{len(reached)}/{len(main)}" if main else None,
        "apiError": _last_error(main) or None,
        "requests": sum(entry.type == "api-request" for entry in lines) or None,
        "lastRequest": last_request(tree) or None,
        "lines": session.lines,
        BLOAT: bloat(session.chunks) or None,
        "noLastLf": None if session.ended else "the last line has no LF: the next line that is added would be on the same line",
    }
    values |= {f"lines-{state}": _listed(indexes) for state, indexes in session.states.items()}
    return {
        name: Fact(name, value if isinstance(value, str) else jsontext.compact(value), key)
        for name, value in values.items()
        if value is not None
    }


def _last_error(lines: Sequence[Entry]) -> str:
    """The error of the provider that the session ends with; "" where an answer came after it."""
    for entry in reversed(lines):
        if entry.type == ASSISTANT:
            return entry.chunks[0].text[:_ERROR] if entry.about.get("isApiErrorMessage") is True else ""
    return ""


def _values(lines: Sequence[Entry], name: str) -> Iterator[str]:
    return (value for entry in lines if isinstance(value := entry.about.get(name), str))


def _model(entry: Entry) -> str:
    message = entry.about.get("message")
    model = message.get("model") if isinstance(message, dict) else None
    return model if isinstance(model, str) else ""


def _listed(indexes: Sequence[int]) -> str:
    shown = ", ".join(str(index + 1) for index in indexes[:_NAMED])
    return f"{len(indexes):,} (line {shown}{', …' if len(indexes) > _NAMED else ''})"


def title_of(chunks: Sequence[Chunk]) -> str:
    """The title that was given last, else the start of what a person typed first."""
    given = [
        chunk
        for chunk in chunks
        if chunk.kind is Kind.CONTROL and chunk.payload["entry"].get("type") in ("custom-title", "ai-title", "summary")
    ]
    own = next(
        (
            chunk.text
            for kind in ("custom-title", "ai-title", "summary")
            for chunk in reversed(given)
            if chunk.payload["entry"]["type"] == kind
        ),
        "",
    )
    words = own.strip() or next(_typed(chunks), "")
    line = " ".join(words[: _TITLE * 20].split())
    return line if len(line) <= _TITLE else f"{line[:_TITLE]}…"


def _typed(chunks: Sequence[Chunk]) -> Iterator[str]:
    for chunk in chunks:
        is_own = chunk.role == USER and chunk.kind is Kind.TEXT and chunk.payload["entry"].get("isMeta") is not True
        if is_own and chunk.text.strip() and not chunk.text.lstrip().startswith(NOT_TYPED):
            yield chunk.text
