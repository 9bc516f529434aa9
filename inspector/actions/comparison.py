"""A repair's store compared with the state before the repair and what it wrote: the one answer to whether it is in the store."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations

from inspector.actions.planning import current, listed, preview_repair
from inspector.actions.problems import Refused
from inspector.actions.writing import back, kept_changes
from inspector.conversation.edits import Plan, Safety
from inspector.models import Repair, loading
from inspector.planning.preview import digest, is_named
from inspector.presentation.visible import visible
from inspector.programs.formats import Cell, Change, Format, InFiles, Stored, WrittenByProgram, after
from inspector.sources import elements, stores
from inspector.sources.places import place
from inspector.sources.problems import SourceProblem, Unfinished

UNDOABLE = (Repair.State.APPLIED, Repair.State.VERIFIED)


class ValueState(StrEnum):
    """One value of the store now: as it was before the repair, that with a part of what the repair appends or with more appended, as the repair wrote it,
    that with more appended, or anything else."""

    BEFORE = "before"
    CUT = "cut"
    REVERTED = "reverted"
    AFTER = "after"
    GROWN = "grown"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Comparison:
    """`needs_rollback`: an SQLite journal waits, and the values are those that it leads back to. `cells`: what the store has now, by key."""

    changes: tuple[Change, ...]
    values: tuple[ValueState, ...]
    in_files: bool
    cells: Mapping[str, Cell | None]
    needs_rollback: bool = False

    @property
    def is_written(self) -> bool:
        """Every value is as written. Of a database also where single values went on since: a transaction writes all or none."""
        return self._any(ValueState.AFTER, ValueState.GROWN) and not self.is_partial

    @property
    def is_back(self) -> bool:
        """As `is_written`, of the values from before the repair."""
        return self._any(ValueState.BEFORE, ValueState.REVERTED) and not self._any(ValueState.AFTER, ValueState.GROWN, ValueState.CUT)

    @property
    def is_exactly_back(self) -> bool:
        return set(self.values) <= {ValueState.BEFORE}

    @property
    def is_overwritten(self) -> bool:
        """Of an applied repair: a program wrote its own copy from before it back, and may have gone on from there."""
        return set(self.values) <= {ValueState.BEFORE, ValueState.REVERTED}

    @property
    def is_partial(self) -> bool:
        """Of files, some were written and some not, or one was appended to in part: the process ended in the middle."""
        return self.in_files and (
            self._any(ValueState.CUT) or (self._any(ValueState.AFTER, ValueState.GROWN) and self._any(ValueState.BEFORE))
        )

    def remaining(self, forward: bool) -> list[Change]:
        """The changes that are left of the write, or (not `forward`) of taking it back; of what was appended in part, from that part on."""
        changes = []
        for change, value in zip(self.changes, self.values, strict=True):
            if value is ValueState.CUT:
                now = self.cells[change.key]
                changes.append(replace(change, before=now) if forward else replace(change, after=now))
            elif value is not (ValueState.AFTER if forward else ValueState.BEFORE):
                changes.append(change)
        return changes if forward else back(changes)

    def keys(self, *values: ValueState) -> list[str]:
        return [change.key for change, now in zip(self.changes, self.values, strict=True) if now in values]

    def _any(self, *values: ValueState) -> bool:
        return any(value in values for value in self.values)


def compare(repair: Repair) -> Comparison:
    """Reads every value that the repair changes, and nothing else. Raises Refused where the store cannot be read.

    While the intent is open, a rollback journal may be what its own write left: then the values are those that the journal leads back to.
    """
    changes = folded(kept_changes(repair))
    source = repair.conversation.source
    format_ = loading.format_of(source)
    where, keys = place(source.path), list(dict.fromkeys(change.key for change in changes))
    needs_rollback = False
    try:
        try:
            cells = stores.cells(where, format_, target_of(repair), keys)
        except Unfinished:
            if not repair.intent:
                raise
            cells = stores.cells(where, format_, target_of(repair), keys, after_rollback=True)
            needs_rollback = True
        values = tuple(_value(change, cells[change.key], format_) for change in changes)
    except SourceProblem as problem:
        raise Refused(problem.sentence) from None
    return Comparison(tuple(changes), values, isinstance(format_, InFiles | WrittenByProgram), cells, needs_rollback)


def folded(changes: Iterable[Change]) -> list[Change]:
    """One change for each value: the first `before` and the last `after` of those that a plan changes more than once; none where the two are equal."""
    of_key: dict[str, Change] = {}
    shared: list[Change] = []
    for change in changes:
        if change.element:
            shared.append(change)
        else:
            first = of_key.get(change.key, change)
            of_key[change.key] = replace(change, before=first.before)
    return [change for change in (*of_key.values(), *shared) if change.before != change.after]


def _value(change: Change, cell: Cell | None, format_: Format) -> ValueState:
    state = elements.state(change, cell)
    if state is not elements.ChangeState.NEITHER:
        return ValueState(state.value)
    if change.element or cell is None or cell.type != "file":
        return ValueState.OTHER
    if isinstance(format_, WrittenByProgram):
        return ValueState.CUT if change.after is not None and format_.is_part(cell, change.after) else ValueState.OTHER
    if (
        change.before is not None
        and change.after is not None
        and change.after.data.startswith(cell.data)
        and cell.data.startswith(change.before.data)
    ):
        return ValueState.CUT
    # Of a file that was lengthened or shortened both may be true: the longer one says which it was.
    both = ((change.before, ValueState.REVERTED), (change.after, ValueState.GROWN))
    starts = [(len(value.data), state) for value, state in both if value is not None and cell.data.startswith(value.data)]
    return max(starts, default=(0, ValueState.OTHER))[1]


def appended_since(comparison: Comparison) -> str:
    """Of files that were to be appended to, and that another program appended to: which, and how much of that the repair writes as well; "" where there is none."""
    sentences = []
    for change, value in zip(comparison.changes, comparison.values, strict=True):
        cell = comparison.cells[change.key]
        if value is not ValueState.REVERTED or cell is None or change.before is None or change.after is None:
            continue
        if not change.after.data.startswith(change.before.data):
            continue
        size = len(change.before.data)
        added, own = cell.data[size:], change.after.data[size:]
        same = len(own) if own in added else next(at for at, pair in enumerate(zip(added, own, strict=False)) if pair[0] != pair[1])
        sentences.append(
            f"{visible(change.key)} has {len(added):,} bytes more than before it, of which {same:,} are as the repair writes them"
        )
    if not sentences:
        return ""
    return (
        f"The write of this repair was interrupted, and another program appended since: {'; '.join(sentences)}. All of them stay, and nothing was "
        "written now: look at the end of that file before you propose the repair again."
    )


def target_of(repair: Repair) -> str:
    """Native id of the conversation that holds the result. Nothing here computes the plan again: undo must outlive a strategy."""
    source = repair.conversation.source
    plan = Plan(source.path, base_of(repair).conversation.native_id, repair.mode, (), frozenset(), repair.base_digest, (), repair.options)
    return loading.format_of(source).target(plan)


def base_of(repair: Repair) -> Stored:
    """The records that the repair was planned on, from our own database."""
    return loading.stored(repair.conversation, repair.revision)


def others_applied(repair: Repair) -> list[Repair]:
    """The other repairs that are recorded as written to the conversation that holds the result of this one."""
    others = Repair.objects.filter(conversation=repair.conversation, state__in=UNDOABLE, intent="").exclude(pk=repair.pk)
    target = target_of(repair)
    return [other for other in others.select_related("conversation__source") if target_of(other) == target]


def writes_the_same(repair: Repair, other: Repair) -> bool:
    """Of two repairs with one target: whether only one of them can be in the store. A plan of a new conversation may differ from another in a time or a reader."""
    is_new = target_of(repair) != base_of(repair).conversation.native_id
    return is_new or other.plan_digest == repair.plan_digest


def as_written(repair: Repair) -> list[Stored]:
    """What the repair left of its target, computed from the records of its base; nothing where it removed all of it."""
    records = after(base_of(repair).records, kept_changes(repair))
    target = target_of(repair)
    format_ = loading.format_of(repair.conversation.source)
    return [stored for stored in format_.read(records) if is_named(stored.conversation.native_id, target)]


def differences(repair: Repair, comparison: Comparison | None = None) -> list[tuple[str, str]]:
    """Where the store no longer holds what the repair left there, as (record key, what); empty where it holds all of it. Raises Refused.

    Every value that it wrote, and every chunk of the conversation that holds the result; of a new conversation every record.
    """
    comparison = comparison or compare(repair)
    target = target_of(repair)
    expected = {chunk.key: chunk.raw for stored in as_written(repair) for chunk in stored.conversation.chunks}
    now = current(repair.conversation, target)
    chunks = {} if now is None else {chunk.key: chunk.raw for chunk in now.conversation.chunks}
    rows = [
        (key, "is new" if key not in expected else "is gone" if key not in chunks else "has another value")
        for key in sorted(expected.keys() | chunks.keys())
        if expected.get(key) != chunks.get(key)
    ]
    named = Counter(_record_of(key, comparison.changes) for key, _ in rows)
    values = [
        (change.key, _what(change, value))
        for change, value in zip(comparison.changes, comparison.values, strict=True)
        if value is not ValueState.AFTER and not named[change.key]
    ]
    # A new conversation is the repair's alone: a record that it did not write came later, and would be left there without the rest.
    is_new = target != base_of(repair).conversation.native_id
    records = set() if now is None else {record.key for record in now.records}
    later = [(key, "is new") for key in sorted(records - {change.key for change in comparison.changes} - chunks.keys()) if is_new]
    return rows + values + later


def _record_of(chunk_key: str, changes: Sequence[Change]) -> str:
    """The changed record that holds the chunk; of a file, chunks are named by places in it or by entries."""
    only = changes[0].key if len(changes) == 1 else ""
    return next((change.key for change in changes if chunk_key == change.key or chunk_key.startswith(f"{change.key}#")), only)


def _what(change: Change, value: ValueState) -> str:
    if value is ValueState.CUT:
        return "has a part of what the repair appends"
    if value is ValueState.REVERTED:
        return "is as before the repair, with more at its end"
    if value is ValueState.GROWN:
        return "has more at its end"
    if change.element and value is ValueState.OTHER:
        return "lists it with another value"
    if change.element:
        return "no longer lists what was added" if change.after else "lists again what was taken out"
    return "is as before the repair" if value is ValueState.BEFORE else "has another value"


def refuse_forged(repair: Repair) -> None:
    """Raises Refused where a kept change is not one of the approved plan: undo would write bytes that were never there, or to other records.

    A plan that comes out otherwise today, as with another version of a strategy, leaves the values before, which the repair's base digest covers.
    """
    base, changes = base_of(repair), folded(kept_changes(repair))
    values = {record.key: record.value for record in base.records}
    forged = [change.key for change in changes if not change.element and change.before != values.get(change.key)]
    if digest(base) != repair.base_digest:
        forged = forged or ["what was imported of the conversation"]
    if not forged and not _is_approved(repair, base):
        with suppress(Refused):
            preview = preview_repair(repair)
            approved = folded(preview.changes) if preview.digest == repair.approved_digest else changes
            forged = [change.key for change in (*changes, *approved) if change not in approved or change not in changes]
    if forged:
        keys = listed([(key, "is not as it was approved") for key in dict.fromkeys(forged)])
        raise Refused(
            f"The values that were kept of this repair were changed in Inspector's own database: {keys}. "
            "Nothing was written: restore the database from a backup, or the store itself."
        )


def _is_approved(repair: Repair, base: Stored) -> bool:
    """Whether the kept changes alone give the digest that was approved, which covers all their bytes. The marks of safety in it are not kept: each is tried."""
    plan = Plan(
        repair.conversation.source.path,
        base.conversation.native_id,
        repair.mode,
        tuple(repair.strategies),
        frozenset(),
        repair.base_digest,
        (),
        dict(repair.options),
    )
    changes = kept_changes(repair)
    marks = [frozenset(chosen) for count in range(len(Safety) + 1) for chosen in combinations(Safety, count)]
    return any(replace(plan, safety=safety).digest(changes) == repair.approved_digest for safety in marks)
