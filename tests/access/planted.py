"""Two sources, one of which a person may not see, with words, names, paths and numbers that are found nowhere else."""

from pathlib import Path

from inspector.models import Source
from tests.actions.building import imported, merged


def two_sources(folder: Path) -> tuple[Source, Source]:
    """The one that is shown, and the one that is hidden."""
    shown = imported(folder / "shown.db", merged()).source
    hidden = imported(folder / "hidden.db", merged()).source
    return shown, hidden
