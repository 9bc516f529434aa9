"""Every program that Inspector knows: a folder next to this module, or an installed package that names its Program in the entry-point group."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Any

from inspector import programs as here
from inspector.programs.base import Program
from inspector.programs.sealed import SUFFIX, is_sealed

GROUP = "inspector.programs"
UNKNOWN = Program(name="", title="", package="", formats=(), readers=(), readers_of={})
"""The program of a format that no program has: every default applies."""


class BrokenProgram(Exception):
    """An installed package that names a program and does not give one: without this error every command and page would read stores without it."""

    def __init__(self, point: EntryPoint, reason: str) -> None:
        text = " ".join(reason.split())[:300]
        super().__init__(
            f"The program {point.name} ({point.value}) of an installed package cannot be loaded ({text}): update or uninstall that package."
        )


@cache
def programs() -> tuple[Program, ...]:
    """Own ones by the name of their folder, then installed ones by the name of their entry point. Raises BrokenProgram."""
    return tuple(programs_one_by_one())


def programs_one_by_one() -> Iterator[Program]:
    """The same, each loaded when it is asked for: all of them are half of the start of a command. Raises BrokenProgram."""
    for info in iter_modules(here.__path__):
        if info.ispkg:
            yield import_module(f"{here.__name__}.{info.name}.program").PROGRAM
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        yield _installed(point)


def _installed(point: EntryPoint) -> Program:
    try:
        program = point.load()
    except Exception as problem:
        raise BrokenProgram(point, f"{type(problem).__name__}: {problem}") from problem
    if not isinstance(program, Program):
        raise BrokenProgram(point, f"it is {type(program).__name__}, not a Program")
    return program


@cache
def program_of(format_name: str) -> Program | None:
    """None for a format that no registered program has. A bundle is of the program whose conversation it seals."""
    own = next((program for program in programs() if any(format_.name == format_name for format_ in program.formats)), None)
    if own or not is_sealed(format_name):
        return own
    inner_name = format_name.removesuffix(SUFFIX)
    program = program_of(inner_name)
    return program and replace(program, readers_of={**program.readers_of, format_name: program.readers_of.get(inner_name, ())})


def program_or_default(format_name: str) -> Program:
    return program_of(format_name) or UNKNOWN


def crash_prefix_of(format_name: str, native_id: str) -> str:
    """How the id of a crash file begins; "" for every other conversation."""
    prefix = program_or_default(format_name).crash_prefix
    return prefix if prefix and native_id.startswith(prefix) else ""


@cache
def wire_of(format_name: str) -> str:
    """The wire shape of a format of request bodies; "" for every other format."""
    program = program_of(format_name)
    return program.wires.get(format_name, "") if program else ""


def members(package: str, attribute: str) -> list[Any]:
    """The `attribute` of every module of a package that has one, by the names of the modules; of a tuple its items. Nothing where there is no such package."""
    spec = find_spec(package)
    if spec is None or spec.submodule_search_locations is None:
        return []
    modules = [import_module(f"{package}.{info.name}") for info in iter_modules(spec.submodule_search_locations)]
    values = [getattr(module, attribute, ()) for module in modules]
    return [item for value in values for item in (value if isinstance(value, tuple) else (value,))]


def registered(package: str, attribute: str) -> list[Any]:
    """Members of the generic package `inspector.<package>` and of the package of that name of each program, these with the formats of their program."""
    values = members(f"inspector.{package}", attribute)
    for program in programs():
        formats = tuple(of.name for of in program.formats)
        values += [
            value if value.formats else replace(value, formats=formats) for value in members(f"{program.package}.{package}", attribute)
        ]
    return values
