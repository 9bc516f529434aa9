"""What a session file says of itself, as facts: header, model, times, damaged lines, and how much of its tree the last line reaches."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inspector.conversation.model import Chunk, Fact, Kind
from inspector.programs.pi_openclaw.entries import ParsedSession, moment
from inspector.programs.pi_openclaw.lines import version_of
from inspector.text import jsontext

Entry = Mapping[str, Any]
_TITLE = 80
_NAMED = 20
_HIDDEN_PROVIDER = "openclaw"
"""Assistants of this provider are copies of what was delivered elsewhere; they name no model."""
NO_HEADER = (
    "The first record of the file is no session header: pi since 0.80.3 refuses the file, 0.50 to 0.80.2 overwrite it when they open it, "
    "OpenClaw 2026.7 puts a new header in front; repair it before any of them opens it."
)
NO_HEADER_ID = (
    "The id of the session header is no text: pi takes such a line for no header, refuses the file since 0.80.3 and overwrites it before that "
    "when it opens it; repair it before any of them opens it."
)
MARK = (
    "The file begins with a byte order mark, with which the header is no JSON: pi 0.87.1 refuses the file, 0.73.1 opens it but leaves it out of "
    "its list; take the first three bytes away while no program has it open."
)
EMPTY = "The file is empty: nothing was ever written to it, or all of it is lost; look for copies next to it."


@dataclass(frozen=True, slots=True)
class TreeShape:
    """`path` from its root to the leaf, as indexes of entries; `why` it ended early: "" | "dangling" | "cycle"."""

    leaf: str
    path: tuple[int, ...]
    why: str
    roots: int
    dangling: int
    leaves: int
    in_cycles: int


def facts_of(session: ParsedSession, key: str, control_rows: bool, place: str = "line", first: int = 1) -> dict[str, Fact]:
    """`control_rows`: rows of type `leaf` choose the leaf, as in OpenClaw. `place`, `first`: what a line is called, and what the first is counted as."""
    tree = tree_of(session.entries, control_rows)
    entries, header = session.entries, session.header
    path = [entries[index] for index in tree.path]
    values: dict[str, Any] = {
        "id": header.get("id"),
        "version": _version(header) if header else None,
        "cwd": header.get("cwd"),
        "parentSession": header.get("parentSession") or header.get("branchedFrom"),
        **_setting(header, path),
        "createdAt": moment(header.get("timestamp")),
        "lastActivityAt": max((chunk.at for chunk in session.chunks if chunk.at is not None), default=None),
        "status": _ending(path),
        "lastLeaf": tree.leaf or None,
        "reachable": f"{len(tree.path)}/{len(entries)}",
        "pathEnds": tree.why or None,
        "lines": session.lines,
    }
    values["lastActivityAt"] = values["lastActivityAt"] or values["createdAt"]
    counts = (("roots", tree.roots), ("danglingParents", tree.dangling), ("leaves", tree.leaves), ("entriesInCycles", tree.in_cycles))
    values |= {name: count for name, count in counts if count}
    values |= {f"lines-{state}": _listed(lines, place, first) for state, lines in session.states.items()}
    values |= _byte_notes(session)
    return {name: Fact(name, _text(value), key) for name, value in values.items() if value is not None and value != ""}


def _byte_notes(session: ParsedSession) -> dict[str, str]:
    """What of the bytes is not as the programs write it; all of it is kept."""
    problem = header_problem(session)
    notes = {"headerProblem": problem} if problem else {}
    if session.bom:
        notes["byteOrderMark"] = "the file begins with a byte order mark, which neither program writes"
    if session.crlf:
        notes["carriageReturns"] = f"{session.crlf:,} of {session.lines:,} lines end with CR LF"
    if not session.ended:
        notes["noLastLf"] = "the last line has no LF: pi before 0.84.4 would put its next record on the same line"
    return notes


def header_problem(session: ParsedSession) -> str:
    """Why programs do not open the file; "" where its header is one."""
    if not session.lines:
        return EMPTY
    if not session.begins_with_header:
        return NO_HEADER
    if not isinstance(session.header.get("id"), str):
        return NO_HEADER_ID
    return MARK if session.bom else ""


def tree_of(entries: Sequence[Entry], control_rows: bool = False) -> TreeShape:
    """Every walk visits an entry once, so that cycles and ids that are used again end it. Records of fused lines are in no program's tree."""
    by_id: dict[str, int] = {}
    for index, entry in enumerate(entries):
        if (id_ := entry.get("id")) and isinstance(id_, str) and "fused" not in entry:
            by_id[id_] = index
    leaf = _leaf(entries, by_id, control_rows)
    path, why = _walk(entries, by_id, leaf)
    own = [entry for entry in entries if "fused" not in entry]
    if leaf is None and own and own[-1].get("id", "") is not None and not control_rows:
        # A last line without an id is read with what is above it.
        above, why = _walk(entries, by_id, own[-1].get("parentId"))
        path = (*above, next(index for index in reversed(range(len(entries))) if entries[index] is own[-1]))
    ids = [id_ for entry in own if isinstance(id_ := entry.get("id"), str)]
    parents = [parent for entry in own if isinstance(parent := entry.get("parentId"), str)]
    return TreeShape(
        leaf or "",
        path,
        why,
        len(own) - len(parents),
        len(parents) - sum(map(by_id.__contains__, parents)),
        len(ids) - sum(map(set(parents).__contains__, ids)),
        _in_cycles(entries, by_id),
    )


def _leaf(entries: Sequence[Entry], by_id: Mapping[str, int], control_rows: bool) -> str | None:
    """The last line, whatever its type; with control rows the last target that exists, and entries at the side choose nothing."""
    leaf: str | None = None
    for entry in entries:
        if "fused" in entry:
            continue
        id_ = entry.get("id")
        if control_rows and entry.get("type") == "leaf":
            target = entry.get("targetId")
            if target is None or (isinstance(target, str) and target in by_id):
                leaf = target
        elif control_rows and (entry.get("appendMode") == "side" or not isinstance(id_, str)):
            continue
        else:
            leaf = id_ if isinstance(id_, str) and id_ else None
    return leaf


def _walk(entries: Sequence[Entry], by_id: Mapping[str, int], leaf: str | None) -> tuple[tuple[int, ...], str]:
    path: list[int] = []
    visited: set[int] = set()
    at: Any = leaf
    while isinstance(at, str):
        index = by_id.get(at)
        if index is None:
            return tuple(reversed(path)), "dangling" if path else ""
        if index in visited:
            return tuple(reversed(path)), "cycle"
        visited.add(index)
        path.append(index)
        at = entries[index].get("parentId")
    return tuple(reversed(path)), ""


def _in_cycles(entries: Sequence[Entry], by_id: Mapping[str, int]) -> int:
    """How many entries are on a closed chain of parents. Each entry is walked over once."""
    if all(by_id.get(parent, -1) < index for index, entry in enumerate(entries) if isinstance(parent := entry.get("parentId"), str)):
        # Each comes after its parent, as in nearly every file.
        return 0
    walk_of: dict[int, int] = {}
    count = 0
    for number, start in enumerate(by_id.values()):
        at: int | None = start
        chain: list[int] = []
        while at is not None and at not in walk_of:
            walk_of[at] = number
            chain.append(at)
            parent = entries[at].get("parentId")
            at = by_id.get(parent) if isinstance(parent, str) else None
        if at is not None and walk_of[at] == number:
            count += len(chain) - chain.index(at)
    return count


def _setting(header: Mapping[str, Any], path: Sequence[Entry]) -> dict[str, Any]:
    """Model, provider, api and thinking level: the last on the path wins. Version 1 names the first ones in its header."""
    setting = {"provider": header.get("provider"), "model": header.get("modelId"), "thinking": header.get("thinkingLevel"), "api": None}
    apis: dict[Any, Any] = {}
    for entry in path:
        kind = entry.get("type")
        if kind == "thinking_level_change":
            setting["thinking"] = entry.get("thinkingLevel")
        elif kind == "model_change":
            setting |= {"provider": entry.get("provider"), "model": entry.get("modelId")}
            # The entry does not say it: it is that by which the model answered before, if it did.
            setting["api"] = (
                apis.get((setting["provider"], setting["model"])) if _are_words(setting["provider"], setting["model"]) else None
            )
        elif entry.get("role") == "assistant" and kind == "message" and entry.get("provider") != _HIDDEN_PROVIDER:
            setting |= {name: entry[name] for name in ("provider", "model", "api") if isinstance(entry.get(name), str)}
            if _are_words(setting["provider"], setting["model"]):
                apis[setting["provider"], setting["model"]] = setting["api"]
    return setting


def _are_words(*values: Any) -> bool:
    return all(isinstance(value, str) for value in values)


def _ending(path: Sequence[Entry]) -> str | None:
    """How the last answer on the path ended: its stopReason."""
    return next(
        (_text(entry["stopReason"]) for entry in reversed(path) if entry.get("role") == "assistant" and entry.get("stopReason")), None
    )


def title_of(session: ParsedSession) -> str:
    """The name that was given last in the file (an empty one clears it), else the start of what the user said first."""
    name: Any = None
    for entry in session.entries:
        if entry.get("type") == "session_info":
            name = entry.get("name")
    words = name if isinstance(name, str) and name.strip() else next(_user_texts(session.chunks), "")
    line = " ".join(words[: _TITLE * 20].split())
    return line if len(line) <= _TITLE else f"{line[:_TITLE]}…"


def _user_texts(chunks: Sequence[Chunk]) -> Iterator[str]:
    for chunk in chunks:
        if chunk.role == "user" and chunk.kind is Kind.TEXT and chunk.payload["entry"].get("role") == "user" and chunk.text.strip():
            yield chunk.text


def _listed(lines: Sequence[int], place: str, first: int) -> str:
    """How many, and which: lines are counted from 1 as editors and pages do, rows of a database have their own number."""
    shown = ", ".join(str(line + first) for line in lines[:_NAMED])
    return f"{len(lines):,} ({place} {shown}{', …' if len(lines) > _NAMED else ''}; the header is {place} {first})"


def _version(header: Mapping[str, Any]) -> Any:
    value = version_of(header)
    return header["version"] if math.isnan(value) else str(int(value)) if abs(value) < 1e9 and value == int(value) else str(value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else jsontext.compact(value)
