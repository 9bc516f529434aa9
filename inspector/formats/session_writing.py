"""The bytes that carry out a plan on a session file of pi or OpenClaw: the path goes to the end, into the middle, or into a file of its own.

The three ways are those that pi 0.73.1, 0.87.1 and OpenClaw 2026.9.6 all read as planned; what is written is read again before it is given out.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from inspector.conversation import jsontext
from inspector.conversation.edits import Plan, Set
from inspector.conversation.js_json import stringify
from inspector.conversation.tree import LEAF
from inspector.formats.base import Cell, Change, Stored, WriteMode, WriteRefused
from inspector.formats.session_entries import moment
from inspector.formats.session_lines import version_of
from inspector.formats.session_path import FIRST_KEPT, File, Planned, Step, Stood, entry_key, opened, planned
from inspector.formats.session_spelling import REFERENCES, Place, iso, new_line, stored_line
from inspector.formats.session_verifying import verified

REPLAY, INSERT, NEW = "replay-suffix", "insert-and-reparent", "new-session"
MODES: tuple[WriteMode, ...] = (
    WriteMode(REPLAY, "puts the path, from the first change on, at the end of the file under new ids; the old branch stays as it is"),
    WriteMode(INSERT, "puts new rows into the middle and gives the rows behind them another parent; ids stay", "in-place"),
    WriteMode(NEW, "writes the path as a new session file beside this one, which stays as it is", "fork"),
)
_STAMPED = re.compile(r"(\d{4}-\d\d-\d\dT[\d-]+Z)_.+\.jsonl")
_NO_IDS = "This file is of version 1, in which entries have no ids; write a new session (--mode new-session), or let pi open the file once."


def options(mode: str, stored: Stored, fresh_id: str) -> dict[str, str]:
    """Id and time of what is new. Both follow from the stored entries and `fresh_id`, so that the same question has the same answer."""
    times = [each for chunk in stored.conversation.chunks if (each := _moment(chunk.payload.get("entry"))) is not None]
    made = {"fresh_id": fresh_id, "now": iso(max(times, default=0) + 1)}
    return made | {"fork_id": fresh_id} if mode == NEW else made


def target(plan: Plan) -> str:
    """Native id of the conversation that holds the result."""
    return plan.options["fork_id"] if plan.mode == NEW else plan.conversation


def write(plan: Plan, stored: Stored) -> Sequence[Change]:
    """The changes that carry out `plan`, whose edits are about the path `stored.conversation`; none where it changes nothing.

    `stored.records` holds the whole file. Raises WriteRefused, EditMismatch.
    """
    if not plan.edits:
        return []
    if not stored.records:
        raise WriteRefused("Only sessions.json names this session and its file is gone; put the file back from a backup first.")
    record = stored.records[0]
    file = opened(record.value.data)
    path = planned(stored.conversation, plan.edits, file)
    chooses_leaf = any(isinstance(edit, Set) and edit.field == LEAF for edit in plan.edits)
    if not path.is_new and not chooses_leaf:
        return []
    if not path.steps:
        raise WriteRefused("Nothing would be left on the path; start a new session in the program instead.")
    if any(step.base and step.base.type == "leaf" for step in path.steps):
        raise WriteRefused("This path leads over OpenClaw's own leaf rows, as only pi reads it; plan the repair with a reader of OpenClaw.")
    writing = _Writing.of(plan, stored, file, path)
    if plan.mode == NEW:
        return [_new_file(plan, record.key, writing)]
    if not file.session.begins_with_header:
        raise WriteRefused(
            "The file does not begin with a session header, so no program opens it; write a new session (--mode new-session)."
        )
    if version_of(dict(file.session.header)) < 2:
        raise WriteRefused(_NO_IDS)
    if not path.is_new and file.last is not None and file.last.id == _end_of(path):
        return []
    data = _inserted(writing) if plan.mode == INSERT else _replayed(writing)
    return [Change(record.key, record.value, Cell(data, record.value.type))]


def _end_of(path: Planned) -> str:
    return path.steps[-1].base.id if path.steps[-1].base else ""


@dataclass(slots=True)
class _Writing:
    """`names`: the id that an old one has from now on. `taken`: every id that no new one may have. `spoken`: the assistant nearby."""

    file: File
    path: Planned
    now: str
    seed: str
    in_openclaw: bool
    taken: set[str]
    after_removed: Mapping[str, str]
    names: dict[str, str] = field(default_factory=dict)
    spoken: Mapping[str, Any] = field(default_factory=dict)
    count: int = 0

    @classmethod
    def of(cls, plan: Plan, stored: Stored, file: File, path: Planned) -> "_Writing":
        taken = {str(each.entry.get(name)) for each in file.stood.values() for name in ("id", "storedId")}
        times = [each for stood in file.stood.values() if (each := _moment(stood.entry)) is not None]
        now = iso(max(moment(plan.options.get("now")) or 0, *times, 0))
        made = cls(
            file,
            path,
            now,
            plan.options.get("fresh_id", ""),
            stored.conversation.format == "openclaw",
            taken,
            _after_removed(stored, file, path.steps),
        )
        speakers = [step.chunks[0].payload.get("entry") for step in path.steps if step.chunks[0].role == "assistant"]
        made.spoken = next((each for each in speakers if isinstance(each, Mapping) and each.get("model")), {})
        return made

    def fresh(self) -> str:
        """The next new id: 8 hexadecimal digits, as pi draws them, that the file does not hold."""
        while True:
            self.count += 1
            made = hashlib.sha256(f"{self.seed} {self.count}".encode()).hexdigest()[:8]
            if made not in self.taken:
                self.taken.add(made)
                return made

    def named(self, step: Step, own: str) -> dict[str, str]:
        """The references of a step that name another id than they did."""
        if step.base is None:
            return {}
        found = {name: value for name in REFERENCES if isinstance(value := step.base.entry.get(name), str)}
        if step.first_kept is not None:
            found[FIRST_KEPT] = step.first_kept
        changed: dict[str, str] = {}
        for name, value in found.items():
            kept = self.after_removed.get(value, value) if name == FIRST_KEPT else value
            new = own if kept in ("", step.base.id) and name == FIRST_KEPT else self.names.get(kept, kept)
            if new != step.base.entry.get(name):
                changed[name] = new
        return changed

    def line(self, step: Step, id_: str, parent: str | None, timestamp: str | None, before: str, on_its_own: bool = False) -> str:
        """The text of a step; a new row, which has no time of its own, takes that of the row `before` it."""
        if step.chunks[0].role == "assistant" and isinstance(entry := step.chunks[0].payload.get("entry"), Mapping) and entry.get("model"):
            self.spoken = entry
        place = Place(id_, parent, timestamp, self.named(step, id_), on_its_own)
        if step.base is None:
            return new_line(step, replace(place, timestamp=timestamp or before), self.spoken)
        return stored_line(self.file, step, place)

    def stands(self, step: Step, parent: str | None, is_first: bool) -> bool:
        """Whether the stored row of a step is already what the path needs."""
        base = step.base
        if base is None or step.copied or not step.same or base.number or not base.id or self.file.ids[base.id] != 1:
            return False
        if self.in_openclaw and base.entry.get("appendMode") is not None:
            return False
        return self.follows(base, parent, is_first) and not self.named(step, base.id)

    def follows(self, base: Stood, parent: str | None, is_first: bool) -> bool:
        """A root may name a parent that is nowhere: pi begins the path there, OpenClaw hangs the row onto what is its leaf by then."""
        if base.parent == parent:
            return True
        is_root = is_first and base.parent is not None and self.file.ids[base.parent] == 0
        return is_root and (not self.in_openclaw or base is next(iter(self.file.stood.values())))


def _moment(entry: Any) -> int | None:
    return moment(entry.get("timestamp")) if isinstance(entry, Mapping) and isinstance(entry.get("timestamp"), str) else None


def _after_removed(stored: Stored, file: File, steps: Sequence[Step]) -> dict[str, str]:
    """For each entry that leaves the path the next one that stays ("" = none): where a compaction's pointer goes that named it."""
    kept = {step.base.key for step in steps if step.base}
    found: dict[str, str] = {}
    following = ""
    for key in reversed(list(dict.fromkeys(entry_key(chunk) for chunk in stored.conversation.chunks))):
        stood = file.stood.get(key)
        if stood is None or not stood.id:
            continue
        if key in kept:
            following = stood.id
        else:
            found[stood.id] = following
    return found


def _replayed(writing: _Writing) -> bytes:
    """The file with the steps from the first change on behind its last line."""
    file, steps = writing.file, writing.path.steps
    kept, parent = 0, None
    while kept < len(steps) and writing.stands(steps[kept], parent, kept == 0):
        base = steps[kept].base
        parent = base.id if base else None
        kept += 1
    # Where only the end of the path goes, nothing new would tell the programs so: its last row is said again.
    kept = min(kept, len(steps) - 1)
    if writing.in_openclaw and any(step.base and step.base.type == "reset" for step in steps[kept:]):
        raise WriteRefused(
            f"Behind a reset OpenClaw hangs rows that lead before it onto its own leaf; write --mode {INSERT}, or a new session."
        )
    ids = [each.base.id for each in steps[:kept] if each.base]
    written: list[str] = []
    for step in steps[kept:]:
        parent = ids[-1] if ids else None
        id_ = writing.fresh()
        text = writing.line(step, id_, parent, writing.now, writing.now, on_its_own=True)
        if step.base is not None:
            writing.names[step.base.id] = id_
        ids.append(id_)
        written.append(text)
    data = _ended(file) + jsontext.encode("".join(text + file.eol for text in written))
    verified(file, data, ids, writing.path.final.chunks, in_openclaw=writing.in_openclaw)
    return data


def _ended(file: File) -> bytes:
    """The file with a line end behind its last line: without one, pi up to 0.84.3 wrote the next entry onto the same line."""
    return file.data if file.data.endswith(b"\n") else file.data + file.eol.encode()


def _inserted(writing: _Writing) -> bytes:
    """The file with new rows before the row that follows them on the path, and with other parents and values where the path has them."""
    file, steps = writing.file, writing.path.steps
    twice = next((step.base.id for step in steps if step.base and not step.copied and file.ids[step.base.id] > 1), None)
    if twice is not None:
        raise WriteRefused(f"The id {twice} is there more than once, so no row can name its parent by it; write --mode {REPLAY}.")
    texts: dict[int, str] = {}
    ahead: dict[int, list[str]] = {}
    waiting: list[str] = []
    ids: list[str] = []
    before = next((time for step in steps if (time := _time(step, ""))), writing.now)
    for number, step in enumerate(steps):
        parent, base = ids[-1] if ids else None, step.base
        is_row = base is not None and not step.copied and not base.number and bool(base.id)
        if base is not None and is_row:
            id_ = base.id
            if not writing.stands(step, parent, number == 0):
                own = base.parent if writing.follows(base, parent, number == 0) else parent
                texts[base.line] = writing.line(step, id_, own, None, before, on_its_own=writing.in_openclaw)
            if waiting:
                ahead[base.line] = waiting
                waiting = []
        else:
            # A record that shared its line with another was never read, so that its own id is free.
            id_ = base.id if base and base.number and base.id not in file.ids and base.id not in ids else writing.fresh()
            is_last = all(each.base is None or each.copied for each in steps[number:])
            time = writing.now if is_last else before
            waiting.append(writing.line(step, id_, parent, time, before))
        if base is not None and not step.copied:
            writing.names[base.id] = id_
        ids.append(id_)
        before = _time(step, before)
    last = file.last
    if not waiting and (last is None or last.id != ids[-1]):
        # The end of the path is not the end of the file: said again there, it is what every program ends with.
        ids[-1] = writing.fresh()
        waiting = [writing.line(steps[-1], ids[-1], ids[-2] if len(ids) > 1 else None, writing.now, before, on_its_own=True)]
    data = _rebuilt(file, texts, ahead, waiting)
    verified(file, data, ids, writing.path.final.chunks, frozenset(texts), writing.in_openclaw)
    return data


def _time(step: Step, before: str) -> str:
    value = step.base.entry.get("timestamp") if step.base and not step.copied else None
    return value if isinstance(value, str) and moment(value) is not None else before


def _rebuilt(file: File, texts: Mapping[int, str], ahead: Mapping[int, Sequence[str]], behind: Sequence[str]) -> bytes:
    lines: list[bytes] = []
    for number, line in enumerate(file.lines):
        lines += [jsontext.encode(text + file.eol[:-1]) for text in ahead.get(number, ())]
        lines.append(jsontext.encode(texts[number]) + (b"\r" if line.endswith(b"\r") else b"") if number in texts else line)
    data = b"\n".join(lines)
    if not data.endswith(b"\n"):
        data += file.eol.encode()
    return data + jsontext.encode("".join(text + file.eol for text in behind))


def _new_file(plan: Plan, key: str, writing: _Writing) -> Change:
    """A session file beside the old one: the path under its old ids where its rows say what they said, and the labels on it."""
    folder, _, name = key.rpartition("/")
    if not folder:
        raise WriteRefused(
            f"A new session stands beside this one, outside of what is open here: import the sessions folder, or write --mode {REPLAY}."
        )
    file, steps = writing.file, writing.path.steps
    ids: list[str] = []
    lines: list[str] = [_header(plan, key, writing)]
    before = next((time for step in steps if (time := _time(step, ""))), writing.now)
    used: set[str] = set()
    for step in steps:
        base, parent = step.base, ids[-1] if ids else None
        free = base is not None and step.same and not step.copied and bool(base.id) and base.id not in used and _has_ids(file)
        id_ = base.id if base is not None and free else writing.fresh()
        if base is not None and not step.copied:
            writing.names[base.id] = id_
        lines.append(writing.line(step, id_, parent, None if base is not None and not step.copied else before, before, on_its_own=True))
        used.add(id_)
        ids.append(id_)
        before = _time(step, before)
    lines[-1:-1] = _labels(writing, ids)
    data = jsontext.encode("".join(text + "\n" for text in lines))
    verified(None, data, ids, writing.path.final.chunks, in_openclaw=writing.in_openclaw)
    # OpenClaw names a file by its session's id alone, pi by its time as well.
    stamp = "" if writing.in_openclaw and not _STAMPED.fullmatch(name) else f"{re.sub('[:.]', '-', writing.now)}_"
    return Change(f"{folder}/{stamp}{plan.options['fork_id']}.jsonl", None, Cell(data, "file"))


def _has_ids(file: File) -> bool:
    return version_of(dict(file.session.header)) >= 2 if file.session.header else True


def _header(plan: Plan, key: str, writing: _Writing) -> str:
    """The header anew, in pi's order of keys; what another one had beside them stays behind. A file of version 1 gets the ids of version 2."""
    held = dict(writing.file.session.header)
    above = plan.source.rstrip("/").rpartition("/")[0]
    version = held.get("version") if version_of(held) >= 2 else 2 if held else 3
    own = {"type": "session", "version": version, "id": plan.options["fork_id"], "timestamp": writing.now, "cwd": held.get("cwd", "")}
    rest = {name: value for name, value in held.items() if name not in (*own, "parentSession", "branchedFrom")}
    return stringify({**own, "parentSession": f"{above}/{key}" if above else key, **rest})


def _labels(writing: _Writing, ids: Sequence[str]) -> Iterator[str]:
    """Labels that stand beside the path, of rows that are on it, once more: beside the path too, so that no label is its end."""
    labels: dict[str, tuple[str, bool]] = {}
    on_path = {step.base.key for step in writing.path.steps if step.base}
    for each in writing.file.stood.values():
        of, label = each.entry.get("targetId"), each.entry.get("label")
        if each.type == "label" and isinstance(of, str):
            labels[of] = (label if isinstance(label, str) else "", each.key in on_path)
    for of, (label, is_there) in labels.items():
        new = writing.names.get(of)
        if label and not is_there and new in ids[:-1]:
            head = {"type": "label", "id": writing.fresh(), "parentId": new, "timestamp": writing.now}
            yield stringify({**head, "targetId": new, "label": label})


__all__ = ["MODES", "options", "target", "write"]
