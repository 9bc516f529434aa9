"""Rows of the list that a program keeps of its files, in a database next to them (see ListedInDatabase)."""

from collections.abc import Sequence
from pathlib import Path

from inspector.programs.formats import ListedInDatabase, Record
from inspector.sources import folders, reach, sqlite, table_rows
from inspector.sources.problems import SourceProblem


def of(path: Path, format_: object, keys: Sequence[str]) -> list[Record]:
    """Keys are `FOLDER/DATABASE#TABLE:ID`. None where there is no list, or one that cannot be read: the files are read without it."""
    if not isinstance(format_, ListedInDatabase) or not folders.is_folder(path):
        return []
    folder = format_.index_folder(reach.real(path).name, keys)
    if folder is None:
        return []
    try:
        place = folders.root(path) / folder
        reach.refuse(place)
        numbers = {file.name: int(match[1]) for file in place.iterdir() if (match := format_.index_name.fullmatch(file.name))}
        if not numbers:
            return []
        name = max(numbers, key=lambda name: numbers[name])
        rows = sqlite.reread(place / name, lambda store: list(table_rows.records(store, format_.index_rows)))
    except (SourceProblem, OSError, ValueError):
        return []
    return [Record(f"{folder}/{name}#{row.key}".lstrip("/"), row.value) for row in rows]
