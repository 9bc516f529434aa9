"""What a write keeps account of: ids that are given out, references that follow them, and which stored rows already are what the path needs."""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from inspector.conversation.edits import Plan
from inspector.programs.formats import Stored
from inspector.programs.pi_openclaw.encoding import REFERENCES, EntryPlace, iso, new_line, stored_line
from inspector.programs.pi_openclaw.entries import moment
from inspector.programs.pi_openclaw.file import File, entry_key
from inspector.programs.pi_openclaw.gaps import Gaps, gaps_of
from inspector.programs.pi_openclaw.path import FIRST_KEPT, PathStep, Planned

_USUAL_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)


@dataclass(slots=True)
class Ledger:
    """`names`: the id that an old one has from now on. `used_ids`: every id that no new one may have. `speaker`: the assistant nearby."""

    file: File
    path: Planned
    now: str
    seed: str
    in_openclaw: bool
    used_ids: set[str]
    after_removed: Mapping[str, str]
    gaps: Gaps
    names: dict[str, str] = field(default_factory=dict)
    speaker: Mapping[str, Any] = field(default_factory=dict)
    count: int = 0

    @classmethod
    def of(cls, plan: Plan, stored: Stored, file: File, path: Planned) -> "Ledger":
        used_ids = {str(entry.entry.get(name)) for entry in file.entries.values() for name in ("id", "storedId")}
        now = iso(max(moment(plan.options.get("now")) or 0, latest(entry.entry for entry in file.entries.values())))
        in_openclaw = stored.conversation.format == "openclaw"
        ledger = cls(
            *(file, path, now, plan.options.get("fresh_id", ""), in_openclaw, used_ids),
            _after_removed(stored, file, path.steps),
            gaps_of(stored, file, path.steps, in_openclaw),
        )
        speakers = [step.chunks[0].payload.get("entry") for step in path.steps if step.chunks[0].role == "assistant"]
        ledger.speaker = next((entry for entry in speakers if isinstance(entry, Mapping) and entry.get("model")), {})
        return ledger

    def fresh(self) -> str:
        """The next new id: 8 hexadecimal digits, as pi draws them, that the file does not hold."""
        while True:
            self.count += 1
            id_ = hashlib.sha256(f"{self.seed} {self.count}".encode()).hexdigest()[:8]
            if id_ not in self.used_ids:
                self.used_ids.add(id_)
                return id_

    def named(self, step: PathStep, own: str) -> dict[str, str]:
        """The references of a step that name another id than they did."""
        if step.base is None:
            return {}
        planned_entry = step.chunks[0].payload.get("entry")
        entry = planned_entry if isinstance(planned_entry, Mapping) else step.base.entry
        references = {name: value for name in REFERENCES if isinstance(value := entry.get(name), str)}
        if step.first_kept is not None:
            references[FIRST_KEPT] = step.first_kept
        changed: dict[str, str] = {}
        for name, value in references.items():
            target = self.after_removed.get(value, value) if name == FIRST_KEPT else value
            new = own if target in ("", step.base.id) and name == FIRST_KEPT else self.names.get(target, target)
            if new != step.base.entry.get(name):
                changed[name] = new
        return changed

    def line(self, step: PathStep, id_: str, parent: str | None, timestamp: str | None, before: str, on_its_own: bool = False) -> str:
        """The text of a step; a new row, which has no time of its own, takes that of the row `before` it."""
        if step.chunks[0].role == "assistant" and isinstance(entry := step.chunks[0].payload.get("entry"), Mapping) and entry.get("model"):
            self.speaker = entry
        place = EntryPlace(id_, parent, timestamp, self.named(step, id_), on_its_own)
        if step.base is None:
            return new_line(step, replace(place, timestamp=timestamp or before), self.speaker)
        return stored_line(self.file, step, place)

    def is_in_place(self, step: PathStep, parent: str | None) -> bool:
        """Whether the stored row of a step is already what the path needs."""
        base = step.base
        if base is None or step.copied or not step.same or base.number or not base.id or self.file.ids[base.id] != 1:
            return False
        if self.in_openclaw and base.entry.get("appendMode") is not None:
            return False
        return base.parent == parent and not self.named(step, base.id)


def latest(entries: Iterable[Any]) -> int:
    """The last time that an entry names (epoch ms); 0 where none does."""
    texts = {text for entry in entries if isinstance(entry, Mapping) and isinstance(text := entry.get("timestamp"), str)}
    # As the programs write times their texts have the order of the times: of those the last one is read, as far as it is a time.
    usual = sorted(text for text in texts if _USUAL_TIME.fullmatch(text))
    last = next((time for text in reversed(usual) if (time := moment(text)) is not None), 0)
    return max((last, *(moment(text) or 0 for text in texts.difference(usual))))


def row_time(step: PathStep, before: str) -> str:
    value = step.base.entry.get("timestamp") if step.base and not step.copied else None
    return value if isinstance(value, str) and moment(value) is not None else before


def _after_removed(stored: Stored, file: File, steps: Sequence[PathStep]) -> dict[str, str]:
    """For each entry that leaves the path the next one that stays ("" = none): where a compaction's pointer goes that named it."""
    path_keys = {step.base.key for step in steps if step.base}
    next_ids: dict[str, str] = {}
    following = ""
    for key in reversed(list(dict.fromkeys(entry_key(chunk) for chunk in stored.conversation.chunks))):
        entry = file.entries.get(key)
        if entry is None or not entry.id:
            continue
        if key in path_keys:
            following = entry.id
        else:
            next_ids[entry.id] = following
    return next_ids
