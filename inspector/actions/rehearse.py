"""Applies, reads, undoes and compares on a copy, so that approval rests on a write that was seen to work."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inspector.actions.proving import reads_as_planned
from inspector.actions.writing import back, write
from inspector.planning.preview import Preview
from inspector.presentation.visible import visible
from inspector.programs.formats import Format, Record, Stored, WrittenByProgram
from inspector.sources import files, own_program, stores
from inspector.sources.dsn import Dsn, Place
from inspector.sources.problems import SourceProblem
from inspector.sources.reading import read_store


def rehearse(path: Place, format_: Format, stored: Stored, preview: Preview) -> dict[str, Any]:
    """What happened on a copy: {ok, milliseconds, records, sentence}. Never raises for what the store does."""
    try:
        if isinstance(path, Dsn):
            return _on_server(path, format_, stored, preview)
        if isinstance(format_, WrittenByProgram):
            return _by_program(path, format_, preview)
        with files.workspace() as folder:
            # Under its own name: keys of files start with the name of the source.
            copy = folder / path.resolve().name
            stores.copy(path, copy, format_)
            return _on_copy(copy, format_, stored, preview)
    except SourceProblem as problem:
        return {"ok": False, "sentence": f"The rehearsal failed: {visible(problem.sentence)}"}


def _on_copy(copy: Path, format_: Format, stored: Stored, preview: Preview) -> dict[str, Any]:
    first = _everything(copy, format_)
    milliseconds = write(copy, format_, [stored], preview.changes, is_copy=True)
    target = format_.target(preview.plan)
    result = next(
        (candidate for candidate in read_store(copy, format_.name).conversations if candidate.conversation.native_id == target), None
    )
    if result is None or not reads_as_planned(preview.after.case, preview, result):
        return {"ok": False, "sentence": "On a copy, what was written did not read back as previewed: do not apply this plan."}
    write(copy, format_, [result], back(preview.changes), is_copy=True)
    if _everything(copy, format_) != first:
        return {"ok": False, "sentence": "On a copy, undo did not restore every byte: do not apply this plan."}
    sentence = f"Rehearsed on a copy: applied, read back as previewed, undone, all {len(first):,} records equal again; the write lock was held {milliseconds:.0f} ms."
    return {"ok": True, "milliseconds": round(milliseconds, 1), "records": len(first), "sentence": sentence}


def _by_program(path: Path, format_: Format, preview: Preview) -> dict[str, Any]:
    assert isinstance(format_, WrittenByProgram)
    milliseconds = own_program.rehearse(path, format_, preview.changes)
    sentence = (
        f"Rehearsed by {format_.own_program.name} itself in an empty store of the same shape: imported, read back as previewed, deleted again. "
        f"It took {milliseconds / 1000:.1f} s."
    )
    return {"ok": True, "milliseconds": round(milliseconds, 1), "records": len(preview.changes), "sentence": sentence}


def _on_server(place: Dsn, format_: Format, stored: Stored, preview: Preview) -> dict[str, Any]:
    """On temporary tables of the server, which is the only one that knows its own types and constraints; no stored row is touched."""

    def look(records: Sequence[Record]) -> bool:
        return reads_as_planned(preview.after.case, preview, next(format_.read(records), None))

    guard, _ = format_.guard(stored)
    milliseconds, as_previewed, is_back = stores.rehearse(place, format_, guard, preview.changes, look)
    if not as_previewed:
        return {"ok": False, "sentence": "On temporary tables, what was written did not read back as previewed: do not apply this plan."}
    if not is_back:
        return {"ok": False, "sentence": "On temporary tables, undo did not restore every value: do not apply this plan."}
    records = sum(len(cells) for cells in guard.values())
    sentence = (
        f"Rehearsed on temporary tables of the same columns and constraints: applied, read back as previewed, undone, all {records:,} rows equal again; "
        f"no stored row was touched. It took {milliseconds:.0f} ms."
    )
    return {"ok": True, "milliseconds": round(milliseconds, 1), "records": records, "sentence": sentence}


def _everything(path: Path, format_: Format) -> list[tuple[str, bytes, str]]:
    return [(record.key, record.value.data, record.value.type) for record in stores.records(path, format_)]
