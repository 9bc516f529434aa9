"""The shape of an evidence bundle as a source: its conversations are read as the format of their program reads them, and never written."""

from collections.abc import Iterable, Iterator, Sequence

from inspector.conversation.edits import Plan
from inspector.programs.formats import Cell, Change, Format, InShape, Record, Shape, Stored, WriteRefused

SUFFIX = "-bundle"
MANIFEST = "manifest.json"
SEALED = "An evidence bundle is sealed and nothing is ever written to it: repair the conversation in the store that it was taken from."


def is_sealed(format_name: str) -> bool:
    return format_name.endswith(SUFFIX)


class SealedFormat(Format):
    """The manifest says which program it is of, so that no file is detected as one of these: opening any bundle gives the right one."""

    def __init__(self, inner: Format) -> None:
        self.inner = inner
        self.name = inner.name + SUFFIX
        self.title = f"Evidence bundle of {inner.title}"
        self.default_reader = inner.default_reader
        self.default_projection = inner.default_projection
        self.default_profile = inner.default_profile
        self.table = inner.table
        if isinstance(inner, InShape):
            self.shape = inner.shape

    def sniff(self, shape: Shape) -> float:
        return 0.0

    def read(self, records: Iterable[Record]) -> Iterator[Stored]:
        return self.inner.read(records)

    def write(self, plan: Plan, stored: Stored) -> Sequence[Change]:
        raise WriteRefused(SEALED)

    def bleeding(self, native_id: str, others: Iterable[str]) -> tuple[str, ...]:
        return self.inner.bleeding(native_id, others)

    def guard(self, stored: Stored) -> tuple[dict[str, dict[str, Cell]], dict[str, Cell | None]]:
        return self.inner.guard(stored)
