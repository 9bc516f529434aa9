"""Lines that name a parent which a resume does not take for the one that it was written for: the line is of a type that is not read, or its uuid is used again.

Measured with Claude Code 2.1.332 (`claude -p --resume` on a line of each type): `user`, `assistant`, `attachment`, `system` and `progress` lead on to their
parents. Below any other line (`saved_hook_context`, `summary`, `queue-operation`, `mode`) the session begins again, but where the message before is at
most 5 seconds older: then it is taken for the parent. Of two lines of `system` or `attachment` with one uuid the last is read, and of `progress` the one before.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inspector.conversation.model import Conversation
from inspector.conversation.tree import Entry
from inspector.programs.claude_code.chain import Chain, chain_of, split_tree
from inspector.programs.claude_code.kept import is_boundary
from inspector.programs.claude_code.leaf import is_message
from inspector.programs.claude_code.lines import SYSTEM
from inspector.programs.claude_code.path import BRIDGED, leads_on
from inspector.programs.claude_code.relinking import with_parents
from inspector.rules.base import Case, cached_per_case

_READ_ONCE = ("attachment", SYSTEM)


@dataclass(frozen=True, slots=True)
class Detour:
    """`entry` names `below`, the last such line before it, and belongs below `parent`."""

    entry: Entry
    below: Entry
    parent: Entry
    is_repeated: bool

    @property
    def is_unread(self) -> bool:
        return not leads_on(self.below)

    @property
    def is_near(self) -> bool:
        own, before = self.entry.chunks[0].at, self.parent.chunks[0].at
        return own is not None and before is not None and 0 <= own - before <= BRIDGED


@cached_per_case
def detours(case: Case) -> tuple[Detour, ...]:
    """Of lines since the last compaction that are on the path once each is led past them; where nothing is before them, nothing is lost."""
    lines = _detours(chain_of(case))
    if not lines:
        return ()
    on_path = {chunk.key for chunk in case.view(led_past(split_tree(case), lines)).chunks}
    return tuple(detour for detour in lines if detour.entry.chunks[0].key in on_path)


def led_past(tree: Conversation, lines: Sequence[Detour]) -> Conversation:
    return with_parents(tree, ((detour.entry, detour.parent.id) for detour in lines))


def _detours(chain: Chain) -> list[Detour]:
    by_id: dict[str, list[Entry]] = {}
    for entry in chain.lines:
        by_id.setdefault(entry.id, []).append(entry)
    leading = {id_: lines for id_, lines in by_id.items() if _misleads(lines)}
    if not leading:
        return []
    newest = max(chain.segments.values())
    lines: list[Detour] = []
    for entry in chain.lines:
        group = leading.get(entry.parent or "")
        if group is None or not leads_on(entry) or chain.segments[entry.index] != newest:
            continue
        if (parent := _parent(entry, by_id, leading)) is not None:
            lines.append(Detour(entry, _last_before(group, entry), parent, len(group) > 1))
    # What hangs below the line that is read goes on to where it was written for, as after a compaction that wrote lines again.
    misled = {detour.below.id for detour in lines if detour.is_unread or detour.below.index != leading[detour.below.id][-1].index}
    return [detour for detour in lines if detour.below.id in misled]


def _misleads(lines: Sequence[Entry]) -> bool:
    if not any(leads_on(entry) for entry in lines):
        return True
    is_between = all(entry.type in _READ_ONCE and not is_message(entry) and not is_boundary(entry.about) for entry in lines)
    return is_between and len({entry.parent for entry in lines}) > 1


def _last_before(lines: Sequence[Entry], entry: Entry) -> Entry:
    return lines[max(bisect_left(lines, entry.index, key=lambda line: line.index) - 1, 0)]


def _parent(entry: Entry, by_id: Mapping[str, Sequence[Entry]], leading: Mapping[str, Sequence[Entry]]) -> Entry | None:
    """The first line above that leads nobody elsewhere, by the order of the file; None where there is none."""
    walked: set[int] = set()
    while (group := leading.get(entry.parent or "")) is not None and entry.index not in walked:
        walked.add(entry.index)
        entry = _last_before(group, entry)
    above = by_id.get(entry.parent or "")
    return above[-1] if above is not None and group is None else None
