"""A repaired request body that goes to a new file or to standard output instead of into its source."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from inspector.management.observed import PIPE
from inspector.management.target import Chosen, Target
from inspector.planning.preview import Preview
from inspector.programs.registry import wire_of
from inspector.sources import folders


def goes_here(target: Target, out: str | None) -> bool:
    """Whether there is no store to copy: the body came through a pipe, or its repaired form leaves through one."""
    return out is not None and (target.is_piped or out == PIPE)


def repaired(chosen: Chosen, preview: Preview) -> bytes:
    """The whole body after the plan; as it was where the plan changes no byte. Raises CommandError for what is no request body."""
    if not wire_of(chosen.format.name):
        raise CommandError("Only a request body can be printed: write the repaired copy of a store to a new file with --out PATH.")
    after = [change.after.data for change in preview.changes if change.after is not None]
    return after[0] if after else chosen.stored.records[0].value.data


def put(data: bytes, out: str, stdout: Any) -> None:
    """Prints the body byte for byte, or writes it to the new file `out`. Raises AlreadyThere and other SourceProblem."""
    if out != PIPE:
        folders.write_new(Path(out), data)
        return
    raw = getattr(stdout, "buffer", None)
    if raw is None:
        getattr(stdout, "exact", stdout).write(data.decode("utf-8", "replace"), ending="")
        return
    stdout.flush()
    raw.write(data)
    raw.flush()
