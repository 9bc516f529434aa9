"""Every reader, by name. A variant is written with a plus: `dispatch-legacy+r1`, `exact+keep-thinking`."""

from functools import cache

from inspector.programs.registry import program_of, programs
from inspector.readers.base import Reader
from inspector.text.unknown import UnknownName

_NAMED = 6


@cache
def all_readers() -> tuple[Reader, ...]:
    """Without those whose names are put together of words."""
    return tuple(reader for program in programs() for reader in program.readers)


class UnknownReader(UnknownName):
    def __init__(self, name: str) -> None:
        super().__init__(f"There is no reader {name!r}; `readers` lists them with their variants.")


class OtherProgram(UnknownReader):
    """A reader of another program: what it makes of a conversation that its program cannot open says nothing."""

    def __init__(self, name: str, format_name: str) -> None:
        offered = names(format_name)
        others = f", … (`readers` lists {len(offered) - _NAMED} more)" if len(offered) > _NAMED else ""
        LookupError.__init__(self, f"The reader {name} does not read {format_name}: name one of {', '.join(offered[:_NAMED])}{others}.")


def reader(name: str) -> Reader:
    match = next((known_reader for known_reader in all_readers() if known_reader.name == name), None)
    if match is None:
        match = next((variant for program in programs() if (variant := program.variant(name))), None)
    if match is None:
        raise UnknownReader(name)
    return match


def reader_of(name: str, format_name: str) -> Reader:
    """The reader `name`, for a conversation of this format. Raises UnknownReader, OtherProgram."""
    named = reader(name)
    if not fits(name, format_name):
        raise OtherProgram(name, format_name)
    return named


def fits(name: str, format_name: str) -> bool:
    """Whether the reader is of a program that opens this format, or of none. Of a format that no reader is named for, any does."""
    offered = names(format_name)
    return not offered or name in offered or name.partition("+")[0] in offered or reader(name).is_universal


def names(format_name: str) -> list[str]:
    """Names offered for a format: the readers, and those variants that change what is read."""
    program = program_of(format_name)
    return list(program.readers_of.get(format_name, ())) if program else []


def clients(format_name: str) -> list[str]:
    """Those of `names` that somebody runs or ran; what one of them sends is the same client again."""
    return [name for name in names(format_name) if not reader(name).proposed and not reader(name).is_sent]
