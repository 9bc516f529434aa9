"""The address of a PostgreSQL database: next to a path, the other place where a source can be."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Dsn:
    """`name` is the address without its password: what the source is known by. `conninfo` is what is connected with, and never shown."""

    name: str
    conninfo: str = field(repr=False, compare=False)

    def __str__(self) -> str:
        return self.name


Place = Path | Dsn
