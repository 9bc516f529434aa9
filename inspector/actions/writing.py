"""The guarded write of a repair's changes, forwards and backwards; the only place besides `sources` that knows both."""

import hashlib
from collections.abc import Iterable, Sequence

from inspector.models import Repair, RepairChange
from inspector.models.transactions import one_writer
from inspector.programs.formats import Cell, Change, Element, Format, Stored
from inspector.sources import stores
from inspector.sources.dsn import Place


def keep(repair: Repair, changes: Sequence[Change]) -> None:
    """The intent: every value before and after, in our own database before the store is touched."""
    with one_writer():
        _keep(repair, changes)


def _keep(repair: Repair, changes: Sequence[Change]) -> None:
    repair.changes.all().delete()
    rows = [
        RepairChange(
            repair=repair,
            position=position,
            key=change.key.encode("utf-8", "surrogateescape"),
            element=change.element,
            before=change.before.data if change.before else None,
            before_type=change.before.type if change.before else "",
            after=change.after.data if change.after else None,
            after_type=change.after.type if change.after else "",
        )
        for position, change in enumerate(changes)
    ]
    RepairChange.objects.bulk_create(rows, batch_size=1000)
    repair.values_digest = values_digest(rows)
    repair.save(update_fields=["values_digest"])


def values_digest(rows: Iterable[RepairChange]) -> str:
    """SHA-256 (hex) of kept values, in the order of their positions; "" where there are none."""
    digest = hashlib.sha256()
    is_empty = True
    for row in rows:
        is_empty = False
        for part in (
            str(row.position).encode(),
            row.key,
            row.element.encode(),
            row.before,
            row.before_type.encode(),
            row.after,
            row.after_type.encode(),
        ):
            digest.update(b"-" if part is None else b"%d:" % len(part))
            digest.update(part or b"")
    return "" if is_empty else digest.hexdigest()


def kept_changes(repair: Repair) -> list[Change]:
    return [
        Change(
            bytes(row.key).decode("utf-8", "surrogateescape"),
            None if row.before is None else Cell(bytes(row.before), row.before_type),
            None if row.after is None else Cell(bytes(row.after), row.after_type),
            Element(row.element),
        )
        for row in repair.changes.all()
    ]


def write(path: Place, format_: Format, stored: Sequence[Stored], changes: Sequence[Change], is_copy: bool = False) -> float:
    """Writes `changes` where every conversation of `stored` still is byte for byte as read. Returns the milliseconds of lock."""
    guard: dict[str, dict[str, Cell]] = {}
    watch: dict[str, Cell | None] = {}
    for conversation in stored:
        prefixes, keys = format_.guard(conversation)
        guard |= prefixes
        watch |= keys
    return stores.commit(path, format_, guard, watch, changes, is_copy)


def back(changes: Sequence[Change]) -> list[Change]:
    return [change.reversed() for change in reversed(changes)]
