"""Interrupted writes: what the store holds decides what is recorded. A repair whose intent is open was killed, or failed, in the middle of its write."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import DatabaseError, connection
from django.db.models import Q, QuerySet

from inspector.access.context import unlimited
from inspector.actions.claim import AtWork, claimed
from inspector.actions.comparison import (
    Comparison,
    ValueState,
    appended_since,
    base_of,
    compare,
    differences,
    folded,
    others_applied,
    refuse_forged,
    target_of,
    writes_the_same,
)
from inspector.actions.import_source import import_after_write
from inspector.actions.planning import listed, preview_repair
from inspector.actions.problems import Refused
from inspector.actions.proving import surprise
from inspector.actions.recording import record_applied, record_outcome, record_undone, withdraw
from inspector.actions.writing import kept_changes
from inspector.installation import program
from inspector.models import Repair, Source, loading
from inspector.models.prepared import prepared
from inspector.presentation.visible import visible
from inspector.programs.formats import InFiles
from inspector.sources import stores
from inspector.sources.places import place, real
from inspector.sources.problems import Moved, SourceProblem

WENT_ON = "Its program went on with it before it was read back: what came since is not ours, and stays."
RECORDED_LATE = "The write was interrupted before it was recorded; the store was compared and the write recorded."


@dataclass(frozen=True, slots=True)
class Interrupted:
    """A repair that needs a write to the store before it is settled; `sentence` says which, and by which commands."""

    repair: Repair
    sentence: str
    hides_store: bool
    """The store cannot be read before that: it holds a journal that is not rolled back."""


@unlimited
def settle_all() -> list[Interrupted]:
    """Settles every interrupted repair as far as reading goes, and returns those that need a write. Never raises for what a store or our own
    database does: the next look tries again."""
    return _settled(Q())


@unlimited
def clear_interrupted() -> None:
    """Removes what killed writes left next to the files of stores; for the start of a server, since a look leaves a store as it is."""
    with suppress(DatabaseError):
        for repair in _open().select_related("conversation__source"):
            source = repair.conversation.source
            # At work: its own process still needs them.
            with suppress(AtWork, Refused, SourceProblem, OSError), claimed(repair):
                stores.clear(place(source.path), loading.format_of(source), [change.key for change in kept_changes(repair)])


@unlimited
def settle_source(name: str) -> list[Interrupted]:
    """The same for the repairs of one source: the one at this path, or with an imported conversation of this id, ours or native, or the start of it."""
    typed = visible(name)
    of_id = Q(conversation__source__conversations__oid__startswith=typed.lower()) | Q(
        conversation__source__conversations__native_id__startswith=typed
    )
    with suppress(SourceProblem):
        return [] if not name else _settled(Q(conversation__source__oid=Source.oid_of(visible(real(place(name))))) | of_id)
    return []


@unlimited
def settle_one(repair: Repair) -> Interrupted | None:
    """The same for one repair, which afterwards has its state of now."""
    interrupted = _settled(Q(pk=repair.pk)) if repair.intent else []
    repair.refresh_from_db()
    return interrupted[0] if interrupted else None


@unlimited
def _settled(which: Q) -> list[Interrupted]:
    interrupted: list[Interrupted] = []
    name = str(connection.settings_dict["NAME"])
    if connection.vendor == "sqlite" and "memory" not in name and not Path(name).exists():
        # Nothing was ever imported, and to ask would make an empty database.
        return interrupted
    with suppress(DatabaseError):
        # Asked before every page about stores, when hardly ever there is one: their rows are read after that, and asked once more whether they are
        # open: between the two a write may have ended, and what it wrote is not to be withdrawn.
        interrupted_ids = [pk for (pk,) in (_open().filter(which).values_list("pk") if which else _ids_of_open())]
        for repair in _open().filter(pk__in=interrupted_ids).select_related("conversation__source") if interrupted_ids else ():
            # At work: its own process settles it. Refused: its store cannot be read now.
            with suppress(AtWork, Refused), claimed(repair):
                comparison = settle(repair)
                if repair.intent:
                    interrupted.append(Interrupted(repair, _sentence(repair, comparison), comparison.needs_rollback))
    return interrupted


def _open() -> QuerySet[Repair]:
    return Repair.objects.filter(intent__in=Repair.Intent.values)


@prepared
def _ids_of_open() -> QuerySet[Repair, Any]:
    return _open().values_list("pk")


def settle(repair: Repair, was_killed: bool = True) -> Comparison:
    """Records or withdraws what the open intent says, by reading alone; the intent stays open where a write is needed. For who holds the claim.

    `was_killed`: nobody has the error of the write to report. Raises Refused where the store cannot be read.
    """
    comparison = compare(repair)
    if comparison.needs_rollback or comparison.is_partial:
        return comparison
    if repair.intent == Repair.Intent.APPLY:
        # Where another repair that wrote the same is applied already, the values in the store are that one's.
        if comparison.is_written and not any(writes_the_same(repair, other) for other in others_applied(repair)):
            _written(repair, comparison)
        else:
            operator = repair.applied_by
            withdraw(repair)
            if was_killed and (sentence := appended_since(comparison)):
                record_outcome(repair, operator, Repair.State(repair.state), sentence, "interrupted")
    elif comparison.is_back:
        changed = [(key, "has another value") for key in comparison.keys(ValueState.OTHER, ValueState.REVERTED)]
        outcome = "" if comparison.is_exactly_back else f" Since then {listed(changed)}."
        record_undone(repair, f"Undone: every record was given its bytes from before the repair.{outcome} {RECORDED_LATE}")
        import_after_write(repair.conversation.source.path, repair.undone_by, target_of(repair))
    else:
        withdraw(repair)
    return comparison


def settle_failed(repair: Repair, problem: SourceProblem) -> None:
    """After a write that failed. A database compares before it writes: with Moved, the values of the repair in the store are another program's."""
    if isinstance(problem, Moved) and not isinstance(loading.format_of(repair.conversation.source), InFiles):
        withdraw(repair)
    else:
        with suppress(Refused):
            settle(repair, was_killed=False)


def _written(repair: Repair, comparison: Comparison) -> None:
    record_applied(repair)
    later = differences(repair, comparison)
    if later:
        outcome, state = f"{RECORDED_LATE} {WENT_ON}", Repair.State.APPLIED
    else:
        try:
            unexpected = surprise(repair, preview_repair(repair))
        except Refused:
            # A strategy of another version: every byte is as written, and that is what undo needs.
            unexpected = ""
        state = Repair.State.APPLIED if unexpected else Repair.State.VERIFIED
        outcome = f"{RECORDED_LATE} But {unexpected}: undo it here." if unexpected else f"{RECORDED_LATE} Every byte is as previewed."
    record_outcome(repair, repair.applied_by, state, outcome, "verify")
    import_after_write(repair.conversation.source.path, repair.applied_by, target_of(repair))


def complete(repair: Repair, forward: bool) -> None:
    """Settles with a write where one is needed: the rest of the repair (`forward`), or what it changed back. For who holds the claim.

    Afterwards the intent is closed. Raises Refused; then the store is as it was, and the intent stays open.
    """
    comparison = settle(repair)
    source = repair.conversation.source
    where, format_ = place(source.path), loading.format_of(source)
    try:
        if repair.intent and comparison.needs_rollback:
            if not _explains(repair, comparison):
                raise Refused(
                    f"{source.name} holds a half-finished write of another program (its -journal file is not rolled back): start and stop that program, then try again."
                )
            stores.roll_back(where)
            comparison = settle(repair)
        if repair.intent and comparison.is_partial:
            _refuse_others(repair, comparison, forward)
            # What the plan does not touch was compared when the write began; what it does touch is compared again by the write.
            stores.commit(where, format_, {}, {}, comparison.remaining(forward))
            repair.intent = Repair.Intent.APPLY if forward else Repair.Intent.UNDO
            if not forward:
                repair.undone_by = repair.undone_by or repair.applied_by
            settle(repair)
        if not repair.intent:
            stores.clear(where, format_, [change.key for change in comparison.changes])
    except SourceProblem as problem:
        raise Refused(problem.sentence) from None


def _explains(repair: Repair, comparison: Comparison) -> bool:
    """Whether our own intent explains the journal: what it leads back to is what our write began with."""
    began_with = ValueState.BEFORE if repair.intent == Repair.Intent.APPLY else ValueState.AFTER
    return set(comparison.values) == {began_with}


def _refuse_others(repair: Repair, comparison: Comparison, forward: bool) -> None:
    moved = comparison.keys(ValueState.OTHER, ValueState.GROWN, ValueState.REVERTED)
    if moved:
        raise Refused(
            f"The write of this repair was interrupted, and another program wrote since: {listed([(key, 'has another value') for key in moved])}. "
            "Nothing was written now: the values before and after are kept on the page of the repair."
        )
    if not forward:
        refuse_forged(repair)
        return
    preview = preview_repair(repair)
    if preview.digest != repair.approved_digest or folded(preview.changes) != list(comparison.changes):
        raise Refused("The plan comes out otherwise than approved, so the rest of it is not written: undo it, then propose it again.")
    source, changed = repair.conversation.source, {change.key for change in comparison.changes}
    other_values = {record.key: record.value for record in base_of(repair).records if record.key not in changed}
    now = stores.cells(place(source.path), loading.format_of(source), target_of(repair), list(other_values))
    moved = [key for key, cell in now.items() if cell != other_values[key]]
    if moved:
        raise Refused(
            f"The conversation went on since the write of this repair was interrupted: {listed([(key, 'has another value') for key in moved])}. "
            "The rest is not written: undo it, then propose it again."
        )


def _sentence(repair: Repair, comparison: Comparison) -> str:
    """What an interrupted repair needs, and the commands that do it."""
    name = repair.conversation.source.name
    finish, restore = f"{program()} apply {repair.oid}", f"{program()} undo {repair.oid}"
    what = "apply" if repair.intent == Repair.Intent.APPLY else "undo"
    if comparison.needs_rollback:
        return (
            f"Repair {repair.oid} was interrupted while it was written to {name} ({what}), which now holds a half-finished write: "
            f"`{finish}` rolls it back and applies the repair, `{restore}` rolls it back and leaves the store as before the repair."
        )
    written = len(comparison.keys(ValueState.AFTER, ValueState.GROWN))
    cut = "".join(f", of {visible(key)} a part" for key in comparison.keys(ValueState.CUT))
    return (
        f"Repair {repair.oid} was interrupted while it was written to {name} ({what}): {written} of {len(comparison.changes)} values are as repaired{cut}. "
        f"`{finish}` writes the rest, `{restore}` restores what was before."
    )
