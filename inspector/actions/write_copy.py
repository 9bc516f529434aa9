"""Writes a repaired copy of a store, or the repaired conversation as a file of its own; the source is only read."""

from pathlib import Path

from inspector.actions.own_database import refuse_own_database
from inspector.actions.planning import RepairRequest, preview_of
from inspector.actions.problems import Refused
from inspector.actions.proving import reads_as_planned
from inspector.actions.writing import write
from inspector.planning.preview import Preview
from inspector.programs.catalogue import NEW_FILE_ONLY
from inspector.programs.formats import Format, Stored
from inspector.rules.base import Case
from inspector.sources import folders, reading, stores


def write_repaired_copy(path: Path, format_: Format, case: Case, stored: Stored, request: RepairRequest, out: Path) -> Preview:
    """The plan as written to the new file `out`. Raises Refused, SourceProblem; then no file is left."""
    refuse_own_database(path)
    if format_.name in NEW_FILE_ONLY:
        return _write_new_file(path, format_, case, stored, request, out)
    preview_of(case, stored, format_, str(out), request)
    stores.copy(path, out, format_)
    try:
        copied = _in_copy(out, format_, stored.conversation.native_id)
        if copied is None:
            raise Refused(f"The conversation is no longer in {path}: import the source again, or choose another conversation.")
        preview = preview_of(case.with_conversation(copied.conversation), copied, format_, str(out), request)
        write(out, format_, [copied], preview.changes, is_copy=True)
        written = reading.read_one(out, format_, copied.conversation.native_id)
        if not reads_as_planned(case, preview, written):
            raise Refused("The copy did not read back as planned, so it was removed: report this with the plan's digest.")
    except BaseException:
        folders.remove(out)
        raise
    return preview


def _in_copy(out: Path, format_: Format, native_id: str) -> Stored | None:
    """The conversation; by the name of the file it may have another id, where it is the only one."""
    copied = reading.read_one(out, format_, native_id)
    if copied is None and out.is_file():
        conversations = tuple(reading.read_store(out, format_.name).conversations)
        return conversations[0] if len(conversations) == 1 else None
    return copied


def _write_new_file(path: Path, format_: Format, case: Case, stored: Stored, request: RepairRequest, out: Path) -> Preview:
    preview = preview_of(case, stored, format_, str(path.resolve()), request)
    contents = [change.after.data for change in preview.changes if change.after is not None]
    if len(contents) != 1:
        raise Refused("This plan changes nothing on the path, so there is no file to write: choose other strategies.")
    folders.write_new(out, contents[0])
    try:
        written = reading.read_one(out, NEW_FILE_ONLY[format_.name], format_.target(preview.plan))
        if not reads_as_planned(case, preview, written):
            raise Refused("The file did not read back as planned, so it was removed: report this with the plan's digest.")
    except BaseException:
        folders.remove(out)
        raise
    return preview
