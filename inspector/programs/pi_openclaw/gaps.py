"""Gaps of a path: entries whose stored parent is in no line, with which it begins, or at which OpenClaw 2026.9 goes on, and which steps go on saying so."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from inspector.conversation.model import Kind
from inspector.programs.formats import Stored
from inspector.programs.pi_openclaw.file import File, StoredEntry, entry_key
from inspector.programs.pi_openclaw.path import PathStep
from inspector.programs.pi_openclaw.readers.paths import scanned_path


@dataclass(frozen=True, slots=True)
class Gaps:
    """`lost`: by the number of a step the parent that it names although no line has it. `are_passed`: the path is one that OpenClaw 2026.9 takes, which goes
    on past a gap; other programs begin at it.
    """

    lost: Mapping[int, str]
    are_passed: bool = False


def gaps_of(stored: Stored, file: File, steps: Sequence[PathStep], in_openclaw: bool) -> Gaps:
    """The gaps that a repair leaves as they were, because it is not about them.

    An id repaired further down once gave the entry after a gap the parent that only reparent-orphan-entry infers, and the lost answer had no trace left.
    """
    keys = list(dict.fromkeys(entry_key(chunk) for chunk in stored.conversation.chunks))
    after_gaps = _after_gaps(keys, file, steps)
    if not after_gaps:
        return Gaps({})
    are_passed = in_openclaw and keys == _scanned(stored, file)
    if are_passed:
        after_gaps = {key: parent for key, parent in after_gaps.items() if parent.strip() and (key not in keys[:1] or _is_first(key, file))}
    above = {key: before for before, key in pairwise(("", *keys))}
    lost: dict[int, str] = {}
    row, first_put = "", 0
    for number, step in enumerate(steps):
        base = step.base
        if base is None or step.copied:
            continue
        # Where another stored row leads to it now, or the one that did has left, OpenClaw would read it where the plan does not have it.
        if base.key in after_gaps and above.get(base.key, "") == row and not _is_led(step, base, file):
            lost[_beginning(steps, first_put, number) if row else 0] = after_gaps[base.key]
        if not base.number:
            row, first_put = base.key, number + 1
    # OpenClaw 2026.9 would hang the next entry onto the very one that left.
    if not are_passed and 0 not in lost and (parent := _left_by_its_entry(keys, after_gaps, steps)) is not None:
        lost[0] = parent
    return Gaps(lost, are_passed)


def _after_gaps(keys: Sequence[str], file: File, steps: Sequence[PathStep]) -> dict[str, str]:
    """The lost parents of entries of the path, before or after the repair, by their keys."""
    on_path = [file.entries[key] for key in keys if key in file.entries] + [step.base for step in steps if step.base]
    # A record that shared its line and is brought back is no lost parent.
    back = {step.base.id for step in steps if step.base and step.base.number}
    return {
        entry.key: entry.parent
        for entry in on_path
        if entry.id and entry.parent is not None and not file.ids[entry.parent] and entry.parent not in back
    }


def _scanned(stored: Stored, file: File) -> list[str]:
    tree = replace(stored.conversation, chunks=tuple(file.session.chunks))
    return list(dict.fromkeys(entry_key(chunk) for chunk in scanned_path(tree).chunks))


def _is_first(key: str, file: File) -> bool:
    """Whether OpenClaw has no leaf yet where it reads the entry, onto which it would hang what is put there."""
    rows = (entry for entry in file.entries.values() if not entry.number and entry.entry.get("appendMode") is None)
    return (first := next(rows, None)) is not None and first.key == key


def _is_led(step: PathStep, base: StoredEntry, file: File) -> bool:
    """Whether the plan itself gives the entry another parent."""
    stored = [chunk for chunk in step.chunks if (block := file.origin.get(chunk.key)) is not None and block[0] is base]
    return any(chunk.parent != base.parent for chunk in stored)


def _beginning(steps: Sequence[PathStep], first_put: int, number: int) -> int:
    """The first step after a gap inside of the path. Results and parts of entries belong to what is above it: what stops at the gap would begin with them."""
    put = range(first_put, number)
    return next((at for at in put if steps[at].base is None and steps[at].chunks[0].kind is not Kind.TOOL_RESULT), number)


def _left_by_its_entry(keys: Sequence[str], after_gaps: Mapping[str, str], steps: Sequence[PathStep]) -> str | None:
    """The lost parent of a path's first entry that is no longer on it: what comes after it begins after the gap now."""
    rows = [step.base.key for step in steps if step.base is not None and not step.copied]
    has_left = bool(rows) and rows[0] in keys and keys[0] not in rows
    return after_gaps.get(keys[0]) if has_left else None
