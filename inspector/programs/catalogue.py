"""Every stored shape that can be read as conversations, and why some are never written."""

from inspector.programs.formats import Format
from inspector.programs.registry import programs
from inspector.text.unknown import UnknownName

FORMATS: tuple[Format, ...] = tuple(each for program in programs() for each in program.formats)
READ_ONLY: dict[str, str] = {name: reason for program in programs() for name, reason in program.read_only.items()}
"""Why nothing is ever written to a source of a format; each sentence says what to do instead."""
NEW_FILE_ONLY: dict[str, Format] = {name: other for program in programs() for name, other in program.new_file_as.items()}
"""Formats whose repairs are written as a new file of another format, never to the source."""


class UnknownFormat(UnknownName):
    def __init__(self, name: str) -> None:
        super().__init__(f"There is no format {name!r}; `formats` lists them.")


def format_named(name: str) -> Format:
    for found in FORMATS:
        if found.name == name:
            return found
    raise UnknownFormat(name)
