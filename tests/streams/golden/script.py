"""A capture of both sides as a script: what was read and what was written, one after the other."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from inspector.streams.model import End, Exchange, How, Read, Side

from ..spoken import ASKED, Record, ndjson, sse

Step = tuple[Side, bytes | How]


def b(*records: Record) -> list[Step]:
    """The backend sends events, one a read."""
    return [(Side.BACKEND, sse(record)) for record in records]


def c(*records: Record) -> list[Step]:
    """The client gets events, one a read."""
    return [(Side.CLIENT, sse(record)) for record in records]


def bl(*records: Record) -> list[Step]:
    """The backend sends lines of JSON."""
    return [(Side.BACKEND, ndjson(record)) for record in records]


def cl(*records: Record) -> list[Step]:
    """The client gets lines of JSON."""
    return [(Side.CLIENT, ndjson(record)) for record in records]


def raw(side: Side, *reads: bytes) -> list[Step]:
    return [(side, each) for each in reads]


END: list[Step] = [(Side.CLIENT, How.EOF)]
EOF: list[Step] = [(Side.BACKEND, How.EOF)]


@dataclass(frozen=True, slots=True)
class Golden:
    """`named`: numbers of the rows that were named for it. The others are all that is found, by name: on the backend's side, on the client's, by both.

    `also`: errors that were not named, and why they are found all the same. What the backend's side shows and the client's too is handed on.
    """

    name: str
    steps: list[Step]
    named: tuple[int, ...] = ()
    backend: str = ""
    client: str = ""
    sides: str = ""
    also: Mapping[str, str] = field(default_factory=dict)
    request: Mapping[str, Any] | None = field(default_factory=lambda: ASKED)
    protocols: Mapping[Side, str] = field(default_factory=dict)
    statuses: Mapping[Side, int] = field(default_factory=dict)

    def exchange(self) -> Exchange:
        def happenings() -> Iterator[Read | End]:
            for number, (side, what) in enumerate(self.steps):
                yield Read(side, what, number * 10.0) if isinstance(what, bytes) else End(side, what, number * 10.0)

        return Exchange(
            self.name,
            happenings,
            (Side.BACKEND, Side.CLIENT),
            request=self.request,
            title=self.name,
            protocols=self.protocols,
            statuses=self.statuses,
            keeps_reads=True,
        )
