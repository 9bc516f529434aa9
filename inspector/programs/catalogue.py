"""Every stored shape that can be read as conversations, and why some are never written."""

from functools import cache

from inspector.programs.formats import Format
from inspector.programs.registry import programs
from inspector.programs.sealed import SEALED, SUFFIX, SealedFormat, is_sealed
from inspector.text.unknown import UnknownName

FORMATS: tuple[Format, ...] = tuple(format_ for program in programs() for format_ in program.formats)
READ_ONLY: dict[str, str] = {format_.name + SUFFIX: SEALED for format_ in FORMATS} | {
    name: reason for program in programs() for name, reason in program.read_only.items()
}
"""Why nothing is ever written to a source of a format; each sentence says what to do instead."""
NEW_FILE_ONLY: dict[str, Format] = {name: target_format for program in programs() for name, target_format in program.new_file_as.items()}
"""Formats whose repairs are written as a new file of another format, never to the source."""


class UnknownFormat(UnknownName):
    def __init__(self, name: str) -> None:
        super().__init__(f"There is no format {name!r}; `formats` lists them.")


def format_named(name: str) -> Format:
    for format_ in FORMATS:
        if format_.name == name:
            return format_
    if is_sealed(name) and not is_sealed(inner_name := name.removesuffix(SUFFIX)):
        return sealed_as(inner_name)
    raise UnknownFormat(name)


@cache
def sealed_as(name: str) -> SealedFormat:
    """The format of the bundles of a format. Raises UnknownFormat."""
    inner = format_named(name)
    return next((format_ for format_ in FORMATS if isinstance(format_, SealedFormat) and format_.inner is inner), None) or SealedFormat(
        inner
    )
