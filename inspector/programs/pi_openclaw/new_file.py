"""The repaired path as a session file of its own, which names the old one as its parent."""

import re
from collections.abc import Iterator, Sequence

from inspector.conversation.edits import Plan
from inspector.programs.formats import Cell, Change, WriteRefused
from inspector.programs.pi_openclaw.ledger import Ledger, row_time
from inspector.programs.pi_openclaw.lines import keeps_ids
from inspector.programs.pi_openclaw.verifying import verified
from inspector.text import jsontext
from inspector.text.js_json import stringify


def new_file(plan: Plan, key: str, writing: Ledger) -> Change:
    """A session file next to the old one: the path under its old ids where its rows say what they said, and the labels on it."""
    folder = key.rpartition("/")[0]
    if not folder:
        raise WriteRefused(
            "A new session is written next to this one, outside of what is open here: import the sessions folder, or write --mode replay-suffix."
        )
    file, steps = writing.file, writing.path.steps
    ids: list[str] = []
    lines: list[str] = [_header(plan, key, writing)]
    before = next((time for step in steps if (time := row_time(step, ""))), writing.now)
    used: set[str] = set()
    has_ids = not file.session.header or keeps_ids(file.session.header)
    for step in steps:
        base, parent = step.base, ids[-1] if ids else None
        free = base is not None and step.same and not step.copied and bool(base.id) and base.id not in used and has_ids
        id_ = base.id if base is not None and free else writing.fresh()
        if base is not None and not step.copied:
            writing.names[base.id] = id_
        lines.append(writing.line(step, id_, parent, None if base is not None and not step.copied else before, before, on_its_own=True))
        used.add(id_)
        ids.append(id_)
        before = row_time(step, before)
    lines[-1:-1] = _labels(writing, ids)
    data = jsontext.encode("".join(text + "\n" for text in lines))
    verified(None, data, ids, writing.path.final.chunks, in_openclaw=writing.in_openclaw)
    # OpenClaw looks for a file that is named by its session's id alone, pi lists every name and writes the time before the id.
    stamp = "" if writing.in_openclaw else f"{re.sub('[:.]', '-', writing.now)}_"
    return Change(f"{folder}/{stamp}{plan.options['fork_id']}.jsonl", None, Cell(data, "file"))


def _header(plan: Plan, key: str, writing: Ledger) -> str:
    """The header again, in pi's order of keys; other members of the old one are left out. A file of version 1 gets the ids of version 2."""
    stored = dict(writing.file.session.header)
    above = plan.source.rstrip("/").rpartition("/")[0]
    version = stored.get("version") if stored and keeps_ids(stored) else 2 if stored else 3
    own = {"type": "session", "version": version, "id": plan.options["fork_id"], "timestamp": writing.now, "cwd": stored.get("cwd", "")}
    other_members = {name: value for name, value in stored.items() if name not in (*own, "parentSession", "branchedFrom")}
    return stringify({**own, "parentSession": f"{above}/{key}" if above else key, **other_members})


def _labels(writing: Ledger, ids: Sequence[str]) -> Iterator[str]:
    """Labels that are not on the path, of rows that are on it, once more: off the path too, so that no label is its end."""
    labels: dict[str, tuple[str, bool]] = {}
    on_path = {step.base.key for step in writing.path.steps if step.base}
    for entry in writing.file.entries.values():
        of, label = entry.entry.get("targetId"), entry.entry.get("label")
        if entry.type == "label" and isinstance(of, str):
            labels[of] = (label if isinstance(label, str) else "", entry.key in on_path)
    for of, (label, is_there) in labels.items():
        new = writing.names.get(of)
        if label and not is_there and new in ids[:-1]:
            head = {"type": "label", "id": writing.fresh(), "parentId": new, "timestamp": writing.now}
            yield stringify({**head, "targetId": new, "label": label})
