"""The bytes that carry out a plan on a Claude Code session: a new session with the repaired path, or the lines of the file itself.

Lines that nothing touches keep every byte. A line that goes hands its parent on to its children; a line that comes in takes its place in the chain.
"""

import re
import uuid
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from inspector.conversation.edits import MOVED, Plan, Set, apply
from inspector.conversation.model import Chunk, Conversation, Kind, Message
from inspector.conversation.tree import LEAF, Entry, entries
from inspector.programs.claude_code.folder import own_name
from inspector.programs.claude_code.kept import is_boundary
from inspector.programs.claude_code.lines import ASSISTANT, START, SYNTHETIC, USER, read_session
from inspector.programs.claude_code.path import live_path
from inspector.programs.claude_code.quarantine import QUARANTINED, file_for, numbers_in
from inspector.programs.claude_code.readers import LOADERS
from inspector.programs.formats import Cell, Change, Stored, WriteMode, WriteRefused
from inspector.projections.base import AS_SENT
from inspector.projections.catalogue import projection
from inspector.text import json_lines, json_pieces, jsontext
from inspector.text.js_json import stringify
from inspector.text.json_lines import BOM, RecordPart

FORK, SAME_FILE = "new-session", "same-file"
MODES: tuple[WriteMode, ...] = (
    WriteMode(FORK, "writes the repaired path as a new session next to this one, which stays as it is; claude --resume lists both", "fork"),
    WriteMode(SAME_FILE, "rewrites only the lines of the session that change; every other line keeps its bytes", "in-place"),
)
_INSTEAD = "write a new session (--mode new-session)"
_SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_ENVELOPE = ("isSidechain", "userType", "cwd", "sessionId", "version", "gitBranch", "agentId", "slug", "entrypoint")


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the final path. `base`: the stored line that it is; `same`: it says what is stored."""

    chunks: tuple[Chunk, ...]
    base: Entry | None
    same: bool


@dataclass(frozen=True, slots=True)
class Line:
    """A step as it is written: its id, the parent that it names, and its text, in which both may still be others."""

    step: Step
    id: str
    parent: str | None
    text: str


@dataclass(frozen=True, slots=True)
class File:
    """`lines` are split at LF; `by_key` gives the stored line of a chunk by its key; `eol` is what new lines have before their LF."""

    lines: list[bytes]
    entries: tuple[Entry, ...]
    by_key: Mapping[str, Entry]
    eol: bytes


def options(mode: str, fresh_id: str) -> dict[str, str]:
    """Ids of what is new follow from `fresh_id`, so that the same question has the same answer."""
    return {"fresh_id": fresh_id, **({"fork_id": fresh_id} if mode == FORK else {})}


def target(plan: Plan) -> str:
    """Native id of the conversation that holds the result."""
    if plan.mode != FORK:
        return plan.conversation
    agent, slash, _ = own_name(plan.conversation).rpartition("/")
    return f"{agent}{slash}{'agent-' if slash else ''}{plan.options.get('fork_id', '')}"


def write(plan: Plan, stored: Stored) -> Sequence[Change]:
    """The changes that carry out `plan`, whose edits are about the path `stored.conversation`; none where it changes nothing."""
    record = stored.records[0]
    sets = [edit for edit in plan.edits if isinstance(edit, Set)]
    if other := next((edit.field for edit in sets if edit.field not in (LEAF, QUARANTINED)), ""):
        raise WriteRefused(f"A Claude Code session has no place for {other}; leave the strategy that sets it out of the plan.")
    edits = [edit for edit in plan.edits if not isinstance(edit, Set)]
    quarantined = next((numbers_in(edit.new) for edit in sets if edit.field == QUARANTINED), frozenset[int]())
    if not edits and not quarantined and not (sets and plan.mode == FORK):
        return []
    if not all(_SAFE_ID.fullmatch(plan.options.get(name, "")) for name in options(plan.mode, "")):
        # A plan may come from a file, and these ids become names of files.
        raise WriteRefused("An id that the plan has for what is new is none that a session can have; make the plan again.")
    file = _opened(record.value.data)
    final = apply(stored.conversation, edits)
    steps = list(_steps(final, file))
    if not any(step.chunks[0].role for step in steps):
        raise WriteRefused("Nothing would be left of the session; start a new one in the program instead.")
    if plan.mode == FORK:
        folder = record.key.rpartition("/")[0]
        if not folder:
            raise WriteRefused(
                "A new session is written next to this one, outside of what is open here: import the folder of the project, or write --mode same-file."
            )
        data = _forked(plan, file, steps)
        if not _reads_as(final, data):
            raise WriteRefused(
                "The program would read another path from the new session than the plan's; leave a strategy out of the plan."
            )
        return [Change(f"{folder}/{target(plan).rpartition('/')[2]}.jsonl", None, Cell(data, record.value.type))]
    data, moved = _in_place(plan, stored.conversation, file, steps, final, quarantined)
    changes = [] if data == record.value.data else [Change(record.key, record.value, Cell(data, record.value.type))]
    if moved:
        sidecar = file_for(record.key, plan.options["fresh_id"])
        changes.insert(0, Change(sidecar, None, Cell(b"".join(line + b"\n" for line in moved), record.value.type)))
    return changes


def _opened(data: bytes) -> File:
    session = read_session(data)
    stored = entries(Conversation("", "", tuple(session.chunks)))
    lines = data.split(b"\n")
    eol = b"\r" if sum(line.endswith(b"\r") for line in lines) * 2 > len(lines) else b""
    return File(lines, stored, {chunk.key: entry for entry in stored for chunk in entry.chunks}, eol)


def _steps(final: Conversation, file: File) -> Iterator[Step]:
    """The program writes one block a line; blocks that share a stored line go on doing so."""
    for (origin, _), group in groupby(final.chunks, key=lambda chunk: _place(chunk, file)):
        chunks = tuple(group)
        base = file.by_key.get(origin)
        yield Step(chunks, base, base is not None and [_content(chunk) for chunk in base.chunks] == [_content(chunk) for chunk in chunks])


def _content(chunk: Chunk) -> tuple[Any, ...]:
    """A block without what its line keeps next to it: a line that only gets another parent keeps its content as it is written."""
    return chunk.role, chunk.kind, {name: value for name, value in chunk.payload.items() if name != "entry"}


def _place(chunk: Chunk, file: File) -> tuple[str, str]:
    """The first key of the stored line that the chunk is of, "" for a new one, which is a line of its own."""
    key = chunk.key
    while key not in file.by_key and key.startswith(MOVED):
        key = key.removeprefix(MOVED)
    entry = file.by_key.get(key)
    return (entry.chunks[0].key, "") if entry else ("", chunk.key)


def _chained(plan: Plan, steps: Sequence[Step], file: File, removed: Mapping[str | None, str | None], first: int | None) -> Iterator[Line]:
    """Each step with its id and the parent that its line names. From step `first` on that is the step before; None: where the plan puts it elsewhere."""
    callers = {chunk.call_id: step.base.id for step in steps if step.base for chunk in step.chunks if chunk.kind is Kind.TOOL_CALL}
    near = next((step.base for step in steps if step.base), file.entries[0])
    before, was_put, parent, fresh, used = "", False, None, 0, set[str]()
    ids = {entry.id for entry in file.entries}
    lost = next((step.chunks[0].parent for step in steps if step.base), None)
    for number, step in enumerate(steps):
        is_put = step.base is None or step.chunks[0].key.startswith(MOVED)
        is_linked = (is_put or was_put) if first is None else number >= first
        # That of the step: a repair may have led the line elsewhere.
        stored_parent = step.chunks[0].parent if step.base else None
        parent = (before or None) if is_linked or (step.base is None) else removed.get(stored_parent, stored_parent)
        if step.base is not None and is_boundary(step.base.about):
            # A compaction begins a chain of its own, and names the line before it elsewhere.
            parent = stored_parent
        elif number == 0 and lost is not None and lost not in ids:
            # A path that begins after a gap goes on saying so, with a line before it too.
            parent = lost
        if step.base is not None and step.base.id and step.base.id not in used:
            own, near = step.base.id, step.base
        else:
            own = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{plan.options['fresh_id']}/{fresh}"))
            fresh += 1
        used.add(own)
        text = _text_of(step.base, file, step) if step.base else _new_text(step, near, file, own, callers, _answer(steps, number))
        yield Line(step, own, parent, text)
        before, was_put = own, is_put


def _forked(plan: Plan, file: File, steps: Sequence[Step]) -> bytes:
    """The path as a chain of its own: ids stay, and each line names the session that it came from, as the program's own forks do."""
    written: list[bytes] = []
    for line in _chained(plan, steps, file, {}, 0):
        members: dict[str, Any] = {"parentUuid": line.parent, "uuid": line.id, "sessionId": plan.options["fork_id"]}
        if line.step.base is not None:
            members["forkedFrom"] = {"sessionId": plan.conversation.rpartition("/")[2], "messageUuid": line.step.base.id}
        written.append(jsontext.encode(json_pieces.amended(line.text, {name: stringify(value) for name, value in members.items()})) + b"\n")
    return b"".join(written)


def _in_place(
    plan: Plan, base: Conversation, file: File, steps: Sequence[Step], final: Conversation, quarantined: frozenset[int]
) -> tuple[bytes, list[bytes]]:
    """The file with as few changed parents as read back as planned: those next to what the plan puts in, else all after the first change; and the
    lines that are quarantined."""
    kept = [step.base.chunks[0].key for step in steps if step.base and step.same]
    stored = [entry.chunks[0].key for entry in entries(base)]
    first = next((at for at, (old, new) in enumerate(zip(stored, kept, strict=False)) if old != new), min(len(stored), len(kept)))
    is_led = any(step.base is not None and step.chunks[0].parent != step.base.parent for step in steps)
    # Where a line is led to another parent, what leaves the path by that stays in the file as another branch.
    for start, removes in ((None, False),) * is_led + ((None, True), (first, True)):
        data, moved = _rewritten(plan, base if removes else replace(base, chunks=()), file, steps, start, quarantined)
        if _reads_as(final, data):
            return data, moved
    raise WriteRefused(f"The program would read another path from the changed file than the plan's; {_INSTEAD}.")


def _rewritten(
    plan: Plan, base: Conversation, file: File, steps: Sequence[Step], first: int | None, quarantined: frozenset[int]
) -> tuple[bytes, list[bytes]]:
    kept = {step.base.chunks[0].key for step in steps if step.base}
    gone = [entry for entry in entries(base) if entry.chunks[0].key not in kept]
    # A line that is quarantined may be a record of another branch.
    moved_out = [entry for entry in file.entries if entry.chunks[0].msg_idx in quarantined and "fused" not in entry.about]
    removed = _parents_past([*gone, *moved_out])
    without = {entry.chunks[0].msg_idx for entry in gone}
    texts: dict[int, list[str]] = {}
    after: dict[int, list[str]] = {}
    split: dict[int, dict[int, str]] = {}
    at = -1
    for line in _chained(plan, steps, file, removed, first):
        if line.step.base is None or line.id != line.step.base.id:
            after.setdefault(at, []).append(_amended(line))
            continue
        at = line.step.base.chunks[0].msg_idx or 0
        if "fused" in line.step.base.about:
            split.setdefault(at, {})[int(line.step.base.about["fused"]) - 1] = _amended(line)
        elif not line.step.same or line.parent != line.step.base.parent:
            texts[at] = [_amended(line)]
    moved: list[bytes] = []
    for number, changed in split.items():
        # Nothing of the line is lost: what shared it gets lines of its own, byte for byte.
        texts[number], fragments = _apart(file, number, changed, number in quarantined)
        moved += [jsontext.encode(text) for text in fragments]
    for entry in file.entries:
        number = entry.chunks[0].msg_idx or 0
        # Children of a line that goes, on whatever branch, have its parent from now on.
        if number not in without and number not in texts and entry.parent in removed and "fused" not in entry.about:
            texts[number] = [json_pieces.amended(_text(entry, file), {"parentUuid": stringify(removed[entry.parent])})]
    # Of a line that is left as it is, nothing is taken: records share it with the fragments.
    shared = {entry.chunks[0].msg_idx for entry in file.entries if "fused" in entry.about}
    unreadable = sorted(quarantined - shared)
    moved = [file.lines[number] for number in unreadable if number < len(file.lines)] + moved
    return _joined(file, texts, after, without | set(unreadable)), moved


def _amended(line: Line) -> str:
    stored = line.step.base
    if stored is not None and stored.id == line.id and stored.parent == line.parent:
        return line.text
    return json_pieces.amended(line.text, {"parentUuid": stringify(line.parent), "uuid": stringify(line.id)})


def _parents_past(gone: Sequence[Entry]) -> dict[str | None, str | None]:
    """The parent that children of each removed line get: the nearest one above that stays."""
    above = {entry.id: entry.parent for entry in gone if entry.id}
    parents: dict[str | None, str | None] = {}
    for id_ in above:
        at: str | None = id_
        visited: set[str] = set()
        while at is not None and at in above and at not in visited and at not in parents:
            visited.add(at)
            at = above[at]
        # What is above one of them is above all of them, so that a long run is walked once.
        parents |= dict.fromkeys(visited, parents.get(at, at))
    return parents


def _joined(file: File, texts: Mapping[int, Sequence[str]], after: Mapping[int, Sequence[str]], without: Container[int | None]) -> bytes:
    lines: list[bytes] = [jsontext.encode(text) + file.eol for text in after.get(-1, ())]
    *whole, tail = file.lines
    for number, line in enumerate((*whole, tail) if tail else whole):
        end = b"\r" if line.endswith(b"\r") else b""
        if number in texts:
            lines += [jsontext.encode(text) + end for text in texts[number]]
        elif number not in without:
            lines.append(line)
        lines += [jsontext.encode(text) + file.eol for text in after.get(number, ())]
    last = len(file.lines) - 1
    is_ended = not tail or last in after or last in texts or last in without
    return b"\n".join(lines) + (b"\n" if is_ended else b"")


def _text(entry: Entry, file: File) -> str:
    """The JSON text of a stored line, or of one record of a line that holds several."""
    number = entry.chunks[0].msg_idx or 0
    if "fused" in entry.about:
        return _parts(file, number)[int(entry.about["fused"]) - 1].text
    try:
        return jsontext.decode(file.lines[number].removeprefix(BOM)).strip(" \t\r")
    except jsontext.Unreadable as problem:
        raise WriteRefused(f"Line {number + 1:,} is {problem.reason}, so it cannot be written again; leave it as it is.") from None


def _parts(file: File, number: int) -> tuple[RecordPart, ...]:
    """The records and fragments of a line, as reading the file gives them: a byte order mark is one of them on every line but the first."""
    raw, at = (b"\n" + file.lines[number], 1) if number else (file.lines[number], 0)
    return next(json_lines.lines(raw, START, at)).parts


def _apart(file: File, number: int, changed: Mapping[int, str], is_quarantined: bool) -> tuple[list[str], list[str]]:
    """The records of a line that holds several, as lines of their own, those of `changed` as they are there; and its fragments, where they do not stay
    next to these."""
    parts = _parts(file, number)
    texts = [changed.get(at, part.text) for at, part in enumerate(parts)]
    if not is_quarantined:
        return texts, []
    records = [text for text, part in zip(texts, parts, strict=True) if part.value is not None]
    return records, [part.text for part in parts if part.value is None]


def _text_of(base: Entry, file: File, step: Step) -> str:
    """The text of a stored line with the blocks that it has now; its own where it says what is stored."""
    text = _text(base, file)
    if step.same:
        return text
    message = json_pieces.value_of(text, "message")
    if message is None:
        raise WriteRefused(
            f"Line {(base.chunks[0].msg_idx or 0) + 1:,} holds no message, so no part of it can be changed; leave it as it is."
        )
    role = step.chunks[0].role
    if ASSISTANT in (role, base.chunks[0].role) and role != base.chunks[0].role:
        # Whose words they are is said twice.
        message = json_pieces.amended(message, {"role": stringify(role)})
        text = json_pieces.amended(text, {"type": stringify(role)})
    content = json_pieces.value_of(message, "content") or "[]"
    # An answer is a list of blocks to the program.
    if content.startswith('"') and len(step.chunks) == 1 and step.chunks[0].kind is Kind.TEXT and step.chunks[0].role != ASSISTANT:
        return json_pieces.amended(text, {"message": json_pieces.amended(message, {"content": stringify(step.chunks[0].text)})})
    spans = json_pieces.elements(content) if content.startswith("[") else []
    stored = {chunk.key: (chunk, content[slice(*span)]) for chunk, span in zip(base.chunks, spans, strict=False)}
    pieces: list[str] = []
    for chunk in step.chunks:
        old, own = stored.get(chunk.key.removeprefix(MOVED), (None, ""))
        is_kept = old is not None and (old.kind, old.payload) == (chunk.kind, chunk.payload)
        pieces.append(own if is_kept else block_text(chunk))
    return json_pieces.amended(text, {"message": json_pieces.amended(message, {"content": f"[{','.join(pieces)}]"})})


def block_text(chunk: Chunk) -> str:
    """One block as the provider's shape has it. Raises WriteRefused for what that has no block for."""
    prompt = projection(f"anthropic+{AS_SENT}").project([Message(chunk.role, (replace(chunk, msg_idx=0, chunk_idx=0),))])
    content = prompt.messages[0].value.get("content") if prompt.messages else None
    if isinstance(content, str):
        return stringify({"type": "text", "text": content})
    if not isinstance(content, list) or len(content) != 1:
        raise WriteRefused(
            f"A Claude Code session has no block for {chunk.kind.value}; leave the strategy that puts it there out of the plan."
        )
    return json_pieces.encoded(content[0])


def _answer(steps: Sequence[Step], number: int) -> Entry | None:
    """The line after a new one that is put before it into its answer: as an answer of its own, empty thinking is never sent."""
    step, following = steps[number], steps[number + 1] if number + 1 < len(steps) else None
    if following is None or following.base is None:
        return None
    own, other = step.chunks[0], following.chunks[0]
    return following.base if (own.role, own.msg_idx) == (other.role, other.msg_idx) and own.kind is Kind.THINKING else None


def _new_text(step: Step, near: Entry, file: File, own: str, callers: Mapping[str, str], answer: Entry | None) -> str:
    """A line that the session does not hold yet, in the envelope of the one before it. `callers`: the lines of calls by their ids. `answer`: a line of
    the answer that it is a piece of."""
    envelope = jsontext.parse(_text(near, file))
    first = step.chunks[0]
    kind = ASSISTANT if first.role == ASSISTANT else USER
    message: dict[str, Any] = {"role": kind, "content": [json_pieces.Verbatim(block_text(chunk)) for chunk in step.chunks]}
    if kind == ASSISTANT:
        stored = (jsontext.parse(_text(answer, file)) if answer else envelope).get("message")
        known = stored if isinstance(stored, dict) else {}
        id_ = known.get("id") if answer else None
        message = {"model": known.get("model") or SYNTHETIC, "id": id_ or f"msg_{own.replace('-', '')[:24]}", "type": "message", **message}
    line = {"parentUuid": None, **{name: envelope[name] for name in _ENVELOPE if name in envelope}}
    line |= {
        "type": kind,
        "message": json_pieces.Verbatim(json_pieces.encoded(message)),
        "uuid": own,
        "timestamp": envelope.get("timestamp"),
    }
    if first.kind is Kind.TOOL_RESULT:
        line["toolUseResult"] = f"Error: {first.text}" if first.is_error else first.text
        if first.call_id in callers:
            line["sourceToolAssistantUUID"] = callers[first.call_id]
    return json_pieces.encoded(line)


def _reads_as(final: Conversation, data: bytes) -> bool:
    tree = Conversation(final.native_id, final.format, tuple(read_session(data).chunks))
    path = live_path(tree, LOADERS[0])
    return [_visible(chunk) for chunk in path.chunks if chunk.role] == [_visible(chunk) for chunk in final.chunks if chunk.role]


def _visible(chunk: Chunk) -> tuple[Any, ...]:
    """What a reader sees of a chunk, in one of whatever place."""
    about_call = (chunk.tool_name, chunk.payload.get("input")) if chunk.kind is Kind.TOOL_CALL else ()
    return chunk.role, chunk.kind, chunk.text, chunk.call_id, chunk.payload.get("signature"), *about_call
