"""Writes a repair as a script in the language of the store's server, and its undo next to it; the store is only read."""

from pathlib import Path

from inspector.actions.planning import RepairRequest, preview_of
from inspector.actions.problems import Refused
from inspector.actions.writing import back
from inspector.planning.preview import Preview
from inspector.programs.catalogue import READ_ONLY
from inspector.programs.formats import Format, Scripted, Stored, after
from inspector.programs.registry import program_or_default
from inspector.rules.base import Case
from inspector.sources import folders

SUFFIX, UNDO = ".sql", ".undo.sql"


def undo_of(out: Path) -> Path:
    return out.with_name(out.name.removesuffix(SUFFIX) + UNDO)


def write_script(source_path: str, format_: Format, case: Case, stored: Stored, request: RepairRequest, out: Path) -> Preview:
    """The plan as written to the new file `out`, and to the one next to it that takes it back. Raises Refused, SourceProblem; then no file is left."""
    if not isinstance(format_, Scripted) or out.suffix != SUFFIX:
        otherwise = "" if format_.name in READ_ONLY else ", or write it with --apply"
        raise Refused(
            f"A repair of {format_.title} goes to a file as an SQL script: name one that ends in {SUFFIX} after --out{otherwise}."
        )
    preview = preview_of(case, stored, format_, source_path, request)
    native_id, undo = stored.conversation.native_id, undo_of(out)
    records = tuple(after(stored.records, preview.changes))
    (result,) = (candidate for candidate in format_.read(records) if candidate.conversation.native_id == native_id)
    head = (
        f"Inspector: {', '.join(preview.plan.strategies)} on job {native_id} of {source_path}",
        f"plan {preview.digest}; {undo.name} takes it back",
        "Run it as the owner of the tables: psql -v ON_ERROR_STOP=1 -f FILE DATABASE. It writes all or nothing, and nothing where anything moved since.",
        *program_or_default(result.conversation.format).repairs.follow_up(result.conversation),
    )
    written = format_.script(stored, preview.changes, head)
    taken_back = format_.script(
        result,
        back(preview.changes),
        (f"Inspector: takes back {out.name} (plan {preview.digest})", "It is refused once the job went on: what came later would be lost."),
    )
    folders.write_new(out, written.encode())
    try:
        folders.write_new(undo, taken_back.encode())
    except BaseException:
        folders.remove(out)
        raise
    return preview
