"""The written bytes of a session file, read again: whether every program takes the path that the plan promised.

OpenClaw's own file repair put a result under its call and left the next entry where it was, so that nothing changed; a row put at the end
without that entry hides the latest turn. Neither gets past this.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from inspector.conversation.model import Chunk, Conversation, Kind
from inspector.conversation.tree import spoken
from inspector.programs.formats import WriteRefused
from inspector.programs.pi_openclaw.file import File, StoredEntry, entry_key, opened
from inspector.programs.pi_openclaw.readers.paths import scanned_path
from inspector.text.js_json import stringify

_INSTEAD = "write another mode, or leave out strategies one by one, and report this with the plan"


def verified(
    before: File | None,
    data: bytes,
    path: Sequence[str],
    final: Sequence[Chunk],
    changed: frozenset[int] = frozenset(),
    in_openclaw: bool = False,
    goes_past_gaps: bool = False,
) -> None:
    """Raises WriteRefused unless `data` is what was promised.

    `path`: ids from root to leaf; `final`: the chunks that must be on it; `changed`: numbers of lines of `before` that may differ;
    `in_openclaw`: OpenClaw must take the path too, which puts the last compaction or reset above its first row before it; `goes_past_gaps`: rows
    inside of the path name parents that no line has, so that OpenClaw alone takes all of it, and the others from such a row on, as before.
    """
    file = opened(data, before)
    if not file.session.begins_with_header or file.lines[0].strip()[:1] != b"{":
        _refuse("its first line would be no session header")
    if not data.endswith(b"\n"):
        _refuse("it would not end with a line end")
    _refuse_other_lines(before, file, changed)
    last = file.last
    if last is None or not last.id or not path or last.id != path[-1]:
        _refuse("its last row would not be the end of the path, so that the latest turn would be hidden")
    walked = entries = _walked(file, last)
    if goes_past_gaps:
        entries = _scanned(file)
    ids = [entry_.id for entry_ in entries]
    if ids != list(path) or ids[-len(walked) :] != [entry_.id for entry_ in walked]:
        _refuse("the path from its last row would be another one, so that the repair would have no effect")
    if any(file.ids[entry_.id] != 1 for entry_ in entries):
        _refuse("an id on its path would be there twice")
    above = [entry_ for entry_ in file.entries.values() if entry_.type in ("compaction", "reset") and entry_.line < entries[0].line]
    if in_openclaw and above:
        raise WriteRefused(
            f"OpenClaw would put the {above[-1].type} of line {above[-1].line + 1:,} before the repaired path, whose first row comes after it; "
            "write a new session (--mode new-session)."
        )
    read_back = [chunk for entry_ in entries for chunk in entry_.chunks]
    for number, (expected, actual) in enumerate(zip(final, read_back, strict=False)):
        if not (_is_same(expected, actual) or _alike(_visible(expected), _visible(actual))):
            _refuse(f"block {number + 1} of its path ({expected.key}) would read back otherwise than planned")
    if len(final) != len(read_back):
        _refuse(f"its path would hold {len(read_back):,} blocks, and {len(final):,} are planned")


def _refuse(what: str) -> None:
    raise WriteRefused(f"The file would not read back as planned: {what}; {_INSTEAD}.")


def _refuse_other_lines(before: File | None, file: File, changed: frozenset[int]) -> None:
    """Every line that the plan does not name must still be there, byte for byte and in its order; no id may have become a double."""
    if before is None:
        return
    kept_lines = (line for number, line in enumerate(before.lines) if number not in changed and line)
    new = iter(file.lines)
    if not _is_before(before.data, file.data) and not all(any(line == new_line for new_line in new) for line in kept_lines):
        _refuse("a line that no strategy names would be gone or changed")
    doubled = [id_ for id_, count in file.ids.items() if count > max(1, before.ids[id_])]
    if doubled:
        _refuse(f"the id {doubled[0]} would be there twice")


def _is_before(lines: bytes, data: bytes) -> bool:
    """Whether the data begins with exactly these lines: then none of them has to be looked for."""
    return data.startswith(lines) and (lines.endswith(b"\n") or data[len(lines) : len(lines) + 1] in (b"", b"\n"))


def _walked(file: File, last: StoredEntry | None) -> list[StoredEntry]:
    by_id = {entry_.id: entry_ for entry_ in file.entries.values() if entry_.id and not entry_.number}
    path: list[StoredEntry] = []
    at = last
    while at is not None:
        path.append(at)
        parent = by_id.get(at.parent) if at.parent is not None else None
        # With every parent on an earlier line there is no cycle, and the walk ends.
        if parent is not None:
            _refuse_other_order(parent, at)
        at = parent
    return path[::-1]


def _scanned(file: File) -> list[StoredEntry]:
    """The path as OpenClaw 2026.9 takes it, which goes on from the leaf of that moment where a parent is in no line."""
    chunks = scanned_path(Conversation("", "openclaw", tuple(file.session.chunks))).chunks
    path = [file.entries[key] for key in dict.fromkeys(entry_key(chunk) for chunk in chunks)]
    for parent, entry_ in pairwise(path):
        _refuse_other_order(parent, entry_)
    return path


def _refuse_other_order(parent: StoredEntry, entry_: StoredEntry) -> None:
    if parent.line >= entry_.line:
        raise WriteRefused(
            f"The entry {spoken(entry_.id, entry_.line)} would be in the file before its parent {spoken(parent.id, parent.line)}, since the file holds "
            "entries of this path in another order; write a new session (--mode new-session), in which each comes after its parent."
        )


def _alike(first: tuple[Any, ...], second: tuple[Any, ...]) -> bool:
    """JavaScript rounds long integers and joins halves of characters, so that only the encoding shows whether two values are one."""
    try:
        return first == second or stringify(list(first)) == stringify(list(second))
    except ValueError:
        return False


def _visible(chunk: Chunk) -> tuple[Any, ...]:
    """What a program takes from a chunk; an entry that is no message keeps its type."""
    if not chunk.role and chunk.kind is not Kind.UNREADABLE:
        entry = chunk.payload.get("entry") or {}
        return "", chunk.kind, chunk.text, entry.get("type")
    payload = chunk.payload
    return (
        *(chunk.role, chunk.kind, chunk.text, chunk.call_id, chunk.tool_name, payload.get("input"), chunk.is_error),
        *(payload.get("signature"), payload.get("data")),
    )


def _is_same(first: Chunk, second: Chunk) -> bool:
    """Whether two chunks have one payload, but for what their entries keep next to the message; then a program takes the same from both."""
    if first is second:
        return True
    old, new = first.payload, second.payload
    if not first.role or (first.role, first.kind, len(old)) != (second.role, second.kind, len(new)):
        return False
    return all(name in new and (name == "entry" or value == new[name]) for name, value in old.items())
